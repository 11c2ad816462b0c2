//! Pairs tool calls with their results. The one place that knows which result answers which call.

use crate::document::{Document, Kind};

/// Reports whether a document is the result of a call.
pub(super) fn answers(result: &Document, call: &Document) -> bool {
    let is_pair = call.kind == Kind::ToolUse && result.kind == Kind::ToolResult;
    is_pair && call.tool_use.is_some() && result.tool_use == call.tool_use
}

/// Reports whether a document is the next piece of the same long text.
pub(super) fn continues(piece: &Document, before: &Document) -> bool {
    (before.line, before.kind, &before.tool_use) == (piece.line, piece.kind, &piece.tool_use)
        && before.uuid == piece.uuid
        && piece.part > before.part
}

/// Appends the next piece of a long text.
pub(super) fn append(whole: &mut Document, piece: &Document) {
    whole.text.push_str(&piece.text);
    whole.part = piece.part;
}

/// Returns the result of a call among results with its id: the first one after the call, with its pieces joined. An id may
/// occur again later in the same file.
pub(super) fn first_result(results: &[Document], call: &Document) -> Option<Document> {
    let line = results.iter().map(|result| result.line).filter(|line| *line >= call.line).min()?;
    let mut pieces: Vec<&Document> = results.iter().filter(|result| result.line == line).collect();
    pieces.sort_by_key(|piece| piece.part);
    let mut whole = (*pieces.first()?).clone();
    let part = whole.part;
    pieces[1..].iter().for_each(|piece| append(&mut whole, piece));
    Some(Document { part, ..whole })
}
