//! The commands, one file each, and the dispatch to them.

mod shells;
mod keys;
mod completions;
mod init;
mod config;
mod filter;
mod format;
mod help;
mod backup;
mod restore;
mod status_background;
mod index;
mod man;
mod prune;
mod forget;
mod file;
mod blame;
mod recover;
mod schedule;
mod own_command;
mod recall;
mod hook;
mod plugin;
mod resume;
mod stats;
mod sessions;
mod show;
mod export;
mod status;
mod verify;
mod watch;
mod mcp;
mod why;
mod dash_words;
mod search;
mod tui;
mod pick;

use std::ffi::OsString;

use clap::{Args as _, CommandFactory as _, Parser, Subcommand};

use unspool::render::json;

use crate::config::{Config, Global};
use crate::exit_code;
use crate::out;

/// The examples at the end of `-h` and `--help`.
const EXAMPLES: &str = "\
Examples:
  unspool oauth retry              search sessions (short for `unspool search …`)
  unspool search -F 'error[E0603]' search for literal text
  unspool search --json token.rs   one JSON object per hit, for programs
  unspool stats --by project       where tokens and money went
  unspool index                    update the index (search does this automatically)

More help: unspool help query, unspool help environment, unspool help exit-codes
";

/// The text after the examples in `-h`.
const EXIT_CODES: &str = "\
Exit codes: 0 found or done, 1 nothing found, 2 wrong usage or failure, 3 done with problems,
  4 index unusable, 5 busy, 6 no space or no permission, 130 interrupted";

/// The text after the examples in `--help`.
const MORE: &str = "
Environment:
  UNSPOOL_ROOTS      folders to search, separated as in PATH; --root overrides it
  CLAUDE_CONFIG_DIR  Claude Code's own setting, separated by commas; UNSPOOL_ROOTS overrides it
  UNSPOOL_INDEX_DIR  where the index is kept; --index-dir overrides it
  UNSPOOL_CONFIG     the configuration file; `unspool config` shows all settings
  NO_COLOR, CLICOLOR, CLICOLOR_FORCE, COLUMNS  as in other programs

Files:
  The index is in your system's data folder (on Linux ~/.local/share/unspool), in one folder per set of roots,
  readable only by you. It also contains what Claude Code has deleted: `unspool backup` copies that to one file.

Exit codes:
  0    found, or done                  4    the index is damaged, foreign or too new
  1    nothing found                   5    another run is in progress
  2    wrong usage, or failure         6    no space, or no permission
  3    done, but with problems         130  interrupted; what was done is kept";

/// Full-text search over everything you and Claude Code ever said or did
///
/// Claude Code stores every conversation in a file and deletes it after 30 days. unspool indexes them all, searches
/// them in milliseconds, and keeps what Claude Code has deleted. Nothing leaves this machine, and no transcript is
/// ever changed.
#[derive(Debug, Parser)]
#[command(
    name = "unspool",
    version,
    propagate_version = true,
    subcommand_required = true,
    disable_help_subcommand = true,
    arg_required_else_help = true
)]
#[command(after_help = format!("{EXAMPLES}{EXIT_CODES}"))]
#[command(after_long_help = format!("{EXAMPLES}{MORE}"))]
struct Cli {
    #[command(flatten)]
    global: Global,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Search(search::SearchArgs),
    Tui(tui::TuiArgs),
    Pick(pick::PickArgs),
    File(file::FileArgs),
    Blame(blame::BlameArgs),
    Why(why::WhyArgs),
    Recover(recover::RecoverArgs),
    Sessions(sessions::SessionsArgs),
    Show(show::ShowArgs),
    Resume(resume::ResumeArgs),
    Export(export::ExportArgs),
    Index(index::IndexArgs),
    Stats(stats::StatsArgs),
    Status(status::StatusArgs),
    Verify(verify::VerifyArgs),
    Prune(prune::PruneArgs),
    Forget(forget::ForgetArgs),
    Backup(backup::BackupArgs),
    Restore(restore::RestoreArgs),
    /// Print the JSON Schema of the --json output
    Schema,
    Config(config::ConfigArgs),
    Completions(completions::CompletionsArgs),
    Init(init::InitArgs),
    Man(man::ManArgs),
    Help(help::HelpArgs),
    Schedule(schedule::ScheduleArgs),
    Hook(hook::HookArgs),
    Mcp(mcp::McpArgs),
    Plugin(plugin::PluginArgs),
    Watch(watch::WatchArgs),
}

/// Parses the command line and runs the command.
pub(crate) fn run() -> anyhow::Result<u8> {
    let mut args: Vec<OsString> = std::env::args_os().map(plain).collect();
    if command_at(&args).is_none() && !asks_for_text(&args) && crate::config::why_no_ui().is_none() {
        args.push("tui".into());
    }
    if args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json") {
        out::speak_json();
    }
    let cli = match parse(args.clone()) {
        Ok(cli) => cli,
        Err(error) => {
            let instead = || command_at(&args).and_then(|at| dash_words::search_instead(&args[at..], &error));
            return out::usage(&error, mistyped_command(&args).or_else(instead).as_deref());
        }
    };
    match &cli.command {
        // These must work even if the configuration is invalid.
        Command::Config(args) => return config::run(&cli.global, args),
        Command::Completions(args) => return completions::run(Cli::command(), args),
        Command::Init(args) => return init::run(Cli::command(), args),
        Command::Man(args) => return man::run(Cli::command(), args),
        Command::Help(args) => return help::run(Cli::command(), &cli.global, args),
        _ => {}
    }
    if let Command::Hook(args) = &cli.command
        && args.is_event()
    {
        return Ok(hook::take_event(&cli.global, args));
    }
    let config = Config::new(&cli.global)?;
    if crate::out::notes_are_seen() {
        crate::schedule::record::remind(&config.local, crate::config::now());
    }
    match cli.command {
        Command::Search(search) => {
            let code = search::run(&config, &search)?;
            mistyped_command(&args)
                .iter()
                .filter(|_| search.shows_notes())
                .for_each(|hint| out::note(&format!("hint: {hint}")));
            Ok(code)
        }
        Command::Tui(args) => tui::run(&config, &args),
        Command::Pick(args) => pick::run(&config, &args),
        Command::File(args) => file::run(&config, &args),
        Command::Blame(args) => blame::run(&config, &args),
        Command::Why(args) => why::run(&config, &args),
        Command::Recover(args) => recover::run(&config, &args),
        Command::Sessions(args) => sessions::run(&config, &args),
        Command::Show(args) => show::run(&config, &args),
        Command::Resume(args) => resume::run(&config, &args),
        Command::Export(args) => export::run(&config, &args),
        Command::Index(args) => index::run(&config, &args),
        Command::Stats(args) => stats::run(&config, &args),
        Command::Status(args) => status::run(&config, &args),
        Command::Verify(args) => verify::run(&config, &args),
        Command::Prune(args) => prune::run(&config, &args),
        Command::Forget(args) => forget::run(&config, &args),
        Command::Backup(args) => backup::run(&config, &args),
        Command::Restore(args) => restore::run(&config, &args),
        Command::Schema => {
            out::print(config.color, |out| out.write_all(json::schema().as_bytes()))?;
            Ok(exit_code::OK)
        }
        Command::Config(_) | Command::Completions(_) | Command::Init(_) | Command::Man(_) | Command::Help(_) => {
            Ok(exit_code::OK)
        }
        Command::Schedule(args) => schedule::run(&config, &args),
        Command::Hook(args) => hook::run(&config, &args),
        Command::Mcp(args) => mcp::run(&config, &args),
        Command::Plugin(args) => plugin::run(&config, &args),
        Command::Watch(args) => watch::run(&config, &args),
    }
}

/// Reports whether the arguments ask for the help or the version.
fn asks_for_text(args: &[OsString]) -> bool {
    args.iter().any(|arg| arg.to_str().is_some_and(|arg| ["-h", "--help", "-V", "--version"].contains(&arg)))
}

/// Marks an argument with a blank as text to search for, even if it starts with a dash: a line of a list or a diff.
fn plain(arg: OsString) -> OsString {
    let text = arg.to_string_lossy();
    let blank = text.find(char::is_whitespace);
    let is_value = text.starts_with("--") && text.find('=') < blank && text.contains('=');
    if text.starts_with('-') && blank.is_some() && !is_value { dash_words::marked(&text) } else { arg }
}

/// Parses the arguments. In a search, words that start with a dash but are not options (`oauth -github`) are marked
/// first, so that clap takes them as text.
fn parse(args: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut args = with_search(args);
    if let Some(at) = command_at(&args).filter(|at| args[*at] == "search") {
        let words = args.split_off(at + 1);
        args.extend(dash_words::apart(words, || {
            search::SearchArgs::augment_args(Global::augment_args(clap::Command::new("search")))
        }));
    }
    Cli::try_parse_from(args)
}

/// Inserts `search` if no command is given: `unspool WORDS` is short for `unspool search WORDS`.
fn with_search(mut args: Vec<OsString>) -> Vec<OsString> {
    if let Some(at) = command_at(&args).filter(|at| !Command::has_subcommand(&args[*at].to_string_lossy())) {
        args.insert(at, "search".into());
    }
    args
}

/// Returns a hint if the only word of a search, or the first one before options, looks like a mistyped command.
fn mistyped_command(args: &[OsString]) -> Option<String> {
    let at = command_at(args)?;
    let word = args[at].to_string_lossy();
    let is_alone = args[at + 1..].iter().all(|arg| arg.to_string_lossy().starts_with('-'));
    if !is_alone || word.len() < 4 || Command::has_subcommand(&word) {
        return None;
    }
    let command = Cli::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    let near = names.map(|name| (strsim::osa_distance(&word, name), name)).min()?;
    (near.0 <= 2 && near.0 * 3 < word.len()).then(|| format!("did you mean `unspool {}`?", near.1))
}

/// Returns the position of the command, or of the first word if there is none. Global options are skipped.
fn command_at(args: &[OsString]) -> Option<usize> {
    let global = Global::augment_args(clap::Command::new("unspool"));
    let takes_value = |option: &str| {
        global.get_arguments().any(|arg| option.strip_prefix("--").is_some_and(|name| arg.get_long() == Some(name)))
    };
    let mut at = 1;
    while let Some(text) = args.get(at).map(|arg| arg.to_string_lossy()) {
        match text.as_ref() {
            "-h" | "--help" | "-V" | "--version" => return None,
            option if takes_value(option) => at += 2,
            option if option.split_once('=').is_some_and(|(name, _)| takes_value(name)) => at += 1,
            _ => return Some(at),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_with_blanks_is_not_an_option() {
        for (arg, expected) in [
            ("-n", "-n"),
            ("--json", "--json"),
            ("- a line of a list", " - a line of a list"),
            ("--since=2 days ago", "--since=2 days ago"),
            ("-old = 1", " -old = 1"),
            ("--old the=new", " --old the=new"),
            ("plain words", "plain words"),
        ] {
            assert_eq!(plain(arg.into()), expected, "{arg}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn marking_words_does_not_change_options() {
        for line in [
            "oauth retry",
            "--root x --color never oauth -n 3 --json",
            "search --since 2d -C 2 -F x",
            "search --root y --index-dir z word",
            "search -- -x --json",
            "search --help",
            "search -h",
            "search --version",
            "search --jsn",
            "search word --projct x",
            "search -n",
            "search -l -c word",
            "-n 3 word --here --role human --role tool",
            "index --quiet",
            "help query",
            "",
        ] {
            let args: Vec<OsString> =
                std::iter::once("unspool").chain(line.split_whitespace()).map(OsString::from).collect();
            let shown =
                |read: Result<Cli, clap::Error>| read.map_or_else(|error| error.to_string(), |cli| format!("{cli:?}"));
            assert_eq!(shown(parse(args.clone())), shown(Cli::try_parse_from(with_search(args))), "{line}");
        }
    }

    #[test]
    fn unknown_options_are_words() {
        for (line, words, rest) in [
            ("oauth -github", "oauth -github", ""),
            ("search retry -tool:Bash -n 3", "retry -tool:Bash", "-n 3"),
            ("search -n3 retry -is:agent -l", "retry -is:agent", "-n3 -l"),
            ("rm -rf node_modules", "rm -rf node_modules", ""),
            ("git push --force", "git push --force", ""),
            ("cargo build --release --json", "cargo build --release", "--json"),
            ("-github oauth", "-github oauth", ""),
            ("git commit --amend -m 3", "git commit --amend", "-m 3"),
            ("oauth -python -name -cli -mail", "oauth -python -name -cli -mail", ""),
            ("search -p shop -p=x oauth --since -2d -0lq", "oauth", "-p shop -p=x --since -2d -0lq"),
            ("--root x oauth -rf", "oauth -rf", "--root x"),
            ("search --sort newest -old --until=2d", "-old", "--sort newest --until=2d"),
        ] {
            let args =
                |line: &str| ["unspool"].into_iter().chain(line.split_whitespace()).map(OsString::from).collect();
            let shown = |cli: Cli| match &cli.command {
                Command::Search(args) => (args.words(), format!("{:?} {args:?}", cli.global)),
                other => (String::new(), format!("{other:?}")),
            };
            let (found, options) = shown(parse(args(line)).expect(line));
            assert_eq!(found, words, "{line}");
            let options_of = |shown: &str| shown.split_once("fixed_strings").map(|(_, rest)| rest.to_string());
            let (_, expected) = shown(parse(args(&format!("search {rest} x"))).expect(rest));
            assert_eq!(options_of(&options), options_of(&expected), "{line}");
        }
    }

    #[test]
    fn words_without_a_command_are_a_search() {
        for (given, expected) in [
            ("oauth retry", "search oauth retry"),
            ("--root x oauth -n 3", "--root x search oauth -n 3"),
            ("--index-dir=y -n 3 oauth", "--index-dir=y search -n 3 oauth"),
            ("search index", "search index"),
            ("index --quiet", "index --quiet"),
            ("--help", "--help"),
            ("--color never status", "--color never status"),
            ("-- -x", "search -- -x"),
        ] {
            let split =
                |text: &str| std::iter::once("unspool").chain(text.split(' ')).map(OsString::from).collect::<Vec<_>>();
            assert_eq!(with_search(split(given)), split(expected));
        }
    }
}
