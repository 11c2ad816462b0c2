//! Answers a call: freshens the index for a moment, turns arguments into a request, and renders the answer.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use unspool::archive::request::{
    Context, FileQuestion, FileRequest, Filters, Moment, Order, SearchRequest, SessionsRequest,
};
use unspool::archive::{Archive, Note};
use unspool::error::{Error, ErrorKind};
use unspool::render::agent::{ConversationPart, Next, Tools, View};

use crate::agent::{self, Found, Part};
use crate::mcp::arguments::{Arguments, with_example};
use crate::mcp::tools::Tool;

/// Time for looking for new messages before an answer.
const PATIENCE: Duration = Duration::from_millis(300);
/// Characters of an answer.
const BUDGET: usize = 6000;
/// Characters of a part of a conversation.
const READ_BUDGET: usize = 8000;
/// Bytes of a file whose line is asked about.
const FILE_CAP: u64 = 16 << 20;

/// Answers a call. The error is a text for the agent.
pub(super) fn answer(
    tool: &'static Tool,
    given: Map<String, Value>,
    archive: &Archive,
    context: &Context,
) -> Result<String, String> {
    let arguments = Arguments::check(tool, given)?;
    let mut remarks = freshened(archive)?;
    let lists_sessions = matches!(tool.name, "search_history" | "list_sessions");
    remarks.extend(agent::left_out(context, arguments.flag("include_current")).filter(|_| lists_sessions));
    let budget = arguments.size("max_chars");
    let default = if tool.name == "read_conversation" { READ_BUDGET } else { BUDGET };
    let next = Next::Tool { name: tool.name, arguments: arguments.without(&["around", "before", "after"]) };
    let mut view = agent::view(context, budget.unwrap_or(default), remarks, next);
    if let Ok(Some(newest)) = archive.newest() {
        let newest = format!("newest message in the index: {}", view.time(Some(newest)));
        view.remarks.push(newest);
    }
    let found = match tool.name {
        "search_history" => search(archive, &arguments, context, &view),
        "read_conversation" => agent::read(archive, part(&arguments), context, &mut view),
        "outline_conversation" => agent::outline(archive, &id(&arguments), arguments.size("from").unwrap_or(1), &view),
        "file_history" => file(archive, &arguments, context, &view),
        "recover_file" => {
            let at = match (arguments.text("at"), arguments.text("session")) {
                (Some(at), _) => Moment::At(at),
                (None, Some(session)) => Moment::After(session),
                (None, None) => Moment::End,
            };
            let path = arguments.text("path").unwrap_or_default();
            agent::recover(archive, &path, at, arguments.size("skip").unwrap_or(0), context, &view)
        }
        _ => sessions(archive, &arguments, context, &view),
    };
    found.map(|found| found.text).map_err(|error| explained(tool, &view, &error))
}

/// Looks for new messages. Returns remarks on how current the index is, or an error if there is none yet: an answer
/// from it would say that nothing was found.
fn freshened(archive: &Archive) -> Result<Vec<String>, String> {
    let mut notes = Vec::new();
    let freshened = archive.freshen_within(PATIENCE, &mut |note| notes.push(note));
    if notes.contains(&Note::BuildingIndex) {
        return Err(Note::BuildingIndex.to_string());
    }
    let mut remarks: Vec<String> = notes.iter().map(ToString::to_string).collect();
    if let Err(error) = freshened {
        remarks.push(format!("cannot look for new messages: {error}"));
    }
    if remarks.is_empty() {
        remarks.push("the index is up to date".to_string());
    }
    Ok(remarks)
}

/// Returns an error with its hint, and with a correct call if the call was wrong.
fn explained(tool: &Tool, view: &View, error: &Error) -> String {
    let hint = error.hint_text().map(|hint| format!("; {hint}")).unwrap_or_default();
    let message = view.remark(&format!("{error}{hint}"));
    match error.kind {
        ErrorKind::Usage | ErrorKind::NotFound => with_example(tool, &message),
        _ => message,
    }
}

fn id(arguments: &Arguments) -> String {
    arguments.text("id").unwrap_or_default()
}

/// Returns the filters that several tools have.
fn filters(arguments: &Arguments) -> Filters {
    Filters {
        project: arguments.list("project"),
        since: arguments.text("since"),
        until: arguments.text("until"),
        branch: arguments.list("branch"),
        file: arguments.list("file"),
        include_current: arguments.flag("include_current"),
        ..Filters::default()
    }
}

fn search(archive: &Archive, arguments: &Arguments, context: &Context, view: &View) -> Result<Found, Error> {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (kind, tool) = match arguments.text("kind").as_deref() {
        Some("said") => (names(&["prompt", "queued", "history", "text", "compaction", "recap"]), Vec::new()),
        Some("command") => (names(&["tool_use"]), names(&["Bash"])),
        Some("output") => (names(&["tool_result", "output"]), Vec::new()),
        Some("code") => (names(&["tool_use"]), names(&["Edit", "Write", "MultiEdit", "NotebookEdit"])),
        Some("thinking") => (names(&["thinking"]), Vec::new()),
        _ => (Vec::new(), Vec::new()),
    };
    let given = arguments.list("tool");
    let request = SearchRequest {
        text: arguments.text("query"),
        filters: Filters {
            role: arguments.list("role"),
            kind,
            tool: if given.is_empty() { tool } else { given },
            session: arguments.list("session"),
            ..filters(arguments)
        },
        limit: Some(arguments.size("limit").unwrap_or(5)),
        per_session: Some(arguments.size("hits").unwrap_or(2)),
        cursor: arguments.text("cursor"),
        suggest: true,
        strict_names: true,
        counterpart: true,
        ..SearchRequest::default()
    };
    agent::search(archive, &request, context, view)
}

fn part(arguments: &Arguments) -> Part {
    let tools = match arguments.text("tools").as_deref() {
        Some("none") => Tools::None,
        Some("full") => Tools::Full,
        _ => Tools::Lines,
    };
    let reading = ConversationPart {
        tools,
        from: arguments.number("from").unwrap_or(0),
        skip: arguments.size("skip").unwrap_or(0),
        to: arguments.number("to"),
    };
    Part {
        id: id(arguments),
        around: arguments.text("around"),
        query: None,
        before: arguments.size("before"),
        after: arguments.size("after"),
        reading,
    }
}

fn file(archive: &Archive, arguments: &Arguments, context: &Context, view: &View) -> Result<Found, Error> {
    let path = arguments.text("path").unwrap_or_default();
    if let Some(line) = arguments.size("line") {
        let contents = on_disk(&path, context);
        return agent::why(archive, &path, line, contents, context, view);
    }
    let question = FileQuestion::Actions {
        reads: arguments.flag("reads"),
        mentions: false,
        unconfirmed: false,
        diff: arguments.flag("patches"),
    };
    let filters = Filters { include_current: true, ..filters(arguments) };
    let request = FileRequest { path, question, filters, ..FileRequest::default() };
    agent::file(archive, &request, arguments.size("skip").unwrap_or(0), context, view)
}

/// Returns the contents of a file on disk, if the path leads to one.
fn on_disk(path: &str, context: &Context) -> Option<String> {
    let path = match (path.strip_prefix("~/"), &context.home) {
        (Some(rest), Some(home)) => Path::new(home).join(rest),
        _ => Path::new(context.folder.as_deref().unwrap_or(".")).join(path),
    };
    let is_small = fs_err::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= FILE_CAP);
    if is_small { fs_err::read_to_string(&path).ok() } else { None }
}

fn sessions(archive: &Archive, arguments: &Arguments, context: &Context, view: &View) -> Result<Found, Error> {
    let order = arguments.text("order").unwrap_or_default();
    let order = Order::ALL.into_iter().find(|(_, name)| *name == order).map(|(order, _)| order);
    let request = SessionsRequest {
        filters: filters(arguments),
        order: order.unwrap_or_default(),
        reverse: false,
        limit: Some(arguments.size("limit").unwrap_or(20)),
        after: arguments.text("cursor"),
    };
    agent::sessions(archive, &request, context, view)
}
