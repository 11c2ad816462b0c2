//! `unspool mcp`: serves coding agents, and is added to the clients on this machine.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use unspool::error::{Error, ErrorKind};
use unspool::untrusted::one_line;

use crate::cli::own_command::own_command;
use crate::clients::{Client, NAME, Server, State};
use crate::config::{self, Config};
use crate::exit_code;
use crate::out;
use crate::schedule::steps::Failure;
use crate::schedule::{Step, Tools};
use crate::shared_file::{self, Change, named, read};

/// Serve coding agents over MCP, or add the server to clients
///
/// Without a command, serves MCP on standard input and output, as clients such as Claude Code expect. Its tools only
/// read.
#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    command: Option<McpCommand>,
}

#[derive(Debug, Subcommand)]
enum McpCommand {
    /// Add the server to the named clients, or to all that are found
    ///
    /// Adds one entry and changes nothing else; a backup of the file is kept next to it. For Claude Code this runs
    /// `claude mcp add`, if that command is found.
    Install(EditArgs),
    /// Show the clients that have the server
    Status(ClientArgs),
    /// Remove the server from the named clients, or from all
    Uninstall(EditArgs),
}

#[derive(Args, Debug)]
struct ClientArgs {
    /// The clients
    #[arg(value_enum)]
    clients: Vec<Client>,
}

#[derive(Args, Debug)]
struct EditArgs {
    #[command(flatten)]
    which: ClientArgs,

    /// Only show what would be done
    #[arg(long)]
    dry_run: bool,
}

/// A client with the file that lists its servers.
struct Found {
    client: Client,
    file: PathBuf,
}

pub(crate) fn run(config: &Config, args: &McpArgs) -> anyhow::Result<u8> {
    match &args.command {
        None => crate::mcp::serve(config),
        Some(McpCommand::Install(args)) => edit(config, args, Change::Add),
        Some(McpCommand::Uninstall(args)) => edit(config, args, Change::Remove),
        Some(McpCommand::Status(args)) => status(config, args),
    }
}

fn edit(config: &Config, args: &EditArgs, change: Change) -> anyhow::Result<u8> {
    let (program, words) = match change {
        Change::Add => own_command(config, "mcp")?,
        Change::Remove => (String::new(), Vec::new()),
    };
    let server = Server { program, args: words };
    for_each(&args.which, |found| edit_one(config, found, &server, change, args.dry_run).map(|()| exit_code::OK))
}

fn edit_one(config: &Config, found: &Found, server: &Server, change: Change, dry_run: bool) -> anyhow::Result<()> {
    let Found { client, file } = found;
    let list = client.list(server.clone());
    let state = list.state(&read(file)?).map_err(|error| named(file, &error))?;
    let is_done = match (&state, change) {
        (State::Ours(ours), Change::Add) => ours == server,
        (State::Absent | State::Foreign, Change::Remove) => true,
        _ => false,
    };
    let print = |what: &str| {
        let shown = config.screen().path(file);
        out::print(config.color, |out| writeln!(out, "{}: {what} {shown}", client.name()))
    };
    if is_done {
        return print(if change == Change::Add { "already in" } else { "not in" });
    }
    if let Some(steps) = own_steps(*client, &state, server, change) {
        if dry_run {
            return out::print(config.color, |out| steps.iter().try_for_each(|step| step.show(out)));
        }
        steps.iter().try_for_each(Step::carry_out)?;
    } else if let Some(planned) = shared_file::plan(file, &*list, change)? {
        if dry_run {
            return out::print(config.color, |out| write!(out, "# write {}\n{}", file.display(), planned.new));
        }
        planned.carry_out(&*list)?;
    }
    print(if change == Change::Add { "installed in" } else { "removed from" })
}

/// Returns the calls of the client's own command that make a change. Only Claude Code needs it: it rewrites its file
/// all the time, so an edit by another program could be lost.
fn own_steps(client: Client, state: &State, server: &Server, change: Change) -> Option<Vec<Step>> {
    if client != Client::Claude || *state == State::Foreign {
        return None;
    }
    let claude = Tools::new(config::path_folders(), config::fake_tools()).find_in_path("claude")?;
    let remove = Step::run(&claude, &["mcp", "remove", "--scope", "user", NAME], Failure::Matters);
    let mut words = vec!["mcp", "add", "--scope", "user", NAME, "--", &server.program];
    words.extend(server.args.iter().map(String::as_str));
    let add = Step::run(&claude, &words, Failure::Matters);
    Some(match (state, change) {
        (State::Ours(_), Change::Add) => vec![remove, add],
        (_, Change::Add) => vec![add],
        (_, Change::Remove) => vec![remove],
    })
}

fn status(config: &Config, args: &ClientArgs) -> anyhow::Result<u8> {
    for_each(args, |found| status_of(config, found))
}

fn status_of(config: &Config, found: &Found) -> anyhow::Result<u8> {
    let Found { client, file } = found;
    let list = client.list(Server { program: String::new(), args: Vec::new() });
    let shown = config.screen().path(file);
    let state = list.state(&read(file)?).map_err(|error| named(file, &error))?;
    let (code, line) = match state {
        State::Absent => (exit_code::NOTHING, format!("not in {shown}")),
        State::Foreign => (exit_code::NOTHING, format!("{shown} has another server with the name {NAME}")),
        State::Ours(server) => {
            let program = std::path::Path::new(&server.program);
            let call = format!("{shown} calls {} {}", server.program, server.args.join(" "));
            match program.is_absolute() && !program.is_file() {
                true => {
                    let trouble = "the program does not exist; run `unspool mcp install` again";
                    (exit_code::PROBLEMS, format!("{call} ({trouble})"))
                }
                false => (exit_code::OK, call),
            }
        }
    };
    out::print(config.color, |out| writeln!(out, "{}: {}", client.name(), one_line(&line)))?;
    Ok(code)
}

/// Does something for each client, also after a failure with another one. The code of a failure or problem wins, then
/// that of a success.
fn for_each(args: &ClientArgs, act: impl Fn(&Found) -> anyhow::Result<u8>) -> anyhow::Result<u8> {
    let code = |found: &Found| act(found).unwrap_or_else(|error| out::explain(&error));
    let codes: Vec<u8> = found(args)?.iter().map(code).collect();
    let trouble = codes.iter().copied().filter(|code| *code > exit_code::NOTHING).max();
    let best = codes.iter().copied().min().unwrap_or(exit_code::NOTHING);
    Ok(trouble.unwrap_or(best))
}

/// Returns the clients that were named, or else those that have been used on this machine.
fn found(args: &ClientArgs) -> anyhow::Result<Vec<Found>> {
    let places = config::client_places()?;
    let file = |client: Client| {
        client
            .file(&places)
            .ok_or_else(|| Error::new(ErrorKind::Usage, format!("{} does not exist for this system", client.name())))
    };
    let mut clients = args.clients.clone();
    if clients.is_empty() {
        clients = Client::ALL.into_iter().filter(|client| client.is_here(&places)).collect();
    }
    if clients.is_empty() {
        let names = Client::ALL.map(Client::name).join(", ");
        let message = "found no client on this machine";
        return Err(Error::new(ErrorKind::NotFound, message).hint(format!("name one of {names}")).into());
    }
    clients.into_iter().map(|client| Ok(Found { client, file: file(client)? })).collect()
}
