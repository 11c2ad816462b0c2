//! Outlines a conversation: every prompt with the changed files and the end of the answer. Reads only the prompts, the
//! last answer to each, and the calls that change files, so that an outline of a long session is fast.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::archive::closing::closing;
use crate::archive::conversation::{Agent, Target, places, resolve};
use crate::archive::request::OutlineRequest;
use crate::archive::serialize::rfc3339;
use crate::archive::sessions::Session;
use crate::archive::tool_pairs::answers;
use crate::document::{Document, Kind, Role, edits_files, is_shell, touched};
use crate::error::Result;
use crate::index::{Reader, Step};
use crate::redact::redact;
use crate::transcript::{Call, read_call};
use crate::untrusted::Untrusted;

/// Characters of a prompt that are shown.
const PROMPT_LENGTH: usize = 160;
/// Maximum number of characters of the end of an answer.
const ANSWER_LENGTH: usize = 240;
/// Results that are read to find those of open calls.
const OPEN_CALLS: usize = 64;

/// The outline of a conversation.
#[derive(Clone, Debug, Serialize)]
pub struct OutlineAnswer {
    /// The session, with its subagents.
    pub session: Session,
    /// The session or subagent that the request means.
    pub target: Target,
    /// The prompts, in order.
    pub prompts: Vec<PromptOutline>,
    /// Totals of the conversation, without those of its subagents.
    pub totals: OutlineTotals,
}

/// A prompt and its result.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct PromptOutline {
    /// Its number, from 1.
    pub number: usize,
    /// Its line in the transcript, from 1.
    pub line: u64,
    /// The id of that line.
    pub uuid: Option<Untrusted>,
    /// The time, as RFC 3339 in UTC.
    #[serde(serialize_with = "rfc3339")]
    #[schemars(with = "Option<String>")]
    pub timestamp: Option<i64>,
    /// The speaker.
    pub role: Role,
    /// The kind of message: a prompt, a command, or the summary with which a continued session begins.
    pub kind: Kind,
    /// The beginning of its text, on one line.
    pub text: Untrusted,
    /// True if the text is longer.
    pub is_cut: bool,
    /// The number of tool calls after it.
    pub tool_uses: usize,
    /// The files that were changed after it.
    pub files: Vec<Untrusted>,
    /// The subagents that were started after it.
    pub agents: Vec<Agent>,
    /// The id of the line with the last answer to it.
    pub answer_uuid: Option<Untrusted>,
    /// The last sentences of that answer, on one line.
    pub answer: Option<Untrusted>,
}

/// Totals of a conversation.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct OutlineTotals {
    /// Prompts.
    pub prompts: usize,
    /// Texts by Claude.
    pub answers: usize,
    /// Tool calls.
    pub tool_uses: usize,
    /// Files that were changed.
    pub files: usize,
    /// Subagents that were started.
    pub agents: usize,
    /// Messages on branches that a rewind abandoned. They are not in the outline.
    pub abandoned: usize,
}

/// Outlines a conversation.
pub(crate) fn answer(reader: &Arc<Reader>, request: &OutlineRequest) -> Result<OutlineAnswer> {
    let target = Target { uuid: None, ..resolve(reader, &request.id)? };
    let session = Session::find(reader, &target.session)?;
    let mut places = places(reader, &target)?;
    let mut outline = Outline { reader, reveal: request.reveal, ..Outline::new(reader) };
    for step in &places.steps {
        outline.take(step)?;
        if step.kind == Kind::ToolUse
            && let Some(agent) = places.agents.get_mut(&step.text_hash).and_then(Vec::pop)
        {
            outline.totals.agents += 1;
            outline.current().agents.push(agent);
        }
    }
    outline.finish_prompt()?;
    let Outline { mut prompts, mut totals, changed, .. } = outline;
    (1..).zip(&mut prompts).for_each(|(number, prompt)| prompt.number = number);
    let is_prompt = |prompt: &&PromptOutline| prompt.kind != Kind::Compaction;
    totals.prompts = prompts.iter().filter(is_prompt).count();
    (totals.files, totals.abandoned) = (changed.len(), places.abandoned);
    Ok(OutlineAnswer { session, target, prompts, totals })
}

/// An outline that is being made.
struct Outline<'r> {
    reader: &'r Reader,
    reveal: bool,
    prompts: Vec<PromptOutline>,
    totals: OutlineTotals,
    /// All files that were changed.
    changed: BTreeSet<String>,
    /// Calls that change files and have no result yet, with the index of their prompt.
    open: Vec<(usize, Document)>,
    /// The last answer to the current prompt.
    last_answer: Option<Step>,
}

impl<'r> Outline<'r> {
    fn new(reader: &'r Reader) -> Self {
        Self {
            reader,
            reveal: false,
            prompts: Vec::new(),
            totals: OutlineTotals::default(),
            changed: BTreeSet::new(),
            open: Vec::new(),
            last_answer: None,
        }
    }

    /// Takes the next document of the conversation.
    fn take(&mut self, step: &Step) -> Result<()> {
        let is_opening = step.kind == Kind::Compaction && self.prompts.is_empty();
        match step.kind {
            _ if is_opening => self.begin(step),
            Kind::Prompt | Kind::Queued | Kind::Command | Kind::History if step.role != Role::Meta => self.begin(step),
            Kind::Text => {
                self.totals.answers += 1;
                self.last_answer = Some(*step);
                Ok(())
            }
            Kind::ToolUse => self.call(step),
            Kind::ToolResult if !self.open.is_empty() => self.result(step),
            _ => Ok(()),
        }
    }

    /// Begins with the next prompt.
    fn begin(&mut self, step: &Step) -> Result<()> {
        let document = self.reader.read(step)?;
        // The rest of a long prompt.
        if document.continued {
            return Ok(());
        }
        self.finish_prompt()?;
        let (text, is_cut) = self.beginning(&document.text);
        self.prompts.push(PromptOutline {
            line: document.line,
            uuid: document.uuid.map(Untrusted::new),
            timestamp: document.timestamp,
            role: document.role,
            kind: document.kind,
            text: text.into(),
            is_cut,
            ..PromptOutline::default()
        });
        Ok(())
    }

    /// Returns the prompt to which the next messages belong. A conversation may begin without one.
    fn current(&mut self) -> &mut PromptOutline {
        if self.prompts.is_empty() {
            self.prompts.push(PromptOutline::default());
        }
        let last = self.prompts.len() - 1;
        &mut self.prompts[last]
    }

    /// Adds the end of the last answer to the current prompt.
    fn finish_prompt(&mut self) -> Result<()> {
        let Some(step) = self.last_answer.take() else { return Ok(()) };
        let document = self.reader.read(&step)?;
        let text = if self.reveal { document.text.into() } else { redact(&document.text) };
        let (answer, uuid) = (closing(&text, ANSWER_LENGTH), document.uuid);
        let prompt = self.current();
        prompt.answer = Some(answer.into());
        prompt.answer_uuid = uuid.map(Untrusted::new);
        Ok(())
    }

    /// Counts a call. Remembers it if it changes files.
    fn call(&mut self, step: &Step) -> Result<()> {
        let document = self.reader.read(step)?;
        if document.continued {
            return Ok(());
        }
        self.totals.tool_uses += 1;
        self.current().tool_uses += 1;
        if !changes(&document).is_empty() && self.open.len() < OPEN_CALLS {
            self.open.push((self.prompts.len() - 1, document));
        }
        Ok(())
    }

    /// Adds the files of a call to its prompt, if this is its result and it succeeded.
    fn result(&mut self, step: &Step) -> Result<()> {
        let result = self.reader.read(step)?;
        let Some(at) = self.open.iter().position(|(_, call)| answers(&result, call)) else { return Ok(()) };
        let (prompt, call) = self.open.swap_remove(at);
        if result.error {
            return Ok(());
        }
        for file in changes(&call) {
            self.changed.insert(file.clone());
            let files = &mut self.prompts[prompt].files;
            let file = Untrusted::new(file);
            if !files.contains(&file) {
                files.push(file);
            }
        }
        Ok(())
    }

    /// Returns the beginning of a text on one line with secrets masked, and whether there is more.
    fn beginning(&self, text: &str) -> (String, bool) {
        let text = if self.reveal { text.into() } else { redact(text) };
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(PROMPT_LENGTH) {
            Some((end, _)) => (line[..end].to_string(), true),
            None => (line, false),
        }
    }
}

/// Returns the files that a call changes.
fn changes(call: &Document) -> Vec<String> {
    let tool = call.tool.as_deref().unwrap_or_default();
    if edits_files(tool) {
        return call.files.clone();
    }
    if !is_shell(tool) {
        return Vec::new();
    }
    match read_call(tool, call.input.as_deref().unwrap_or_default()) {
        Call::Command(command) => {
            let mut files: Vec<String> =
                touched(&command, call.cwd.as_deref()).into_iter().map(|touch| touch.path).collect();
            files.dedup();
            files
        }
        _ => Vec::new(),
    }
}
