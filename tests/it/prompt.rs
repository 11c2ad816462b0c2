//! `unspool init`: the key binding in real shells, in a terminal. A shell that is not installed is skipped.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::env::Env;
use crate::support::process::skip;
use crate::support::terminal::{ENTER, Terminal, ctrl};
use crate::support::transcript::{session, user_line};

/// The picker here chooses what it is told to, so that only the shell is tested: with `chosen` it prints the id in that
/// file, and without it ends as after Esc. It also notes the query it was given.
const PICKER: &str = r#"#!/bin/sh
[ "$1" = pick ] || exec "${0%/*}/real" "$@"
shift
printf '%s\n' "$@" >"$HOME/query"
[ -t 0 ] && [ -t 2 ] || exit 9
[ -f "$HOME/chosen" ] || exit 130
cat "$HOME/chosen"
"#;

const ALT_I: &str = "\x1bi";

/// A home with a session in a folder with a difficult name, and the shell's own folder of programs.
fn home(shell: &Path) -> (Env, String) {
    let env = Env::new();
    let id = session(1);
    let folder = env.path().join("it's here");
    std::fs::create_dir_all(&folder).expect("made");
    let line = user_line(&id, 1, "words").replace("/home/u/x", folder.to_str().expect("UTF-8"));
    env.write(format!("-x/{id}.jsonl"), line);
    env.index();
    let bin = env.path().join("bin");
    std::fs::create_dir_all(&bin).expect("made");
    let write = |name: &str, script: &str| {
        std::fs::write(bin.join(name), script).expect("written");
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).expect("set");
    };
    write("unspool", PICKER);
    write("claude", "#!/bin/sh\nprintf 'claude runs in %s with %s\\n' \"$PWD\" \"$*\"\n");
    symlink(env!("CARGO_BIN_EXE_unspool"), bin.join("real")).expect("linked");
    symlink(shell, bin.join("shell")).expect("linked");
    (env, id)
}

/// A shell that is installed, by its name.
#[expect(clippy::disallowed_methods, reason = "a shell may be anywhere that the person who runs the tests has it")]
fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|place| place.is_file());
    if found.is_none() {
        skip(&format!("{name} is not installed"));
    }
    found
}

/// Starts a shell with the prompt `ready>` and the key binding.
fn start(env: &Env, shell: &Path, args: &[&str]) -> Terminal {
    let same = env.command();
    let mut command = Command::new(shell);
    command.env_clear().envs(same.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env_remove("COLUMNS").env("TERM", "xterm-256color").env("PS1", "ready> ");
    command.env("PATH", format!("{}:/usr/bin:/bin", env.path().join("bin").display()));
    command.args(args).current_dir(env.path());
    let terminal = Terminal::run(&command, (100, 24));
    terminal.shows("ready>");
    terminal
}

/// Presses the key without and with a choice, and runs what is then on the line.
fn check(env: &Env, id: &str, terminal: &Terminal, expected: &str) {
    let home = env.path().join("home");
    terminal.keys("echo kept").shows("ready> echo kept");
    terminal.keys(ALT_I);
    // Without a choice the line stays, and it was the query.
    terminal.wait("the picker has run", |_| std::fs::read_to_string(home.join("query")).is_ok());
    terminal.keys(" line");
    terminal.shows("ready> echo kept line");
    let query = std::fs::read_to_string(home.join("query")).expect("read");
    assert_eq!(query, "--\necho kept\n");
    std::fs::write(home.join("chosen"), format!("{id}\n")).expect("written");
    terminal.keys(ALT_I);
    let folder = env.path().join("it's here");
    let line = expected.replace("<id>", id);
    let is_there = |text: String| text.split_whitespace().collect::<String>().contains(&line.replace(' ', ""));
    let screen = terminal.wait(&format!("the line is {line}"), |screen| is_there(screen.rows().concat()));
    assert!(!screen.has("claude runs"), "{}", screen.text());
    terminal.keys(ENTER);
    let runs = format!("claude runs in {} with --resume {id}", std::fs::canonicalize(folder).expect("there").display());
    terminal.wait("claude runs", |screen| screen.rows().concat().contains(&runs));
}

/// The folder as it is written with quotes like those of sh.
fn folder_in_sh(env: &Env) -> String {
    format!("'{}'", env.path().join("it's here").display().to_string().replace('\'', r"'\''"))
}

#[test]
fn the_key_in_bash_puts_the_resume_command_on_the_line() {
    let Some(shell) = installed("bash") else { return };
    let (env, id) = home(&shell);
    std::fs::write(env.path().join("rc"), "PS1='ready> '\neval \"$(unspool init bash)\"\n").expect("written");
    let rc = env.path().join("rc");
    let terminal = start(&env, &shell, &["--noprofile", "--rcfile", rc.to_str().expect("UTF-8"), "-i"]);
    check(&env, &id, &terminal, &format!("cd {} && claude --resume <id>", folder_in_sh(&env)));
}

#[test]
fn the_key_in_zsh_puts_the_resume_command_on_the_line() {
    let Some(shell) = installed("zsh") else { return };
    for edit_mode in ["-e", "-v"] {
        let (env, id) = home(&shell);
        let rc = format!(
            "PS1='ready> '\nbindkey {edit_mode}\nautoload -Uz compinit; compinit -u\neval \"$(unspool init zsh)\"\n"
        );
        std::fs::write(env.path().join("home/.zshrc"), rc).expect("written");
        let terminal = start(&env, &shell, &["-d", "-i"]);
        check(&env, &id, &terminal, &format!("cd {} && claude --resume <id>", folder_in_sh(&env)));
    }
}

#[test]
fn the_key_in_fish_puts_the_resume_command_on_the_line() {
    let Some(shell) = installed("fish") else { return };
    let (env, id) = home(&shell);
    let rc = "function fish_prompt; echo -n 'ready> '; end\nunspool init fish | source";
    let terminal = start(&env, &shell, &["--init-command", rc]);
    let folder = env.path().join("it's here").display().to_string().replace('\'', r"\'");
    check(&env, &id, &terminal, &format!("cd '{folder}' && claude --resume <id>"));
}

#[test]
fn the_key_in_nu_puts_the_resume_command_on_the_line() {
    let Some(shell) = installed("nu") else { return };
    let (env, id) = home(&shell);
    let made = env.run(&["init", "nu"]);
    // The completions of nu are a list of commands; words without a command must stay possible.
    let words = format!("{}\nunspool --root x --version\nunspool words of mine", made.stdout);
    let mut command = Command::new(&shell);
    command.env_clear().env("HOME", env.path().join("home")).env("PATH", env.path().join("bin"));
    command.env("UNSPOOL_INDEX_DIR", env.index_dir()).args(["-c", &words]).current_dir(env.path());
    let output = command.output().expect("ran");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!error.contains("Error"), "{error}");
    let config = format!("$env.config.show_banner = false\n$env.PROMPT_COMMAND = 'ready'\n{}", made.stdout);
    std::fs::write(env.path().join("config.nu"), config).expect("written");
    let config = env.path().join("config.nu");
    let terminal = start(&env, &shell, &["--config", config.to_str().expect("UTF-8"), "--no-history"]);
    check(&env, &id, &terminal, &format!("cd \"{}\"; claude --resume <id>", env.path().join("it's here").display()));
}

#[test]
fn another_key_can_be_chosen_and_ctrl_letters_of_the_terminal_cannot() {
    let Some(shell) = installed("bash") else { return };
    let (env, id) = home(&shell);
    std::fs::write(env.path().join("home/chosen"), id).expect("written");
    let rc = env.path().join("rc");
    std::fs::write(&rc, "PS1='ready> '\neval \"$(unspool init bash --key 'ctrl-x u')\"\n").expect("written");
    let terminal = start(&env, &shell, &["--noprofile", "--rcfile", rc.to_str().expect("UTF-8"), "-i"]);
    terminal.keys(ALT_I).keys(ctrl('u')).keys(ctrl('x')).keys("u").shows("&& claude --resume");
    let refused = env.run(&["init", "bash", "--key", "ctrl-m"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("ctrl-m is Enter on a terminal"), "{}", refused.stderr);
}
