//! Replays what is recorded of a file, step by step, into its versions. Pure.
//!
//! A step may tell what the file held before it, what it changed, or both. What was recorded always wins over what
//! was put together; where the two differ, the file was changed by something that is not recorded, and the version
//! before is doubtful from its time on.

use crate::archive::history::text::{By, Miss, Text};
use crate::transcript::{Edit, Hunk, print_of};

/// Something recorded about the contents of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    /// When, in milliseconds since 1970.
    pub(super) time: i64,
    /// Whether it is about another file, which this one later became a copy of.
    pub(super) of_other: bool,
    /// What the file held before.
    pub(super) before: Option<Known>,
    /// A part that was read.
    pub(super) part: Option<Part>,
    /// What was changed.
    pub(super) change: Option<Change>,
    /// What the file held afterwards.
    pub(super) after: Option<Known>,
    /// The change as a patch.
    pub(super) hunks: Vec<Hunk>,
}

/// What a file held at some moment.
#[derive(Clone, Debug)]
pub(super) enum Known {
    /// These contents.
    Contents(String),
    /// Contents with this fingerprint.
    Print(u64),
}

/// Lines that were read.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The first, from 1.
    pub(super) start: usize,
    /// How many the file has; 0 if unknown.
    pub(super) total: usize,
    /// The lines.
    pub(super) text: String,
}

/// A change.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// New contents.
    Write(String),
    /// Texts replaced one after the other.
    Edits(Vec<Edit>),
    /// A text put at the end.
    Append(String),
    /// Something that is not recorded.
    Unknown,
    /// New contents that are not recorded.
    Lost,
    /// The file is gone.
    Delete,
    /// What comes next is the history of another file, which this one becomes a copy of.
    Reset,
    /// The file now is what the other one was.
    Take,
}

/// The file at some moment, as far as is known.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// Its contents; none if nothing is known of them.
    pub(super) text: Option<Text>,
    /// Whether it was deleted.
    pub(super) deleted: bool,
    /// What is not certain about it.
    pub(super) doubts: Vec<Doubt>,
}

/// Why contents are not certain.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Doubt {
    /// A step could not be applied.
    NotApplied(usize),
    /// The effect of a step is not recorded.
    Unrecorded(usize),
    /// It was changed by something that is not recorded, before this step.
    Outside(usize),
}

/// The file after a step, or as a step found it.
#[derive(Clone, Debug)]
pub(super) struct Version {
    /// The step.
    pub(super) step: usize,
    /// Whether the step only found it so.
    pub(super) found: bool,
    pub(super) state: State,
    /// The step that found something else, though nothing is recorded in between.
    pub(super) contradicted_by: Option<usize>,
}

/// Replays steps, which are in order of time.
pub(super) fn replay(steps: &[Step]) -> Vec<Version> {
    let mut replay = Replay { versions: Vec::new(), state: State::default() };
    for (at, step) in steps.iter().enumerate() {
        replay.find(at, step);
        replay.change(at, step);
    }
    replay.versions
}

struct Replay {
    versions: Vec<Version>,
    state: State,
}

impl Replay {
    fn keep(&mut self, step: usize, found: bool) {
        self.versions.push(Version { step, found, state: self.state.clone(), contradicted_by: None });
    }

    fn contradict(&mut self, step: usize) {
        if let Some(last) = self.versions.last_mut() {
            last.contradicted_by.get_or_insert(step);
        }
    }

    /// Compares what is known with what a step found.
    fn find(&mut self, at: usize, step: &Step) {
        match &step.before {
            Some(Known::Contents(contents)) => self.found(at, contents),
            Some(Known::Print(print)) => self.proven(at, *print),
            None => {}
        }
        if let Some(part) = &step.part {
            self.found_part(at, part);
        }
    }

    fn found(&mut self, at: usize, contents: &str) {
        let contents = self.state.text.as_ref().map_or(contents.into(), |text| text.in_its_ends(contents));
        let contents = contents.as_ref();
        let text = match self.state.text.clone() {
            Some(text) if text.agrees_with(contents) => text.become_contents(contents, By::Nobody),
            Some(text) => {
                self.contradict(at);
                text.become_contents(contents, By::Outside(at))
            }
            None if self.state.deleted => Text::of(contents, By::Outside(at)),
            None => Text::of(contents, By::Nobody),
        };
        let is_news =
            self.state.text.as_ref() != Some(&text) || !self.state.doubts.is_empty() || self.versions.is_empty();
        self.state = State { text: Some(text), deleted: false, doubts: Vec::new() };
        if is_news {
            self.keep(at, true);
        }
    }

    /// A fingerprint proves the contents, or shows that they are not these.
    fn proven(&mut self, at: usize, print: u64) {
        let Some(contents) = self.state.text.as_ref().and_then(Text::contents) else { return };
        if is_print_of(&contents, print) {
            self.state.doubts.clear();
        } else {
            self.contradict(at);
            self.state.doubts.push(Doubt::Outside(at));
        }
    }

    fn found_part(&mut self, at: usize, part: &Part) {
        let lines: Vec<&str> = part.text.split('\n').collect();
        let before = match (&self.state.text, part.total) {
            (Some(text), _) => text.clone(),
            (None, 0) => return,
            (None, total) => Text::unknown(total),
        };
        let (text, conflict) = before.seen(part.start, part.total, &lines, at);
        if conflict && part.total == 0 {
            // Nobody knows where the other lines are now.
            self.contradict(at);
            self.state.doubts.push(Doubt::Outside(at));
            return;
        }
        if conflict {
            self.contradict(at);
            self.state.doubts.push(Doubt::Outside(at));
        }
        if self.state.text.as_ref() != Some(&text) {
            self.state.text = Some(text);
            self.state.deleted = false;
            self.keep(at, true);
        }
    }

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
                self.state = State { text: Some(text), ..State::default() };
            }
            Change::Edits(edits) => self.edit(at, edits, &step.hunks),
            Change::Append(text) => match self.state.text.as_ref().map(|before| before.appended(text, by)) {
                Some(Some(text)) => self.state.text = Some(text),
                _ => self.state.doubts.push(Doubt::NotApplied(at)),
            },
            Change::Unknown => self.state.doubts.push(Doubt::Unrecorded(at)),
            Change::Lost => self.state = State { doubts: vec![Doubt::Unrecorded(at)], ..State::default() },
            Change::Delete => self.state = State { deleted: true, ..State::default() },
            Change::Reset => {
                self.state = State::default();
                return;
            }
            Change::Take if self.state.text.is_none() => self.state.doubts.push(Doubt::Unrecorded(at)),
            Change::Take => {}
        }
        self.check(at, step.after.as_ref());
        self.keep(at, false);
    }

    fn check(&mut self, at: usize, after: Option<&Known>) {
        match after {
            Some(Known::Contents(contents)) => {
                let agrees = self.state.text.as_ref().and_then(Text::contents).as_deref() == Some(contents.as_str());
                if !agrees {
                    let text = self.state.text.take().unwrap_or_default().become_contents(contents, By::Step(at));
                    self.state.text = Some(text);
                }
                self.state.doubts.clear();
            }
            Some(Known::Print(print)) => match self.state.text.as_ref().and_then(Text::contents) {
                Some(contents) if is_print_of(&contents, *print) => self.state.doubts.clear(),
                _ => self.state.doubts.push(Doubt::NotApplied(at)),
            },
            None => {}
        }
    }

    fn edit(&mut self, at: usize, edits: &[Edit], hunks: &[Hunk]) {
        let by = By::Step(at);
        let Some(before) = self.state.text.clone() else {
            let makes = edits.first().is_some_and(|edit| edit.old.is_empty());
            match Text::of("", by).edited_all(edits, by) {
                Ok(text) if makes => self.state = State { text: Some(text), ..State::default() },
                _ => self.state.doubts.push(Doubt::NotApplied(at)),
            }
            return;
        };
        let edited = before.edited_all(edits, by);
        let in_hole = !before.is_whole() && edited == Err(Miss::Absent);
        match edited {
            Ok(text) => self.state.text = Some(text),
            Err(_) if in_hole => match before.patched(hunks, edits, by).filter(|_| !hunks.is_empty()) {
                Some(text) => self.state.text = Some(text),
                None => self.state.doubts.push(Doubt::NotApplied(at)),
            },
            Err(_) => self.state.doubts.push(Doubt::NotApplied(at)),
        }
    }
}

/// Whether contents have this fingerprint, as they are or with plain newlines.
fn is_print_of(contents: &str, print: u64) -> bool {
    print_of(contents) == print || (contents.contains('\r') && print_of(&contents.replace("\r\n", "\n")) == print)
}

impl Text {
    fn edited_all(&self, edits: &[Edit], by: By) -> Result<Self, Miss> {
        edits.iter().try_fold(self.clone(), |text, edit| text.edited(edit, by))
    }
}
