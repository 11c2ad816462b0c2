//! Whole screens: what a person sees of the commands, on a terminal of 80 columns.
//!
//! A change of any text shows here as a change of a snapshot. `cargo insta test --accept --test it -- screens` takes
//! the screens as they are now; read the diff before you keep it.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, SystemTime};

use regex::Regex;
use serde_json::Value;

use crate::support::env::{Env, Ran};

/// A file that a session with tools, edits and two subagents has changed.
const FILE: &str = "/home/dana/code/paperplane/src/auth/token.rs";

/// The fixtures, indexed.
fn fixtures() -> Env {
    let env = Env::with_fixtures("home");
    set_file_times(&env);
    index(&env);
    env
}

/// Sets the modification time of all files to 2026-11-01: `status` shows when Claude Code will delete them.
fn set_file_times(env: &Env) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_793_491_200);
    for entry in walkdir::WalkDir::new(env.claude()).into_iter().map(|entry| entry.expect("entry")) {
        if entry.file_type().is_file() {
            let file = std::fs::File::options().write(true).open(entry.path()).expect("opened");
            file.set_modified(time).expect("set");
        }
    }
}

fn index(env: &Env) {
    let ran = run(env, "index");
    assert_eq!(ran.code, 3, "the fixtures have lines with problems: {}", ran.stderr);
}

/// The fixtures, indexed, with the project of [`FILE`] in the home, where the file is as a session left it, plus one
/// line.
fn checkout() -> Env {
    let env = Env::with_fixtures("home");
    let project = env.path().join("home/code/paperplane");
    let transcripts = env.claude().join("projects/-home-dana-code-paperplane");
    for path in std::fs::read_dir(transcripts).expect("listed").map(|entry| entry.expect("entry").path()) {
        if path.is_file() {
            let text = std::fs::read_to_string(&path).expect("read");
            let moved = text.replace("/home/dana/code/paperplane", &project.to_string_lossy());
            std::fs::write(&path, moved).expect("written");
        }
    }
    index(&env);
    let file = project.join("src/auth/token.rs");
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("made");
    let recovered = run(&env, &format!("recover {}", file.display()));
    assert_eq!(recovered.code, 0, "{}", recovered.stderr);
    std::fs::write(&file, recovered.stdout + "// by hand\n").expect("written");
    env
}

/// The screen after a command, without styles.
fn screen(env: &Env, args: &str) -> String {
    show(env, args, &run(env, args), "")
}

/// The screen after a command, with styles as ‹1› (bold), ‹2› (dim), ‹0› (off) and so on.
fn styled(env: &Env, args: &str) -> String {
    show(env, args, &run(env, args), "‹$1›")
}

/// The first lines of JSON that a command prints, indented. Numbers are rounded, because the last digits of a score can
/// differ between machines.
fn json(env: &Env, args: &str, lines: usize) -> String {
    let ran = run(env, args);
    let values = ran.stdout.lines().take(lines).map(|line| {
        let mut value = serde_json::from_str::<Value>(line).expect("JSON");
        if let Some(time) = value.get_mut("elapsed_ms") {
            *time = 1.into();
        }
        round(&mut value);
        format!("{value:#}\n")
    });
    let stdout = values.collect();
    show(env, args, &Ran { stdout, ..ran }, "")
}

fn round(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Object(fields) => fields.values_mut().for_each(round),
        Value::Number(number) if number.is_f64() => {
            *value = ((number.as_f64().expect("a number") * 100.0).round() / 100.0).into();
        }
        _ => {}
    }
}

/// Runs a command line as on a terminal of 80 columns, with the index in the usual place. Quotes are only for the
/// reader: every word is an argument. Programs in `bin` take precedence over those of the system.
fn run(env: &Env, args: &str) -> Ran {
    let mut command = env.command();
    command
        .env("COLUMNS", "80")
        .env("CLICOLOR_FORCE", "1")
        .env("UNSPOOL_INDEX_DIR", env.path().join("home/.local/share/unspool"))
        .env("PATH", format!("{}:/usr/bin:/bin", env.path().join("bin").display()))
        .env("UNSPOOL_TOOLS", env.path().join("bin"));
    Ran::from(command.args(args.replace('\'', "").split_whitespace()).output().expect("ran"))
}

/// The command line, its output and the exit code, without anything that differs between runs.
fn show(env: &Env, args: &str, ran: &Ran, style: &str) -> String {
    let mut shown = format!("$ unspool {args}\n{}", ran.stdout);
    if !ran.stderr.is_empty() {
        shown += &format!("--- stderr\n{}", ran.stderr);
    }
    shown += &format!("--- exit code {}\n", ran.code);
    shown = shown.replace(&*env.path().to_string_lossy(), "TMP");
    for (pattern, replacement) in [
        ("\x1b\\[([0-9;]*)m", style),
        (r"\(\d+ ms\)", "(1 ms)"),
        (r"in \d+\.\d s\b", "in 0.0 s"),
        (r"--cursor \S+", "--cursor CURSOR"),
        // A hash of the roots.
        (r"index-(\d+)-[0-9a-f]{8}-[0-9a-f]{8}", "index-$1-HASH"),
        // The index contains paths, which are temporary here.
        (r"[\d.]+ kB in 1 segment, [\d.]+ %", "SIZE kB in 1 segment, SHARE %"),
        (r"documents, [\d.]+ kB", "documents, SIZE kB"),
        // Editors strip it from this file.
        (r"(?m)[ \t]+$", ""),
    ] {
        shown = Regex::new(pattern).expect("valid").replace_all(&shown, replacement).into_owned();
    }
    shown
}

#[test]
fn search_results() {
    let env = fixtures();
    insta::assert_snapshot!(screen(&env, "search cargo"), @"
    $ unspool search cargo
    After I moved the le…  paperplane · chore/split-ledger · 9 months ago · 00000001
      Bash       Feb 10 09:13  cargo build && cargo clippy -- -D warnings Build an…
      Bash       Feb 10 09:12  cargo build 2>&1 | head -20 Build and show the firs…
      you        Feb 10 09:12  … its own module `cargo build` fails with E0603: str…

    read settings.toml and tell me which…  tidepool · main · 8 months ago · 19000001
      Bash       Mar 20 12:01  cargo nextest run --color always Coloured test run

    GitHub Actions deploy of the b…  notes.dana.dev · main · 7 months ago · 00000003
      you        Mar 22 18:02  …utes, 9 of them `cargo install zola`. Speed it up p…
      Edit       Mar 22 18:03  …- run: cargo install zola --version 0.19.2 --locked…
      Read →     Mar 22 18:03  …- run: cargo install zola --version 0.19.2 --locked…

    Token refresh gives up af…  paperplane · fix/oauth-429 · 8 months ago · 05000001
      Bash       Mar 12 10:05  cargo test --test token_refresh -- --nocapture Run …

    Two webhooks with t…  paperplane · fix/idempotency-ra… · 8 months ago · 08000001
      Bash       Mar  2 11:13  cargo test --release --test idempotency_stress -- -…

    the camera jitters when the …  moss_golem · fix/jitter · 8 months ago · 13000001
      Bash       Mar  1 20:59  cargo run --release -- --fps-overlay # never return…

    Human prompt of the classification…  paperplane · main · 3 months ago · 20000001
      Bash →     Aug  6 09:17  …use cargo clean instead (rejectfeedbackbus… [failed]

    11 hits in 7 sessions (1 ms) · unspool resume ID
    --- exit code 0
    ");
    insta::assert_snapshot!(styled(&env, "search retry"), @"
    $ unspool search retry
    ‹1›Token refresh gives up af…‹0›  ‹2›paperplane · fix/oauth-429 · 8 months ago · 05000001‹0›
      ‹1›title     ‹0› ‹2›Mar 12 10:05  ‹0›Survey ‹1›‹33›Retry‹0›-After han…‹2› [agent: Survey Retry-After …‹0›
      ‹32›you       ‹0› ‹2›Mar 12 10:04  ‹0›…hough they send `‹1›‹33›Retry‹0›-After: 17`. I think parse‹1›‹33›Ret‹0›…
      ‹35›Grep      ‹0› ‹2›Mar 12 10:04  ‹0›parse‹1›‹33›Retry‹0›After /home/dana/code/paperplane content
      ‹2›… and 10 more hits‹0›

    ‹2›13 hits in 1 session (1 ms) · unspool resume 05000001‹0›
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "search -C 1 retry"), @"
    $ unspool search -C 1 retry
    Token refresh gives up af…  paperplane · fix/oauth-429 · 8 months ago · 05000001
      title      Mar 12 10:05  Survey Retry-After han… [agent: Survey Retry-After …
      --
      you        Mar 12 10:04  …hough they send `Retry-After: 17`. I think parseRet…
      thinking   Mar 12 10:04  parseRetryAfter is a strange name for Rust; probably…
      Grep       Mar 12 10:04  parseRetryAfter /home/dana/code/paperplane content
      Grep →     Mar 12 10:04  src/auth/token.rs:22:pub fn parseRetryAfter(header: …
      … and 10 more hits

    13 hits in 1 session (1 ms) · unspool resume 05000001
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "search --explain retry dry"), @"
    $ unspool search --explain retry dry
    Token refresh gives up af…  paperplane · fix/oauth-429 · 8 months ago · 05000001
      claude     Mar 12 10:06  It returns at once: `--dry-run` swaps in a `NullCli…
        score 9.45 = words 8.61 × title 1.0 × lift 1.00 × kind 1.20 × coverage 1.00 × verbatim 1.0 × age 0.91
      you        Mar 12 10:06  does `paperplane refresh --dry-run` also wait, or d…
        score 2.84 = words 6.28 × title 1.0 × lift 1.00 × kind 1.30 × coverage 0.38 × verbatim 1.0 × age 0.91
      title      Mar 12 10:05  Survey Retry-After han… [agent: Survey Retry-After …
        score 1.61 = words 5.59 × title 1.0 × lift 1.00 × kind 1.50 × coverage 0.21 × verbatim 1.0 × age 0.91
      … and 11 more hits

    14 hits in 1 session (1 ms) · unspool resume 05000001
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "search --messages role:human since:2026-08"), @"
    $ unspool search --messages role:human since:2026-08
    which python version does the CI use?…  tidepool · main · 1 month ago · 24000001
      you        Oct  2 09:05  unknownoperationnoise

    which python version does the CI use?…  tidepool · main · 1 month ago · 24000001
      you        Oct  2 09:05  odd timestamp and cwd (oddfieldsprairiedog)

    which python version does the CI use?…  tidepool · main · 1 month ago · 24000001
      you        Oct  2 09:05  message is a string, not an object

    which python version does the CI use?…  tidepool · main · 1 month ago · 24000001
      you        Oct  2 09:04  text beside an unknown block (besideblocksable)

    which python version does the CI use?…  tidepool · main · 1 month ago · 24000001
      you        Oct  2 09:00  which python version does the CI use? (tolerancefir…

    The Docker image of th…  lantern-shop · ops/slim-image · 2 months ago · 14000002
      you        Sep 14 08:10  continue in the background: add a HEALTHCHECK and p…

    The Docker image of th…  lantern-shop · ops/slim-image · 2 months ago · 14000001
      you        Sep 14 07:58  The Docker image of the storefro… [also in 14000002]

    archived and then continued by a hum…  tidepool · main · 2 months ago · 27000002
      you        Sep  8 14:00  archived and then continued by a human prompt: is t…

    why is the lid sensor inverted? (dirre…  teapot · main · 2 months ago · 23000010
      you        Sep  5 10:00  why is the lid sensor inverted? (dirrelocated)

    Apple Pay total cou…  lantern-shop · feat/express-che… · 2 months ago · 25000001
      you        Aug 21 08:02  can you also check google pay, same symptom I think…

    19 hits in 7 sessions (1 ms) · next: --cursor CURSOR
    unspool resume ID
    --- exit code 0
    ");
    insta::assert_snapshot!(json(&env, "search --json -n 1 -m 1 retry dry", 2), @r#"
    $ unspool search --json -n 1 -m 1 retry dry
    {
      "agent_id": null,
      "also_in": [],
      "branch": "fix/oauth-429",
      "cwd": "/home/dana/code/paperplane",
      "error": false,
      "factors": {
        "age": 0.91,
        "coverage": 1.0,
        "kind": 1.2,
        "lift": 1.0,
        "title": 1.0,
        "verbatim": 1.0,
        "words": 8.61
      },
      "files": [],
      "kind": "text",
      "line": 19,
      "model": "claude-opus-4-6",
      "offset": 22205,
      "path": "TMP/home/.claude/projects/-home-dana-code-paperplane/05000001-5e55-4000-8000-000500000001.jsonl",
      "project": "/home/dana/code/paperplane",
      "resume": "unspool resume 05000001-5e55-4000-8000-000500000001",
      "role": "assistant",
      "schema": 1,
      "score": 9.45,
      "session_id": "05000001-5e55-4000-8000-000500000001",
      "snippet": {
        "ranges": [
          [
            23,
            26
          ],
          [
            91,
            96
          ]
        ],
        "text": "It returns at once: `--dry-run` swaps in a `NullClient` whose status is always 200, so the retry loop never sleeps."
      },
      "source_missing": false,
      "timestamp": "2026-03-12T10:06:52.071Z",
      "title": "Token refresh gives up after the first HTTP 429 from the identity provider, although they send `Retry-After: 17`. I think parseRetryAfter in src/auth/token.rs is to blame. Have an agent survey how the",
      "tool": null,
      "type": "hit",
      "uuid": "05010018-a000-4000-8000-000500010018"
    }
    {
      "behind": null,
      "by_said": false,
      "corrections": [],
      "elapsed_ms": 1,
      "hits": 14,
      "incomplete": false,
      "loosened": false,
      "match": "all",
      "missing_words": [],
      "next_cursor": null,
      "only_meta": false,
      "scattered": false,
      "schema": 1,
      "sessions": 1,
      "shown_hits": 1,
      "shown_sessions": 1,
      "suggestions": [],
      "thinned": false,
      "type": "summary",
      "unknown_names": []
    }
    --- exit code 0
    "#);
}

#[test]
fn search_with_notes() {
    let env = fixtures();
    insta::assert_snapshot!(screen(&env, "search oauht"), @"
    $ unspool search oauht
    --- stderr
    unspool: nothing contains oauht; similar words: oauth
    unspool: hint: try a similar word: oauth (1 hit)
    --- exit code 1
    ");
    insta::assert_snapshot!(screen(&env, "search attnoise -m 1"), @"
    $ unspool search attnoise -m 1
    Translate the check…  lantern-shop · feat/i18n-checko… · 6 months ago · 09000001
      meta       Apr 27 09:54  attnoise goal active
      … and 9 more hits

    10 hits in 1 session (1 ms) · unspool resume 09000001
    --- stderr
    unspool: found only in text that Claude Code added (hooks, reminders, skills)
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "search xyzzyplugh"), @"
    $ unspool search xyzzyplugh
    --- stderr
    unspool: nothing found for xyzzyplugh
    --- exit code 1
    ");
    insta::assert_snapshot!(screen(&env, "search retry -p tidepool"), @"
    $ unspool search retry -p tidepool
    --- stderr
    unspool: nothing found for retry
    unspool: hint: try without project (13 hits)
    --- exit code 1
    ");
    insta::assert_snapshot!(screen(&env, r#"search '"retry after"' branch:main"#), @r#"
    $ unspool search '"retry after"' branch:main
    --- stderr
    unspool: nothing found for "retry after" branch:main
    unspool: hint: try without branch (11 hits)
    unspool: hint: try as plain words: retry after branch:main (3 hits)
    --- exit code 1
    "#);
    insta::assert_snapshot!(screen(&env, "search tool:Bsh"), @r#"
    $ unspool search tool:Bsh
    --- stderr
    unspool: no tool matches "Bsh"; similar: Bash, LS, LSP
    unspool: nothing found for tool:Bsh
    --- exit code 1
    "#);
}

#[test]
fn sessions() {
    let env = fixtures();
    insta::assert_snapshot!(screen(&env, "sessions -n 8"), @"
    $ unspool sessions -n 8
    24000001  which python version does the CI use? (tolerancefirs…  tidepool · main
              2026-10-02 09:00 · 5 min · 5 prompts, 7 messages · opus-4-8
              49k tokens · 11.6 kB
    14000002  The Docker image of the storefront is …  lantern-shop · ops/slim-image
              2026-09-14 07:58 · 12 min · 2 prompts, 7 messages, 3 tools, 1 file
              opus-4-8 · 35k tokens · 10.3 kB · in the background
              continues 14000001 (8 messages shared)
    14000001  The Docker image of the storefront is …  lantern-shop · ops/slim-image
              2026-09-14 07:58 · 1 prompt, 5 messages, 3 tools, 1 file · opus-4-8
              124k tokens · 8.6 kB · continued in 14000002 (8 messages shared)
    27000002  archived and then continued by a human prompt: is th…  tidepool · main
              2026-09-08 14:00 · 1 prompt, 2 messages · opus-4-8 · 21k tokens
              1.4 kB
    23000010  why is the lid sensor inverted? (dirrelocated)           teapot · main
              2026-09-05 10:00 · 1 prompt, 2 messages · opus-4-8 · 39k tokens
              1.4 kB
    15000002  Parquet export (fork)                          tidepool · feat/parquet
              2026-08-30 10:00 · 30 min · 0 prompts, 4 messages · opus-4-8
              23k tokens · 3.3 kB · forked from 15000001 (2 messages shared)
    15000001  Switch the export from CSV to Parquet with z…  tidepool · feat/parquet
              2026-08-30 10:00 · 14 min · 0 prompts, 2 messages, 1 agent · opus-4-8
              70k tokens · 3.1 kB · forked into 15000002 (2 messages shared)
    25000001  Apple Pay total counts shipping…  lantern-shop · feat/express-checkout
              2026-08-21 08:00 · 2 min · 1 prompt, 6 messages, 3 tools, 1 file
              opus-4-8 · 160k tokens · 17.8 kB
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "sessions --tree -p paperplane"), @r#"
    $ unspool sessions --tree -p paperplane
    20000002  You are a bot. Classify this ticket: 'card decline…  paperplane · main
              2026-08-06 11:00 · 0 prompts, 2 messages · opus-4-8 · 31k tokens
              1.4 kB
    20000001  Human prompt of the classification session: round …  paperplane · main
              2026-08-06 09:00 · 17 min · 6 prompts, 10 messages, 1 tool · opus-4-8
              138k tokens · 18.6 kB
    05000001  Token refresh gives up after the first HT…  paperplane · fix/oauth-429
              2026-03-12 10:04 · 128 d 1 h
              2 prompts, 10 messages, 6 tools, 1 file, 2 agents · opus-4-6
              opus-4-8 · 390k tokens · 31.1 kB
              └ a7d31c09be52f4466  Survey Retry-Af…  2 answers · 1 tool call · 47k tokens · Explore
              └ a0f1e2d3c4b5a6978  Undocumented fu…  2 answers · 1 tool call · 59k tokens · workflow-step
    20000004  /cost                                                paperplane · main
              2026-04-18 14:00 · 0 prompts, 0 messages · 999 B
    20000003  teammate_id="lead" summary="start" You are bob. Wr…  paperplane · main
              2026-04-18 13:00 · 0 prompts, 2 messages, 1 tool · opus-4-6
              66k tokens · 3.0 kB
    08000001  Two webhooks with the same Idempot…  paperplane · fix/idempotency-race
              2026-03-02 11:11 · 2 min · 7 prompts, 12 messages, 3 tools, 1 file
              opus-4-6 · 163k tokens · 16.6 kB
    12000001  Plan and write the database migratio…  paperplane · db/migrate-amounts
              2026-02-24 13:20 · 2 min · 2 prompts, 7 messages, 3 tools, 1 file
              opus-4-6 · 155k tokens · 12.7 kB
    05000098  Find out which migration introduced the column pay…  paperplane · main
              2026-02-18 15:15 · 0 prompts, 0 messages, 1 agent · opus-4-6
              79k tokens · 2.8 kB · subagents only
              └ a5b1c2d  Find out which mig…  2 answers · 1 tool call · 79k tokens
    00000001  After I moved the ledger into its ow…  paperplane · chore/split-ledger
              2026-02-10 09:12 · 2 min · 2 prompts, 8 messages, 4 tools, 1 file
              opus-4-6 · 219k tokens · 14.6 kB
    27000092  why does this query plan do a seq scan? [Pasted text #1 +…  paperplane
              2026-01-08 09:00 · 1 prompt, 1 message · only its prompts are left
    --- exit code 0
    "#);
}

#[test]
fn conversations() {
    let env = fixtures();
    insta::assert_snapshot!(screen(&env, "show 05000001"), @"
    $ unspool show 05000001
    Token refresh gives up after the first HTTP 429 from the identity provider, alt…
    /home/dana/code/paperplane · fix/oauth-429
    05000001-5e55-4000-8000-000500000001
    2026-03-12 10:04 · 128 d 1 h · 2 prompts, 10 messages, 6 tools, 1 file, 2 agents
    opus-4-6 · opus-4-8 · 390k tokens · 31.1 kB

    ── Thu 2026-03-12 ────────────────────────────────────────────────────────────

    you  10:04
      Token refresh gives up after the first HTTP 429 from the identity provider,
      although they send `Retry-After: 17`. I think parseRetryAfter in
      src/auth/token.rs is to blame. Have an agent survey how the other clients in
      this repo deal with Retry-After.

    claude  10:04 · opus-4-6
      ┊ parseRetryAfter is a strange name for Rust; probably ported from the
      ┊ TypeScript SDK. Retry-After can be seconds or an HTTP-date. Check whether it
      ┊ handles delta-seconds with whitespace, and what the caller does with None.
      ▸ Grep /home/dana/code/paperplane pars… → 3 lines: src/auth/token.rs:22:pub …
      ▸ Read src/auth/token.rs → 23 lines: /// Seconds or an HTTP-date (RFC 9110, …
      ▸ Agent Survey Retry-After handling → src/clients/fx_rates.rs:41 ignores it;…
        ↳ agent a7d31c09be52f4466 · Survey Retry-After handling · 2 answers, 1 tool call
      ▸ Edit src/auth/token.rs → +3 −0
          +     if let Ok(seconds) = header.trim().parse::<u64>() {
          +         return Some(Duration::from_secs(seconds.min(120)));
          +     }
                if let Ok(when) = httpdate::parse_http_date(header) {
      ▸ Edit src/auth/token.rs → +1 −1
          - const MAX_ATTEMPTS: u32 = 1;
          + const MAX_ATTEMPTS: u32 = 4;
      ▸ Bash cargo test --test token_refresh -- --nocap… → 7 lines: running 4 tests

    claude  10:06
      Two bugs met here:

      1. parseRetryAfter understood only the HTTP-date form. 17 is delta-seconds, so
         it returned None and the delay became zero.
      2. MAX_ATTEMPTS was 1, so the loop never got a second chance anyway.

      It now reads both forms, caps the wait at 120 s and tries four times. HTTP 429
      with Retry-After: 17 sleeps 17 s and then succeeds.

    you  10:06
      does `paperplane refresh --dry-run` also wait, or does it return at once?

    claude  10:06
      It returns at once: --dry-run swaps in a NullClient whose status is always
      200, so the retry loop never sleeps.
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "show --tools full -q dry 05000001"), @r#"
    $ unspool show --tools full -q dry 05000001
    Token refresh gives up after the first HTTP 429 from the identity provider, alt…
    /home/dana/code/paperplane · fix/oauth-429
    05000001-5e55-4000-8000-000500000001
    2026-03-12 10:04 · 128 d 1 h · 2 prompts, 10 messages, 6 tools, 1 file, 2 agents
    opus-4-6 · opus-4-8 · 390k tokens · 31.1 kB

    ── Thu 2026-03-12 ────────────────────────────────────────────────────────────

    you  10:04
      Token refresh gives up after the first HTTP 429 from the identity provider,
      although they send `Retry-After: 17`. I think parseRetryAfter in
      src/auth/token.rs is to blame. Have an agent survey how the other clients in
      this repo deal with Retry-After.

    claude  10:04 · opus-4-6
      ┊ parseRetryAfter is a strange name for Rust; probably ported from the
      ┊ TypeScript SDK. Retry-After can be seconds or an HTTP-date. Check whether it
      ┊ handles delta-seconds with whitespace, and what the caller does with None.
      ▸ Grep /home/dana/code/paperplane parseRetryAfter
          {
            "-n": true,
            "output_mode": "content",
            "path": "/home/dana/code/paperplane",
            "pattern": "parseRetryAfter"
          }
        │ src/auth/token.rs:22:pub fn parseRetryAfter(header: &str) ->
        │ Option<Duration> {
        │ src/auth/token.rs:36:            let delay =
        │ parseRetryAfter(h).unwrap_or(Duration::ZERO);
        │ tests/token_refresh.rs:9:use paperplane::auth::token::parseRetryAfter;
      ▸ Read src/auth/token.rs
          {
            "file_path": "/home/dana/code/paperplane/src/auth/token.rs",
            "limit": 25,
            "offset": 20
          }
        │ /// Seconds or an HTTP-date (RFC 9110, section 10.2.3).
        │ #[allow(non_snake_case)]
        │ pub fn parseRetryAfter(header: &str) -> Option<Duration> {
        │     if let Ok(when) = httpdate::parse_http_date(header) {
        │         return when.duration_since(SystemTime::now()).ok();
        │     }
        │     None
        │ }
        │
        │ pub async fn refresh(client: &Client, refresh_token: &str) ->
        │ Result<Response, RefreshError> {
        │     for attempt in 0..MAX_ATTEMPTS {
        │         let response = client.post_form("/oauth/token",
        │ refresh_token).await;
        │         if response.status() != 429 {
        │             return Ok(response);
        │         }
        │         if let Some(h) = response.header("retry-after") {
        │             let delay = parseRetryAfter(h).unwrap_or(Duration::ZERO);
        │             tracing::warn!(attempt, ?delay, "rate limited");
        │             tokio::time::sleep(delay).await;
        │         }
        │     }
        │     Err(RefreshError::Exhausted(MAX_ATTEMPTS))
        │ }
      ▸ Agent Survey Retry-After handling
          Survey every HTTP client in /home/dana/code/paperplane (src/clients/*) and
          report how each one treats the Retry-After header: ignored, seconds only,
          or seconds and HTTP-date. Include file and line.
        │ src/clients/fx_rates.rs:41 ignores it; src/clients/payout_bank.rs:88 reads
        │ seconds only; src/auth/token.rs:22 reads HTTP-date only. Nobody handles
        │ both.
        ↳ agent a7d31c09be52f4466 · Survey Retry-After handling · 2 answers, 1 tool call
      ▸ Edit src/auth/token.rs
          +     if let Ok(seconds) = header.trim().parse::<u64>() {
          +         return Some(Duration::from_secs(seconds.min(120)));
          +     }
                if let Ok(when) = httpdate::parse_http_date(header) {
        │ The file /home/dana/code/paperplane/src/auth/token.rs has been updated
        │ successfully.
      ▸ Edit src/auth/token.rs
          - const MAX_ATTEMPTS: u32 = 1;
          + const MAX_ATTEMPTS: u32 = 4;
        │ The file /home/dana/code/paperplane/src/auth/token.rs has been updated
        │ successfully.
      ▸ Bash cargo test --test token_refresh -- --nocapture
        │ running 4 tests
        │ test retry_after_seconds ... ok
        │ test retry_after_http_date ... ok
        │ test retry_after_garbage ... ok
        │ test gives_up_after_four ... ok
        │
        │ test result: ok. 4 passed; 0 failed; 0 ignored; finished in 0.31s

    claude  10:06
      Two bugs met here:

      1. parseRetryAfter understood only the HTTP-date form. 17 is delta-seconds, so
         it returned None and the delay became zero.
      2. MAX_ATTEMPTS was 1, so the loop never got a second chance anyway.

      It now reads both forms, caps the wait at 120 s and tries four times. HTTP 429
      with Retry-After: 17 sleeps 17 s and then succeeds.

    ▶ you  10:06
      does `paperplane refresh --dry-run` also wait, or does it return at once?

    claude  10:06
      It returns at once: --dry-run swaps in a NullClient whose status is always
      200, so the retry loop never sleeps.
    --- exit code 0
    "#);
    insta::assert_snapshot!(json(&env, "show --json 05000001", 2), @r#"
    $ unspool show --json 05000001
    {
      "agent_tokens": {
        "cache_read": 102284,
        "cache_write": 4069,
        "input": 22,
        "output": 1116
      },
      "agents": [
        {
          "agent_id": "a7d31c09be52f4466",
          "answers": 2,
          "bytes": 4587,
          "ended": "2026-03-12T10:05:42.395Z",
          "kind": "Explore",
          "started": "2026-03-12T10:05:12.257Z",
          "title": "Survey Retry-After handling",
          "tokens": {
            "cache_read": 46117,
            "cache_write": 842,
            "input": 11,
            "output": 833
          },
          "tool_uses": 1
        },
        {
          "agent_id": "a0f1e2d3c4b5a6978",
          "answers": 2,
          "bytes": 3460,
          "ended": "2026-07-18T12:00:39.634Z",
          "kind": "workflow-step",
          "started": "2026-07-18T12:00:06.431Z",
          "title": "Undocumented functions in src/auth",
          "tokens": {
            "cache_read": 56167,
            "cache_write": 3227,
            "input": 11,
            "output": 283
          },
          "tool_uses": 1
        }
      ],
      "agents_only": false,
      "background": false,
      "branch": "fix/oauth-429",
      "bytes": 31120,
      "continued_in": null,
      "continues": null,
      "cwd": "/home/dana/code/paperplane",
      "ended": "2026-07-18T12:00:39.634Z",
      "entrypoint": "cli",
      "files_changed": 1,
      "forked_from": null,
      "history_only": false,
      "idle_ms": 0,
      "length_ms": 11066193693,
      "messages": 10,
      "models": [
        "claude-opus-4-6",
        "claude-opus-4-8"
      ],
      "path": "TMP/home/.claude/projects/-home-dana-code-paperplane/05000001-5e55-4000-8000-000500000001.jsonl",
      "project": "/home/dana/code/paperplane",
      "prompts": 2,
      "resumptions": 0,
      "schema": 1,
      "session_id": "05000001-5e55-4000-8000-000500000001",
      "shared": [],
      "shared_tokens": {
        "cache_read": 0,
        "cache_write": 0,
        "input": 0,
        "output": 0
      },
      "source_missing": false,
      "started": "2026-03-12T10:04:05.941Z",
      "title": "Token refresh gives up after the first HTTP 429 from the identity provider, although they send `Retry-After: 17`. I think parseRetryAfter in src/auth/token.rs is to blame. Have an agent survey how the",
      "tokens": {
        "cache_read": 273260,
        "cache_write": 7207,
        "input": 42,
        "output": 2724
      },
      "tool_uses": 6,
      "type": "session"
    }
    {
      "agent_id": null,
      "cwd": "/home/dana/code/paperplane",
      "depth": 0,
      "error": false,
      "files": [],
      "input": null,
      "kind": "prompt",
      "line": 2,
      "model": null,
      "project": "/home/dana/code/paperplane",
      "role": "human",
      "schema": 1,
      "session_id": "05000001-5e55-4000-8000-000500000001",
      "text": "Token refresh gives up after the first HTTP 429 from the identity provider, although they send `Retry-After: 17`. I think parseRetryAfter in src/auth/token.rs is to blame. Have an agent survey how the other clients in this repo deal with Retry-After.",
      "timestamp": "2026-03-12T10:04:05.941Z",
      "tool": null,
      "type": "message",
      "uuid": "05010001-a000-4000-8000-000500010001"
    }
    --- exit code 0
    "#);
    insta::assert_snapshot!(screen(&env, "show 13000001"), @"
    $ unspool show 13000001
    the camera jitters when the golem falls. physics at 60 Hz, rendering at 144 Hz
    /home/dana/games/moss_golem · fix/jitter · 13000001-5e55-4000-8000-001300000001
    2026-03-01 20:50 · 21 min · 5 prompts, 10 messages, 1 tool · opus-4-6
    161k tokens · 7.3 kB

    ── Sun 2026-03-01 ────────────────────────────────────────────────────────────

    you  21:00
      the camera jitters when the golem falls. physics at 60 Hz, rendering at 144 Hz

    claude  21:00 · opus-4-6
      Interpolate: keep the previous and the current physics position and lerp with
      the accumulator's alpha.

    · abandoned branch: 2 messages, from line 3 (--branches shows it)

    you  20:59
      ok interpolate then, in src/render/camera.rs (livebranch)

    claude  20:59
      ▸ Bash cargo run --release -- --fps-overlay # never returned

    you  21:00
      it hung, I closed the window. continue (danglingparent)

    claude  20:50
      Camera::interpolated(alpha) now lerps between prev_pos and pos. The jitter is
      gone at 144 Hz and at 60 Hz. (timestamp of this line is earlier than that of
      the line before)

    · new conversation

    you  21:11
      second root after a rewind: does the same trick work for the particle system?
      (secondroot ocelot)

    claude  21:11
      Yes, but particles are cheap to extrapolate, so you can skip storing the
      previous position.
    --- exit code 0
    ");
}

#[test]
fn files() {
    let env = fixtures();
    insta::assert_snapshot!(screen(&env, &format!("file {FILE}")), @"
    $ unspool file /home/dana/code/paperplane/src/auth/token.rs
    /home/dana/code/paperplane/src/auth/token.rs  2 changes in 1 session

    Token refresh gives up af…  paperplane · fix/oauth-429 · 8 months ago · 05000001
      > Token refresh gives up after the first HTTP 429 from the identity provider,…
        Mar 12 10:05  edit          +1    -1  Edit
        Mar 12 10:05  edit          +3    -0  Edit
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "file --diff token.rs"), @"
    $ unspool file --diff token.rs
    /home/dana/code/paperplane/src/auth/token.rs  2 changes in 1 session

    Token refresh gives up af…  paperplane · fix/oauth-429 · 8 months ago · 05000001
      > Token refresh gives up after the first HTTP 429 from the identity provider,…
        Mar 12 10:05  edit          +1    -1  Edit
    @@ -2,7 +2,7 @@
     use crate::http::{Client, Response};
     use std::time::{Duration, SystemTime};

    -const MAX_ATTEMPTS: u32 = 1;
    +const MAX_ATTEMPTS: u32 = 4;

     #[derive(Debug, thiserror::Error)]
     pub enum RefreshError {
        Mar 12 10:05  edit          +3    -0  Edit
    @@ -20,6 +20,9 @@
     /// Seconds or an HTTP-date (RFC 9110, section 10.2.3).
     #[allow(non_snake_case)]
     pub fn parseRetryAfter(header: &str) -> Option<Duration> {
    +    if let Ok(seconds) = header.trim().parse::<u64>() {
    +        return Some(Duration::from_secs(seconds.min(120)));
    +    }
         if let Ok(when) = httpdate::parse_http_date(header) {
             return when.duration_since(SystemTime::now()).ok();
         }
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "file --all src/auth/"), @"
    $ unspool file --all src/auth/
    /home/dana/code/paperplane/src/auth/token.rs
      2 changes, 1 read, 3 mentions in 1 session

    Token refresh gives up af…  paperplane · fix/oauth-429 · 8 months ago · 05000001
      > does `paperplane refresh --dry-run` also wait, or does it return at once?
        Jul 18 12:00  mention                 Bash  agent: Undocumented functions…
      > Token refresh gives up after the first HTTP 429 from the identity provider,…
        Mar 12 10:05  mention                   agent: Survey Retry-After handling
        Mar 12 10:05  edit          +1    -1  Edit
        Mar 12 10:05  edit          +3    -0  Edit
        Mar 12 10:04  read                    Read
        Mar 12 10:04  mention
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, &format!("recover --list {FILE}")), @"
    $ unspool recover --list /home/dana/code/paperplane/src/auth/token.rs
    /home/dana/code/paperplane/src/auth/token.rs  4 versions, newest first
      2026-03-12 10:05:36  edit       45 lines, 1.5 kB        05000001  Token refresh gives…
      2026-03-12 10:05:16  edit       45 lines, 1.5 kB        05000001  Token refresh gives…
      2026-03-12 10:05:16  found      42 lines, 1.4 kB        05000001  Token refresh gives…
      2026-03-12 10:04:50  found      incomplete              05000001  Token refresh gives…  uncertain
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, &format!("recover {FILE}")), @r#"
    $ unspool recover /home/dana/code/paperplane/src/auth/token.rs
    //! OAuth token refresh. Ported from the TypeScript SDK, hence some camelCase.
    use crate::http::{Client, Response};
    use std::time::{Duration, SystemTime};

    const MAX_ATTEMPTS: u32 = 4;

    #[derive(Debug, thiserror::Error)]
    pub enum RefreshError {
        #[error("identity provider answered {0}")]
        Status(u16),
        #[error("gave up after {0} attempts")]
        Exhausted(u32),
    }

    /// Old linear schedule, kept for the batch importer only.
    pub fn legacy_marmot_backoff(attempt: u32) -> Duration {
        Duration::from_secs(u64::from(attempt) * 3)
    }

    /// Seconds or an HTTP-date (RFC 9110, section 10.2.3).
    #[allow(non_snake_case)]
    pub fn parseRetryAfter(header: &str) -> Option<Duration> {
        if let Ok(seconds) = header.trim().parse::<u64>() {
            return Some(Duration::from_secs(seconds.min(120)));
        }
        if let Ok(when) = httpdate::parse_http_date(header) {
            return when.duration_since(SystemTime::now()).ok();
        }
        None
    }

    pub async fn refresh(client: &Client, refresh_token: &str) -> Result<Response, RefreshError> {
        for attempt in 0..MAX_ATTEMPTS {
            let response = client.post_form("/oauth/token", refresh_token).await;
            if response.status() != 429 {
                return Ok(response);
            }
            if let Some(h) = response.header("retry-after") {
                let delay = parseRetryAfter(h).unwrap_or(Duration::ZERO);
                tracing::warn!(attempt, ?delay, "rate limited");
                tokio::time::sleep(delay).await;
            }
        }
        Err(RefreshError::Exhausted(MAX_ATTEMPTS))
    }
    --- stderr
    unspool: /home/dana/code/paperplane/src/auth/token.rs as of 2026-03-12 10:05:36, session 05000001: every byte is recorded
    --- exit code 0
    "#);
    insta::assert_snapshot!(screen(&env, &format!("blame {FILE}")), @"
    $ unspool blame /home/dana/code/paperplane/src/auth/token.rs
    --- stderr
    unspool: error: failed to open file `/home/dana/code/paperplane/src/auth/token.rs`: No such file or directory (os error 2)
    unspool: hint: `unspool recover` restores deleted files
    --- exit code 2
    ");
}

#[test]
fn lines() {
    let env = checkout();
    insta::assert_snapshot!(screen(&env, "blame home/code/paperplane/src/auth/token.rs"), @r#"
    $ unspool blame home/code/paperplane/src/auth/token.rs
    ~                     changed outside…  1) //! OAuth token refresh. Ported from the TypeScript SDK, hence some camelCase.
    ~                                       2) use crate::http::{Client, Response};
    ~                                       3) use std::time::{Duration, SystemTime};
    ~                                       4)
    05000001 Mar 12 10:05 Token refresh g…  5) const MAX_ATTEMPTS: u32 = 4;
    ~                     changed outside…  6)
    ~                                       7) #[derive(Debug, thiserror::Error)]
    ~                                       8) pub enum RefreshError {
    ~                                       9)     #[error("identity provider answered {0}")]
    ~                                      10)     Status(u16),
    ~                                      11)     #[error("gave up after {0} attempts")]
    ~                                      12)     Exhausted(u32),
    ~                                      13) }
    ~                                      14)
    ~                                      15) /// Old linear schedule, kept for the batch importer only.
    ~                                      16) pub fn legacy_marmot_backoff(attempt: u32) -> Duration {
    ~                                      17)     Duration::from_secs(u64::from(attempt) * 3)
    ~                                      18) }
    ~                                      19)
    -                     no session wrot… 20) /// Seconds or an HTTP-date (RFC 9110, section 10.2.3).
    -                                      21) #[allow(non_snake_case)]
    -                                      22) pub fn parseRetryAfter(header: &str) -> Option<Duration> {
    05000001 Mar 12 10:05 Token refresh g… 23)     if let Ok(seconds) = header.trim().parse::<u64>() {
    05000001 Mar 12 10:05                  24)         return Some(Duration::from_secs(seconds.min(120)));
    05000001 Mar 12 10:05                  25)     }
    -                     no session wrot… 26)     if let Ok(when) = httpdate::parse_http_date(header) {
    -                                      27)         return when.duration_since(SystemTime::now()).ok();
    -                                      28)     }
    -                                      29)     None
    -                                      30) }
    -                                      31)
    -                                      32) pub async fn refresh(client: &Client, refresh_token: &str) -> Result<Response, RefreshError> {
    -                                      33)     for attempt in 0..MAX_ATTEMPTS {
    -                                      34)         let response = client.post_form("/oauth/token", refresh_token).await;
    -                                      35)         if response.status() != 429 {
    -                                      36)             return Ok(response);
    -                                      37)         }
    -                                      38)         if let Some(h) = response.header("retry-after") {
    -                                      39)             let delay = parseRetryAfter(h).unwrap_or(Duration::ZERO);
    -                                      40)             tracing::warn!(attempt, ?delay, "rate limited");
    -                                      41)             tokio::time::sleep(delay).await;
    -                                      42)         }
    -                                      43)     }
    -                                      44)     Err(RefreshError::Exhausted(MAX_ATTEMPTS))
    -                                      45) }
    ~                     changed outside… 46) // by hand
    --- exit code 0
    "#);
    insta::assert_snapshot!(screen(&env, "why home/code/paperplane/src/auth/token.rs:23"), @"
    $ unspool why home/code/paperplane/src/auth/token.rs:23
    ~/code/paperplane/src/auth/token.rs:23
          if let Ok(seconds) = header.trim().parse::<u64>() {

    Token refresh gives up af…  paperplane · fix/oauth-429 · 8 months ago · 05000001
      edit with Edit, 2026-03-12 10:05:16

    you
      Token refresh gives up after the first HTTP 429 from the identity provider, a…

    claude
      parseRetryAfter is a strange name for Rust; probably ported from the TypeScri…

    claude
      Two bugs met here:

      1. `parseRetryAfter` understood only the HTTP-date form. `17` is delta-second…
      2. `MAX_ATTEMPTS` was 1, so the loop never got a second chance anyway.

      It now reads both forms, caps the wait at 120 s and tries four times. HTTP 42…

    @@ -20,6 +20,9 @@
     /// Seconds or an HTTP-date (RFC 9110, section 10.2.3).
     #[allow(non_snake_case)]
     pub fn parseRetryAfter(header: &str) -> Option<Duration> {
    +    if let Ok(seconds) = header.trim().parse::<u64>() {
    +        return Some(Duration::from_secs(seconds.min(120)));
    +    }
         if let Ok(when) = httpdate::parse_http_date(header) {
             return when.duration_since(SystemTime::now()).ok();
         }

    read it: unspool show 05000001-5e55-4000-8000-000500000001 --around 05010009-a000-4000-8000-000500010009
    resume it: cd TMP/home/code/paperplane && claude --resume 05000001-5e55-4000-8000-000500000001
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "why home/code/paperplane/src/auth/token.rs:28"), @"
    $ unspool why home/code/paperplane/src/auth/token.rs:28
    ~/code/paperplane/src/auth/token.rs:28
          }

    no session wrote this: it was in the file before the first session saw it
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "why home/code/paperplane/src/auth/token.rs:46"), @"
    $ unspool why home/code/paperplane/src/auth/token.rs:46
    ~/code/paperplane/src/auth/token.rs:46
      // by hand

    changed outside of sessions after 2026-03-12 10:05:36
    --- exit code 0
    ");
}

#[test]
fn figures() {
    let env = Env::with_fixtures("home");
    index(&env);
    insta::assert_snapshot!(screen(&env, "stats"), @"
    $ unspool stats
    time      2025-06-14 to 2026-10-02, 50 active days, longest streak 6
    activity  94 prompts in 55 sessions, 194 responses
    tools     105 tool calls, 3.8 % failed
    turns     median 14 s, 90 % within 1 min 27 s
    tokens    5.93M  input 989 · cache write 227k · cache read 5.63M · output 69.5k
    cache     96.1 % of the input came from the cache
    cost      $4.88+?  estimated from API prices of 2026-10-10; 639k tokens unpriced

    model                       responses  tokens  output   cost  over time
    claude-opus-4-6                   110   3.42M   40.2k  $3.43        ▁█▅▃
    claude-opus-4-8                    24    754k   8.19k  $0.75             ▂█▅
    claude-sonnet-4-20250514           25    724k   9.02k  $0.44  █▆
    claude-sonnet-4-5-20250929         14    398k   4.67k  $0.26      █▃
    glm-4.7                            19    575k   6.76k      ?          █
    (unknown)                           1   42.1k     491      ?              █
    … and 1 more

    project                       prompts  tokens  output     cost
    /home/dana/code/paperplane         20   1.25M   12.7k  $1.11+?  ██████████████
    /home/dana/code/lantern-shop       15   1.11M   14.2k    $1.02  ████████████▉
    /home/dana/work/tidepool           16    961k   9.92k  $0.81+?  ██████████▎
    /home/dana/games/moss_golem         7    408k   4.81k    $0.42  █████▍
    …/dana/sites/notes.dana.dev         6    552k   6.76k    $0.42  █████▎
    … and 16 more

    tool  calls  failed
    Bash     30   6.7 %  ████████████████████████
    Edit     18   5.6 %  ██████████████▍
    Read     18   0.0 %  ██████████████▍
    Grep      8   0.0 %  ██████▍
    Task      4   0.0 %  ███▎
    … and 23 more

    most edited file                                   edits
    /home/dana/code/paperplane/src/auth/token.rs           2
    /home/dana/games/moss_golem/src/ai/astar.rs            2
    /home/dana/sites/notes.dana.dev/sass/_layout.scss      2
    /Users/dana/代码/图书管理/查询/借阅.py                 1
    /home/dana/code/lantern-shop/Dockerfile.slim           1

          Oct Nov Dec  Jan Feb Mar  Apr May Jun  Jul Aug  Sep
    Mon  ······················█▓··█░·▒▓···················▓··
    Tue  ·········▒·······░·▓·▓··········▒················░···
    Wed  ···················▓█·····░░···█··········░··········
    Thu  ·················░····▓█·▓░·····█···········█········
    Fri  ·········▒············░·█·░···················▓·····▓
    Sat  ········█··░··············░░▒············▒······░···
    Sun  ················░····▓··▓·░····················▒····
         responses per day, less ·░▒▓█ more

    prompts by hour       ▁▁      ▁▁▂▂▇▇██▄▄▅▅▂▂▃▃▃▃▂▂▂▂▁▁▂▂▂▂▂▂▂▂▁▁▁▁  most at 9:00
                      0           6           12          18
    prompts by day    Mon ▇▇  Tue ▅▅  Wed ▃▃  Thu ██  Fri ▅▅  Sat ▃▃  Sun ▄▄
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "stats --by project"), @r"
    $ unspool stats --by project

    project                 prompts  resp.  input  cache w  cache r  output     cost
    …/dana/code/paperplane       20     37    190    37.9k    1.20M   12.7k  $1.11+?
    …/code/lantern-shop          15     36    162    38.4k    1.05M   14.2k    $1.02
    …/dana/work/tidepool         16     34    187    39.3k     912k   9.92k  $0.81+?
    …/games/moss_golem            7     12     63    17.9k     385k   4.81k    $0.42
    …/sites/notes.dana.dev        6     19    105    27.8k     517k   6.76k    $0.42
    /home/dana/code/장부앱        3      6     35    4.23k     193k   3.02k    $0.20
    …/sites/recipe-box            8      7     40    8.08k     162k   2.44k    $0.19
    …/dana/代码/图书管理          2      5     28    7.51k     147k   2.23k    $0.18
    …/dana/code/献立メモ          1      3     14    3.38k    75.0k   1.23k    $0.09
    …/dana/code/🚀launcher        2      2      9    3.41k    65.2k     635    $0.07
    /home/dana/code/kettle        2      2     15    1.64k    76.8k     800    $0.07
    …/tidepool/tidepool           2      3     15    2.13k    95.9k   1.30k    $0.06
    …/dana/проекты/погода         2      2     10    3.88k    34.9k   1.08k    $0.04
    …/kettle/firmware/boot        1      1      7    1.11k    26.5k     488    $0.03
    …/old-place/teapot            1      1      7    1.58k    37.9k      15    $0.03
    D:\Lager\Kasse                1      1      5    1.69k    15.6k     405    $0.03
    …/dana/.config/nvim           1      1      6    1.73k    14.6k     349    $0.03
    …/tax tool (2025)             1      1      6    2.19k    18.6k     124    $0.03
    …/dana/code/nightly-ci        1      1      6      611    28.6k     247    $0.02
    …\repos\Kassenbuch.Web        1      1      4    1.28k    31.0k      30    $0.02
    …\Projekte\Frachtbrief        1     19     75    21.5k     546k   6.76k        ?
    total                        94    194    989     227k    5.63M   69.5k  $4.88+?
    cost: estimated from API prices of 2026-10-10; 639k tokens unpriced
    --- exit code 0
    ");
}

#[test]
fn the_index() {
    let env = Env::with_fixtures("home");
    set_file_times(&env);
    insta::assert_snapshot!(screen(&env, "status"), @"
    $ unspool status
    --- stderr
    unspool: error: there is no index yet
    unspool: hint: run `unspool index`
    --- exit code 4
    ");
    insta::assert_snapshot!(screen(&env, "index"), @"
    $ unspool index
    indexed 71 files (71 new): 592 documents from 494.2 kB in 0.0 s
    3 lines could not be read as records; `unspool status --problems` lists them
    --- exit code 3
    ");
    insta::assert_snapshot!(screen(&env, "index"), @"
    $ unspool index
    indexed 71 files (71 unchanged): 0 documents from 0 B in 0.0 s
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "status"), @"
    $ unspool status
    index        ~/.local/share/unspool/index-1-HASH
    roots        TMP/home/.claude, TMP/home/.config/claude
    size         SIZE kB in 1 segment, SHARE % of the transcript size
    contents     592 documents from 58 sessions, 11 subagents, 1 spilled output
    state        up to date
    problems     3 (`unspool status --problems` lists them)
    retention    Claude Code deletes sessions after 30 days (its default): the first of 58 on 2026-12-01; all are indexed
    schedule     no runs yet (`unspool schedule install` sets up regular runs)
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "status --problems"), @"
    $ unspool status --problems
    ~/.claude/projects/-home-dana-work-tidepool/24000001-5e55-4000-8000-002400000001.jsonl:39: JSON, but not a record
    ~/.claude/projects/-home-dana-work-tidepool/24000001-5e55-4000-8000-002400000001.jsonl:40: JSON, but not a record
    ~/.claude/projects/-home-dana-work-tidepool/24000001-5e55-4000-8000-002400000001.jsonl:41: not a JSON record
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "verify"), @"
    $ unspool verify
    ok: 71 files and 592 documents checked
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "config"), @"
    $ unspool config
    file       ~/.config/unspool/config.toml  (does not exist; `unspool config init` writes it)
    roots      ~/.claude, ~/.config/claude  built in
    index_dir  ~/.local/share/unspool       UNSPOOL_INDEX_DIR
    color      auto                         CLICOLOR_FORCE
    pager      less -FRX                    built in
    limit      10                           built in
    prices     of 2026-10-10                built in
    --- exit code 0
    ");
}

#[test]
fn backups() {
    let env = Env::with_fixtures("home");
    index(&env);
    std::fs::remove_file(
        env.claude().join("projects/-home-dana-code-paperplane").join("12000001-5e55-4000-8000-001200000001.jsonl"),
    )
    .expect("removed");
    insta::assert_snapshot!(screen(&env, "backup b.zst"), @"
    $ unspool backup b.zst
    wrote TMP/b.zst: 1 transcript with 15 documents, SIZE kB
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "backup b.zst"), @"
    $ unspool backup b.zst
    nothing new: TMP/b.zst is intact and contains everything (1 transcript with 15 documents, SIZE kB)
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "restore b.zst"), @"
    $ unspool restore b.zst
    nothing to restore: the index has everything in this backup
    --- exit code 0
    ");
}

#[test]
fn schedules() {
    let env = Env::new();
    let bin = env.path().join("bin");
    std::fs::create_dir_all(&bin).expect("made");
    symlink(env!("CARGO_BIN_EXE_unspool"), bin.join("unspool")).expect("linked");
    for (name, script) in [("systemctl", "#!/bin/sh\necho Version=252\n"), ("crontab", "#!/bin/sh\n")] {
        std::fs::write(bin.join(name), script).expect("written");
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).expect("set");
    }
    insta::assert_snapshot!(screen(&env, "schedule install --dry-run"), @"
    $ unspool schedule install --dry-run
    # write TMP/home/.config/systemd/user/unspool-index.service
    # Written by `unspool schedule install`; `unspool schedule uninstall` removes it.
    [Unit]
    Description=unspool: update the index

    [Service]
    Type=oneshot
    ExecStart=TMP/bin/unspool index --quiet --scheduled --index-dir TMP/home/.local/share/unspool
    UnsetEnvironment=UNSPOOL_ROOTS CLAUDE_CONFIG_DIR
    SuccessExitStatus=3
    TimeoutStartSec=1h
    Nice=10
    CPUSchedulingPolicy=idle
    IOSchedulingClass=idle
    MemoryMax=512M
    UMask=0077
    NoNewPrivileges=yes
    RestrictAddressFamilies=AF_UNIX
    # write TMP/home/.config/systemd/user/unspool-index.timer
    # Written by `unspool schedule install`; `unspool schedule uninstall` removes it.
    [Unit]
    Description=unspool: update the index every hour

    [Timer]
    OnCalendar=*-*-* *:00:00
    Persistent=true

    [Install]
    WantedBy=timers.target
    # run
    TMP/bin/systemctl --user daemon-reload
    # run
    TMP/bin/systemctl --user enable unspool-index.timer
    # run
    TMP/bin/systemctl --user restart unspool-index.timer
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "schedule install --backend cron --every 15m --dry-run"), @"
    $ unspool schedule install --backend cron --every 15m --dry-run
    # keep a copy of the crontab in TMP/home/.local/share/unspool/crontab.before
    # run
    TMP/bin/crontab -
    # with the input
    # >>> unspool >>>
    # Written by `unspool schedule install`; `unspool schedule uninstall` removes these lines.
    */15 * * * * TMP/bin/unspool index --quiet --scheduled --index-dir TMP/home/.local/share/unspool
    # <<< unspool <<<
    --- exit code 0
    ");
}

#[test]
fn help() {
    let env = Env::new();
    insta::assert_snapshot!(screen(&env, "--help"), @"
    $ unspool --help
    Full-text search over everything you and Claude Code ever said or did

    Claude Code stores every conversation in a file and deletes it after 30 days.
    unspool indexes them all, searches them in milliseconds, and keeps what Claude
    Code has deleted. Nothing leaves this machine, and no transcript is ever
    changed.

    Usage: unspool [OPTIONS] <COMMAND>

    Commands:
      search       Search sessions and messages
      tui          Search as you type, read conversations, resume them
      pick         Choose a session and print its id: ID=$(unspool pick)
      file         Show which sessions created, changed, renamed or deleted a file
      blame        Show which session wrote each line of a file
      why          Explain the origin of one line: the prompt, the replies, the
                   change and earlier versions
      recover      Print an earlier version of a file, rebuilt from recorded
                   sessions
      sessions     List all sessions, newest first
      show         Show a conversation
      resume       Continue a session in Claude Code
      export       Write conversations to files that can be shared
      index        Update the index
      stats        Show where time and tokens went
      status       Show the state of the index, and what could not be read
      verify       Check that the index is intact and matches the transcripts
      prune        Remove sessions whose transcripts Claude Code has deleted
      forget       Permanently erase one session from the index
      backup       Save the sessions that exist only in the index to one file
      restore      Add the sessions of a backup to the index
      schema       Print the JSON Schema of the --json output
      config       Show or change the configuration
      completions  Print a completion script for a shell
      init         Print completions and a key binding for your shell
      man          Print the manual page, or write all manual pages to a folder
      help         Show help for a command or a topic: query, environment,
                   exit-codes
      schedule     Update the index regularly with systemd, launchd or cron
      hook         Update the index from Claude Code's hooks
      mcp          Serve coding agents over MCP, or add the server to clients
      plugin       Install the plugin for Claude Code: MCP server, skill and hooks
      watch        Keep the index up to date while sessions are written

    Options:
      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Where:
          --root <DIR>
              Search for sessions in this folder instead of ~/.claude; can be
              repeated

          --index-dir <DIR>
              Keep the index in this folder [env: UNSPOOL_INDEX_DIR]

    Output:
          --color <WHEN>
              When to use colours: auto, always, never

              With always, a pipe gets the same output as a terminal, for `less -R`
              and fzf. CLICOLOR_FORCE=1 does the same.

    Examples:
      unspool oauth retry              search sessions (short for `unspool search
      …`)
      unspool search -F 'error[E0603]' search for literal text
      unspool search --json token.rs   one JSON object per hit, for programs
      unspool stats --by project       where tokens and money went
      unspool index                    update the index (search does this
      automatically)

    More help: unspool help query, unspool help environment, unspool help exit-codes

    Environment:
      UNSPOOL_ROOTS      folders to search, separated as in PATH; --root overrides
      it
      CLAUDE_CONFIG_DIR  Claude Code's own setting, separated by commas;
      UNSPOOL_ROOTS overrides it
      UNSPOOL_INDEX_DIR  where the index is kept; --index-dir overrides it
      UNSPOOL_CONFIG     the configuration file; `unspool config` shows all settings
      NO_COLOR, CLICOLOR, CLICOLOR_FORCE, COLUMNS  as in other programs

    Files:
      The index is in your system's data folder (on Linux ~/.local/share/unspool),
      in one folder per set of roots,
      readable only by you. It also contains what Claude Code has deleted: `unspool
      backup` copies that to one file.

    Exit codes:
      0    found, or done                  4    the index is damaged, foreign or too
      new
      1    nothing found                   5    another run is in progress
      2    wrong usage, or failure         6    no space, or no permission
      3    done, but with problems         130  interrupted; what was done is kept
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "backup --help"), @"
    $ unspool backup --help
    Save the sessions that exist only in the index to one file

    These are the sessions whose transcripts Claude Code has deleted. The file is
    zstd-compressed JSON Lines with a checksum, readable without unspool, and only
    by you. An existing backup is updated and keeps what only it contains, except
    sessions erased by `unspool forget`. It is replaced only after the new file was
    read back without errors.

    Usage: unspool backup [OPTIONS] <FILE>

    Arguments:
      <FILE>
              The backup; a new file, or an existing backup

    Options:
          --all
              Include sessions whose transcripts still exist

          --json
              Report as one JSON object

          --no-refresh
              Use the index as it is, without reading new messages first

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Where:
          --root <DIR>
              Search for sessions in this folder instead of ~/.claude; can be
              repeated

          --index-dir <DIR>
              Keep the index in this folder [env: UNSPOOL_INDEX_DIR]

    Output:
          --color <WHEN>
              When to use colours: auto, always, never

              With always, a pipe gets the same output as a terminal, for `less -R`
              and fzf. CLICOLOR_FORCE=1 does the same.

    Examples:
      unspool backup ~/sessions.zst      write a backup, or update it
      zstdcat ~/sessions.zst | less      read it without unspool
      unspool restore ~/sessions.zst     put it back into an index
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "-h"), @"
    $ unspool -h
    Full-text search over everything you and Claude Code ever said or did

    Usage: unspool [OPTIONS] <COMMAND>

    Commands:
      search       Search sessions and messages
      tui          Search as you type, read conversations, resume them
      pick         Choose a session and print its id: ID=$(unspool pick)
      file         Show which sessions created, changed, renamed or deleted a file
      blame        Show which session wrote each line of a file
      why          Explain the origin of one line: the prompt, the replies, the
                   change and earlier versions
      recover      Print an earlier version of a file, rebuilt from recorded
                   sessions
      sessions     List all sessions, newest first
      show         Show a conversation
      resume       Continue a session in Claude Code
      export       Write conversations to files that can be shared
      index        Update the index
      stats        Show where time and tokens went
      status       Show the state of the index, and what could not be read
      verify       Check that the index is intact and matches the transcripts
      prune        Remove sessions whose transcripts Claude Code has deleted
      forget       Permanently erase one session from the index
      backup       Save the sessions that exist only in the index to one file
      restore      Add the sessions of a backup to the index
      schema       Print the JSON Schema of the --json output
      config       Show or change the configuration
      completions  Print a completion script for a shell
      init         Print completions and a key binding for your shell
      man          Print the manual page, or write all manual pages to a folder
      help         Show help for a command or a topic: query, environment,
                   exit-codes
      schedule     Update the index regularly with systemd, launchd or cron
      hook         Update the index from Claude Code's hooks
      mcp          Serve coding agents over MCP, or add the server to clients
      plugin       Install the plugin for Claude Code: MCP server, skill and hooks
      watch        Keep the index up to date while sessions are written

    Options:
      -h, --help     Print help (see more with '--help')
      -V, --version  Print version

    Where:
          --root <DIR>       Search for sessions in this folder instead of
                             ~/.claude; can be repeated
          --index-dir <DIR>  Keep the index in this folder [env: UNSPOOL_INDEX_DIR]

    Output:
          --color <WHEN>  When to use colours: auto, always, never

    Examples:
      unspool oauth retry              search sessions (short for `unspool search
      …`)
      unspool search -F 'error[E0603]' search for literal text
      unspool search --json token.rs   one JSON object per hit, for programs
      unspool stats --by project       where tokens and money went
      unspool index                    update the index (search does this
      automatically)

    More help: unspool help query, unspool help environment, unspool help exit-codes
    Exit codes: 0 found or done, 1 nothing found, 2 wrong usage or failure, 3 done
    with problems,
      4 index unusable, 5 busy, 6 no space or no permission, 130 interrupted
    --- exit code 0
    ");
    insta::assert_snapshot!(screen(&env, "search --help"), @r#"
    $ unspool search --help
    Search sessions and messages

    Plain words just work: messages that match more words, and rarer ones, come
    first. Identifiers match as a whole and by their parts, in any style: retry
    after, retryAfter, RETRY_AFTER.

    Also: "exact phrase", -not, this OR that, prefix*, tool:Bash, since:2d, /regex/.
    See `unspool help query`.

    Usage: unspool search [OPTIONS] [QUERY]... [-- <TEXT>...]

    Arguments:
      [QUERY]...
              Words to search for

              Optional with a filter; the newest messages then come first.

      [TEXT]...
              Words without operators: `unspool search -- -rf`

    Options:
      -F, --fixed-strings
              Treat the query as literal text

      -i, --ignore-case
              With -F, ignore case; words always match in any case

      -n, --limit <N>
              Show the best N sessions, or with --messages the best N messages

              The default is 10, or as configured; -l, -c and --paths list all.

      -m, --max-count <N>
              Show at most N hits per session

          --messages
              Show one list of messages instead of grouping them by session

          --sort <ORDER>
              Sort order

              Possible values:
              - relevance: Best first
              - newest:    Newest first
              - oldest:    Oldest first

              [default: relevance]

          --cursor CURSOR
              Show the page after this cursor, printed by the previous search

          --meta
              Also search text that Claude Code itself inserted: hooks, reminders,
              skills

          --no-refresh
              Use the index as it is, without reading new messages first

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Filters (also in the query: role:human, since:2d, -tool:Bash):
          --role <ROLE>
              Speaker: human, assistant, tool, subagent, programmatic, meta

          --kind <KIND>
              Kind of message: prompt, text, thinking, tool_use, tool_result,
              command, title, …

          --tool <TOOL>
              Tool, by name or part of it

          --file <PATH|GLOB>
              File involved: a path, the end of a path, a folder or a glob

      -p, --project <NAME|PATH>
              Project, by name, part of it, or path

          --here
              Only messages from the current repository and its worktrees, or from
              the current folder and below

          --cwd <DIR>
              Working directory or a parent of it: a path, or the end of a path

          --session <ID>
              Session, by id or the start of it

          --branch <BRANCH>
              Git branch, by name or part of it

          --model <MODEL>
              Model, by name or part of it

          --since <DATE>
              Not before this date: 2d, yesterday, last monday, 2026-03, …

              [alias: --after]

          --until <DATE>
              Not after this date; includes the whole day, month or year given

              [alias: --before]

          --errors
              Only messages that report an error

          --agents
              Only messages of subagents

          --no-agents
              No messages of subagents

          --include-current
              Include the Claude Code session that runs this command; --session with
              its id does too

    Output:
          --color <WHEN>
              When to use colours: auto, always, never

              With always, a pipe gets the same output as a terminal, for `less -R`
              and fzf. CLICOLOR_FORCE=1 does the same.

      -B, --before-context <N>
              Show N messages before each hit

      -A, --after-context <N>
              Show N messages after each hit

      -C, --context <N>
              Show N messages before and after each hit

      -l, --list
              Print only the ids of sessions with hits; all of them unless -n is
              given

      -c, --count
              Print only the number of hits per session; all sessions unless -n is
              given

          --paths
              Print only the paths of transcripts with hits; all of them unless -n
              is given

      -0, --null
              End entries of -l, -c and --paths with a NUL byte, for xargs -0

      -q, --quiet
              Print nothing; exit with 0 if something is found, 1 if not

          --reveal
              Show keys, tokens and passwords instead of masking them

          --explain
              Explain the score of each hit

          --json
              Print one JSON object per line: the hits, then a summary (see `unspool
              schema`)

          --format <FORMAT>
              Output format: agent is compact text for coding agents, as returned by
              `unspool mcp`

              Possible values:
              - agent: Compact text for coding agents

          --budget <CHARS>
              With --format agent, the maximum number of characters

    Where:
          --root <DIR>
              Search for sessions in this folder instead of ~/.claude; can be
              repeated

          --index-dir <DIR>
              Keep the index in this folder [env: UNSPOOL_INDEX_DIR]
    --- exit code 0
    "#);
}

#[test]
fn errors() {
    let env = fixtures();
    insta::assert_snapshot!(screen(&env, "show abcd1234"), @r#"
    $ unspool show abcd1234
    --- stderr
    unspool: error: no session, subagent or message begins with "abcd1234"
    unspool: hint: `unspool sessions` lists all sessions
    --- exit code 1
    "#);
    insta::assert_snapshot!(screen(&env, "show 0500"), @r#"
    $ unspool show 0500
    --- stderr
    unspool: error: 2 sessions begin with "0500"
    unspool: hint: one of: 05000001-5e55-4000-8000-000500000001, 05000098-5e55-4000-8000-000500000098
    --- exit code 2
    "#);
    insta::assert_snapshot!(screen(&env, "search --sicne 2d retry"), @"
    $ unspool search --sicne 2d retry
    --- stderr
    unspool: error: unexpected argument '--sicne' found

      tip: a similar argument exists: '--since'
      tip: to pass '--sicne' as a value, use '-- --sicne'

    Usage: unspool search --since <DATE> [QUERY]... [-- <TEXT>...]

    For more information, try '--help'.
    --- exit code 2
    ");
    insta::assert_snapshot!(screen(&env, "search since:blah retry"), @r#"
    $ unspool search since:blah retry
    --- stderr
    unspool: error: cannot read "blah" as a date
      since:blah retry
      ^^^^^^^^^^
    unspool: hint: use one of: now, today, yesterday, noon, monday, last friday, this week, last month, 2d, 3h, 6mo, 1d6h, 2 days ago, 2026, 2026-03, 2026-03-01, 2026-03-01 14:30, RFC 3339, @1700000000; to search for it as text, quote it: "since:blah"
    --- exit code 2
    "#);
    insta::assert_snapshot!(screen(&env, "forget 05000001"), @"
    $ unspool forget 05000001
    --- stderr
    unspool: error: this removes data permanently, and there is no terminal to confirm on; run it again with --yes
    --- exit code 2
    ");
}
