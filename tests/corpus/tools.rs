//! Tool calls on files and the shell: Bash, Read, Edit, Write.

use super::code::{self, Edit};
use super::facts::Place;
use super::json::{self, Obj, object};
use super::output::{self, Shell};
use super::phrases::REMINDERS;
use super::session::{Call, Ran, Session};
use std::fmt::Write;

/// Measured lengths of command output.
const OUTPUT: &[(f64, f64)] =
    &[(0.0, 10.0), (0.5, 250.0), (0.75, 1100.0), (0.9, 2600.0), (0.98, 9000.0), (1.0, 29_000.0)];

impl Session<'_> {
    /// Returns the next call. Tools are drawn in the proportions of the measured sample.
    pub(crate) fn call(&mut self) -> Call {
        match self.ink.rng.weighted(&[390, 220, 175, 56, 32, 125]) {
            0 => self.bash(),
            1 => self.read(),
            2 if self.log.era.inline() && self.ink.rng.chance(0.1) => self.multi_edit(),
            2 => self.edit(),
            3 => self.grep(),
            4 => self.write(),
            _ => self.other_call(),
        }
    }

    fn bash(&mut self) -> Call {
        let Ran { shell, mut command, purpose, output: mut text } = self.run_command();
        if let Some(fact) = self.fact.as_ref().filter(|fact| fact.place == Place::Command) {
            command = fact.query.clone();
        }
        let input = object(|o| {
            o.str("command", &command).str("description", &purpose);
        });
        if !self.log.era.inline() && self.log.era.agents != super::eras::Agents::Root && self.ink.rng.chance(0.024) {
            return self.spilled(shell, input);
        }
        self.plant(Place::Output, &mut text);
        if self.ink.rng.chance(0.09) { self.failed(input, &text) } else { shell_call(self, input, &text, &text) }
    }

    /// Returns a new command, or an earlier one with nearly the same output.
    fn run_command(&mut self) -> Ran {
        if !self.ran.is_empty() && self.ink.rng.chance(0.36) {
            let mut again = self.ink.rng.pick(&self.ran).clone();
            again.output = output::print_again(&mut self.ink, again.shell, &again.output);
            return again;
        }
        let shell = output::choose(&mut self.ink);
        let (mut command, mut purpose) = (String::new(), String::new());
        self.ink.fill(&mut command, shell.command);
        self.ink.fill(&mut purpose, shell.purpose);
        if self.ink.rng.chance(0.35) {
            self.ink.fill(&mut command, " && %k --%k %f | grep -v %i > /tmp/%k-%h.txt; echo \"exit $?\"");
        }
        if self.ink.rng.chance(0.1) {
            command = self.scratch_script();
        }
        let length = self.ink.rng.quantile(OUTPUT);
        let ran = Ran { shell, command, purpose, output: output::print(&mut self.ink, shell, length) };
        if self.ran.len() < 8 {
            self.ran.push(ran.clone());
        } else {
            let at = self.ink.rng.below(8);
            self.ran[at] = ran.clone();
        }
        ran
    }

    /// Returns a command that writes a small script and runs it.
    fn scratch_script(&mut self) -> String {
        let mut script = self.ink.text(&["cat > /tmp/%k.%V <<'EOF'\n", "cd %F && cat > scratch_%i <<'EOF'\n"]);
        for _ in 0..self.ink.rng.range(1, 4) {
            code::function(&mut self.ink, &mut script);
        }
        self.ink.fill(&mut script, "EOF\n%k --%k /tmp/%k 2>&1 | tail -%n");
        script
    }

    fn failed(&mut self, input: String, text: &str) -> Call {
        let text = format!("Exit code {}\n{}\n{text}", self.ink.rng.range(1, 3), self.ink.story.error);
        let mut record = String::new();
        json::quote(&mut record, &format!("Error: {text}"));
        Call { error: true, ..Call::new("Bash", input, &text, record) }
    }

    /// Writes output that is too large for the transcript to a separate file.
    fn spilled(&mut self, shell: &Shell, input: String) -> Call {
        let length = self.ink.rng.log_range(31_000, 70_000);
        let text = output::print(&mut self.ink, shell, length);
        let mut name = String::from("b");
        json::hex(&mut self.log.rng, 8, &mut name);
        let folder = format!("{}/{}/tool-results", self.ink.names.dir, self.log.session);
        self.sink.append(&format!("{folder}/{name}.txt"), &text, self.log.now);
        let place = format!("{}/.claude/projects/{folder}/{name}.txt", self.ink.names.home);
        let kb = text.len() as f64 / 1024.0;
        let head = cut(&text, 2000);
        let shown = format!(
            "<persisted-output>\nOutput too large ({kb:.1}KB). Full output saved to: {place}\n\nPreview (first 2KB):\n{head}\n...\n</persisted-output>"
        );
        shell_call(self, input, &shown, cut(&text, 29_000))
    }

    fn read(&mut self) -> Call {
        let at = self.target_file(0.75);
        if self.ink.rng.chance(0.3) {
            self.track(at);
        }
        let text = mem_take(self.files, at);
        let call = self.read_lines(at, &text);
        self.files[at] = text;
        call
    }

    fn read_lines(&mut self, at: usize, text: &str) -> Call {
        let total = text.lines().count();
        let whole = self.ink.rng.chance(0.39);
        let first = if whole { 0 } else { self.ink.rng.below(total) };
        let count = if whole { 2000 } else { self.ink.rng.log_range(8, 120) }.min(total - first);
        let lines: Vec<&str> = text.lines().skip(first).take(count).collect();
        let mut shown = number_lines(&lines, first, self.log.era.tabs);
        if self.ink.rng.chance(0.35) {
            let _ = write!(shown, "\n\n<system-reminder>\n{}\n</system-reminder>\n", self.ink.rng.pick(REMINDERS));
        }
        let path = self.ink.names.absolute(&self.ink.names.paths[at]);
        let input = object(|o| {
            o.str("file_path", &path);
            if !whole {
                o.num("offset", first + 1).num("limit", count);
            }
        });
        let record = object(|o| {
            o.str("type", "text").obj("file", |f| {
                f.str("filePath", &path).str("content", &lines.join("\n"));
                f.num("numLines", count).num("startLine", first + 1).num("totalLines", total);
            });
        });
        Call::new("Read", input, &shown, record)
    }

    /// Draws a file of the session with probability `own`, and otherwise any file of the project.
    fn target_file(&mut self, own: f64) -> usize {
        if self.ink.rng.chance(own) {
            *self.ink.rng.zipf(&self.ink.story.focus)
        } else {
            self.ink.rng.below(self.files.len())
        }
    }

    fn edit(&mut self) -> Call {
        // Edited files are longer than those that are only read.
        let (one, other) = (self.target_file(0.9), self.target_file(0.9));
        let at = if self.files[one].len() > self.files[other].len() { one } else { other };
        self.track(at);
        let mut text = mem_take(self.files, at);
        let edit = code::edit(&mut self.ink, &text);
        let path = self.ink.names.absolute(&self.ink.names.paths[at]);
        let input = object(|o| {
            o.str("file_path", &path).str("old_string", &edit.old).str("new_string", &edit.new);
        });
        let record = object(|o| {
            o.str("filePath", &path).str("oldString", &edit.old).str("newString", &edit.new).str("originalFile", &text);
            patch(o, &text, &edit);
            o.bool("userModified", false).bool("replaceAll", false);
        });
        let shown = self.edit_message(&path, &edit);
        text.replace_range(edit.start..edit.start + edit.old.len(), &edit.new);
        self.files[at] = text;
        Call::new("Edit", input, &shown, record)
    }

    /// Returns the message after an edit. Early versions show the changed lines; later ones only confirm the edit.
    fn edit_message(&mut self, path: &str, edit: &Edit) -> String {
        if self.log.era.queue && self.log.rng.chance(0.6) {
            return format!("The file {path} has been updated successfully.");
        }
        let lines: Vec<&str> = edit.new.lines().collect();
        let shown = number_lines(&lines, edit.line - 1, self.log.era.tabs);
        format!(
            "The file {path} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n{shown}"
        )
    }

    fn multi_edit(&mut self) -> Call {
        let at = self.target_file(0.9);
        self.track(at);
        let text = mem_take(self.files, at);
        let edits: Vec<Edit> = (0..3).map(|_| code::edit(&mut self.ink, &text)).collect();
        let path = self.ink.names.absolute(&self.ink.names.paths[at]);
        let list: Vec<String> = edits
            .iter()
            .map(|edit| object(|o| o.str("old_string", &edit.old).str("new_string", &edit.new).end()))
            .collect();
        let list = format!("[{}]", list.join(","));
        let input = object(|o| o.str("file_path", &path).raw("edits", &list).end());
        let record = object(|o| {
            o.str("filePath", &path)
                .raw("edits", &list)
                .str("originalFileContents", &text)
                .raw("structuredPatch", "[]");
        });
        self.files[at] = text;
        Call::new("MultiEdit", input, &format!("Applied 3 edits to {path}"), record)
    }

    fn write(&mut self) -> Call {
        let at = self.target_file(0.4);
        self.track(at);
        let relative = &self.ink.names.paths[at];
        let path = self.ink.names.absolute(relative);
        let new = self.ink.rng.chance(0.65);
        let text = if new {
            let size = self.ink.rng.log_range(400, 8_000);
            code::file(&mut self.ink, relative, size)
        } else {
            self.rewritten(at)
        };
        let input = object(|o| {
            o.str("file_path", &path).str("content", &text);
        });
        let record = object(|o| {
            o.str("type", if new { "create" } else { "update" }).str("filePath", &path).str("content", &text);
            o.raw("structuredPatch", "[]");
            if new {
                o.raw("originalFile", "null")
            } else {
                o.str("originalFile", &self.files[at])
            };
        });
        let shown = if new || !self.log.rng.chance(0.4) {
            format!("File created successfully at: {path}")
        } else {
            let lines: Vec<&str> = text.lines().collect();
            let shown = number_lines(&lines, 0, self.log.era.tabs);
            format!(
                "The file {path} has been updated. Here's the result of running `cat -n` on a snippet of the edited file:\n{shown}"
            )
        };
        if !new || self.files[at].len() < text.len() {
            self.files[at] = text;
        }
        Call::new("Write", input, &shown, record)
    }

    /// Returns the first part of a file with some changes.
    fn rewritten(&mut self, at: usize) -> String {
        let mut text = cut(&self.files[at], 6_000).to_string();
        for _ in 0..self.ink.rng.range(1, 4) {
            let edit = code::edit(&mut self.ink, &text);
            text.replace_range(edit.start..edit.start + edit.old.len(), &edit.new);
        }
        text
    }

    fn track(&mut self, at: usize) {
        if !self.tracked.contains(&at) && self.tracked.len() < 30 {
            self.tracked.push(at);
        }
    }
}

/// Returns a Bash call. `shown` is the visible result, and `stdout` the actual output of the command.
fn shell_call(session: &Session, input: String, shown: &str, stdout: &str) -> Call {
    let modern = !session.log.era.inline();
    let record = object(|o| {
        o.str("stdout", stdout).str("stderr", "").bool("interrupted", false).bool("isImage", false);
        if modern {
            o.bool("noOutputExpected", false);
        }
    });
    Call::new("Bash", input, shown, record)
}

fn mem_take(files: &mut [String], at: usize) -> String {
    std::mem::take(&mut files[at])
}

/// Truncates a text to at most `length` bytes, at a character boundary.
pub(crate) fn cut(text: &str, length: usize) -> &str {
    &text[..text.floor_char_boundary(length)]
}

fn number_lines(lines: &[&str], first: usize, tabs: bool) -> String {
    let mut out = String::with_capacity(lines.iter().map(|line| line.len() + 12).sum());
    for (at, line) in lines.iter().enumerate() {
        let number = first + at + 1;
        let _ = if tabs { write!(out, "{number}\t") } else { write!(out, "{number:>6}→") };
        out.push_str(line);
        out.push('\n');
    }
    out.pop();
    out
}

/// Writes an edit in the format of `structuredPatch`.
fn patch(o: &mut Obj, text: &str, edit: &Edit) {
    let (before, after) = (context_before(text, edit.start), context_after(text, edit.start + edit.old.len()));
    let marked = |mark: char, block: &str| block.lines().map(|line| format!("{mark}{line}")).collect::<Vec<_>>();
    let mut lines = marked(' ', before);
    let shared = before.lines().count();
    lines.extend(marked('-', &edit.old));
    lines.extend(marked('+', &edit.new));
    lines.extend(marked(' ', after));
    let outside = shared + after.lines().count();
    o.one("structuredPatch", |p| {
        p.num("oldStart", edit.line - shared).num("oldLines", edit.old.lines().count() + outside);
        p.num("newStart", edit.line - shared).num("newLines", edit.new.lines().count() + outside);
        p.strs("lines", &lines);
    });
}

fn context_before(text: &str, end: usize) -> &str {
    let newlines = text.as_bytes()[..end].iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let start = newlines.map(|(at, _)| at + 1).nth(3).unwrap_or(0);
    &text[start..end]
}

fn context_after(text: &str, start: usize) -> &str {
    let length = text[start..].split_inclusive('\n').take(3).map(str::len).sum::<usize>();
    &text[start..start + length]
}
