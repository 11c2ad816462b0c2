//! What sessions did with a file: calls and their results, brought together from the index.
//!
//! A [`Deal`] is one call of a tool that concerns a file, whether it stands in one transcript or, after a resume or
//! a fork, in five. Everything here comes from the index; no transcript is opened.

use std::collections::{BTreeSet, HashMap};

use crate::archive::history::path::{self, Wanted, folders_above, identity};
use crate::archive::history::{Scope, What};
use crate::document::{Deed, Document, Kind, Touch, is_shell, normal_path, touched};
use crate::error::Result;
use crate::index::{About, FileKey, Reader, Spelling};
use crate::query::Filter;
use crate::transcript::{Call, read_call};

/// Tools that only look.
const READERS: [&str; 2] = ["Read", "NotebookRead"];
const SEEKERS: [&str; 3] = ["Grep", "Glob", "LS"];
/// Of so many files it is still asked what happened to the folders above them.
const FOLDERS_OF: usize = 20;

/// One call of a tool, with its answer.
#[derive(Clone, Debug)]
pub(super) struct Deal {
    /// The transcript it was read from: of several the earliest.
    pub(super) key: FileKey,
    pub(super) call: Document,
    /// The answer, and where it stands.
    pub(super) result: Option<(FileKey, Document)>,
    /// Other sessions that hold the same call.
    pub(super) also_in: Vec<String>,
    pub(super) asked: Call,
    /// What the command of a shell does.
    pub(super) touches: Vec<Touch>,
}

/// One file that a deal is about.
#[derive(Clone, Debug)]
pub(super) struct Share {
    /// Which deal.
    pub(super) deal: usize,
    /// The file.
    pub(super) path: String,
    pub(super) what: What,
    /// The other name, when it was renamed or copied.
    pub(super) other: Option<String>,
    /// Whether only a command shows it.
    pub(super) inferred: bool,
    /// Of a command: what it does to the file.
    pub(super) deed: Option<Deed>,
}

impl Deal {
    /// Whether it happened, as far as is known: yes, no, or nobody knows.
    pub(super) fn happened(&self) -> Option<bool> {
        match &self.result {
            Some((_, result)) => Some(!result.error),
            // What is no call, and what does nothing, needs no answer.
            None if self.call.kind != Kind::ToolUse || self.asked == Call::Other => Some(true),
            None => None,
        }
    }

    /// When it took effect.
    pub(super) fn time(&self) -> Option<i64> {
        let answered = self.result.as_ref().and_then(|(_, result)| result.timestamp);
        answered.max(self.call.timestamp)
    }
}

/// Finds everything done with the files that are meant.
pub(super) fn find(
    reader: &Reader,
    wanted: &Wanted,
    scope: Scope,
    filter: Option<&Filter>,
) -> Result<(Vec<Deal>, Vec<Share>)> {
    let spellings = wanted.spellings();
    let kinds: &[Kind] = if scope.reads || scope.mentions {
        &[Kind::ToolUse, Kind::ToolResult, Kind::Attachment]
    } else {
        &[Kind::ToolUse, Kind::ToolResult]
    };
    let mut without: Vec<&str> = Vec::new();
    if !scope.reads {
        without.extend(READERS);
    }
    if !scope.mentions {
        without.extend(SEEKERS);
    }
    let about = About { spellings: &spellings, kinds, without_tools: &without, filter, ..About::default() };
    let mut deals = paired(reader, reader.about(&about)?)?;
    let mut shares = shares_of(&deals, 0, &|path| wanted.matches(path));
    let mut files: BTreeSet<String> = shares.iter().map(|share| share.path.clone()).collect();
    wanted.prefer_exact(&mut files);
    shares.retain(|share| files.contains(&share.path));
    let (more, of_folders) = folder_deals(reader, &files, deals.len(), filter)?;
    deals.extend(more);
    shares.extend(of_folders);
    shares.retain(|share| scope.admits(share.what));
    Ok((deals, shares))
}

/// What was done to the folders a file is in: deleting one deletes the file.
fn folder_deals(
    reader: &Reader,
    files: &BTreeSet<String>,
    first: usize,
    filter: Option<&Filter>,
) -> Result<(Vec<Deal>, Vec<Share>)> {
    if files.is_empty() || files.len() > FOLDERS_OF {
        return Ok((Vec::new(), Vec::new()));
    }
    let folders: BTreeSet<String> = files.iter().flat_map(|file| folders_above(file)).collect();
    let spellings: Vec<Spelling> = folders
        .iter()
        .filter(|folder| folder.starts_with(['/', '~']) || path::folds_case(folder))
        .map(|folder| Spelling::Exact(folder.to_lowercase()))
        .collect();
    if spellings.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let about = About {
        spellings: &spellings,
        kinds: &[Kind::ToolUse, Kind::ToolResult],
        tools: &["Bash"],
        filter,
        ..About::default()
    };
    let deals = paired(reader, reader.about(&about)?)?;
    let mut shares = Vec::new();
    for file in files {
        let above: BTreeSet<String> = folders_above(file).iter().map(|folder| identity(folder)).collect();
        for share in shares_of(&deals, first, &|path| above.contains(&identity(path))) {
            let reaches_down = matches!(share.deed, Some(Deed::Delete | Deed::Restore | Deed::RenameTo { .. }));
            if reaches_down {
                let rest = file[share.path.len().min(file.len())..].to_string();
                let other = share.other.clone().map(|other| format!("{other}{rest}"));
                shares.push(Share { path: file.clone(), other, ..share });
            }
        }
    }
    Ok((deals, shares))
}

/// A line's id and the call's in it: the same in all copies.
type CallName = (String, Option<String>);

/// Brings calls and results together, and copies of a call into one.
fn paired(reader: &Reader, found: Vec<(FileKey, Document)>) -> Result<Vec<Deal>> {
    let mut results: HashMap<(FileKey, String), Vec<Document>> = HashMap::new();
    let mut calls: HashMap<CallName, Vec<(FileKey, Document)>> = HashMap::new();
    let mut order = Vec::new();
    for (key, document) in found {
        if document.kind == Kind::ToolResult {
            let id = document.tool_use.clone().unwrap_or_default();
            results.entry((key, id)).or_default().push(document);
        } else if document.part == 0 || document.has_input {
            let line = document.note.clone().or_else(|| document.uuid.clone());
            let name = (line.unwrap_or_else(|| format!("{key:?}/{}", document.offset)), document.tool_use.clone());
            let copies = calls.entry(name.clone()).or_default();
            if copies.is_empty() {
                order.push(name);
            }
            copies.push((key, document));
        }
    }
    order.iter().filter_map(|name| calls.remove(name)).map(|copies| deal_of(reader, copies, &mut results)).collect()
}

fn deal_of(
    reader: &Reader,
    copies: Vec<(FileKey, Document)>,
    results: &mut HashMap<(FileKey, String), Vec<Document>>,
) -> Result<Deal> {
    let mut sessions: Vec<String> = copies.iter().map(|(_, call)| call.session.clone()).collect();
    let mut answered = Vec::with_capacity(copies.len());
    for (key, call) in copies {
        let place = if answered.is_empty() { String::new() } else { path_of(reader, key)? };
        let id = call.tool_use.clone().unwrap_or_default();
        let result = results.get(&(key, id)).and_then(|found| whole_result(found, call.line));
        answered.push((key, call, result, place));
    }
    if answered.len() > 1 {
        answered[0].3 = path_of(reader, answered[0].0)?;
    }
    // The earliest copy speaks; the conversation itself rather than the copy a subagent was given of it.
    answered
        .sort_by(|a, b| (a.1.timestamp, a.1.agent.is_some(), &a.3).cmp(&(b.1.timestamp, b.1.agent.is_some(), &b.3)));
    let elsewhere = answered.iter().skip(1).find_map(|(key, _, result, _)| result.clone().map(|result| (*key, result)));
    let (key, call, result, _) = answered.swap_remove(0);
    sessions.retain(|session| *session != call.session);
    sessions.sort_unstable();
    sessions.dedup();
    let tool = call.tool.clone().unwrap_or_default();
    let asked = match call.kind {
        Kind::ToolUse => read_call(&tool, call.input.as_deref().unwrap_or_default()),
        _ if matches!(tool.as_str(), "file" | "nested_memory") => Call::Read { part: true },
        _ => Call::Other,
    };
    let touches = match &asked {
        Call::Command(command) if is_shell(&tool) => touched(command, call.cwd.as_deref()),
        _ => Vec::new(),
    };
    let result = result.map(|result| (key, result)).or(elsewhere);
    Ok(Deal { key, call, result, also_in: sessions, asked, touches })
}

/// The answer to a call: the first behind it, its pieces joined.
fn whole_result(found: &[Document], after: u64) -> Option<Document> {
    let line = found.iter().map(|result| result.line).filter(|line| *line >= after).min()?;
    let mut parts: Vec<&Document> = found.iter().filter(|result| result.line == line).collect();
    parts.sort_by_key(|part| part.part);
    let mut whole = (*parts.first()?).clone();
    parts[1..].iter().for_each(|part| whole.text.push_str(&part.text));
    Some(whole)
}

fn path_of(reader: &Reader, key: FileKey) -> Result<String> {
    Ok(reader.card(key)?.map(|file| file.path().to_string_lossy().into_owned()).unwrap_or_default())
}

/// What deals do to the files that are meant.
fn shares_of(deals: &[Deal], first: usize, is_meant: &dyn Fn(&str) -> bool) -> Vec<Share> {
    let mut shares = Vec::new();
    for (at, deal) in deals.iter().enumerate() {
        let deal_at = first + at;
        let share = |path: &str, what, other: Option<String>| Share {
            deal: deal_at,
            path: path.to_string(),
            what,
            other,
            inferred: false,
            deed: None,
        };
        let cwd = deal.call.cwd.as_deref();
        match &deal.asked {
            Call::Command(_) => {
                for touch in deal.touches.iter().filter(|touch| is_meant(&touch.path)) {
                    let (what, other) = what_of(&touch.deed);
                    shares.push(Share {
                        inferred: true,
                        deed: Some(touch.deed.clone()),
                        ..share(&touch.path, what, other)
                    });
                }
            }
            Call::Rename { from, to } => {
                let (from, to) = (normal_path(from, cwd), normal_path(to, cwd));
                for (path, other) in [(&from, &to), (&to, &from)] {
                    if is_meant(path) {
                        let deed = if path == &from {
                            Deed::RenameTo { to: Some(to.clone()) }
                        } else {
                            Deed::RenameFrom { from: from.clone() }
                        };
                        shares.push(Share { deed: Some(deed), ..share(path, What::Rename, Some(other.clone())) });
                    }
                }
            }
            asked => {
                let what = plain_what(deal, asked);
                let mut files: Vec<&String> = deal.call.files.iter().filter(|file| is_meant(file)).collect();
                files.dedup();
                shares.extend(files.into_iter().map(|file| share(file, what, None)));
            }
        }
    }
    shares
}

fn what_of(deed: &Deed) -> (What, Option<String>) {
    match deed {
        Deed::Write(_) | Deed::Restore => (What::Overwrite, None),
        Deed::Copy { from } => (What::Overwrite, Some(from.clone())),
        Deed::Append(_) | Deed::Change => (What::Edit, None),
        Deed::RenameTo { to } => (What::Rename, to.clone()),
        Deed::RenameFrom { from } => (What::Rename, Some(from.clone())),
        Deed::Delete => (What::Delete, None),
    }
}

fn plain_what(deal: &Deal, asked: &Call) -> What {
    let result = deal.result.as_ref().map(|(_, result)| result);
    let trace = result.and_then(|result| result.trace.as_ref());
    match asked {
        Call::Write(_) => {
            let created = trace.is_some_and(|trace| trace.created)
                || result.is_some_and(|result| result.text.starts_with("File created"));
            if created { What::Create } else { What::Overwrite }
        }
        Call::Edits(edits) => {
            let makes = edits.first().is_some_and(|edit| edit.old.is_empty());
            if makes && trace.is_none_or(|trace| trace.before.is_none()) { What::Create } else { What::Edit }
        }
        Call::Change if deal.call.tool.as_deref() == Some("Write") => What::Overwrite,
        Call::Change => What::Edit,
        Call::Delete => What::Delete,
        Call::Read { .. } => What::Read,
        Call::Rename { .. } => What::Rename,
        Call::Command(_) | Call::Other => What::Mention,
    }
}
