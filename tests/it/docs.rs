//! Help, manual pages, completions and the README: they cover every command, and their examples are real.

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

const README: &str = include_str!("../../README.md");

/// The fenced blocks of the README in one language.
fn blocks(language: &str) -> Vec<&'static str> {
    let starts_with = format!("{language}\n");
    README.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix(starts_with.as_str())).collect()
}

#[test]
fn the_readme_is_short_and_follows_the_order_a_newcomer_needs() {
    assert!(README.lines().count() <= 200, "{} lines", README.lines().count());
    assert_eq!(README.lines().find(|line| line.chars().count() > 120), None);
    let sections: Vec<&str> = README.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let expected = [
        "Install",
        "Five questions",
        "Staying current",
        "Sessions",
        "Files",
        "For agents",
        "For programs",
        "Configuration",
        "Limits",
        "How it works",
        "Development",
    ];
    assert_eq!(sections, expected);
}

/// Every screen in the README is the real output, except for the time.
#[test]
fn the_screens_in_the_readme_are_the_real_output() {
    let env = Env::with_fixtures("home");
    env.index();
    let time = regex::Regex::new(r"\(\d+ ms\)").expect("valid");
    let timeless = |text: &str| time.replace_all(text.trim_end(), "(1 ms)").into_owned();
    let mut commands = Vec::new();
    for screen in blocks("console").iter().flat_map(|block| block.split("$ unspool ").skip(1)) {
        let (args, expected) = screen.split_once('\n').expect("an answer");
        let mut command = env.command();
        command.args(args.split(' ')).args(["--color", "always"]).env("COLUMNS", "100");
        let output = command.output().expect("ran");
        let shown = anstream::adapter::strip_str(&String::from_utf8_lossy(&output.stdout)).to_string();
        assert_eq!(timeless(&shown), timeless(expected), "{args}");
        commands.push(args.split(' ').next().expect("a word"));
    }
    assert_eq!(commands, ["migration", "sessions", "file"]);
}

#[test]
fn the_two_commands_in_the_readme_work() {
    let commands: Vec<&str> = blocks("sh").iter().flat_map(|block| block.lines()).collect();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    // CI runs the command that the README gives.
    let ci = std::fs::read_to_string(folder.join(".ci/run")).expect("read");
    let check = ci.lines().find_map(|line| line.strip_prefix("exec ")).expect("a command");
    assert_eq!(commands.get(1), Some(&check));
    let main_job = commands.first().and_then(|line| line.strip_prefix("cargo run --release -- ")).expect("a command");
    let env = Env::new();
    let ran = env.command().args(main_job.split(' ')).current_dir(folder).output().expect("ran");
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(String::from_utf8_lossy(&ran.stdout).contains("Plan and write the database migration"));
}

#[test]
fn commands_and_options_in_the_readme_exist() {
    let env = Env::new();
    let known = commands(&env);
    let examples = blocks("sh").into_iter().flat_map(str::lines).filter_map(|line| line.strip_prefix("unspool "));
    let mut checked = 0;
    for example in examples.map(|line| line.split(" # ").next().expect("a part").trim_end()) {
        let words: Vec<&str> = example.split(' ').collect();
        let path: Vec<&str> = words
            .iter()
            .copied()
            .take_while(|word| known.contains(&(*word).to_string()) || *word == "install")
            .collect();
        let path = if path.is_empty() { vec!["search"] } else { path };
        let help = env.run(&[&["help"], path.as_slice()].concat()).stdout;
        for option in words.iter().filter(|word| word.starts_with('-')) {
            let is_listed = help.lines().any(|line| line.split([' ', ',']).any(|word| word == *option));
            assert!(is_listed, "{example}: {option}");
            checked += 1;
        }
    }
    assert!(checked > 10, "{checked}");
}

#[test]
fn the_hook_in_the_readme_is_recognized() {
    let env = Env::new();
    let hook = blocks("json").into_iter().find(|block| block.contains("SessionEnd")).expect("a hook");
    std::fs::write(env.claude().join("settings.json"), hook).expect("written");
    let ran = env.run(&["hook", "status"]);
    assert!(ran.stdout.contains("SessionEnd calls unspool hook"), "{} {}", ran.stdout, ran.stderr);
}

#[test]
fn the_configuration_in_the_readme_is_valid() {
    let env = Env::new();
    let file = env.path().join("config.toml");
    std::fs::write(&file, blocks("toml").first().expect("a file")).expect("written");
    let output = env.command().args(["config", "get", "limit"]).env("UNSPOOL_CONFIG", &file).output().expect("ran");
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"20\n"[..], &b""[..]));
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
