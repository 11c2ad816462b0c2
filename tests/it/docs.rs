//! Help, manual pages and completions: they contain every command, and shells can read them.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::env::Env;

/// The commands that `--help` lists.
fn commands(env: &Env) -> Vec<String> {
    let help = env.run(&["--help"]).stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    listed.filter_map(|line| line.split_whitespace().next()).map(str::to_string).collect()
}

#[test]
fn every_command_has_help_a_page_and_completions() {
    let env = Env::new();
    let commands = commands(&env);
    for known in ["search", "index", "stats", "config", "completions", "man", "help"] {
        assert!(commands.iter().any(|name| name == known), "{known}: {commands:?}");
    }
    let man = env.path().join("man");
    assert_eq!(env.run(&["man", "--out", man.to_str().expect("UTF-8")]).code, 0);
    assert!(std::fs::read_to_string(man.join("unspool.1")).expect("a page").contains(".TH unspool 1"));
    let scripts = ["bash", "zsh", "fish", "powershell"].map(|shell| env.run(&["completions", shell]).stdout);
    for name in &commands {
        let help = env.run(&["help", name]);
        assert_eq!((help.code, help.stdout), (0, env.run(&[name, "--help"]).stdout), "{name}");
        assert!(std::fs::read_to_string(man.join(format!("unspool-{name}.1"))).is_ok(), "{name}");
        assert!(scripts.iter().all(|script| script.contains(name.as_str())), "{name}");
    }
}

#[test]
fn shells_can_read_the_completions() {
    let env = Env::new();
    for (shell, check) in [("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])] {
        let script = env.run(&["completions", shell]).stdout;
        assert!(script.len() > 1000, "{shell}");
        let [program, option] = check;
        let spawned = Command::new(program).args([option, "/dev/stdin"]).stdin(Stdio::piped()).spawn();
        // Only shells that are installed can be asked.
        let Ok(mut child) = spawned else { continue };
        child.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("written");
        assert!(child.wait().expect("ended").success(), "{shell}");
    }
    assert_eq!(env.run(&["completions", "tcsh"]).code, 2);
}

/// The first screens in the README are the real output, except for the time.
#[test]
fn the_examples_in_the_readme_are_the_real_output() {
    let env = Env::with_fixtures("home");
    env.index();
    let readme = include_str!("../../README.md");
    let picture = readme.split("```").find_map(|block| block.strip_prefix("console\n")).expect("a picture");
    let timeless =
        |text: &str| regex::Regex::new(r"\(\d+ ms\)").expect("valid").replace_all(text, "(1 ms)").into_owned();
    let mut examples = 0;
    for example in picture.split("$ unspool ").skip(1) {
        let (args, expected) = example.split_once('\n').expect("an answer");
        let mut command = env.command();
        command.args(args.split(' ')).args(["--color", "always"]).env("COLUMNS", "100");
        let output = command.output().expect("ran");
        let shown = anstream::adapter::strip_str(&String::from_utf8_lossy(&output.stdout)).to_string();
        assert_eq!(timeless(shown.trim_end()), timeless(expected.trim_end()), "{args}");
        examples += 1;
    }
    assert_eq!(examples, 2);
}

#[test]
fn help_topics_cover_what_belongs_to_no_command() {
    let env = Env::new();
    let topic = |name: &str| {
        let ran = env.run(&["help", name]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let wide = ran.stdout.lines().find(|line| line.chars().count() > 120);
        assert_eq!(wide, None);
        ran.stdout
    };
    let query = topic("query");
    for field in unspool::query::FIELDS {
        assert!(query.contains(&format!("{field}:")), "{field}");
    }
    for (_, name) in unspool::document::Kind::ALL {
        assert!(query.contains(name), "{name}");
    }
    let environment = topic("environment");
    for name in ["UNSPOOL_ROOTS", "CLAUDE_CONFIG_DIR", "UNSPOOL_INDEX_DIR", "UNSPOOL_CONFIG", "NO_COLOR"] {
        assert!(environment.contains(name), "{name}");
    }
    let codes = topic("exit-codes");
    for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "5 ", "6 ", "130 "] {
        assert!(codes.lines().any(|line| line.trim_start().starts_with(code)), "{code}");
    }
    let ran = env.run(&["help", "querry"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("topics are query, environment, exit-codes"), "{}", ran.stderr);
    assert_eq!(env.run(&["help"]).stdout, env.run(&["--help"]).stdout);
}
