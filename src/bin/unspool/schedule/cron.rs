//! The cron scheduler: one block of lines in the user's crontab. Bytes outside the block are never changed.

use unspool::error::{Error, ErrorKind};

use crate::schedule::quoting;
use crate::schedule::steps::{Failure, Step};
use crate::schedule::tools;
use crate::schedule::when::crontab;
use crate::schedule::{Job, JobStatus, Place, Scheduler, Task, clock, first_word};

const BEGIN: &str = "# >>> unspool >>>";
const END: &str = "# <<< unspool <<<";
const HEAD: &str = "# Written by `unspool schedule install`; `unspool schedule uninstall` removes these lines.";

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
        let crontab = self.0.tools.need("crontab")?;
        let output = tools::run(&crontab, &["-l".into()], None)?;
        // Without a crontab, every cron exits with an error, with different messages.
        if output.ok() || output.stderr.to_lowercase().contains("no crontab") || output.stderr.contains("can't open") {
            return Ok(output.stdout);
        }
        Err(Error::new(ErrorKind::Other, format!("cannot read the crontab: {}", output.stderr)))
    }

    fn change(&self, block: Option<&str>) -> Result<Vec<Step>, Error> {
        let old = self.table()?;
        let new = with_block(&old, block)?;
        if new == old {
            return Ok(Vec::new());
        }
        let program = self.0.tools.need("crontab")?;
        let backup = Step::Keep { path: self.0.data.join("crontab.before"), bytes: old };
        let args = vec!["-".to_string()];
        Ok(vec![backup, Step::Run { program, args, input: Some(new), failure: Failure::Matters }])
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

/// Returns a crontab with our block replaced, added or removed.
fn with_block(table: &[u8], block: Option<&str>) -> Result<Vec<u8>, Error> {
    let block = block.unwrap_or_default().as_bytes();
    Ok(match block_in(table)? {
        Some(range) => [&table[..range.start], block, &table[range.end..]].concat(),
        None if block.is_empty() || table.is_empty() || table.ends_with(b"\n") => [table, block].concat(),
        None => [table, b"\n", block].concat(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "# >>> unspool >>>\n*/15 * * * * /x index\n# <<< unspool <<<\n";

    #[test]
    fn other_lines_stay_byte_for_byte() {
        let others: [&[u8]; 6] = [
            b"",
            b"0 5 * * 1 tar -zcf /var/backups/home.tgz /home/\n",
            b"MAILTO=\"\"\r\n\t# comment \xff\xfe\n\n\n@reboot x % y\n",
            b"# unspool >>>\n# >>> unspool\n",
            b"no newline at the end\n",
            b"\n",
        ];
        for other in others {
            let with = with_block(other, Some(BLOCK)).expect("changed");
            assert_eq!(with, [other, BLOCK.as_bytes()].concat());
            assert_eq!(with_block(&with, Some(BLOCK)).expect("changed"), with, "a second time changes nothing");
            assert_eq!(with_block(&with, None).expect("changed"), other);
            // Lines added after the block are kept.
            let between = [with.as_slice(), b"1 2 3 4 5 later\n"].concat();
            let without = with_block(&between, None).expect("changed");
            assert_eq!(without, [other, b"1 2 3 4 5 later\n"].concat());
        }
        assert_eq!(with_block(b"x", Some(BLOCK)).expect("changed"), [b"x\n", BLOCK.as_bytes()].concat());
    }

    #[test]
    fn half_a_block_is_not_touched() {
        for table in [
            "# >>> unspool >>>\n1 2 3 4 5 x\n",
            "# <<< unspool <<<\n",
            "# <<< unspool <<<\n# >>> unspool >>>\n",
            "# >>> unspool >>>\n# >>> unspool >>>\n# <<< unspool <<<\n",
        ] {
            assert!(with_block(table.as_bytes(), Some(BLOCK)).is_err(), "{table}");
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
