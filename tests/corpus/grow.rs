//! Grows a finished corpus: appends lines with unique words to its newest sessions.

use super::eras::ERAS;
use super::ink::Ink;
use super::json;
use super::log::Log;
use super::names::Names;
use super::phrases;
use super::plan::MARKER;
use super::rng::Rng;
use super::session::text_blocks;
use std::fs::{self, File, OpenOptions};
use std::io::{Error, Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The file with the number of the last step and the lines that it left incomplete.
const STATE: &str = ".grow";

/// The time of step zero, later than everything in the corpus.
const FIRST: i64 = 20_700 * 86_400_000;

/// How much to append.
pub(crate) struct Growth {
    pub out: PathBuf,
    pub lines: usize,
    pub files: usize,
    /// The number of the step. By default, it is the last step plus one.
    pub step: Option<u64>,
    /// Whether to write only half of the last line of each file. The next step completes it.
    pub torn: bool,
}

/// A word to search for, and the file that contains it.
pub(crate) struct Token {
    pub path: String,
    pub word: String,
}

/// Performs one step. Returns the tokens of the lines that are now complete.
pub(crate) fn grow(growth: &Growth) -> Result<Vec<Token>> {
    let state = fs::read_to_string(growth.out.join(STATE)).unwrap_or_default();
    let last = state.lines().next().and_then(|line| line.parse::<u64>().ok()).unwrap_or(0);
    let step = growth.step.unwrap_or(last + 1);
    let mut tokens = complete(&growth.out, &state)?;
    let mut new_state = format!("{step}\n");
    for (at, path) in live(growth)?.iter().enumerate() {
        extend(growth, step, at, path, &mut tokens, &mut new_state)?;
    }
    fs::write(growth.out.join(STATE), new_state)?;
    Ok(tokens)
}

/// Reads the paths of the newest sessions from the marker of the corpus.
fn live(growth: &Growth) -> Result<Vec<String>> {
    let marker =
        fs::read_to_string(growth.out.join(MARKER)).map_err(|_| Error::other("not a corpus: no .corpus file"))?;
    Ok(marker.lines().skip(1).take(growth.files).map(String::from).collect())
}

/// Writes the missing halves of the lines that the last step left incomplete.
fn complete(out: &Path, state: &str) -> Result<Vec<Token>> {
    let mut tokens = Vec::new();
    for line in state.lines().skip(1) {
        let mut parts = line.splitn(3, '\t');
        let (Some(path), Some(word), Some(rest)) = (parts.next(), parts.next(), parts.next()) else { continue };
        append(out, path, &format!("{rest}\n"))?;
        tokens.push(Token { path: shown(out, path), word: word.into() });
    }
    Ok(tokens)
}

fn extend(
    growth: &Growth,
    step: u64,
    at: usize,
    path: &str,
    tokens: &mut Vec<Token>,
    state: &mut String,
) -> Result<()> {
    let mut writer = Writer::new(&growth.out, path, step)?;
    let first = at * growth.lines;
    for number in first..first + growth.lines {
        let word = format!("grow{step}x{number}");
        writer.line(&word, number - first);
        tokens.push(Token { path: shown(&growth.out, path), word });
    }
    let mut text = writer.log.out;
    if growth.torn
        && growth.lines > 0
        && let Some(token) = tokens.pop()
    {
        let line = text.trim_end().rfind('\n').map_or(0, |newline| newline + 1);
        let half = text.floor_char_boundary((line + text.len()) / 2);
        state.push_str(&format!("{path}\t{}\t{}\n", token.word, text[half..].trim_end()));
        text.truncate(half);
    }
    append(&growth.out, path, &text)
}

fn shown(out: &Path, path: &str) -> String {
    out.join("projects").join(path).display().to_string()
}

fn append(out: &Path, path: &str, text: &str) -> Result<()> {
    OpenOptions::new().append(true).open(out.join("projects").join(path))?.write_all(text.as_bytes())
}

/// Continues the conversation of one file.
struct Writer {
    names: Names,
    rng: Rng,
    log: Log,
}

impl Writer {
    fn new(out: &Path, path: &str, step: u64) -> Result<Self> {
        let tail = tail(&out.join("projects").join(path))?;
        let field = |key: &str| last_field(&tail, key);
        let session = field("sessionId");
        let seed = session.bytes().fold(step, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        let mut rng = Rng::new(&[seed, step]);
        let names = Names::new(&mut rng, 0);
        let mut log = Log::new(rng.clone(), &ERAS[ERAS.len() - 1], session, &field("cwd").replace("\\\\", "\\"));
        log.version = field("version");
        log.branch = field("gitBranch");
        log.parent = Some(field("uuid")).filter(|uuid| !uuid.is_empty());
        log.damage_rate = 0.0;
        log.now = FIRST + step as i64 * 60_000;
        if !tail.is_empty() && !tail.ends_with('\n') {
            log.out.push('\n');
        }
        Ok(Self { names, rng, log })
    }

    /// Writes a line: a prompt, a reply, a call and a result in turn.
    fn line(&mut self, word: &str, at: usize) {
        let mut ink = Ink::new(Rng::new(&[self.rng.next()]), &self.names, None);
        let text = format!("{} {word} {}", ink.text(phrases::PROMPTS), ink.text(phrases::LEADS));
        let id = json::api_id(&mut self.rng, "toolu_01");
        match at % 4 {
            0 => drop(self.log.user(&text, |o| o.str("permissionMode", "default").end())),
            1 => drop(self.log.assistant("null", |b| b.str("type", "text").str("text", &text).end())),
            2 => drop(self.log.assistant("\"tool_use\"", |b| {
                b.str("type", "tool_use").str("id", &id).str("name", "Bash");
                b.obj("input", |i| i.str("command", &format!("echo {word}")).str("description", &text).end());
            })),
            _ => drop(self.log.result(&id, &text_blocks(&[&text]), false, None, &id)),
        }
    }
}

/// Returns the last part of a file as text.
fn tail(path: &Path) -> Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(256 * 1024)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the value of a string field on the last chain line that has it.
fn last_field(text: &str, key: &str) -> String {
    let mark = format!("\"{key}\":\"");
    let line = text.lines().rev().find(|line| line.starts_with("{\"parentUuid\"") && line.contains(&mark));
    let value = line.and_then(|line| line.rsplit_once(&mark)).map_or("", |(_, rest)| rest);
    value.split('"').next().unwrap_or("").into()
}
