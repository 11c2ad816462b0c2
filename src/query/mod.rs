//! What the user typed, taken apart: pieces, their terms, and what sort of thing is being looked for. Pure.
//!
//! Plain words never are a syntax error. What else can be said is told in `parse.rs`.

pub mod glob;
pub mod names;
pub mod inflect;
mod pattern;
mod filter;
mod parse;

use std::collections::HashSet;

use crate::error::{Error, ErrorKind, Result};
use crate::tokenize::{self, WHOLE_MARK};

pub use filter::{Condition, FIELDS, Filter, Surroundings, Test};
pub use pattern::Pattern;

/// The longest query with operators, and the longest text that is looked for letter by letter, in bytes.
pub const QUERY_CAP: usize = 4096;
/// How much is read of a text that somebody has pasted, in bytes.
const PASTED_CAP: usize = 64 << 10;
/// The most terms a query may have.
pub const TERMS_CAP: usize = 256;
/// A query of so many words was not typed: what looks like an operator in it is none.
const PASTED: usize = 64;

/// Of a piece that is too long, so many words are looked for side by side.
const WINDOW: usize = 8;

/// What is being looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The query as typed.
    pub text: String,
    /// Words and quoted words, in order: what hits are ranked by.
    pub chunks: Vec<Chunk>,
    /// What must hold besides.
    pub needs: Vec<Node>,
    /// What must not hold.
    pub without: Vec<Node>,
    /// What narrows the search down.
    pub conditions: Vec<Condition>,
    /// What it looks like.
    pub shape: Shape,
    /// Whether it holds operators that may be mere text.
    pub doubtful: bool,
    /// Whether it is a long text, of which only the words that tell most are looked for.
    pub thinned: bool,
}

/// A piece of a query: what stands between two blanks, or between two quotes.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// The terms that follow one another.
    pub terms: Vec<String>,
    /// The same written as one identifier, as the index has it, and as one plain word.
    pub wholes: Vec<String>,
    /// Whether it must be there as it is.
    pub quoted: bool,
}

/// Something a hit must hold, or must not.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Words, side by side.
    Words(Chunk),
    /// One term of the index.
    Term(String),
    /// A term that holds a piece of text, at its end if only `open_left`, at its beginning if only `open_right`.
    Part {
        /// The piece.
        text: String,
        /// Whether something may stand before it.
        open_left: bool,
        /// Whether something may stand behind it.
        open_right: bool,
    },
    /// A word with this beginning.
    Prefix(String),
    /// A regular expression, or text to be found letter by letter.
    Pattern(Pattern),
    /// One of several.
    Any(Vec<Self>),
    /// All of several.
    All(Vec<Self>),
    /// Not this.
    Not(Box<Self>),
    /// A condition inside a group.
    Is(Condition),
}

/// What a query looks like; ranking differs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// A path, or the tail of one.
    Path,
    /// A piece of code or output.
    Code,
    /// Words.
    Words,
}

impl Query {
    /// Takes a query apart. A long text that is no query was pasted, and is taken as plain words.
    pub fn parse(text: &str, around: &Surroundings) -> Result<Self> {
        if text.len() > QUERY_CAP {
            return Self::plain(text);
        }
        let is_pasted = || text.trim().contains('\n') || text.split_whitespace().nth(PASTED).is_some();
        match Self::parse_typed(text, around) {
            Err(_) if is_pasted() => Self::plain(text),
            Ok(query) if query.size() > TERMS_CAP => Self::plain(text),
            parsed => parsed,
        }
    }

    fn parse_typed(text: &str, around: &Surroundings) -> Result<Self> {
        let parsed = parse::parse(text, around)?;
        let shape = shape_of(text, &parsed.chunks);
        Self {
            text: text.trim().to_string(),
            chunks: parsed.chunks,
            needs: parsed.needs,
            without: parsed.without,
            conditions: parsed.conditions,
            shape,
            doubtful: parsed.doubtful,
            thinned: false,
        }
        .checked()
    }

    /// Asks for everything, for a filter to choose from.
    pub fn everything() -> Self {
        Self::of("", Vec::new(), Vec::new())
    }

    /// Takes text in which nothing is an operator. Of a long one, the words that tell most are looked for.
    pub fn plain(text: &str) -> Result<Self> {
        let text = &text[..text.floor_char_boundary(PASTED_CAP)];
        let (chunks, thinned) = pieces(text);
        Self { thinned, ..Self::of(text, chunks, Vec::new()) }.checked()
    }

    /// Takes text that is to be found letter by letter.
    pub fn literal(text: &str, any_case: bool) -> Result<Self> {
        bounded(text)?;
        let pattern = Pattern::literal(text, any_case)?;
        let (chunks, thinned) = pieces(text);
        Self { thinned, ..Self::of(text, chunks, vec![Node::Pattern(pattern)]) }.checked()
    }

    /// Takes words that must stand together.
    pub fn quoted(text: &str) -> Result<Self> {
        bounded(text)?;
        Self::of(text, chunk(text, true).into_iter().collect(), Vec::new()).checked()?.bounded()
    }

    /// What must be there as it is cannot be cut.
    fn bounded(self) -> Result<Self> {
        if self.size() > TERMS_CAP {
            return Err(Error::new(ErrorKind::Usage, format!("the query is too long: at most {TERMS_CAP} words")));
        }
        Ok(self)
    }

    fn of(text: &str, chunks: Vec<Chunk>, needs: Vec<Node>) -> Self {
        Self {
            text: text.trim().to_string(),
            shape: shape_of(text, &chunks),
            chunks,
            needs,
            without: Vec::new(),
            conditions: Vec::new(),
            doubtful: false,
            thinned: false,
        }
    }

    fn checked(self) -> Result<Self> {
        if self.chunks.is_empty() && self.needs.is_empty() && self.conditions.is_empty() {
            let hint = "give at least one word or number to look for";
            let error = Error::new(ErrorKind::Usage, "the query holds nothing to look for").hint(hint);
            return Err(if self.text.is_empty() { error } else { error.about(&self.text, 0..self.text.len()) });
        }
        Ok(self)
    }

    /// How many terms are looked for.
    fn size(&self) -> usize {
        let words: usize = self.chunks.iter().map(Chunk::size).sum();
        words + self.needs.iter().chain(&self.without).map(Node::size).sum::<usize>()
    }

    /// Whether it has words to rank by.
    pub fn has_words(&self) -> bool {
        !self.chunks.is_empty() || !self.needs.is_empty()
    }

    /// Whether only the texts themselves tell what matches.
    pub fn has_patterns(&self) -> bool {
        self.patterns().next().is_some() || self.unwanted_patterns().next().is_some()
    }

    /// The patterns whose matches must be there.
    pub fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.needs.iter().filter_map(Node::pattern)
    }

    /// The patterns whose matches must not be there.
    pub fn unwanted_patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.without.iter().filter_map(Node::pattern)
    }

    /// All terms that may be highlighted.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        let mut inside = Vec::new();
        self.needs.iter().for_each(|node| node.words(&mut inside));
        self.chunks.iter().chain(inside).flat_map(|chunk| chunk.terms.iter().chain(&chunk.wholes)).map(String::as_str)
    }

    /// All parts in order, as they would stand in the text; none if some were left out.
    pub fn sequence(&self) -> Vec<&str> {
        if self.thinned {
            return Vec::new();
        }
        self.chunks.iter().flat_map(|chunk| &chunk.terms).map(String::as_str).collect()
    }

    /// The beginnings of words that may be highlighted.
    pub fn prefixes(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.needs.iter().for_each(|node| node.beginnings(&mut found));
        found
    }
}

impl Chunk {
    fn size(&self) -> usize {
        self.terms.len() + self.wholes.len()
    }
}

impl Node {
    fn size(&self) -> usize {
        match self {
            Self::Words(chunk) => chunk.size(),
            Self::Any(nodes) | Self::All(nodes) => nodes.iter().map(Self::size).sum(),
            Self::Not(node) => node.size(),
            Self::Pattern(pattern) => pattern.needs.iter().map(Self::size).sum(),
            _ => 1,
        }
    }

    /// Whether it is made of conditions alone.
    pub fn is_condition(&self) -> bool {
        match self {
            Self::Is(_) => true,
            Self::Any(nodes) | Self::All(nodes) => nodes.iter().all(Self::is_condition),
            Self::Not(node) => node.is_condition(),
            _ => false,
        }
    }

    fn pattern(&self) -> Option<&Pattern> {
        match self {
            Self::Pattern(pattern) => Some(pattern),
            _ => None,
        }
    }

    fn words<'n>(&'n self, found: &mut Vec<&'n Chunk>) {
        match self {
            Self::Words(chunk) => found.push(chunk),
            Self::Any(nodes) | Self::All(nodes) => nodes.iter().for_each(|node| node.words(found)),
            _ => {}
        }
    }

    fn beginnings(&self, found: &mut Vec<String>) {
        match self {
            Self::Prefix(beginning) => found.push(folded(beginning)),
            Self::Any(nodes) | Self::All(nodes) => nodes.iter().for_each(|node| node.beginnings(found)),
            _ => {}
        }
    }
}

/// The beginning of a term as the index has it; of an identifier, its last part.
fn folded(beginning: &str) -> String {
    let last = tokenize::terms(beginning).into_iter().rfind(|(_, _, whole)| !whole);
    last.map_or_else(|| beginning.to_lowercase(), |(term, _, _)| term)
}

/// The pieces of a text in which nothing is an operator, and whether some were left out because they are too many.
fn pieces(text: &str) -> (Vec<Chunk>, bool) {
    let mut chunks: Vec<Chunk> = text.split_whitespace().filter_map(|word| chunk(word, false)).collect();
    let is_long = chunks.iter().map(Chunk::size).sum::<usize>() > TERMS_CAP;
    if is_long {
        thin(&mut chunks);
    }
    (chunks, is_long)
}

/// Keeps the pieces that tell most, each once and in order: the longer a word, the rarer it mostly is.
fn thin(chunks: &mut Vec<Chunk>) {
    *chunks = std::mem::take(chunks).into_iter().flat_map(in_windows).collect();
    let length = |chunk: &Chunk| chunk.terms.iter().map(String::len).sum::<usize>();
    let mut order: Vec<usize> = (0..chunks.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(length(&chunks[*at])));
    let (mut seen, mut kept, mut size) = (HashSet::new(), vec![false; chunks.len()], 0);
    for at in order {
        let chunk = &chunks[at];
        if size + chunk.size() <= TERMS_CAP / 2 && seen.insert(&chunk.terms) {
            kept[at] = true;
            size += chunk.size();
        }
    }
    let mut kept = kept.into_iter();
    chunks.retain(|_| kept.next().unwrap_or(false));
}

/// Cuts a long piece, a line without blanks say, into pieces that tell enough.
fn in_windows(chunk: Chunk) -> Vec<Chunk> {
    if chunk.size() <= WINDOW * 2 {
        return vec![chunk];
    }
    let window = |terms: &[String]| Chunk { terms: terms.to_vec(), wholes: Vec::new(), quoted: false };
    chunk.terms.chunks(WINDOW).map(window).collect()
}

fn bounded(text: &str) -> Result<()> {
    if text.len() > QUERY_CAP {
        return Err(Error::new(ErrorKind::Usage, format!("the query is too long: at most {QUERY_CAP} bytes")));
    }
    Ok(())
}

fn chunk(text: &str, quoted: bool) -> Option<Chunk> {
    let mut chunk = Chunk { terms: Vec::new(), wholes: Vec::new(), quoted };
    for (term, _, whole) in tokenize::terms(text) {
        if whole {
            // In prose the identifier may be written as a plain word.
            chunk.wholes.push(term.trim_start_matches(WHOLE_MARK).to_string());
            chunk.wholes.push(term);
        } else {
            chunk.terms.push(term);
        }
    }
    if let [word] = chunk.terms.as_slice()
        && chunk.wholes.is_empty()
        && word.len() > 3
    {
        // A plain word may be an identifier written without its style.
        chunk.wholes.push(format!("{WHOLE_MARK}{word}"));
    }
    (!chunk.terms.is_empty()).then_some(chunk)
}

fn shape_of(text: &str, chunks: &[Chunk]) -> Shape {
    let text = text.trim();
    let one_piece = !text.contains(char::is_whitespace);
    let ends_in_extension = text.rsplit_once('.').is_some_and(|(name, extension)| {
        !name.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.bytes().all(|b| b.is_ascii_alphanumeric())
            && !extension.bytes().all(|b| b.is_ascii_digit())
    });
    // An address of a person or of a page is no file, and neither is a pattern.
    let is_address = text.contains('@') || text.contains("://");
    let is_pattern = text.len() > 1 && text.starts_with('/') && text.ends_with('/');
    if one_piece && !is_address && !is_pattern && (text.contains(['/', '\\']) || ends_in_extension) {
        return Shape::Path;
    }
    let symbols = text.chars().filter(|c| "(){}[]=<>:;|&$`'#\\/@!*%^~".contains(*c)).count();
    if symbols > 0 && symbols * 4 >= chunks.len() { Shape::Code } else { Shape::Words }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows pieces as their terms, wholes in brackets, quoted ones in quotes.
    fn show(text: &str) -> String {
        let query = Query::parse(text, &Surroundings::default()).expect("a query");
        let show = |chunk: &Chunk| {
            let mut shown = chunk.terms.join("+");
            chunk.wholes.iter().for_each(|whole| shown += &format!("[{whole}]"));
            if chunk.quoted { format!("\"{shown}\"") } else { shown }
        };
        format!("{:?} {}", query.shape, query.chunks.iter().map(show).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn queries_are_taken_apart() {
        for (text, shown) in [
            ("oauth retry", "Words oauth[=oauth] retry[=retry]"),
            ("parseRetryAfter", "Words parse+retry+after[parseretryafter][=parseretryafter]"),
            ("say \"rate limit\" now", "Words say \"rate+limit\" now"),
            ("a lone \" quote", "Words a lone[=lone] quote[=quote]"),
            ("src/auth/token.rs", "Path src+auth+token+rs"),
            ("token.rs", "Path token+rs"),
            ("fn main() {", "Code fn main[=main]"),
            ("v2.1.38", "Words v+2+1+38[v2][=v2]"),
        ] {
            assert_eq!(show(text), shown, "{text}");
        }
    }

    #[test]
    fn queries_are_bounded() {
        let refused = |text: &str| Query::parse(text, &Surroundings::default()).is_err();
        assert!(refused("") && refused("?!") && refused(&"-".repeat(5000)));
        assert!(refused(&"(a OR ".repeat(30)));
        assert!(Query::literal(&"a".repeat(5000), false).is_err() && Query::quoted(&"a ".repeat(300)).is_err());
        // A paragraph of a script without blanks is one long word.
        let paragraph: String = ('\u{4e00}'..'\u{4f00}').collect();
        assert!(Query::literal(&paragraph, false).is_ok() && Query::plain(&paragraph.repeat(3)).is_ok());
    }

    #[test]
    fn of_a_pasted_text_the_words_that_tell_most_are_looked_for() {
        let trace =
            |number: usize| format!("  at Object.handler{number} (src/a/b.js:{number}:7) && -x is:it /(/ OR \n");
        let text: String = (0..500).map(trace).collect();
        let query = Query::parse(&text, &Surroundings::default()).expect("a query");
        assert!(query.thinned && query.needs.is_empty() && query.conditions.is_empty() && query.without.is_empty());
        assert!(query.chunks.iter().map(Chunk::size).sum::<usize>() <= TERMS_CAP);
        assert!(query.chunks.iter().any(|chunk| chunk.terms.contains(&"handler".to_string())));
        assert!(query.sequence().is_empty());
        for endless in ["\"key\":[1,2],".repeat(500), "文字".repeat(600), "🚀".repeat(3000)] {
            let query = Query::parse(&endless, &Surroundings::default()).expect("a query");
            assert!(query.thinned && !query.chunks.is_empty());
        }
    }
}
