//! Decides whether a file has grown or was replaced: whether to read on where the last run ended, or from the start.

use std::io;

use crate::index::Checkpoint;
use crate::transcript::discover::SourceKind;
use crate::transcript::lines::{Ends, Transcript};
use crate::update::plan::Work;

/// A file that has grown and whose project is still unknown is read again from the start, unless more bytes than this
/// were read before.
const REREAD_LIMIT: u64 = 256 << 10;

/// The change of a file since the last run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum FileChange {
    /// It was not known before.
    New,
    /// It has grown, and what was read of it is the same.
    Grown,
    /// Its time has changed, but not its contents.
    SameContents,
    /// It was replaced or changed in place.
    Rewritten,
    /// It was moved here.
    Moved,
    /// It could not be read.
    Failed,
}

/// The starting point of reading.
pub(super) struct Start {
    pub(super) how: FileChange,
    pub(super) checkpoint: Checkpoint,
    pub(super) ends: Ends,
}

impl Start {
    /// Decides whether to continue where the last run ended, or to read the file from the start.
    pub(super) fn decide(work: &Work, transcript: &mut Transcript) -> io::Result<Self> {
        let Some(before) = &work.before else {
            let how = if work.moved_from.is_some() { FileChange::Moved } else { FileChange::New };
            return Ok(Self { how, checkpoint: Checkpoint::begin(&work.source), ends: Ends::default() });
        };
        // While the file was gone, copies of its messages from parents' transcripts may have replaced it.
        let was_replaced = before.gone_since.is_some() && work.may_have_copies;
        let may_have_grown = !(before.is_outdated() || was_replaced)
            && work.source.kind != SourceKind::Spill
            && transcript.stat.size >= before.offset;
        if may_have_grown {
            let mut ends = transcript.ends(before.offset)?;
            let knows_project =
                before.state.project.is_some() || before.offset > REREAD_LIMIT || before.offset == transcript.stat.size;
            let is_known = ends.fingerprint() == (before.head, before.tail) && knows_project;
            // If the file was replaced or changed in place, matching ends are not enough: compare the checksum of
            // everything read.
            if is_known
                && (!before.is_rewritten_at(transcript.stat) || transcript.checksum(before.offset)? == before.checksum)
            {
                let how =
                    if before.offset == transcript.stat.size { FileChange::SameContents } else { FileChange::Grown };
                return Ok(Self { how, checkpoint: Checkpoint::clone(before), ends });
            }
        }
        // The old documents will be deleted. First make sure that the whole file can be read.
        transcript.check_readable()?;
        Ok(Self { how: FileChange::Rewritten, checkpoint: Checkpoint::begin(&work.source), ends: Ends::default() })
    }
}
