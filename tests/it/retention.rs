//! `unspool status` about sessions that Claude Code is about to delete.

use std::fs::File;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;

use crate::support::env::{Env, NOW};
use crate::support::transcript::{session, user_line};

/// A home with sessions that were last written this many days ago.
fn home_with_ages(days: &[u64]) -> Env {
    let env = Env::new();
    for (number, days) in (1..).zip(days) {
        let path =
            env.write(format!("-home-u-x/{}.jsonl", session(number)), user_line(&session(number), number, "old"));
        let now: jiff::Timestamp = NOW.parse().expect("a time");
        let now = UNIX_EPOCH + Duration::from_millis(u64::try_from(now.as_millisecond()).expect("after 1970"));
        let time = now - Duration::from_secs(days * 86_400);
        File::options().append(true).open(path).expect("opened").set_modified(time).expect("set");
    }
    env
}

fn row(env: &Env) -> String {
    let shown = env.run(&["status"]).stdout;
    let row = shown.lines().find_map(|line| line.strip_prefix("retention")).unwrap_or_default();
    row.trim().to_string()
}

fn set_days(env: &Env, text: &str) {
    std::fs::write(env.claude().join("settings.json"), text).expect("written");
}

#[test]
fn status_reports_what_will_be_deleted_and_when() {
    let env = home_with_ages(&[1, 20, 27, 40]);
    env.index();
    // One is due in three days, one is overdue.
    assert_eq!(
        row(&env),
        "Claude Code deletes sessions after 30 days (its default): 2 of 4 within a week, 1 at its next \
         start; all are indexed"
    );
    set_days(&env, r#"{"model": "opus", "cleanupPeriodDays": 90}"#);
    assert_eq!(
        row(&env),
        "Claude Code deletes sessions after 90 days (cleanupPeriodDays): the first of 4 on 2027-01-05; all \
         are indexed"
    );
    set_days(&env, r#"{"cleanupPeriodDays": 45}"#);
    assert!(row(&env).contains("1 of 4 within a week, the first on 2026-11-21; all are indexed"), "{}", row(&env));
    // A setting that cannot be read counts as not set.
    set_days(&env, "{");
    assert!(row(&env).contains("after 30 days (its default)"));
}

#[test]
fn status_reports_what_is_not_indexed_yet() {
    let env = home_with_ages(&[1, 27]);
    env.index();
    let first = user_line(&session(1), 10, "new");
    env.append(format!("-home-u-x/{}.jsonl", session(1)), first);
    assert!(row(&env).ends_with("; these are indexed, but 1 other not yet"), "{}", row(&env));
    let env = home_with_ages(&[27]);
    env.index();
    let late = home_with_ages(&[1, 2, 27, 28]);
    for number in 3..5 {
        let name = format!("projects/-home-u-x/{}.jsonl", session(number));
        let (from, to) = (late.claude().join(&name), env.claude().join(&name));
        let time = std::fs::metadata(&from).expect("there").modified().expect("a time");
        std::fs::copy(from, &to).expect("copied");
        File::options().append(true).open(to).expect("opened").set_modified(time).expect("set");
    }
    assert!(row(&env).ends_with("; 2 of them not indexed yet (run `unspool index`)"), "{}", row(&env));
    let status: Value = serde_json::from_str(&env.run(&["status", "--json"]).stdout).expect("JSON");
    let expected = serde_json::json!({"root": env.claude(), "days": 30, "is_default": true, "sessions": 3, "overdue": 0,
        "within_7_days": 3, "within_7_days_unindexed": 2, "unindexed": 2, "next_ms": 1_794_916_800_000_i64 + 86_400_000});
    assert_eq!(status["retention"][0], expected);
}
