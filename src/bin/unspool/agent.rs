//! Answers for agents: asks the archive and renders the answer within a budget. Shared by `unspool mcp` and
//! `--format agent`.

use unspool::archive::history::FileActions;
use unspool::archive::request::{
    Context, ConversationRequest, FileQuestion, FileRequest, Moment, OutlineRequest, SearchRequest, SessionsRequest,
};
use unspool::archive::{Archive, FileAnswer};
use unspool::error::{Error, ErrorKind, Result};
use unspool::render::agent::{ConversationPart, Next, View};

/// Messages before the one that was asked for.
const BEFORE: usize = 2;

/// An answer, and whether anything was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) text: String,
    pub(crate) is_something: bool,
}

/// The part of a conversation that was asked for.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) id: String,
    pub(crate) around: Option<String>,
    pub(crate) query: Option<String>,
    pub(crate) before: Option<usize>,
    pub(crate) after: Option<usize>,
    pub(crate) reading: ConversationPart,
}

/// Returns the way in which answers are shown to an agent.
pub(crate) fn view(context: &Context, budget: usize, remarks: Vec<String>, next: Next) -> View {
    View::new(context.home.as_deref(), context.now.time_zone().clone(), budget, remarks, next)
}

/// Returns the remark that the calling session is left out, if there is one.
pub(crate) fn left_out(context: &Context, include_current: bool) -> Option<String> {
    let session = context.running_session.as_ref().filter(|_| !include_current)?;
    Some(format!("the calling session {session} and its subagents are left out"))
}

/// Searches. Asks again for fewer sessions if not all fit, so that the next page begins with the first one left out.
pub(crate) fn search(archive: &Archive, request: &SearchRequest, context: &Context, view: &View) -> Result<Found> {
    let answer = archive.search(request, context)?;
    let is_something = answer.total_hits > 0;
    let (text, shown) = view.search(&answer);
    if shown == answer.sessions.len() || shown == 0 {
        return Ok(Found { text, is_something });
    }
    let fewer = SearchRequest { limit: Some(shown), ..request.clone() };
    let (text, _) = view.search(&archive.search(&fewer, context)?);
    Ok(Found { text, is_something })
}

/// Reads a part of a conversation.
pub(crate) fn read(archive: &Archive, part: Part, context: &Context, view: &mut View) -> Result<Found> {
    let mut reading = part.reading;
    let mut id = part.id.clone();
    let mut opened = None;
    if reading.from == 0 {
        let request = ConversationRequest {
            id: part.id,
            around: part.around,
            query: part.query,
            ..ConversationRequest::default()
        };
        let answer = archive.conversation(&request, context)?;
        // The place may be in the conversation of a subagent.
        id = answer.target.agent.as_ref().unwrap_or(&answer.target.session).clone();
        if let Some(place) = answer.place {
            let at = answer.lines.partition_point(|line| *line < place);
            let first = at.saturating_sub(part.before.unwrap_or(BEFORE));
            reading.from = answer.lines.get(first).copied().unwrap_or(place).min(place);
            let last = part.after.and_then(|after| answer.lines.get(at + after).copied());
            reading.to = reading.to.or(last);
        } else {
            opened = Some(answer);
        }
    }
    view.next.set("id", id.as_str().into());
    if let Some(to) = reading.to {
        view.next.set("to", to.into());
    }
    let answer = match opened {
        Some(answer) => answer,
        None => {
            let request = ConversationRequest { id, from: Some(reading.from), ..ConversationRequest::default() };
            archive.conversation(&request, context)?
        }
    };
    let text = view.conversation(answer, reading)?;
    Ok(Found { text, is_something: true })
}

/// Outlines a conversation, from a prompt on.
pub(crate) fn outline(archive: &Archive, id: &str, from: usize, view: &View) -> Result<Found> {
    let answer = archive.outline(&OutlineRequest { id: id.to_string(), reveal: false })?;
    Ok(Found { text: view.outline(&answer, from), is_something: true })
}

/// Lists sessions.
pub(crate) fn sessions(archive: &Archive, request: &SessionsRequest, context: &Context, view: &View) -> Result<Found> {
    let answer = archive.sessions(request, context)?;
    Ok(Found { text: view.session_list(&answer), is_something: answer.total > 0 })
}

/// Lists the actions on a file, without those that were shown before.
pub(crate) fn file(
    archive: &Archive,
    request: &FileRequest,
    skip: usize,
    context: &Context,
    view: &View,
) -> Result<Found> {
    let render = |files: &[FileActions]| view.file_actions(files, skip);
    Ok(match archive.file(request, context)? {
        FileAnswer::Actions(files) => Found { text: render(&files), is_something: true },
        other => nothing(view, &other),
    })
}

/// Returns the history of a line. `contents` is the file on disk; without one, the last known contents are used.
pub(crate) fn why(
    archive: &Archive,
    path: &str,
    line: usize,
    contents: Option<String>,
    context: &Context,
    view: &View,
) -> Result<Found> {
    let ask =
        |question| archive.file(&FileRequest { path: path.to_string(), question, ..FileRequest::default() }, context);
    let contents = match contents {
        Some(contents) => contents,
        None => match ask(FileQuestion::Contents { at: Moment::End })? {
            FileAnswer::Contents(recovered) => recovered.contents,
            other => return Ok(nothing(view, &other)),
        },
    };
    let lines = contents.lines().count();
    if line == 0 || line > lines {
        return Err(Error::new(ErrorKind::Usage, format!("{path} has lines 1 to {lines}, not {line}")));
    }
    Ok(match ask(FileQuestion::Why { contents, line })? {
        FileAnswer::Story(story) => Found { text: view.story(&story), is_something: true },
        other => nothing(view, &other),
    })
}

/// Recovers the contents of a file at some time. Skips the first `skip` characters, which an earlier answer showed.
pub(crate) fn recover(
    archive: &Archive,
    path: &str,
    at: Moment,
    skip: usize,
    context: &Context,
    view: &View,
) -> Result<Found> {
    let question = FileQuestion::Contents { at };
    let request = FileRequest { path: path.to_string(), question, ..FileRequest::default() };
    Ok(match archive.file(&request, context)? {
        FileAnswer::Contents(recovered) => Found { text: view.recovered(&recovered, skip), is_something: true },
        other => nothing(view, &other),
    })
}

fn nothing(view: &View, answer: &FileAnswer) -> Found {
    let note =
        if let FileAnswer::Nothing(note) = answer { note.to_string() } else { "nothing is recorded".to_string() };
    Found { text: view.nothing(&note), is_something: false }
}
