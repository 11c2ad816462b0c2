//! Writes the files of the corpus with their times, and the records about it.

use super::json;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Result, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// A main session that `grow` may extend.
pub(crate) struct Live {
    pub time: i64,
    pub path: String,
}

/// Writes all files of a corpus.
pub(crate) struct Sink {
    root: PathBuf,
    pub total: u64,
    /// Bytes of lines that are copies of lines in other files.
    pub copied: u64,
    pub live: Vec<Live>,
    history: BufWriter<File>,
    truth: BufWriter<File>,
    damage: BufWriter<File>,
}

impl Sink {
    pub(crate) fn new(root: &Path) -> Result<Self> {
        fs::create_dir_all(root.join("projects"))?;
        let open = |name: &str| File::create(root.join(name)).map(BufWriter::new);
        Ok(Self {
            root: root.into(),
            total: 0,
            copied: 0,
            live: Vec::new(),
            history: open("history.jsonl")?,
            truth: open(".truth.jsonl")?,
            damage: open(".damage.jsonl")?,
        })
    }

    fn open(&self, path: &str) -> Result<File> {
        let path = self.root.join("projects").join(path);
        fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
        OpenOptions::new().create(true).append(true).open(path)
    }

    /// Appends text to a file below `projects/` and sets its modification time.
    pub(crate) fn append(&mut self, path: &str, text: &str, time: i64) {
        let write = || -> Result<()> {
            let mut file = self.open(path)?;
            file.write_all(text.as_bytes())?;
            file.set_modified(UNIX_EPOCH + Duration::from_millis(time as u64))
        };
        write().unwrap_or_else(|error| panic!("cannot write {path}: {error}"));
        self.total += text.len() as u64;
    }

    /// Records a session that may still grow. Only the newest are kept.
    pub(crate) fn live(&mut self, path: &str, time: i64) {
        self.live.push(Live { time, path: path.into() });
        if self.live.len() > 256 {
            self.newest();
        }
    }

    fn newest(&mut self) {
        self.live.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.path.cmp(&b.path)));
        self.live.truncate(64);
    }

    /// Writes a line of the prompt history.
    pub(crate) fn history(&mut self, prompt: &str, time: i64, project: &str, session: &str) {
        let shown = match prompt.split_once("\n\n") {
            Some((typed, pasted)) => format!("{typed} [Pasted text #1 +{} lines]", pasted.lines().count()),
            None => prompt.into(),
        };
        let line = json::object(|o| {
            o.str("display", &shown).raw("pastedContents", "{}").num("timestamp", time as usize);
            o.str("project", project).str("sessionId", session);
        });
        record(&mut self.history, &line);
    }

    /// Records a planted fact: the query and the only session that matches it.
    pub(crate) fn fact(&mut self, session: &str, uuid: &str, class: &str, query: &str) {
        let line = json::object(|o| {
            o.str("session", session).str("uuid", uuid).str("class", class).str("query", query);
        });
        record(&mut self.truth, &line);
    }

    /// Records a line that is damaged on purpose.
    pub(crate) fn damage(&mut self, path: &str, line: usize, kind: &str) {
        let line = json::object(|o| {
            o.str("path", path).num("line", line).str("kind", kind);
        });
        record(&mut self.damage, &line);
    }

    /// Flushes the records and returns the paths of the newest sessions.
    pub(crate) fn finish(mut self) -> Result<Vec<String>> {
        self.history.flush()?;
        self.truth.flush()?;
        self.damage.flush()?;
        self.newest();
        Ok(self.live.into_iter().map(|live| live.path).collect())
    }
}

fn record(file: &mut BufWriter<File>, line: &str) {
    writeln!(file, "{line}").unwrap_or_else(|error| panic!("cannot write a record: {error}"));
}
