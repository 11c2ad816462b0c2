//! `unspool schedule`, with fake schedulers that log their calls and keep their state in files. Also F25 and F26 of the
//! fault catalogue.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::env::{Env, Ran};
use crate::support::process::{can_trace, skip, tool, under, works};
use crate::support::transcript::{session, user_line};

/// Refuses to enable a unit that does not exist, as the real one does.
const SYSTEMCTL: &str = r#"
case "$2" in
show) case "$3" in *.timer) cat "$dir/timer" ;; *.service) cat "$dir/service" ;; *) echo Version=252 ;; esac ;;
enable) shift 2; for unit; do test -f "$HOME/.config/systemd/user/$unit" || exit 1; : > "$dir/on-$unit"; done ;;
disable) rm -f "$dir/on-$4" ;;
is-enabled|is-active) test -e "$dir/on-$3" ;;
esac"#;
const CRONTAB: &str = r#"
case "$1" in
-l) if test -e "$dir/table"; then cat "$dir/table"; else echo "no crontab for u" >&2; exit 1; fi ;;
-) cat > "$dir/table" ;;
-r) rm "$dir/table" ;;
*) exit 1 ;;
esac"#;
const LAUNCHCTL: &str = r#"
case "$1" in
print) test -e "$dir/loaded-${2##*/}" || exit 113; cat "$dir/print" ;;
bootout) test -e "$dir/loaded-${2##*/}" || exit 3; rm "$dir/loaded-${2##*/}" ;;
bootstrap) name=$(basename "$3" .plist); test -f "$3" || exit 1; test -e "$dir/loaded-$name" && exit 5; : > "$dir/loaded-$name" ;;
esac"#;

/// A home with only these schedulers.
fn home_with(schedulers: &[(&str, &str)]) -> Env {
    let env = Env::new();
    let dir = bin(&env);
    std::fs::create_dir_all(&dir).expect("made");
    std::fs::create_dir_all(state_file(&env, "")).expect("made");
    for (name, script) in schedulers {
        fake(&env, &dir, name, script);
    }
    for (file, text) in [
        ("timer", "ActiveState=active\nNextElapseUSecRealtime=Mon 2026-11-16 12:15:00 UTC\nLastTriggerUSec=n/a\n"),
        ("service", "Result=success\nExecMainStatus=0\nExecMainExitTimestamp=\nActiveState=inactive\n"),
        ("print", "gui/0/dev.unspool.index = {\n\tstate = not running\n\truns = 3\n\tlast exit code = 0\n}\n"),
    ] {
        std::fs::write(state_file(&env, file), text).expect("written");
    }
    symlink(env!("CARGO_BIN_EXE_unspool"), dir.join("unspool")).expect("linked");
    env
}

fn fake(env: &Env, dir: &Path, name: &str, script: &str) {
    let state = state_file(env, "");
    let state = state.display();
    let text = format!("#!/bin/sh\ndir='{state}'\nprintf '{name} %s\\n' \"$*\" >> \"$dir/calls\"\n{script}\n");
    std::fs::write(dir.join(name), text).expect("written");
    std::fs::set_permissions(dir.join(name), std::fs::Permissions::from_mode(0o755)).expect("set");
}

fn bin(env: &Env) -> PathBuf {
    env.path().join("bin")
}

/// A file with the state of the schedulers.
fn state_file(env: &Env, name: &str) -> PathBuf {
    env.path().join("state").join(name)
}

/// The calls of the schedulers since the last time; queries that change nothing are left out.
fn calls(env: &Env) -> Vec<String> {
    let calls = std::fs::read_to_string(state_file(env, "calls")).unwrap_or_default();
    let _ = std::fs::remove_file(state_file(env, "calls"));
    let questions = [" show ", " is-", "crontab -l", " print "];
    calls.lines().filter(|call| !questions.iter().any(|part| call.contains(part))).map(str::to_string).collect()
}

fn command(env: &Env) -> Command {
    let mut command = env.command();
    // The system's own tools come last: sh and systemd-analyze need them.
    command.env("PATH", format!("{}:/usr/bin:/bin", bin(env).display()));
    command.env("UNSPOOL_TOOLS", format!("{}:/usr/bin:/bin", bin(env).display()));
    command
}

fn schedule(env: &Env, args: &[&str]) -> Ran {
    Ran::from(command(env).arg("schedule").args(args).output().expect("ran"))
}

/// Runs a command that must succeed and print nothing but hints to stderr.
fn succeed(env: &Env, args: &[&str]) -> String {
    let ran = schedule(env, args);
    let quiet = ran.stderr.lines().all(|line| line.starts_with("unspool: hint: "));
    assert!(ran.code == 0 && quiet, "{args:?}: {} {} {}", ran.code, ran.stdout, ran.stderr);
    ran.stdout
}

fn unit(env: &Env, name: &str) -> PathBuf {
    env.path().join("home/.config/systemd/user").join(name)
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("read")
}

#[test]
fn systemd_install_status_uninstall_and_again() {
    let env = home_with(&[("systemctl", SYSTEMCTL)]);
    for _ in 0..2 {
        assert_eq!(succeed(&env, &["install", "--every", "15m"]), "installed: index every 15 minutes, by systemd\n");
        assert_eq!(
            calls(&env),
            [
                "systemctl --user daemon-reload",
                "systemctl --user enable unspool-index.timer",
                "systemctl --user restart unspool-index.timer",
            ]
        );
        let service = read(unit(&env, "unspool-index.service"));
        let program = bin(&env).join("unspool");
        let command = format!(
            "ExecStart={} index --quiet --scheduled --index-dir {}\n",
            program.display(),
            env.index_dir().display()
        );
        assert!(service.contains(&command), "it must be the name in PATH, which survives an upgrade: {service}");
        assert!(read(unit(&env, "unspool-index.timer")).contains("\nOnCalendar=*-*-* *:00/15:00\nPersistent=true\n"));
        let mode = std::fs::metadata(unit(&env, "unspool-index.service")).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        assert_eq!(
            succeed(&env, &["install", "--every", "15m"]),
            "already up to date: index every 15 minutes, by systemd\n"
        );
        assert_eq!(calls(&env), [""; 0], "a second install must change nothing");
        let expected = format!(
            "index by systemd: *-*-* *:00/15:00\n  next     Mon 2026-11-16 12:15:00 UTC\n  last     never\n  \
             program  {}\n  log      journalctl --user -u unspool-index.service\n",
            program.display()
        );
        assert_eq!(succeed(&env, &["status"]), expected);

        assert_eq!(succeed(&env, &["uninstall"]), "removed; nothing is scheduled now\n");
        assert_eq!(
            calls(&env),
            [
                "systemctl --user disable --now unspool-index.timer",
                "systemctl --user reset-failed unspool-index.service",
                "systemctl --user daemon-reload",
            ]
        );
        assert_eq!(std::fs::read_dir(unit(&env, "")).expect("listed").count(), 0);
        assert_eq!(succeed(&env, &["uninstall"]), "nothing is scheduled\n");
        let ran = schedule(&env, &["status"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, "nothing is scheduled (`unspool schedule install`)\n"));
    }
}

#[test]
fn a_new_time_replaces_the_old_one() {
    let env = home_with(&[("systemctl", SYSTEMCTL)]);
    succeed(&env, &["install", "--rebuild", "weekly", "--verify", "daily"]);
    assert!(read(unit(&env, "unspool-index.timer")).contains("OnCalendar=*-*-* *:00:00\n"));
    assert!(read(unit(&env, "unspool-rebuild.timer")).contains("OnCalendar=Sun *-*-* 04:20:00\n"));
    assert!(read(unit(&env, "unspool-rebuild.service")).contains(" index --quiet --scheduled --rebuild --wait 900 "));
    assert!(read(unit(&env, "unspool-verify.timer")).contains("OnCalendar=*-*-* 05:40:00\n"));
    assert!(read(unit(&env, "unspool-verify.service")).contains(" verify --scheduled "));
    calls(&env);
    assert_eq!(
        succeed(&env, &["install", "--daily", "03:00", "--verify", "daily"]),
        "installed: index every day at 03:00, verify every day at 05:40, by systemd\n"
    );
    assert_eq!(
        calls(&env),
        [
            "systemctl --user disable --now unspool-rebuild.timer",
            "systemctl --user reset-failed unspool-rebuild.service",
            "systemctl --user daemon-reload",
            "systemctl --user enable unspool-index.timer unspool-verify.timer",
            "systemctl --user restart unspool-index.timer unspool-verify.timer",
        ]
    );
    assert!(!unit(&env, "unspool-rebuild.timer").is_file());
}

#[test]
fn systemd_accepts_the_units() {
    if !works("systemd-analyze", &["--version"]) {
        return skip("no systemd-analyze");
    }
    let env = home_with(&[("systemctl", SYSTEMCTL)]);
    let index = env.path().join("an index $HOME;x");
    let installed = command(&env)
        .env("CLAUDE_CONFIG_DIR", env.claude())
        .arg("--index-dir")
        .arg(&index)
        .args(["schedule", "install", "--rebuild", "monthly", "--verify", "weekly", "--every", "6h"])
        .output()
        .expect("ran");
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    for task in ["index", "rebuild", "verify"] {
        let verified = tool("systemd-analyze")
            .args(["--user", "verify", "--man=no"])
            .arg(unit(&env, &format!("unspool-{task}.timer")))
            .env("XDG_RUNTIME_DIR", env.path())
            .env("HOME", env.path().join("home"))
            .output()
            .expect("ran");
        let stderr = String::from_utf8_lossy(&verified.stderr);
        assert!(verified.status.success() && !stderr.contains("unspool"), "{task}: {stderr}");
    }
    let service = read(unit(&env, "unspool-index.service"));
    assert!(service.contains("--index-dir \"") && service.contains("an index $$HOME;x\""), "{service}");
    assert!(service.contains(&format!("\nEnvironment=\"CLAUDE_CONFIG_DIR={}\"\n", env.claude().display())));
}

#[test]
fn times_are_checked_before_anything_is_written() {
    let env = home_with(&[("systemctl", SYSTEMCTL), ("crontab", CRONTAB)]);
    for args in [
        ["--every", "7m"],
        ["--every", "0m"],
        ["--daily", "25:00"],
        ["--calendar", "a\nExecStart=/bin/sh"],
        ["--calendar", "50% of noon"],
    ] {
        let ran = schedule(&env, &[&["install"][..], &args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ran.stderr.contains("error:"), "{}", ran.stderr);
    }
    let ran = schedule(&env, &["install", "--backend", "cron", "--calendar", "61 * * * *"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("cron does not understand the time") && ran.stderr.contains("five fields"));
    assert_eq!(schedule(&env, &["install", "--every", "1h", "--daily", "03:00"]).code, 2);
    if works("systemd-analyze", &["--version"]) {
        let ran = schedule(&env, &["install", "--calendar", "every full moon"]);
        assert_eq!(ran.code, 2);
        assert!(ran.stderr.contains("systemd does not understand the time"), "{}", ran.stderr);
        succeed(&env, &["install", "--calendar", "Mon..Fri *-*-* 09:00"]);
        assert!(read(unit(&env, "unspool-index.timer")).contains("\nOnCalendar=Mon..Fri *-*-* 09:00\n"));
        succeed(&env, &["uninstall"]);
    }
    assert!(!unit(&env, "unspool-index.timer").is_file());
    assert!(!state_file(&env, "table").is_file());
}

#[test]
fn a_dry_run_shows_what_an_install_does() {
    let env = home_with(&[("systemctl", SYSTEMCTL)]);
    let shown = succeed(&env, &["install", "--every", "30m", "--dry-run"]);
    assert_eq!(calls(&env), [""; 0]);
    assert!(!unit(&env, "").is_dir(), "nothing must be written");
    succeed(&env, &["install", "--every", "30m"]);
    let file = |name: &str| format!("# write {}\n{}", unit(&env, name).display(), read(unit(&env, name)));
    let runs: String = calls(&env)
        .iter()
        .map(|call| format!("# run\n{}\n", call.replace("systemctl", &bin(&env).join("systemctl").to_string_lossy())))
        .collect();
    assert_eq!(shown, file("unspool-index.service") + &file("unspool-index.timer") + &runs);
    let shown = succeed(&env, &["uninstall", "--dry-run"]);
    assert!(shown.contains(&format!("# remove {}\n", unit(&env, "unspool-index.timer").display())), "{shown}");
    assert!(unit(&env, "unspool-index.timer").is_file());
}

#[test]
fn cron_install_status_uninstall_and_again() {
    let env = home_with(&[("crontab", CRONTAB)]);
    let others = b"MAILTO=me\n# \xff not text\n\n0 5 * * 1 tar % x\n";
    std::fs::write(state_file(&env, "table"), others).expect("written");
    for _ in 0..2 {
        let args = ["install", "--backend", "cron", "--every", "15m", "--rebuild", "weekly"];
        assert_eq!(succeed(&env, &args), "installed: index every 15 minutes, rebuild every Sunday at 04:20, by cron\n");
        let program = bin(&env).join("unspool");
        let (program, index) = (program.display(), env.index_dir());
        let block = format!(
            "# >>> unspool >>>\n\
             # Written by `unspool schedule install`; `unspool schedule uninstall` removes these lines.\n\
             */15 * * * * {program} index --quiet --scheduled --index-dir {index}\n\
             20 4 * * 0 {program} index --quiet --scheduled --rebuild --wait 900 --index-dir {index}\n\
             # <<< unspool <<<\n",
            index = index.display()
        );
        assert_eq!(std::fs::read(state_file(&env, "table")).expect("read"), [others, block.as_bytes()].concat());
        assert_eq!(std::fs::read(env.index_dir().join("crontab.before")).expect("kept"), others);
        assert_eq!(calls(&env), ["crontab -"]);
        assert!(succeed(&env, &args).starts_with("already up to date"));
        assert_eq!(calls(&env), [""; 0]);
        let expected = format!(
            "index by cron: */15 * * * *\n  next     Mon 2026-11-16 12:15:00 UTC\n  last     never\n  \
             program  {program}\n  log      cron mails the output of runs, if mail is set up\n\
             rebuild by cron: 20 4 * * 0\n  next     Sun 2026-11-22 04:20:00 UTC\n  last     never\n  \
             program  {program}\n  log      cron mails the output of runs, if mail is set up\n"
        );
        assert_eq!(succeed(&env, &["status"]), expected);
        assert_eq!(succeed(&env, &["uninstall"]), "removed; nothing is scheduled now\n");
        assert_eq!(std::fs::read(state_file(&env, "table")).expect("read"), others);
        calls(&env);
    }
}

/// Whatever the crontab was, and however often it is done.
#[test]
fn uninstall_restores_every_byte_of_the_crontab() {
    let env = home_with(&[("crontab", CRONTAB)]);
    let tables: [Option<&[u8]>; 8] = [
        None,
        Some(b""),
        Some(b"\n"),
        Some(b"0 5 * * 1 x"),
        Some(b"0 5 * * 1 x\n"),
        Some(b"A=1\r\n0 5 * * 1 x\r\n"),
        Some(b"A=1\r\n0 5 * * 1 x"),
        Some(b"  # odd \t\n\n\n0 5 * * 1 x % \xff\n\n"),
    ];
    for table in tables {
        let file = state_file(&env, "table");
        let _ = std::fs::remove_file(&file);
        table.iter().for_each(|table| std::fs::write(&file, table).expect("written"));
        for _ in 0..2 {
            succeed(&env, &["install", "--backend", "cron"]);
            succeed(&env, &["install", "--backend", "cron", "--every", "15m"]);
            succeed(&env, &["uninstall"]);
            assert_eq!(std::fs::read(&file).ok().as_deref(), table);
        }
    }
}

/// The cron of Debian refuses a table whose last line has no line break.
#[test]
fn uninstall_works_if_cron_refuses_the_original() {
    let refuses = r#"
case "$1" in
-l) cat "$dir/table" ;;
-) cat > "$dir/new"; test -z "$(tail -c1 "$dir/new")" && mv "$dir/new" "$dir/table" ;;
esac"#;
    let env = home_with(&[("crontab", refuses)]);
    std::fs::write(state_file(&env, "table"), "0 5 * * 1 x").expect("written");
    succeed(&env, &["install", "--backend", "cron"]);
    succeed(&env, &["uninstall"]);
    assert_eq!(read(state_file(&env, "table")), "0 5 * * 1 x\n");
}

#[test]
fn a_schedule_with_backups() {
    let env = home_with(&[("crontab", CRONTAB), ("systemctl", SYSTEMCTL), ("launchctl", LAUNCHCTL)]);
    let path = env.write(format!("-home-u-x/{}.jsonl", session(1)), user_line(&session(1), 1, "pelican"));
    env.write(format!("-home-u-x/{}.jsonl", session(2)), user_line(&session(2), 2, "walrus"));
    env.index();
    std::fs::remove_file(path).expect("removed");
    let file = env.path().join("kept/sessions.zst");
    let file_text = file.to_string_lossy();
    for backend in ["cron", "launchd", "systemd"] {
        let args = ["install", "--backend", backend, "--backup", "weekly", "--backup-file", &file_text];
        assert_eq!(succeed(&env, &args), format!("installed: index every hour (with a weekly backup), by {backend}\n"));
        assert!(succeed(&env, &["status"]).contains("\n  backup   weekly, last never\n"), "{backend}");
    }
    let service = read(unit(&env, "unspool-index.service"));
    let words = format!(" index --quiet --scheduled --backup {file_text} --backup-every weekly --index-dir ");
    assert!(service.contains(&words), "{service}");
    let run_at = |now: &str| {
        let mut command = env.command();
        command.env("UNSPOOL_NOW", now).args(["index", "--quiet", "--scheduled", "--backup"]).arg(&file);
        let ran = Ran::from(command.args(["--backup-every", "weekly"]).output().expect("ran"));
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
        std::fs::metadata(&file).and_then(|meta| meta.modified()).expect("a backup")
    };
    let first = run_at("2026-11-01T12:00:00Z");
    assert_eq!(run_at("2026-11-07T12:00:00Z"), first, "not due yet");
    assert!(run_at("2026-11-08T12:00:00Z") > first);
    assert!(succeed(&env, &["status"]).contains("weekly, last Sun 2026-11-08 12:00:00 UTC in "));
    let shown = env.run(&["status"]).stdout;
    assert!(shown.contains("kept/sessions.zst, 8 days ago, 1 transcript"), "{shown}");
    std::fs::remove_file(&file).expect("removed");
    assert!(env.run(&["status"]).stdout.contains("the file no longer exists"));
    // A backup that fails is a run that failed, but the index is up to date.
    std::fs::write(&file, "mine").expect("written");
    env.append(format!("-home-u-x/{}.jsonl", session(2)), user_line(&session(2), 3, "grebe"));
    let mut command = env.command();
    command.env("UNSPOOL_NOW", "2030-01-01T00:00:00Z").args(["index", "--quiet", "--scheduled", "--backup"]).arg(&file);
    let ran = Ran::from(command.args(["--backup-every", "daily"]).output().expect("ran"));
    assert_eq!((ran.code, read(&file).as_str()), (2, "mine"));
    assert!(ran.stderr.contains("is not a backup by unspool"), "{}", ran.stderr);
    assert_eq!(env.count("grebe"), 1);
    assert!(env.run(&["status"]).stdout.contains("is not a backup by unspool"));
}

#[test]
fn cron_can_run_the_installed_lines() {
    let env = home_with(&[("crontab", CRONTAB)]);
    let first = session(1);
    env.write(format!("-home-u-x/{first}.jsonl"), user_line(&first, 1, "a scheduled pelican"));
    let index = env.path().join("an index; `touch x` $HOME");
    let claude = env.claude();
    let installed = command(&env)
        .env("CLAUDE_CONFIG_DIR", &claude)
        .env("UNSPOOL_INDEX_DIR", &index)
        .args(["schedule", "install", "--backend", "cron"])
        .output()
        .expect("ran");
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let table = read(state_file(&env, "table"));
    let line = table.lines().find(|line| line.starts_with("0 * * * * ")).expect("a line");
    // As cron does it: a shell, a home, and little else.
    let ran = Command::new("/bin/sh")
        .args(["-c", line.strip_prefix("0 * * * * ").expect("a command")])
        .env_clear()
        .env("HOME", env.path().join("home"))
        .env("PATH", "/usr/bin:/bin")
        .current_dir(env.path().join("home"))
        .output()
        .expect("ran");
    assert_eq!((ran.status.code(), ran.stdout.as_slice(), ran.stderr.as_slice()), (Some(0), &b""[..], &b""[..]));
    let mut search = env.command();
    search.env("CLAUDE_CONFIG_DIR", &claude).env("UNSPOOL_INDEX_DIR", &index);
    let found = Ran::from(search.args(["search", "--no-refresh", "pelican"]).output().expect("ran"));
    assert_eq!(found.code, 0, "the index of the roots it was installed for: {}", found.stderr);
}

#[test]
fn launchd_install_status_uninstall_and_again() {
    let env = home_with(&[("launchctl", LAUNCHCTL)]);
    let user = Command::new("id").arg("-u").output().expect("ran");
    let user = String::from_utf8_lossy(&user.stdout).trim().to_string();
    let plist = env.path().join("home/Library/LaunchAgents/dev.unspool.index.plist");
    for _ in 0..2 {
        let args = ["install", "--backend", "launchd", "--every", "1h"];
        assert_eq!(succeed(&env, &args), "installed: index every hour, by launchd\n");
        assert_eq!(
            calls(&env),
            [
                format!("launchctl bootout gui/{user}/dev.unspool.index"),
                format!("launchctl enable gui/{user}/dev.unspool.index"),
                format!("launchctl bootstrap gui/{user} {}", plist.display()),
            ]
        );
        assert!(succeed(&env, &args).starts_with("already up to date"));
        assert_eq!(calls(&env), [""; 0]);
        let expected = format!(
            "index by launchd: every hour\n  next     unknown (the scheduler does not report it)\n  last     never\n  result   ok\n  \
             program  {}\n  log      {}\n",
            bin(&env).join("unspool").display(),
            env.path().join("home/Library/Logs/unspool-index.log").display()
        );
        assert_eq!(succeed(&env, &["status"]), expected);
        assert_eq!(succeed(&env, &["uninstall"]), "removed; nothing is scheduled now\n");
        assert_eq!(calls(&env), [format!("launchctl bootout gui/{user}/dev.unspool.index")]);
        assert!(!plist.is_file());
    }
}

#[test]
fn the_property_list_contains_the_requested_times() {
    let env = home_with(&[("launchctl", LAUNCHCTL)]);
    let ran = command(&env)
        .env("CLAUDE_CONFIG_DIR", env.claude())
        .env("UNSPOOL_INDEX_DIR", env.path().join("a <b> & c"))
        .args(["schedule", "install", "--backend", "launchd", "--calendar", "0,30 3 * * 1", "--verify", "weekly"])
        .output()
        .expect("ran");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let script = "import plistlib, json, sys; print(json.dumps(plistlib.load(open(sys.argv[1], 'rb'))))";
    let plist = env.path().join("home/Library/LaunchAgents/dev.unspool.index.plist");
    let Ok(parsed) = Command::new("python3").args(["-c", script]).arg(plist).output() else {
        return skip("no python3");
    };
    assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
    let parsed: Value = serde_json::from_slice(&parsed.stdout).expect("JSON");
    let log = env.path().join("home/Library/Logs/unspool-index.log");
    let expected = serde_json::json!({
        "Label": "dev.unspool.index",
        "ProgramArguments": [bin(&env).join("unspool"), "index", "--quiet", "--scheduled", "--root", env.claude(),
            "--index-dir", env.path().join("a <b> & c")],
        "EnvironmentVariables": {"CLAUDE_CONFIG_DIR": env.claude()},
        "StartCalendarInterval": [{"Minute": 0, "Hour": 3, "Weekday": 1}, {"Minute": 30, "Hour": 3, "Weekday": 1}],
        "ProcessType": "Background", "LowPriorityIO": true, "Nice": 10, "Umask": 63,
        "StandardOutPath": log, "StandardErrorPath": log,
    });
    assert_eq!(parsed, expected);
}

#[test]
fn another_scheduler_replaces_the_first() {
    let env = home_with(&[("systemctl", SYSTEMCTL), ("crontab", CRONTAB)]);
    succeed(&env, &["install", "--backend", "cron"]);
    calls(&env);
    succeed(&env, &["install"]);
    assert_eq!(calls(&env)[0], "crontab -r", "cron's lines must be removed, or there would be two runs");
    assert!(!state_file(&env, "table").is_file());
    let status: Value = serde_json::from_str(&succeed(&env, &["status", "--json"])).expect("JSON");
    assert_eq!(status["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(status["jobs"][0]["backend"], "systemd");
}

#[test]
fn status_reports_a_failure_in_the_words_of_the_system() {
    let env = home_with(&[("systemctl", SYSTEMCTL)]);
    succeed(&env, &["install"]);
    let service = "Result=exit-code\nExecMainStatus=6\nExecMainExitTimestamp=Mon 2026-11-16 11:00:02 UTC\n";
    std::fs::write(state_file(&env, "service"), service).expect("written");
    let ran = schedule(&env, &["status"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stdout.contains("\n  result   failed: exit-code (code 6)\n"), "{}", ran.stdout);
    // A program that an upgrade has removed, and a timer that is not running.
    std::fs::remove_file(bin(&env).join("unspool")).expect("removed");
    std::fs::write(state_file(&env, "timer"), "ActiveState=inactive\n").expect("written");
    let ran = schedule(&env, &["status"]);
    assert!(ran.stdout.contains("no longer exists; run `unspool schedule install` again"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n  state    not active"), "{}", ran.stdout);
}

#[test]
fn a_failed_run_is_reported_until_one_succeeds() {
    let env = home_with(&[("crontab", CRONTAB)]);
    let first = session(1);
    env.write(format!("-home-u-x/{first}.jsonl"), user_line(&first, 1, "pelican"));
    assert_eq!(env.run(&["index", "--quiet", "--scheduled"]).code, 0);
    assert!(env.run(&["status"]).stdout.contains("schedule     last run just now: ok\n"));
    succeed(&env, &["install", "--backend", "cron"]);
    // A file where the index should be, so that no run can succeed.
    let lock = std::fs::read_dir(env.index_dir()).expect("listed").map(|entry| entry.expect("entry").path());
    let lock = lock.into_iter().find(|path| path.extension() == Some(OsStr::new("lock"))).expect("a lock");
    std::fs::remove_file(&lock).expect("removed");
    std::fs::create_dir(&lock).expect("made");
    env.append(format!("-home-u-x/{first}.jsonl"), user_line(&first, 2, "walrus"));
    let failed = env.run(&["index", "--quiet", "--scheduled"]);
    assert_eq!(failed.code, 2, "{}", failed.stderr);
    let status = schedule(&env, &["status"]);
    assert_eq!(status.code, 3);
    assert!(status.stdout.contains("\n  result   failed\n  reason   cannot open the lock "), "{}", status.stdout);
    let shown = env.run(&["status"]).stdout;
    assert!(shown.contains("schedule     last run just now: failed: cannot open the lock "), "{shown}");
    assert!(shown.contains("last success just now"), "{shown}");
    if let Some((first, second)) = on_a_terminal(&env) {
        assert!(first.contains("the last scheduled run (index) failed: cannot open the lock"), "{first}");
        assert!(!second.contains("failed"), "reported once only: {second}");
    }
    std::fs::remove_dir(&lock).expect("removed");
    assert_eq!(env.run(&["index", "--quiet", "--scheduled"]).code, 0);
    assert!(env.run(&["status"]).stdout.contains("schedule     last run just now: ok\n"));
    assert_eq!(schedule(&env, &["status"]).code, 0);
    assert_eq!(env.run(&["status", "--json"]).stdout.lines().count(), 1, "programs must get one object");
}

/// The output of two consecutive commands on a terminal.
fn on_a_terminal(env: &Env) -> Option<(String, String)> {
    let run = || {
        let inner = env.command();
        let line = format!("{} search --no-refresh pelican", inner.get_program().to_string_lossy());
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env_clear().current_dir(env.path());
        inner.get_envs().for_each(|(name, value)| _ = command.env(name, value.expect("set")));
        command.output().ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let both = run().zip(run());
    if both.is_none() {
        skip("no script");
    }
    both
}

#[test]
fn a_run_that_was_killed_has_failed() {
    let env = Env::with_fixtures("home");
    env.index();
    let record = std::fs::read_dir(env.index_dir()).expect("listed").map(|entry| entry.expect("entry").path());
    let lock = record.into_iter().find(|path| path.extension() == Some(OsStr::new("lock"))).expect("a lock");
    std::fs::write(lock.with_extension("ran-index.json"), r#"{"started":1000}"#).expect("written");
    let shown = env.run(&["status"]).stdout;
    assert!(shown.contains("failed: it was killed, or the machine went down"), "{shown}");
    // An incomplete or foreign record counts as none.
    std::fs::write(lock.with_extension("ran-index.json"), "{\"star").expect("written");
    assert!(env.run(&["status"]).stdout.contains("schedule     no runs yet"));
}

#[test]
fn a_scheduled_check_fails_loudly() {
    let env = Env::with_fixtures("home");
    assert_eq!(env.run(&["verify", "--scheduled"]).code, 4);
    env.index();
    let ran = env.run(&["verify", "--scheduled"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
}

#[test]
fn f25_schedule_with_awkward_paths() {
    let env = home_with(&[("systemctl", SYSTEMCTL), ("crontab", CRONTAB), ("launchctl", LAUNCHCTL)]);
    let table = b"1 2 3 4 5 other\n\xff\n";
    std::fs::write(state_file(&env, "table"), table).expect("written");
    for name in [&b"50%"[..], b"a\nb", b"a\"b", b"a'b", b"a\\b", b"\xff\xfe", b"a\tb"] {
        let index = env.path().join(OsStr::from_bytes(name));
        for backend in ["systemd", "cron", "launchd"] {
            let ran = command(&env)
                .env("UNSPOOL_INDEX_DIR", &index)
                .args(["schedule", "install", "--backend", backend])
                .output()
                .expect("ran");
            let stderr = String::from_utf8_lossy(&ran.stderr);
            assert_eq!((ran.status.code(), ran.stdout.as_slice()), (Some(2), &b""[..]), "{backend} {stderr}");
            assert!(stderr.contains("cannot schedule with") && stderr.contains("symbolic link"), "{stderr}");
        }
    }
    let ran = command(&env).env("UNSPOOL_X", "50%").args(["schedule", "install"]).output().expect("ran");
    assert_eq!(ran.status.code(), Some(2));
    assert_eq!(calls(&env), [""; 0]);
    assert!(!unit(&env, "").is_dir());
    assert_eq!(std::fs::read(state_file(&env, "table")).expect("read"), table);
    // An incomplete block of ours is left to the user.
    std::fs::write(state_file(&env, "table"), "# >>> unspool >>>\n").expect("written");
    let ran = schedule(&env, &["install", "--backend", "cron"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("crontab -e"), "{}", ran.stderr);
    assert_eq!(read(state_file(&env, "table")), "# >>> unspool >>>\n");
}

#[test]
fn f26_programs_with_the_same_name_earlier_in_path() {
    let env = home_with(&[("crontab", CRONTAB)]);
    // First a folder of our own, then one that others can write to, then a relative and an empty one.
    let own = env.path().join("own");
    std::fs::create_dir_all(&own).expect("made");
    let trap = env.path().join("trap");
    std::fs::create_dir_all(&trap).expect("made");
    std::fs::set_permissions(&trap, std::fs::Permissions::from_mode(0o777)).expect("set");
    for name in ["systemctl", "crontab", "launchctl", "systemd-analyze", "unspool"] {
        let text = format!("#!/bin/sh\ntouch '{}'\n", env.path().join("trapped").display());
        for folder in [&own, &trap] {
            std::fs::write(folder.join(name), &text).expect("written");
            std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o755)).expect("set");
        }
    }
    let path = format!("{}:{}:trap::.:{}:/usr/bin:/bin", own.display(), trap.display(), bin(&env).display());
    let ran =
        command(&env).env("PATH", &path).args(["schedule", "install", "--backend", "cron"]).output().expect("ran");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(calls(&env), ["crontab -"]);
    assert!(!env.path().join("trapped").is_file());
    if !can_trace() {
        return skip("cannot trace");
    }
    let trace = env.path().join("trace");
    let trace_text = trace.to_string_lossy();
    let mut traced = under(&env, &["strace", "-f", "-e", "trace=execve", "-o", &trace_text]);
    traced.env("PATH", &path).env("UNSPOOL_TOOLS", bin(&env)).args(["schedule", "status"]);
    assert!(traced.output().expect("ran").status.success());
    let trace = read(&trace);
    let programs = trace.lines().filter_map(|line| line.split("execve(\"").nth(1));
    assert!(programs.into_iter().all(|program| program.starts_with('/') && !program.contains("/sh\"")), "{trace}");
}
