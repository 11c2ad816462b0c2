//! Replays the recorded steps of a file into its versions. Pure.
//!
//! A step may show the contents before it, a change, or both. Recorded contents always take precedence over replayed
//! ones. If the two differ, something unrecorded changed the file, and the previous version is doubtful from its time
//! on.

use crate::archive::history::text::{By, Miss, Text};
use crate::transcript::{Edit, Hunk, text_fingerprint};

/// Something recorded about the contents of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    /// The time, in milliseconds since 1970.
    pub(super) time: i64,
    /// True if it is about another file, from which this one was later renamed or copied.
    pub(super) of_other: bool,
    /// The contents before the step, if recorded.
    pub(super) before: Option<Known>,
    /// The parts that were read.
    pub(super) parts: Vec<Part>,
    /// The change.
    pub(super) change: Option<Change>,
    /// The contents after the step, if recorded.
    pub(super) after: Option<Known>,
    /// The change as a patch.
    pub(super) hunks: Vec<Hunk>,
}

/// Recorded contents of a file.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// The contents themselves.
    Contents(String),
    /// Only the hash of the contents; see [`text_fingerprint`].
    Print(u64),
}

/// Lines that were read.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The number of the first line, from 1.
    pub(super) start: usize,
    /// The number of lines in the file; 0 if unknown.
    pub(super) total: usize,
    /// The lines.
    pub(super) text: String,
}

/// A change to a file.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// New contents.
    Write(String),
    /// Replacements, applied one after the other.
    Edits(Vec<Edit>),
    /// Text added at the end.
    Append(String),
    /// A partial change that is not recorded.
    Unknown,
    /// Something that may have changed the file.
    Possible,
    /// New contents that are not recorded.
    Lost,
    /// The file was deleted or renamed.
    Delete,
    /// The following steps, up to [`Change::Take`], are about the file from which this one was renamed or copied.
    Reset,
    /// The contents of that other file became the contents of this one.
    Take,
}

/// The state of a file at some moment, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// The contents. `None` if nothing is known of them.
    pub(super) text: Option<Text>,
    /// True if it was deleted.
    pub(super) deleted: bool,
    /// The reasons why the contents are not certain.
    pub(super) doubts: Vec<Doubt>,
    /// The last known contents, if the present ones are not known.
    lost: Option<Text>,
}

impl State {
    /// Reports whether another state has the same contents, whoever wrote them.
    pub(super) fn has_same_contents(&self, other: &Self) -> bool {
        let texts = |state: &Self| {
            state.text.as_ref().map(|text| text.lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>())
        };
        texts(self) == texts(other) && self.deleted == other.deleted
    }
}

/// A reason why contents are not certain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Doubt {
    /// This step could not be applied.
    NotApplied(usize),
    /// The effect of this step is not recorded.
    Unrecorded(usize),
    /// An unrecorded change happened before this step.
    Outside(usize),
    /// This step may have changed the file.
    Possible(usize),
}

/// The file after a step, or as a step found it.
#[derive(Clone, Debug)]
pub(super) struct Version {
    /// The step.
    pub(super) step: usize,
    /// True if the step found this version and did not write it.
    pub(super) found: bool,
    /// True if the step only made an earlier version doubtful.
    pub(super) possible: bool,
    pub(super) state: State,
    /// The step that found other contents, although no change is recorded in between.
    pub(super) contradicted_by: Option<usize>,
}

/// Replays steps, which must be sorted by time.
pub(super) fn replay(steps: &[Step]) -> Vec<Version> {
    let mut replay = Replay { versions: Vec::new(), state: State::default() };
    for (at, step) in steps.iter().enumerate() {
        replay.observe(at, step);
        replay.change(at, step);
    }
    replay.versions
}

struct Replay {
    versions: Vec<Version>,
    state: State,
}

impl Replay {
    /// Adds the current state as a version.
    fn keep(&mut self, step: usize, found: bool) {
        let state = self.state.clone();
        self.versions.push(Version { step, found, possible: false, state, contradicted_by: None });
    }

    /// Adds a reason why the contents are not certain. Everything recorded before is doubtful from then on.
    fn doubt(&mut self, doubt: Doubt) {
        self.state.doubts.push(doubt);
        self.state.text = self.state.text.take().map(|text| text.doubted(true));
    }

    /// Removes all doubts.
    fn trust(&mut self) {
        self.state.doubts.clear();
        self.state.text = self.state.text.take().map(|text| text.doubted(false));
    }

    /// Marks the last version as contradicted by a step, unless an earlier step did that.
    fn contradict(&mut self, step: usize) {
        if let Some(last) = self.versions.last_mut() {
            last.contradicted_by.get_or_insert(step);
        }
    }

    /// Compares the current state with what a step found.
    fn observe(&mut self, at: usize, step: &Step) {
        match &step.before {
            Some(Known::Contents(contents)) => self.observe_contents(at, contents),
            Some(Known::Print(print)) => self.observe_hash(at, *print),
            None => {}
        }
        step.parts.iter().for_each(|part| self.observe_part(at, part));
    }

    /// Takes over the whole contents that a step found.
    fn observe_contents(&mut self, at: usize, contents: &str) {
        let contents = self.state.text.as_ref().map_or(contents.into(), |text| text.in_its_ends(contents));
        let contents = contents.as_ref();
        let text = match self.state.text.clone() {
            Some(text) if text.agrees_with(contents) => text.become_contents(contents, By::Nobody),
            Some(text) => {
                self.contradict(at);
                text.become_contents(contents, By::Outside(at))
            }
            None => match &self.state.lost {
                Some(lost) => lost.become_contents(contents, By::Outside(at)),
                None if self.state.deleted => Text::of(contents, By::Outside(at)),
                None => Text::of(contents, By::Nobody),
            },
        };
        let text = text.doubted(false);
        let is_new =
            self.state.text.as_ref() != Some(&text) || !self.state.doubts.is_empty() || self.versions.is_empty();
        self.state = State { text: Some(text), ..State::default() };
        if is_new {
            self.keep(at, true);
        }
    }

    /// Confirms or contradicts the contents by their hash.
    fn observe_hash(&mut self, at: usize, print: u64) {
        let Some(contents) = self.state.text.as_ref().and_then(Text::contents) else { return };
        if has_hash(&contents, print) {
            self.trust();
        } else {
            self.contradict(at);
            self.doubt(Doubt::Outside(at));
        }
    }

    /// Takes over the lines that a step read.
    fn observe_part(&mut self, at: usize, part: &Part) {
        let before = match (&self.state.text, part.total) {
            (Some(text), _) => text.clone(),
            (None, 0) => return,
            (None, total) => Text::unknown(total),
        };
        let has_returns = before.is_crlf() && !part.text.contains('\r');
        // The tool shows the lines without their line ends. The last line of a file has none.
        let is_last = |at: usize| part.start + at >= part.total.max(before.lines.len());
        let line = |(at, line): (usize, &str)| format!("{line}{}", if has_returns && !is_last(at) { "\r" } else { "" });
        let lines: Vec<String> = part.text.split('\n').enumerate().map(line).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (text, conflict) = before.seen(part.start, part.total, &lines, at);
        let doubt = Doubt::Outside(at);
        if conflict && !self.state.doubts.contains(&doubt) {
            self.contradict(at);
            self.state.doubts.push(doubt);
        }
        if !conflict && part.total > 0 && text.is_certain() {
            self.state.doubts.clear();
        }
        let is_new = self.state.text.as_ref().is_none_or(|before| !before.has_same_lines(&text));
        self.state.text = Some(text);
        if is_new {
            self.state.deleted = false;
            self.keep(at, true);
        }
    }

    /// Applies the change of a step and adds the result as a version.
    fn change(&mut self, at: usize, step: &Step) {
        let Some(change) = &step.change else { return };
        let by = By::Step(at);
        match change {
            Change::Write(contents) => {
                let text = self
                    .state
                    .text
                    .as_ref()
                    .map_or_else(|| Text::of(contents, by), |text| text.become_contents(contents, by));
                self.state = State { text: Some(text.doubted(false)), ..State::default() };
            }
            Change::Edits(edits) => self.edit(at, edits, &step.hunks),
            Change::Append(text) => match self.state.text.as_ref().map(|before| before.appended(text, by)) {
                Some(Some(text)) => self.state.text = Some(text),
                _ => self.doubt(Doubt::NotApplied(at)),
            },
            Change::Unknown => self.doubt(Doubt::Unrecorded(at)),
            Change::Possible => return self.make_doubtful(at),
            Change::Lost => {
                self.lose(false);
                self.state.doubts.push(Doubt::Unrecorded(at));
            }
            Change::Delete => self.lose(true),
            Change::Reset => {
                self.state = State::default();
                return;
            }
            Change::Take if self.state.text.is_none() => self.doubt(Doubt::Unrecorded(at)),
            Change::Take => {}
        }
        self.check(at, step.after.as_ref());
        self.keep(at, false);
    }

    /// Marks the contents as unknown. They are kept only to find the authors of lines that reappear.
    fn lose(&mut self, deleted: bool) {
        let lost = self.state.text.take().or(self.state.lost.take());
        self.state = State { deleted, lost, ..State::default() };
    }

    /// Adds a version that differs from the last one only in its doubts.
    fn make_doubtful(&mut self, at: usize) {
        if self.state.text.is_some() {
            self.doubt(Doubt::Possible(at));
            self.keep(at, false);
            self.versions.iter_mut().rev().take(1).for_each(|version| version.possible = true);
        }
    }

    /// Compares the result of a change with what is recorded about it.
    fn check(&mut self, at: usize, after: Option<&Known>) {
        match after {
            Some(Known::Contents(contents)) => {
                let agrees = self.state.text.as_ref().and_then(Text::contents).as_deref() == Some(contents.as_str());
                if !agrees {
                    let text = self.state.text.take().unwrap_or_default().become_contents(contents, By::Step(at));
                    self.state.text = Some(text);
                }
                self.trust();
            }
            Some(Known::Print(print)) => match self.state.text.as_ref().and_then(Text::contents) {
                Some(contents) if has_hash(&contents, *print) => self.trust(),
                _ => self.doubt(Doubt::NotApplied(at)),
            },
            None => {}
        }
    }

    /// Applies edits, or their patch if they fall into unknown lines.
    fn edit(&mut self, at: usize, edits: &[Edit], hunks: &[Hunk]) {
        let by = By::Step(at);
        let Some(before) = self.state.text.clone() else {
            let creates = edits.first().is_some_and(|edit| edit.old.is_empty());
            match Text::of("", by).edited_all(edits, by) {
                Ok(text) if creates => self.state = State { text: Some(text), ..State::default() },
                _ => self.doubt(Doubt::NotApplied(at)),
            }
            return;
        };
        let edited = before.edited_all(edits, by);
        let in_hole = !before.is_whole() && edited == Err(Miss::Absent);
        match edited {
            Ok(text) => self.state.text = Some(text),
            Err(_) if in_hole => match before.patched(hunks, edits, by).filter(|_| !hunks.is_empty()) {
                Some(text) => self.state.text = Some(text),
                None => self.doubt(Doubt::NotApplied(at)),
            },
            Err(_) => self.doubt(Doubt::NotApplied(at)),
        }
    }
}

/// Reports whether contents have this hash, as they are or with LF line ends.
fn has_hash(contents: &str, print: u64) -> bool {
    text_fingerprint(contents) == print
        || (contents.contains('\r') && text_fingerprint(&contents.replace("\r\n", "\n")) == print)
}

impl Text {
    fn edited_all(&self, edits: &[Edit], by: By) -> Result<Self, Miss> {
        edits.iter().try_fold(self.clone(), |text, edit| text.edited(edit, by))
    }
}
