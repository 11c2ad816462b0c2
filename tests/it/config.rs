//! The configuration file: precedence of settings, and messages about an odd or broken file. Also E11 of the fault
//! catalogue.

use crate::support::env::{Env, Ran};
use crate::support::transcript::{session, user_line};

fn with_config(env: &Env, text: &str) -> std::path::PathBuf {
    let path = env.path().join("config.toml");
    std::fs::write(&path, text).expect("written");
    path
}

fn run(env: &Env, text: &str, args: &[&str]) -> Ran {
    let path = with_config(env, text);
    Ran::from(env.command().env("UNSPOOL_CONFIG", path).args(args).output().expect("ran"))
}

#[test]
fn options_win_over_variables_over_the_file_over_the_defaults() {
    let env = Env::new();
    let file = "roots = [\"/from/file\"]\ncolor = \"never\"\nlimit = 3\n";
    let get = |args: &[&str], key: &str| run(&env, file, &[args, &["config", "get", key]].concat()).stdout;
    assert_eq!(get(&[], "roots"), "/from/file\n");
    assert_eq!(get(&["--root", "/from/option"], "roots"), "/from/option\n");
    assert_eq!(get(&[], "color"), "never\n");
    assert_eq!(get(&["--color", "always"], "color"), "always\n");
    assert_eq!(get(&[], "limit"), "3\n");
    assert_eq!(run(&env, "", &["config", "get", "limit"]).stdout, "10\n");
    let path = with_config(&env, file);
    let with = |name: &str, value: &str, key: &str| {
        let mut command = env.command();
        command.env("UNSPOOL_CONFIG", &path).env(name, value).args(["config", "get", key]);
        Ran::from(command.output().expect("ran")).stdout
    };
    assert_eq!(with("UNSPOOL_ROOTS", "/from/variable", "roots"), "/from/variable\n");
    assert_eq!(with("NO_COLOR", "1", "color"), "auto\n");
    // Claude Code's own setting is weaker than one for unspool.
    assert_eq!(with("CLAUDE_CONFIG_DIR", "/from/claude", "roots"), "/from/file\n");
}

#[test]
fn config_shows_each_setting_with_its_origin() {
    let env = Env::new();
    let ran = run(&env, "limit = 3\n[prices.\"glm-4.7\"]\ninput = 0.6\noutput = 2.2\n", &["config"]);
    let root = env.path().to_string_lossy().into_owned();
    let shown: Vec<String> = ran
        .stdout
        .replace(&root, "ENV")
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        shown,
        [
            "file ENV/config.toml",
            "roots ~/.claude, ~/.config/claude built in",
            "index_dir ENV/index UNSPOOL_INDEX_DIR",
            "color auto built in",
            "pager less -FRX built in",
            "limit 3 file",
            "prices glm-4.7 file, and built in",
        ]
    );
}

#[test]
fn settings_have_an_effect() {
    let env = Env::new();
    for number in 1..=3 {
        let id = session(number);
        env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, number, "a pelican"));
    }
    env.index();
    let found = |text: &str| run(&env, text, &["search", "--no-refresh", "pelican"]).stdout.lines().count();
    assert_eq!((found(""), found("limit = 2\n")), (3, 2));
    let elsewhere = run(&env, "roots = [\"~/elsewhere\", \"relative\"]\n", &["config", "get", "roots"]).stdout;
    let (home, beside) = (env.path().join("home/elsewhere"), env.path().join("relative"));
    assert_eq!(elsewhere, format!("{}, {}\n", home.display(), beside.display()));
}

#[test]
fn configured_prices_are_used() {
    let env = Env::new();
    let line = r#"{"type":"assistant","uuid":"00000001-0000-4000-8000-000000000001","timestamp":"2026-10-01T10:00:00.000Z","message":{"id":"m","model":"glm-4.7","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":1000000,"cache_read_input_tokens":1000000,"output_tokens":1000000}}}"#;
    env.write(format!("-home-u-x/{}.jsonl", session(1)), format!("{line}\n"));
    env.index();
    let file = "[prices.\"glm-4.7\"]\ninput = 1\noutput = 2.5\ncache_read = 0.25\n";
    let ran = run(&env, file, &["stats", "--no-refresh", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&found["cost_usd"], &found["unpriced_tokens"]), (&3.75.into(), &0.into()));
}

#[test]
fn e11_an_unknown_key_is_a_warning_with_the_most_similar_key() {
    let env = Env::new();
    let ran = run(&env, "colour = \"never\"\nzzz = 1\n", &["config", "get", "color"]);
    let file = env.path().join("config.toml");
    let name = file.display();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "auto\n"));
    assert_eq!(
        ran.stderr,
        format!(
            "unspool: {name}: unknown key \"colour\"; did you mean \"color\"?\nunspool: {name}: unknown key \"zzz\"\n"
        )
    );
}

#[test]
fn e11_a_broken_file_is_an_error_with_its_position() {
    let env = Env::new();
    let path = env.path().join("config.toml");
    for (text, place, marked) in [
        ("limit = 3\ncolor = blue\n", "line 2, column 9", "  color = blue\n          ^"),
        ("limit = \"ten\"\n", "line 1, column 9", "  limit = \"ten\"\n          ^^^^^"),
        ("color = \"green\"\n", "line 1, column 9", "  color = \"green\"\n          ^^^^^^^"),
        ("[prices.x]\ninput = -1\n", "line 2, column 9", "  input = -1\n          ^^"),
    ] {
        let ran = run(&env, text, &["status"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{text}");
        assert!(ran.stderr.contains(&format!("error: {}, {place}: ", path.display())), "{}", ran.stderr);
        assert!(ran.stderr.contains(marked), "{}", ran.stderr);
    }
    // Commands that help to repair it work nevertheless.
    assert_eq!(run(&env, "limit = \n", &["config", "path"]).stdout, format!("{}\n", path.display()));
    assert_eq!(run(&env, "limit = \n", &["help", "environment"]).code, 0);
}

#[cfg(unix)]
#[test]
fn e11_a_file_anybody_can_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = Env::new();
    let path = with_config(&env, "limit = 3\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).expect("set");
    let ran = Ran::from(env.command().env("UNSPOOL_CONFIG", &path).arg("status").output().expect("ran"));
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("anyone can write to the configuration"), "{}", ran.stderr);
}

#[test]
fn the_template_is_written_once_and_changes_nothing() {
    let env = Env::new();
    let path = env.path().join("home/.config/unspool/config.toml");
    assert_eq!(env.run(&["config", "path"]).stdout, format!("{}\n", path.display()));
    assert_eq!(env.run(&["config", "init"]).code, 0);
    let template = std::fs::read_to_string(&path).expect("written");
    assert_eq!(env.run(&["config", "init"]).code, 2);
    let ran = env.run(&["config", "get", "limit"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("10\n", ""));
    // Every line of it is valid once it is not a comment.
    let used: String = template
        .lines()
        .map(|line| line.strip_prefix('#').filter(|line| !line.starts_with(' ')).unwrap_or(line).to_string() + "\n")
        .collect();
    let ran = run(&env, &used, &["config", "get", "limit"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{used}");
}

#[test]
fn setting_one_value_keeps_the_rest_of_the_file() {
    let env = Env::new();
    let path = with_config(&env, "# mine\nlimit = 3 # few\n");
    let set = |key: &str, value: &str| {
        let mut command = env.command();
        Ran::from(command.env("UNSPOOL_CONFIG", &path).args(["config", "set", key, value]).output().expect("ran"))
    };
    assert_eq!(set("limit", "7").code, 0);
    assert_eq!(set("roots", "~/a, /b").code, 0);
    assert_eq!(std::fs::read_to_string(&path).expect("read"), "# mine\nlimit = 7\nroots = [\"~/a\", \"/b\"]\n");
    for (key, value) in [("limit", "many"), ("color", "green"), ("colour", "never"), ("prices", "1")] {
        assert_eq!(set(key, value).code, 2, "{key}");
    }
}
