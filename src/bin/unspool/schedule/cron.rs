//! The cron scheduler: one block of lines in the user's crontab. Bytes outside the block are never changed.

use unspool::error::{Error, ErrorKind};

use crate::schedule::quoting;
use crate::schedule::steps::{Failure, Step};
use crate::schedule::tools;
use crate::schedule::when::crontab;
use crate::schedule::{Job, JobStatus, Place, Scheduler, Task, backup_in, clock, first_word};

const BEGIN: &str = "# >>> unspool >>>";
const END: &str = "# <<< unspool <<<";
const HEAD: &str = "# Written by `unspool schedule install`; `unspool schedule uninstall` removes these lines.";

/// A line of the block, if the last line before it had no line break.
const NO_NEWLINE: &str = "# The line above had no line break at its end.";
/// A line of the block, if there was no crontab.
const NO_TABLE: &str = "# There was no crontab before.";

#[derive(Debug)]
pub(super) struct Cron<'a>(pub(super) &'a Place);

impl Scheduler for Cron<'_> {
    fn name(&self) -> &'static str {
        "cron"
    }

    fn install(&self, jobs: &[Job]) -> Result<Vec<Step>, Error> {
        let lines = jobs.iter().map(line).collect::<Result<Vec<_>, _>>()?.concat();
        self.change(Some(&format!("{BEGIN}\n{HEAD}\n{lines}{END}\n")))
    }

    fn uninstall(&self) -> Result<Vec<Step>, Error> {
        if self.0.tools.find("crontab").is_none() {
            return Ok(Vec::new());
        }
        self.change(None)
    }

    fn status(&self) -> Result<Vec<JobStatus>, Error> {
        if self.0.tools.find("crontab").is_none() {
            return Ok(Vec::new());
        }
        let table = self.table()?;
        let Some(block) = block_in(&table)? else { return Ok(Vec::new()) };
        let text = String::from_utf8_lossy(&table[block]).into_owned();
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        Ok(lines.map(|line| self.job_status(line)).collect())
    }
}

impl Cron<'_> {
    /// Returns the crontab, or nothing if there is none.
    fn table(&self) -> Result<Vec<u8>, Error> {
        self.existing_table().map(Option::unwrap_or_default)
    }

    fn existing_table(&self) -> Result<Option<Vec<u8>>, Error> {
        let crontab = self.0.tools.need("crontab")?;
        let output = tools::run(&crontab, &["-l".into()], None)?;
        // Without a crontab, every cron exits with an error, with different messages.
        if output.ok() {
            return Ok(Some(output.stdout));
        }
        if output.stderr.to_lowercase().contains("no crontab") || output.stderr.contains("can't open") {
            return Ok(None);
        }
        Err(Error::new(ErrorKind::Other, format!("cannot read the crontab: {}", output.stderr)))
    }

    fn change(&self, block: Option<&str>) -> Result<Vec<Step>, Error> {
        let old = self.existing_table()?;
        let change = with_block(old.as_deref(), block)?;
        let old = old.unwrap_or_default();
        if change.table == old {
            return Ok(Vec::new());
        }
        let program = self.0.tools.need("crontab")?;
        let put = |table, failure| {
            let args = vec!["-".to_string()];
            Step::Run { program: program.clone(), args, input: Some(table), failure }
        };
        let mut steps = vec![Step::Keep { path: self.0.data.join("crontab.before"), bytes: old }];
        if change.is_none {
            steps.push(Step::run(&program, &["-r"], Failure::Matters));
            return Ok(steps);
        }
        if change.lacks_newline {
            // Some crons refuse such a table. Then it stays as the first of the two steps has left it.
            steps.push(put([change.table.as_slice(), b"\n"].concat(), Failure::Matters));
            steps.push(put(change.table, Failure::Ignored));
        } else {
            steps.push(put(change.table, Failure::Matters));
        }
        Ok(steps)
    }

    fn job_status(&self, line: &str) -> JobStatus {
        let mut fields = line.splitn(6, ' ');
        let when = fields.by_ref().take(5).collect::<Vec<_>>().join(" ");
        let command = fields.next().unwrap_or_default();
        let task = match command {
            command if command.contains(" verify --scheduled") => Task::Verify,
            command if command.contains(" --rebuild") => Task::Rebuild,
            _ => Task::Index,
        };
        // Cron has no command that reports the next run.
        let next = crontab(&when).and_then(|time| time.find_next(self.0.now.timestamp()).ok());
        JobStatus {
            task: task.name().to_string(),
            next: next.as_ref().map(clock),
            when,
            program: first_word(without_variables(command)),
            active: true,
            log: "cron mails the output of runs, if mail is set up".to_string(),
            backup: backup_in(command),
            ..JobStatus::default()
        }
    }
}

/// Returns the crontab line of a job.
fn line(job: &Job) -> Result<String, Error> {
    let time = job.when.cron()?;
    let env = job.env.iter().map(|(name, value)| format!("{name}={}", quoting::shell(value)));
    let words: Vec<String> = env.chain(job.command().map(quoting::shell)).collect();
    Ok(format!("{time} {}\n", words.join(" ")))
}

/// Skips `NAME=value` before a command that unspool wrote.
fn without_variables(mut command: &str) -> &str {
    loop {
        let name = command.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(command.len());
        let Some(value) = command[name..].strip_prefix('=').filter(|_| name > 0) else { return command };
        let rest = match value.strip_prefix('\'') {
            Some(quoted) => quoted.split_once('\'').map(|(_, rest)| rest.trim_start()),
            None => value.split_once(' ').map(|(_, rest)| rest),
        };
        let Some(rest) = rest else { return command };
        command = rest;
    }
}

/// Returns the range of our block in a crontab, if there is one.
fn block_in(table: &[u8]) -> Result<Option<std::ops::Range<usize>>, Error> {
    let positions = |mark: &str| {
        let mut at = 0;
        let mut found = Vec::new();
        for line in table.split_inclusive(|byte| *byte == b'\n') {
            if line.trim_ascii() == mark.as_bytes() {
                found.push((at, at + line.len()));
            }
            at += line.len();
        }
        found
    };
    match (positions(BEGIN).as_slice(), positions(END).as_slice()) {
        ([], []) => Ok(None),
        ([(begin, _)], [(_, end)]) if begin < end => Ok(Some(*begin..*end)),
        _ => Err(Error::new(
            ErrorKind::Other,
            format!("the crontab contains only one of \"{BEGIN}\" and \"{END}\", or they are out of order"),
        )
        .hint("fix it with `crontab -e`; nothing was changed")),
    }
}

/// A crontab after a change.
#[derive(Debug, Default, Eq, PartialEq)]
struct Change {
    table: Vec<u8>,
    /// Set if the last line had no line break before the block was added.
    lacks_newline: bool,
    /// Set if there was no crontab before the block was added.
    is_none: bool,
}

/// Returns a crontab with our block replaced, added or removed. The block remembers what its removal has to restore.
fn with_block(table: Option<&[u8]>, block: Option<&str>) -> Result<Change, Error> {
    let (is_new, table) = (table.is_none(), table.unwrap_or_default());
    let old = block_in(table)?;
    let is_noted = |note: &str| {
        let lines = old.clone().map(|range| table[range].split(|byte| *byte == b'\n'));
        lines.is_some_and(|mut lines| lines.any(|line| line == note.as_bytes()))
    };
    let has_old = old.is_some();
    let range = old.clone().unwrap_or(table.len()..table.len());
    let (before, after) = (&table[..range.start], &table[range.end..]);
    let Some(block) = block else {
        let lacks_newline = is_noted(NO_NEWLINE) && after.is_empty();
        let before = if lacks_newline { before.strip_suffix(b"\n").unwrap_or(before) } else { before };
        let table = [before, after].concat();
        let is_none = is_noted(NO_TABLE) && table.is_empty();
        return Ok(Change { table, lacks_newline, is_none });
    };
    let breaks_line = !has_old && !table.is_empty() && !table.ends_with(b"\n");
    let note = match () {
        () if breaks_line || is_noted(NO_NEWLINE) => format!("{NO_NEWLINE}\n"),
        () if !has_old && is_new || is_noted(NO_TABLE) => format!("{NO_TABLE}\n"),
        () => String::new(),
    };
    let block = block.replacen(&format!("{BEGIN}\n"), &format!("{BEGIN}\n{note}"), 1);
    let line_break: &[u8] = if breaks_line { b"\n" } else { b"" };
    Ok(Change { table: [before, line_break, block.as_bytes(), after].concat(), ..Change::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "# >>> unspool >>>\n*/15 * * * * /x index\n# <<< unspool <<<\n";

    #[test]
    fn other_lines_stay_byte_for_byte() {
        let others: [&[u8]; 9] = [
            b"",
            b"0 5 * * 1 tar -zcf /var/backups/home.tgz /home/\n",
            b"MAILTO=\"\"\r\n\t# comment \xff\xfe\n\n\n@reboot x % y\n",
            b"# unspool >>>\n# >>> unspool\n",
            b"\n",
            b"1 2 3 4 5 x\r\n",
            b"no newline at the end",
            b"a\r\nno newline at the end",
            b"a\r",
        ];
        for other in others {
            let with = with_block(Some(other), Some(BLOCK)).expect("changed").table;
            assert!(with.starts_with(other));
            let again = with_block(Some(&with), Some(BLOCK)).expect("changed").table;
            assert_eq!(again, with, "a second time changes nothing");
            let without = with_block(Some(&with), None).expect("changed");
            assert_eq!(without.table, other);
            assert!(!without.is_none && without.lacks_newline == (!other.is_empty() && !other.ends_with(b"\n")));
            // Lines added after the block are kept, and are not joined with others.
            let between = [with.as_slice(), b"1 2 3 4 5 later\n"].concat();
            let line_break: &[u8] = if without.lacks_newline { b"\n" } else { b"" };
            let expected = [other, line_break, b"1 2 3 4 5 later\n"].concat();
            assert_eq!(with_block(Some(&between), None).expect("changed").table, expected);
        }
    }

    #[test]
    fn a_table_that_did_not_exist_is_removed() {
        let with = with_block(None, Some(BLOCK)).expect("changed").table;
        let again = with_block(Some(&with), Some(BLOCK)).expect("changed").table;
        assert_eq!(again, with, "a second time changes nothing");
        assert!(with_block(Some(&with), None).expect("changed").is_none);
        let more = [with.as_slice(), b"1 2 3 4 5 later\n"].concat();
        let kept = Change { table: b"1 2 3 4 5 later\n".to_vec(), ..Change::default() };
        assert_eq!(with_block(Some(&more), None).expect("changed"), kept);
    }

    #[test]
    fn half_a_block_is_not_touched() {
        for table in [
            "# >>> unspool >>>\n1 2 3 4 5 x\n",
            "# <<< unspool <<<\n",
            "# <<< unspool <<<\n# >>> unspool >>>\n",
            "# >>> unspool >>>\n# >>> unspool >>>\n# <<< unspool <<<\n",
        ] {
            assert!(with_block(Some(table.as_bytes()), Some(BLOCK)).is_err(), "{table}");
        }
    }

    #[test]
    fn variables_before_a_command_are_skipped() {
        for (line, command) in [
            ("/a/unspool index", "/a/unspool index"),
            ("X=1 /a/unspool index", "/a/unspool index"),
            ("X='a b' Y_2=/c '/a b/unspool' index", "'/a b/unspool' index"),
        ] {
            assert_eq!(without_variables(line), command);
        }
    }
}
