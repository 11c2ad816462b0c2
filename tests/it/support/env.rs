//! A sealed place to run the real binary in: its own home, its own index, a fixed clock, and none of the user's
//! settings.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// The current time, as the binary sees it.
pub(crate) const NOW: &str = "2026-11-16T12:00:00Z";

/// A home with a `.claude` folder, and an index next to it.
pub(crate) struct Env {
    dir: TempDir,
}

/// The outcome of a command.
pub(crate) struct Ran {
    /// The exit code; -1 if a signal ended it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Env {
    /// An empty home.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("temporary folder");
        std::fs::create_dir_all(dir.path().join("home/.claude/projects")).expect("made");
        Self { dir }
    }

    /// A home with a copy of one of the trees in `fixtures/`, such as `home` or `malformed`.
    pub(crate) fn with_fixtures(name: &str) -> Self {
        let env = Self::new();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name).join(".claude");
        copy_tree(&from, &env.claude());
        env
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn claude(&self) -> PathBuf {
        self.path().join("home/.claude")
    }

    pub(crate) fn index_dir(&self) -> PathBuf {
        self.path().join("index")
    }

    /// The folder of the only index.
    pub(crate) fn index_folder(&self) -> PathBuf {
        let folders = std::fs::read_dir(self.index_dir()).expect("listed").map(|entry| entry.expect("entry").path());
        folders.filter(|path| path.is_dir()).min().expect("an index")
    }

    /// The segment files of the only index, sorted.
    pub(crate) fn segment_files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.index_folder()).expect("listed").map(|entry| entry.expect("entry").path());
        let mut files: Vec<PathBuf> =
            entries.filter(|path| path.file_stem().is_some_and(|stem| stem.len() >= 32)).collect();
        files.sort();
        files
    }

    /// The path of a file in a project, such as `-home-u-x/<uuid>.jsonl`; creates its folders.
    pub(crate) fn file(&self, relative: impl AsRef<Path>) -> PathBuf {
        let path = self.claude().join("projects").join(relative);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        path
    }

    /// Writes a file of a project.
    pub(crate) fn write(&self, relative: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(relative);
        std::fs::write(&path, bytes).expect("written");
        path
    }

    /// Appends to a file of a project.
    pub(crate) fn append(&self, relative: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
        use std::io::Write as _;
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(self.file(relative)).expect("opened");
        file.write_all(bytes.as_ref()).expect("appended");
    }

    /// The binary, ready for arguments, with nothing of the caller's environment.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unspool"));
        command
            .env_clear()
            .env("HOME", self.path().join("home"))
            .env("UNSPOOL_INDEX_DIR", self.index_dir())
            .env("UNSPOOL_NOW", NOW)
            .env("TZ", "UTC")
            .env("COLUMNS", "120")
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.path());
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.command().args(args).output().expect("ran"))
    }

    /// The output of the binary on a terminal; none where there is no `script` command to provide one.
    pub(crate) fn on_terminal(&self, args: &[&str]) -> Option<String> {
        let words = args.iter().map(|arg| format!("'{arg}'")).collect::<Vec<_>>().join(" ");
        let line = format!("{} {words}", env!("CARGO_BIN_EXE_unspool"));
        let mut command = Command::new("script");
        let same = self.command();
        command.env_clear().envs(same.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh").stdin(std::process::Stdio::null());
        let output = command.current_dir(self.path()).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n"))
    }

    /// Indexes; the run must succeed (0) or report problems in files (3).
    pub(crate) fn index(&self) -> Ran {
        let ran = self.run(&["index"]);
        assert!(matches!(ran.code, 0 | 3), "index failed: {} {}", ran.code, ran.stderr);
        ran
    }

    /// Indexes, and returns the report.
    pub(crate) fn index_json(&self) -> Value {
        let ran = self.run(&["index", "--json"]);
        assert!(matches!(ran.code, 0 | 3), "index failed: {} {}", ran.code, ran.stderr);
        serde_json::from_str(&ran.stdout).expect("JSON")
    }

    /// All hits of a query, not grouped by session, from the index as it is. A single word is quoted: a word without
    /// matches would be taken for a typo.
    pub(crate) fn hits(&self, query: &str) -> Vec<Value> {
        let quoted = format!("\"{query}\"");
        let is_word = query.chars().all(char::is_alphabetic);
        self.hits_with(&["--messages", "-n", "1000", if is_word { &quoted } else { query }])
    }

    /// All hits of a search with the given arguments.
    pub(crate) fn hits_with(&self, args: &[&str]) -> Vec<Value> {
        let ran = self.run(&[&["search", "--no-refresh", "--json"], args].concat());
        assert!(matches!(ran.code, 0 | 1), "search failed: {} {}", ran.code, ran.stderr);
        let lines = ran.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.filter(|line| line["type"] == "hit").collect()
    }

    /// The number of hits of a query.
    pub(crate) fn count(&self, query: &str) -> usize {
        self.hits(query).len()
    }

    /// The lines of `status --problems`.
    pub(crate) fn problems(&self) -> Vec<String> {
        self.run(&["status", "--problems"]).stdout.lines().map(str::to_string).collect()
    }

    /// The output of `status --json`.
    pub(crate) fn status(&self) -> Value {
        let ran = self.run(&["status", "--json"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        serde_json::from_str(&ran.stdout).expect("JSON")
    }

    /// Checks the index thoroughly; it must be intact.
    pub(crate) fn verify(&self) {
        let ran = self.run(&["verify", "--deep"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    }

    /// Runs `index` once more, after which the index must be intact. This must work after every fault.
    pub(crate) fn heal(&self) {
        self.index();
        self.verify();
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("listed").map(|entry| entry.expect("entry")) {
        let target = to.join(entry.file_name());
        if entry.file_type().expect("type").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}
