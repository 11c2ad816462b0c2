//! Takes documents whose files are gone from an older index into a new one.

use std::collections::HashSet;

use super::Report;
use super::plan::Plan;
use crate::document::{Builder, Document, Kind};
use crate::error::{Problem, Result};
use crate::index::{Checkpoint, FileKey, Past, Reader, Writer};

/// Copies what the sources no longer hold. A damaged old index gives what it still can.
pub(super) fn take_over(old: &[Reader], plan: &Plan, writer: &Writer, now: i64, report: &mut Report) -> Result<()> {
    let mut done: HashSet<FileKey> = plan.work.iter().map(|work| FileKey::of(&work.source.path)).collect();
    for reader in old {
        let checkpoints = match reader.checkpoints() {
            Ok(checkpoints) => checkpoints,
            Err(error) => {
                report
                    .problems
                    .push(Problem::with_path("older index", format!("what it alone holds is lost: {error}")));
                continue;
            }
        };
        for checkpoint in checkpoints {
            if done.insert(checkpoint.key()) {
                take_over_file(reader, checkpoint, writer, now, report)?;
            }
        }
    }
    Ok(())
}

fn take_over_file(
    reader: &Reader,
    checkpoint: Checkpoint,
    writer: &Writer,
    now: i64,
    report: &mut Report,
) -> Result<()> {
    let documents = match reader.documents_of(checkpoint.key()) {
        Ok(documents) => documents,
        Err(error) => {
            report.problems.push(Problem::with_path(checkpoint.path(), format!("its text is lost: {error}")));
            return Ok(());
        }
    };
    let documents: Vec<Document> = documents.into_iter().filter(|document| !is_state_title(document)).collect();
    let mut gone = if checkpoint.forgotten { checkpoint } else { checkpoint.gone(now) };
    let title = title_of(&gone);
    report.carried += documents.len() as u64 + u64::from(title.is_some());
    // What a damaged index says of itself may be wrong; what was taken over is known.
    gone.state.documents = documents.iter().filter(|document| document.via.is_none()).count() as u64;
    writer.add(gone.key(), documents, &mut Past::default())?;
    writer.checkpoint(&gone, title, false)
}

/// The sessions the user wants nothing of.
pub(super) fn forgotten_sessions(old: &[Reader]) -> HashSet<String> {
    old.iter().filter_map(|reader| reader.forgotten_sessions().ok()).flatten().collect()
}

/// The name a file gives its session is made from its state, not read from a line.
fn is_state_title(document: &Document) -> bool {
    document.kind == Kind::Title && document.line == 0
}

/// The document of the name that a file gives its session.
pub(super) fn title_of(checkpoint: &Checkpoint) -> Option<Document> {
    let kind = checkpoint.source_kind();
    Builder::new(kind, checkpoint.session_id(), checkpoint.agent_id(), checkpoint.state.clone()).title()
}
