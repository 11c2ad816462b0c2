//! Builds documents from assistant lines: answers, tool calls, their results, and token counts.

use std::borrow::Cow;

use crate::document::builder::user::text_hash;
use crate::document::builder::{Builder, FILES_KEPT, Place, joined};
use crate::document::clean;
use crate::document::shell::{is_shell, touched};
use crate::document::{Document, Kind, MessageKey, Role, Wordless, normal_path};
use crate::transcript::discover::SourceKind;
use crate::transcript::{Block, Event, Trace, Usage, text_fingerprint};

/// The number of open calls remembered. The limit is needed because about 0.3 % of calls never get a result (measured).
const CALLS_KEPT: usize = 256;
/// Maximum number of messages without text that are remembered. Measured: 0 to 3 in a file.
const WORDLESS_KEPT: usize = 4096;
/// Maximum size of stored arguments, in bytes. Longer ones are kept as text only: with all their copies they would
/// exceed the memory bound.
const INPUT_KEPT: usize = 1 << 20;
/// Text of a tool result without output.
const NO_OUTPUT: &str = "(no output)";
/// Tools that change the files they name.
const CHANGING: [&str; 4] = ["Edit", "MultiEdit", "NotebookEdit", "Write"];

impl Builder<'_> {
    /// Processes an assistant line.
    pub(super) fn assistant(&mut self, place: Place, event: &Event<'_>, base: &Document, blocks: Vec<Block<'_>>) {
        let mut made_document = false;
        for block in joined(blocks) {
            made_document |= match block {
                Block::Text(text) => {
                    self.state.answers += 1;
                    let role = self.answer_role(event);
                    self.push(place, Document { role, kind: Kind::Text, ..base.clone() }, &clean::fold_base64(&text))
                }
                Block::Thinking(text) => {
                    let role = self.answer_role(event);
                    self.push(place, Document { role, kind: Kind::Thinking, ..base.clone() }, &text)
                }
                other => self.block(place, event, base, other),
            };
        }
        if !made_document {
            self.pass(event, "assistant/empty");
        }
    }

    /// Records the token counts of an API message on the first document of its line. `start` is the index of that
    /// document in `out`; the line may have made none.
    pub(super) fn count(&mut self, start: usize, base: Document, usage: Usage) {
        if base.model.is_none() && usage == Usage::default() {
            return;
        }
        let Some(message) = base.message.or(base.uuid.as_deref().map(MessageKey::of)) else { return };
        let tokens = [usage.input, usage.cache_write, usage.cache_read, usage.output];
        let counted = Some((message, tokens, usage.cache_hour));
        if counted == self.state.counted {
            return;
        }
        match self.out.get_mut(start) {
            Some(document) => {
                (document.usage, document.cache_hour) = (Some(tokens), usage.cache_hour);
                self.state.counted = counted;
                self.state.wordless.retain(|entry| {
                    entry.message != message || entry.usage.iter().zip(tokens).any(|(before, now)| *before > now)
                });
            }
            None => {
                let (model, timestamp) = (base.model, base.timestamp);
                let entry = Wordless { message, model, usage: tokens, cache_hour: usage.cache_hour, timestamp };
                if self.state.wordless.back() != Some(&entry) && self.state.wordless.len() < WORDLESS_KEPT {
                    self.state.wordless.push_back(entry);
                }
            }
        }
    }

    /// The role of an answer on this line.
    fn answer_role(&self, event: &Event<'_>) -> Role {
        if self.kind == SourceKind::Agent || event.sidechain { Role::Subagent } else { Role::Assistant }
    }

    /// Processes a block that can occur in user and assistant messages. Reports whether it made a document.
    pub(super) fn block(&mut self, place: Place, event: &Event<'_>, base: &Document, block: Block<'_>) -> bool {
        match block {
            Block::ToolUse { id, name, input } => self.tool_use(place, event, base, &id, &name, input),
            Block::ToolResult { id, text, error } => {
                let (tool, files) = self.take_call(&id);
                let tool_use = Some(id.into_owned());
                let trace = event.trace.clone().or_else(|| trace_of_text(tool.as_deref(), &text)).filter(|_| !error);
                let result = Document { role: Role::Tool, kind: Kind::ToolResult, tool, tool_use, ..base.clone() };
                let document = Document { files, error, trace, ..result };
                let text = clean::clean_result(document.tool.as_deref(), &text);
                // A command that changed a file may print nothing. That it succeeded is still worth keeping.
                let is_silent = text.trim().is_empty() && !document.files.is_empty();
                self.push(place, document, if is_silent { NO_OUTPUT } else { &text })
            }
            Block::Other { kind, text } => {
                self.state.unknown += 1;
                self.push(place, Document { kind: Kind::Unknown, tool: Some(kind.into_owned()), ..base.clone() }, &text)
            }
            Block::Media { kind, text } if text.is_empty() => {
                self.push(place, Document { kind: Kind::Notice, ..base.clone() }, &format!("[{kind}]"))
            }
            Block::Media { kind, text } => {
                let tool = Some(kind.into_owned());
                self.push(place, Document { kind: Kind::Attachment, tool, ..base.clone() }, &text)
            }
            Block::Text(text) | Block::Thinking(text) => self.push(place, base.clone(), &text),
        }
    }

    /// Adds a document for a tool call. Reports whether there was anything to add.
    fn tool_use(
        &mut self,
        place: Place,
        event: &Event<'_>,
        base: &Document,
        id: &str,
        name: &str,
        input: &str,
    ) -> bool {
        self.state.tool_uses += 1;
        self.totals().calls += 1;
        let words = clean::tool_words(input);
        let cwd = event.cwd.as_deref().or(self.state.cwd.as_deref());
        let mut files: Vec<String> = words.files.iter().take(FILES_KEPT).map(|file| normal_path(file, cwd)).collect();
        if CHANGING.contains(&name) {
            files.iter().for_each(|file| self.state.totals.changed(file));
        }
        if let Some(command) = words.command.as_ref().filter(|_| is_shell(name)) {
            files.extend(touched(command, cwd).into_iter().map(|touch| touch.path));
            files.dedup();
            files.truncate(FILES_KEPT);
        }
        self.state.calls.push_back((id.to_string(), name.to_string(), files.clone()));
        if self.state.calls.len() > CALLS_KEPT {
            self.state.calls.pop_front();
        }
        let document = Document {
            role: Role::Tool,
            kind: Kind::ToolUse,
            tool: Some(name.to_string()),
            tool_use: Some(id.to_string()),
            input: Some(clean::fold_base64(input)).filter(|input| input.len() <= INPUT_KEPT).map(Cow::into_owned),
            text_hash: words.prompt.as_deref().map(|prompt| text_hash(&base.session, prompt)),
            files,
            ..base.clone()
        };
        self.push(place, document, clean::call_text(name, &words))
    }

    /// Removes a call from the open ones, now that its result has arrived. Returns its tool and files.
    fn take_call(&mut self, id: &str) -> (Option<String>, Vec<String>) {
        match self.state.calls.iter().rposition(|(call, ..)| call == id).and_then(|at| self.state.calls.remove(at)) {
            Some((_, tool, files)) => (Some(tool), files),
            None => (None, Vec::new()),
        }
    }
}

/// Derives a trace from the text of a `Read` result that has no record next to it: the text has line numbers.
fn trace_of_text(tool: Option<&str>, text: &str) -> Option<Trace> {
    let (first, contents) = clean::numbered(text).filter(|_| tool == Some("Read"))?;
    let count = contents.split('\n').count() as u64;
    Some(Trace { contents: Some(text_fingerprint(&contents)), lines: Some([first, count, 0]), ..Trace::default() })
}
