//! Draws random queries from documents: a session first, so that long ones do not dominate, then something in it.

use std::collections::{BTreeMap, BTreeSet};

use unspool::document::{Document, Kind, Role};

use super::Wanted;
use crate::corpus::rng::Rng;

/// The number of attempts to draw the queries of a class.
const TRIES: usize = 4000;
/// A text that more messages contain is not drawn.
const TOO_MANY: usize = 40;

/// A message, or a part of one.
struct Text<'d> {
    document: &'d Document,
    /// In lower case, with white space folded.
    folded: String,
    /// The same without the separators of identifiers.
    joined: String,
    words: BTreeMap<String, usize>,
}

struct Drawer<'d> {
    rng: Rng,
    texts: Vec<Text<'d>>,
    sessions: BTreeMap<&'d str, Vec<usize>>,
    /// The number of texts that contain a word.
    spread: BTreeMap<String, usize>,
}

/// A query, and the texts that contain its words.
type Drawn = Option<(String, Vec<usize>)>;
/// Draws from one text.
type Draw = fn(&mut Drawer<'_>, usize) -> Drawn;

const CLASSES: [(&str, Draw); 18] = [
    ("keyword", keyword),
    ("typo", typo),
    ("natural words", natural),
    ("identifier", identifier),
    ("identifier style", restyled),
    ("identifier part", identifier_part),
    ("path", path),
    ("error message", error),
    ("command", command),
    ("phrase", phrase),
    ("code", code),
    ("cjk", cjk),
    ("half identifier", half_identifier),
    ("other form", other_form),
    ("short hash", short_hash),
    ("pasted", pasted),
    ("two typos", two_typos),
    ("unknown word", unknown_word),
];

/// Draws up to `each` queries of every class.
pub(super) fn all(documents: &[Document], each: usize) -> Vec<Wanted> {
    let mut drawer = Drawer::new(documents);
    let mut all = Vec::new();
    for (class, draw) in CLASSES {
        let mut seen = BTreeSet::new();
        for _ in 0..TRIES {
            if seen.len() == each {
                break;
            }
            let at = drawer.text();
            if let Some((query, right)) = draw(&mut drawer, at)
                && !right.is_empty()
                && right.len() <= TOO_MANY
                && seen.insert(query.clone())
            {
                all.push(drawer.wanted(class, query, &right));
            }
        }
    }
    all
}

impl<'d> Drawer<'d> {
    fn new(documents: &'d [Document]) -> Self {
        let searched = documents
            .iter()
            .filter(|document| document.role != Role::Meta && !document.is_duplicate && document.uuid.is_some());
        let texts: Vec<Text<'d>> = searched.map(Text::new).collect();
        let mut sessions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut spread: BTreeMap<String, usize> = BTreeMap::new();
        for (at, text) in texts.iter().enumerate() {
            sessions.entry(&text.document.session).or_default().push(at);
            text.words.keys().for_each(|word| *spread.entry(word.clone()).or_default() += 1);
        }
        Self { rng: Rng::new(&[1]), texts, sessions, spread }
    }

    fn text(&mut self) -> usize {
        let session = self.rng.below(self.sessions.len());
        let texts = self.sessions.values().nth(session).expect("a session");
        texts[self.rng.below(texts.len())]
    }

    fn wanted(&self, class: &'static str, query: String, right: &[usize]) -> Wanted {
        let of = |at: &usize| self.texts[*at].document;
        Wanted {
            class,
            query,
            sessions: right.iter().map(|at| of(at).session.clone()).collect(),
            messages: right.iter().filter_map(|at| of(at).uuid.clone()).collect(),
        }
    }

    fn containing(&self, contains: impl Fn(&Text<'_>) -> bool) -> Vec<usize> {
        (0..self.texts.len()).filter(|at| contains(&self.texts[*at])).collect()
    }

    fn literally(&self, piece: &str) -> Vec<usize> {
        let piece = fold(piece);
        self.containing(|text| text.folded.contains(&piece))
    }

    /// Distinctive words of a text: rare and repeated ones first.
    fn distinctive(&mut self, at: usize, count: usize) -> Option<Vec<String>> {
        let all = self.texts.len() as f64;
        let weigh = |(word, times): (&String, &usize)| {
            let spread = self.spread[word] as f64;
            let is_telling = word.len() > 2 && spread < all / 10.0;
            is_telling.then(|| (word.clone(), *times as f64 * (all / spread).ln().powi(2)))
        };
        let words: Vec<(String, f64)> = self.texts[at].words.iter().filter_map(weigh).collect();
        let whole: f64 = words.iter().map(|(_, weight)| weight).sum();
        if words.len() < 2 * count {
            return None;
        }
        let mut drawn: Vec<String> = Vec::new();
        while drawn.len() < count {
            let mut left = self.rng.unit() * whole;
            let found = words.iter().find(|(_, weight)| {
                left -= weight;
                left <= 0.0
            });
            let (word, _) = found.unwrap_or(&words[0]);
            if !drawn.contains(word) {
                drawn.push(word.clone());
            }
        }
        Some(drawn)
    }

    fn with_words(&self, words: &[String]) -> Vec<usize> {
        self.containing(|text| words.iter().all(|word| text.words.contains_key(word)))
    }

    /// A few consecutive words of a line.
    fn run<'t>(&mut self, line: &'t str, low: usize, high: usize) -> Option<&'t str> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let count = self.rng.range(low, high).min(words.len());
        if count < low {
            return None;
        }
        let from = self.rng.below(words.len() - count + 1);
        let place = |word: &str| word.as_ptr() as usize - line.as_ptr() as usize;
        let last = words[from + count - 1];
        Some(&line[place(words[from])..place(last) + last.len()])
    }

    /// A random line that fits.
    fn line(&mut self, at: usize, fits: impl Fn(&str) -> bool) -> Option<&'d str> {
        let document = self.texts[at].document;
        let lines: Vec<&str> = document.text.lines().map(str::trim).filter(|line| fits(line)).collect();
        (!lines.is_empty()).then(|| lines[self.rng.below(lines.len())])
    }

    fn is(&self, at: usize, kinds: &[Kind]) -> bool {
        kinds.contains(&self.texts[at].document.kind)
    }
}

impl<'d> Text<'d> {
    fn new(document: &'d Document) -> Self {
        let folded = fold(&document.text);
        let joined = folded.replace(['_', '-'], "");
        let mut words = BTreeMap::new();
        for part in document.text.split(|c: char| !c.is_ascii_alphabetic()).flat_map(parts) {
            *words.entry(part.to_lowercase()).or_default() += 1;
        }
        Self { document, folded, joined, words }
    }
}

fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The parts of a name in camel case.
fn parts(name: &str) -> Vec<&str> {
    let starts = name.char_indices().filter(|(at, c)| {
        *at == 0 || c.is_ascii_uppercase() && name[..*at].ends_with(|before: char| before.is_ascii_lowercase())
    });
    let mut starts: Vec<usize> = starts.map(|(at, _)| at).collect();
    starts.push(name.len());
    starts.windows(2).map(|pair| &name[pair[0]..pair[1]]).filter(|part| !part.is_empty()).collect()
}

fn keyword(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    let count = drawer.rng.range(2, 5);
    let words = drawer.distinctive(at, count)?;
    Some((words.join(" "), drawer.with_words(&words)))
}

fn typo(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    let count = drawer.rng.range(2, 5);
    let mut words = drawer.distinctive(at, count)?;
    let right = drawer.with_words(&words);
    let word = words.iter_mut().find(|word| word.len() > 4)?;
    *word = misspelt(drawer, word)?;
    Some((words.join(" "), right))
}

/// Words, two of them with a typo.
fn two_typos(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    let count = drawer.rng.range(3, 6);
    let mut words = drawer.distinctive(at, count)?;
    let right = drawer.with_words(&words);
    let mut long: Vec<&mut String> = words.iter_mut().filter(|word| word.len() > 4).take(2).collect();
    if long.len() < 2 {
        return None;
    }
    for word in &mut long {
        **word = misspelt(drawer, word)?;
    }
    Some((words.join(" "), right))
}

/// Words, and one that occurs nowhere and resembles none.
fn unknown_word(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    const UNKNOWN: [&str; 4] = ["quxzomatic", "brimblewort", "vellichorn", "zarfunkel"];
    let count = drawer.rng.range(2, 5);
    let mut words = drawer.distinctive(at, count)?;
    let right = drawer.with_words(&words);
    let unknown = UNKNOWN[drawer.rng.below(UNKNOWN.len())];
    words.insert(drawer.rng.below(words.len() + 1), unknown.to_string());
    Some((words.join(" "), right))
}

/// Returns a word with one letter removed, inserted or swapped, if no text contains that.
fn misspelt(drawer: &mut Drawer<'_>, word: &str) -> Option<String> {
    let mut word = word.to_string();
    let place = drawer.rng.range(1, word.len() - 1);
    match drawer.rng.below(3) {
        0 => {
            word.remove(place);
        }
        1 => word.insert(place, 'q'),
        _ => {
            let letter = word.remove(place);
            word.insert(place - 1, letter);
        }
    }
    (!drawer.spread.contains_key(&word)).then_some(word)
}

/// A question with two or three words of what was asked or answered.
fn natural(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    if !drawer.is(at, &[Kind::Prompt, Kind::Text]) {
        return None;
    }
    let count = drawer.rng.range(2, 4);
    let words = drawer.distinctive(at, count)?;
    let query = match drawer.rng.below(3) {
        0 => format!("how did we do the {}", words.join(" and ")),
        1 => format!("what was it with the {} for my {}", words[1..].join(" "), words[0]),
        _ => format!("when did i ask you about {}", words.join(" in the ")),
    };
    Some((query, drawer.with_words(&words)))
}

/// A name of two or more parts that is rare.
fn name<'d>(drawer: &mut Drawer<'d>, at: usize, least: usize) -> Option<&'d str> {
    let document = drawer.texts[at].document;
    let names = document.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let fits = |name: &&str| {
        (8..40).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().filter(u8::is_ascii_digit).count() < 2
            && pieces(name).len() >= least
    };
    let names: BTreeSet<&str> = names.filter(fits).collect();
    let place = drawer.rng.below(names.len());
    names.into_iter().nth(place)
}

fn pieces(name: &str) -> Vec<&str> {
    name.split('_').flat_map(parts).collect()
}

fn named(drawer: &Drawer<'_>, name: &str) -> Vec<usize> {
    drawer.containing(|text| text.document.text.contains(name))
}

fn identifier(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    let name = name(drawer, at, 2)?;
    Some((name.to_string(), named(drawer, name)))
}

fn restyled(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    let name = name(drawer, at, 2)?;
    let query = match drawer.rng.below(3) {
        0 => name.to_lowercase(),
        1 => pieces(name).join(" ").to_lowercase(),
        _ if name.contains('_') => name.replace('_', ""),
        _ => pieces(name).join("_").to_lowercase(),
    };
    Some((query, named(drawer, name)))
}

fn identifier_part(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    let name = name(drawer, at, 3)?;
    let pieces = pieces(name);
    let from = drawer.rng.below(2);
    let query = pieces[from..from + pieces.len() - 1].join("_").to_lowercase();
    let joined = query.replace('_', "");
    Some((query, drawer.containing(|text| text.joined.contains(&joined))))
}

fn path(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    let document = drawer.texts[at].document;
    let file = document.files.first().filter(|_| document.kind == Kind::ToolUse)?;
    let from = match drawer.rng.below(3) {
        0 => 0,
        1 => file.rmatch_indices('/').nth(1)?.0 + 1,
        _ => file.rfind('/')? + 1,
    };
    let query = file[from..].to_string();
    let is_of = |file: &String| file.strip_suffix(&query).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    let right = drawer.containing(|text| text.document.kind == Kind::ToolUse && text.document.files.iter().any(is_of));
    let sessions: BTreeSet<&str> = right.iter().map(|at| drawer.texts[*at].document.session.as_str()).collect();
    (sessions.len() <= 4).then_some((query, right))
}

fn error(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    if !drawer.is(at, &[Kind::ToolResult, Kind::Output]) {
        return None;
    }
    let is_error = |line: &str| {
        let small = line.to_lowercase();
        (20..200).contains(&line.len()) && ["error", "fail", "cannot", "panic"].iter().any(|word| small.contains(word))
    };
    let line = drawer.line(at, is_error)?;
    let query = if drawer.rng.chance(0.5) { line } else { drawer.run(line, 4, 9)? };
    Some((query.to_string(), drawer.literally(query)))
}

fn command(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    if drawer.texts[at].document.tool.as_deref() != Some("Bash") || !drawer.is(at, &[Kind::ToolUse]) {
        return None;
    }
    let line = drawer.line(at, |line| line.len() > 12)?;
    let query = drawer.run(line, 3, 7)?;
    Some((query.to_string(), drawer.literally(query)))
}

fn phrase(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    if !drawer.is(at, &[Kind::Prompt, Kind::Text]) {
        return None;
    }
    let is_prose = |line: &str| line.chars().all(|c| c.is_ascii_alphabetic() || " .,'".contains(c));
    let line = drawer.line(at, is_prose)?;
    let words = drawer.run(line, 4, 8)?;
    let query = if drawer.rng.chance(0.5) { format!("\"{words}\"") } else { words.to_string() };
    Some((query, drawer.literally(words)))
}

fn code(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    if !drawer.is(at, &[Kind::ToolUse, Kind::Text]) {
        return None;
    }
    let is_code = |line: &str| {
        (12..120).contains(&line.len()) && line.chars().filter(|c| "(){}[]=;<>|&$".contains(*c)).count() > 1
    };
    let query = drawer.line(at, is_code)?;
    Some((query.to_string(), drawer.literally(query)))
}

fn cjk(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    let is_cjk = |c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}');
    let document = drawer.texts[at].document;
    let runs: Vec<&str> = document.text.split(|c| !is_cjk(c)).filter(|run| run.len() > 9).collect();
    let run: Vec<char> = runs.get(drawer.rng.below(runs.len()))?.chars().collect();
    let count = drawer.rng.range(3, 8).min(run.len());
    let from = drawer.rng.below(run.len() - count + 1);
    let query: String = run[from..from + count].iter().collect();
    let right = drawer.literally(&query);
    Some((query, right))
}

/// The beginning of a name.
fn half_identifier(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    let name = name(drawer, at, 2)?;
    let end = drawer.rng.range(name.len() * 2 / 3, name.len()).max(6);
    let query = &name[..end];
    let right = drawer.containing(|text| text.folded.contains(&query.to_lowercase()));
    Some((query.to_string(), right))
}

/// Words, one of them in the plural or in the past tense.
fn other_form(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    let count = drawer.rng.range(2, 4);
    let mut words = drawer.distinctive(at, count)?;
    let right = drawer.with_words(&words);
    let word = words.iter_mut().find(|word| word.len() > 4 && !word.ends_with(['s', 'y', 'd', 'g', 'x']))?;
    *word = match drawer.rng.below(2) {
        0 => format!("{word}s"),
        _ => format!("{}ed", word.trim_end_matches('e')),
    };
    let is_new = !drawer.spread.contains_key(word.as_str());
    is_new.then(|| (words.join(" "), right))
}

/// The first seven digits of a hash that is longer.
fn short_hash(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    let document = drawer.texts[at].document;
    let is_hash = |word: &&str| {
        (8..=40).contains(&word.len())
            && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            && [u8::is_ascii_digit, u8::is_ascii_alphabetic].iter().all(|has| word.as_bytes()[..7].iter().any(has))
    };
    let hashes: Vec<&str> = document.text.split(|c: char| !c.is_alphanumeric()).filter(is_hash).collect();
    let query = &hashes.get(drawer.rng.below(hashes.len()))?[..7];
    Some((query.to_string(), drawer.literally(query)))
}

/// Some lines as they are.
fn pasted(drawer: &mut Drawer<'_>, at: usize) -> Drawn {
    let lines: Vec<&str> = drawer.texts[at].document.text.lines().collect();
    let count = drawer.rng.range(3, 12);
    if lines.len() < count {
        return None;
    }
    let from = drawer.rng.below(lines.len() - count + 1);
    let query = lines[from..from + count].join("\n");
    let is_text = query.len() > 60 && query.len() < 2000 && query.chars().filter(|c| c.is_alphabetic()).count() > 40;
    is_text.then(|| (query.clone(), drawer.literally(&query)))
}
