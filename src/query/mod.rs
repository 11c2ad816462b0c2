//! Parses the user's query into pieces and search terms, and guesses whether it is a path, code or words. Pure.
//!
//! Plain words are never a syntax error. `parse.rs` describes the operators.

pub mod glob;
pub mod names;
pub mod inflect;
mod pattern;
mod conditions;
mod parse;
mod prose;
pub mod english;

use std::collections::HashSet;

use crate::error::{Error, ErrorKind, Result};
use crate::tokenize::{self, WHOLE_MARK};

pub use conditions::{Condition, FIELDS, Filter, QueryContext, Test};
pub use pattern::Pattern;
pub use prose::is_prose;

/// Maximum length of a query with operators, and of a text to find literally, in bytes.
pub const QUERY_CAP: usize = 4096;
/// Maximum length of a pasted text, in bytes. The rest is ignored.
const PASTED_CAP: usize = 64 << 10;
/// Maximum number of terms in a query.
pub const TERMS_CAP: usize = 256;
/// A query of more words than this was pasted, not typed. If it is not a valid query, it is plain text.
const PASTED: usize = 64;

/// The number of words that are searched as one phrase when a long piece is cut up.
const WINDOW: usize = 8;

/// A parsed query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The query as typed.
    pub text: String,
    /// Words and quoted words, in order. Hits are ranked by them.
    pub chunks: Vec<Chunk>,
    /// Further requirements that a hit must match.
    pub needs: Vec<Node>,
    /// Exclusions that a hit must not match.
    pub without: Vec<Node>,
    /// Conditions that narrow the search down.
    pub conditions: Vec<Condition>,
    /// The shape of the query, for ranking.
    pub shape: Shape,
    /// Set if it contains operators that may be plain text instead.
    pub doubtful: bool,
    /// Set for a long text. Only its most distinctive words are searched.
    pub thinned: bool,
}

/// A piece of a query: the text between two blanks, or between two quotes.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Consecutive terms, to be found as a phrase.
    pub terms: Vec<String>,
    /// The same terms written as one identifier: as the index stores it, and as one plain word.
    pub wholes: Vec<String>,
    /// Set if a hit must contain exactly this phrase.
    pub quoted: bool,
}

/// A requirement or exclusion of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A phrase.
    Words(Chunk),
    /// One term of the index.
    Term(String),
    /// A term that contains a text: at its end if only `open_left`, at its beginning if only `open_right`.
    Part {
        /// The text.
        text: String,
        /// Set if the term may have more characters before the text.
        open_left: bool,
        /// Set if the term may have more characters after the text.
        open_right: bool,
    },
    /// A word with this prefix.
    Prefix(String),
    /// A regular expression, or a text to be found literally.
    Pattern(Pattern),
    /// At least one of these.
    Any(Vec<Self>),
    /// All of these.
    All(Vec<Self>),
    /// The negation of a node.
    Not(Box<Self>),
    /// A condition inside a group.
    Is(Condition),
}

/// The shape of a query. Each shape is ranked differently.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// A path, or the end of one.
    Path,
    /// A piece of code or output.
    Code,
    /// Ordinary words.
    Words,
}

impl Query {
    /// Parses a query. A long text that is not a valid query was pasted, and is read as plain words.
    pub fn parse(text: &str, context: &QueryContext) -> Result<Self> {
        if text.len() > QUERY_CAP {
            return Self::plain(text);
        }
        let is_pasted = || text.trim().contains('\n') || text.split_whitespace().nth(PASTED).is_some();
        match Self::parse_typed(text, context) {
            Err(_) if is_pasted() => Self::plain(text),
            Ok(query) if query.size() > TERMS_CAP => Self::plain(text),
            parsed => parsed,
        }
    }

    fn parse_typed(text: &str, context: &QueryContext) -> Result<Self> {
        let parsed = parse::parse(text, context)?;
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

    /// A query that matches everything, to be narrowed by a filter.
    pub fn everything() -> Self {
        Self::of("", Vec::new(), Vec::new())
    }

    /// Parses a text without operators. For a long text, only the most distinctive words are searched.
    pub fn plain(text: &str) -> Result<Self> {
        let text = &text[..text.floor_char_boundary(PASTED_CAP)];
        let (chunks, thinned) = pieces(text);
        Self { thinned, ..Self::of(text, chunks, Vec::new()) }.checked()
    }

    /// A query for a text to be found literally.
    pub fn literal(text: &str, any_case: bool) -> Result<Self> {
        check_length(text)?;
        let pattern = Pattern::literal(text, any_case)?;
        let (chunks, thinned) = pieces(text);
        Self { thinned, ..Self::of(text, chunks, vec![Node::Pattern(pattern)]) }.checked()
    }

    /// A query for words that must form a phrase.
    pub fn quoted(text: &str) -> Result<Self> {
        check_length(text)?;
        Self::of(text, chunk(text, true).into_iter().collect(), Vec::new()).checked()?.check_size()
    }

    /// Refuses a query with too many terms. A phrase cannot be thinned, because all its words must match.
    fn check_size(self) -> Result<Self> {
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

    /// Refuses a query that is empty, or that only excludes.
    fn checked(self) -> Result<Self> {
        if self.chunks.is_empty() && self.needs.is_empty() && self.conditions.is_empty() {
            let hint = "add at least one word or number";
            let error = Error::new(ErrorKind::Usage, "the query contains nothing to search for").hint(hint);
            return Err(if self.text.is_empty() { error } else { error.about(&self.text, 0..self.text.len()) });
        }
        Ok(self)
    }

    /// The number of terms.
    fn size(&self) -> usize {
        let words: usize = self.chunks.iter().map(Chunk::size).sum();
        words + self.needs.iter().chain(&self.without).map(Node::size).sum::<usize>()
    }

    /// Reports whether it has words to rank by.
    pub fn has_words(&self) -> bool {
        !self.chunks.is_empty() || !self.needs.is_empty()
    }

    /// Reports whether it has patterns, which can be checked only against the texts themselves.
    pub fn has_patterns(&self) -> bool {
        self.patterns().next().is_some() || self.unwanted_patterns().next().is_some()
    }

    /// The patterns that a hit must match.
    pub fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.needs.iter().filter_map(Node::pattern)
    }

    /// The patterns that a hit must not match.
    pub fn unwanted_patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.without.iter().filter_map(Node::pattern)
    }

    /// All terms that may be highlighted.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        let mut nested = Vec::new();
        self.needs.iter().for_each(|node| node.words(&mut nested));
        self.chunks.iter().chain(nested).flat_map(|chunk| chunk.terms.iter().chain(&chunk.wholes)).map(String::as_str)
    }

    /// All terms in order, as one phrase. Empty if some terms were left out.
    pub fn sequence(&self) -> Vec<&str> {
        if self.thinned {
            return Vec::new();
        }
        self.chunks.iter().flat_map(|chunk| &chunk.terms).map(String::as_str).collect()
    }

    /// The prefixes of words that may be highlighted.
    pub fn prefixes(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.needs.iter().for_each(|node| node.prefixes(&mut found));
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

    /// Reports whether it consists of conditions only.
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

    /// Collects the phrases in this node.
    fn words<'n>(&'n self, found: &mut Vec<&'n Chunk>) {
        match self {
            Self::Words(chunk) => found.push(chunk),
            Self::Any(nodes) | Self::All(nodes) => nodes.iter().for_each(|node| node.words(found)),
            _ => {}
        }
    }

    /// Collects the prefixes in this node.
    fn prefixes(&self, found: &mut Vec<String>) {
        match self {
            Self::Prefix(prefix) => found.push(folded(prefix)),
            Self::Any(nodes) | Self::All(nodes) => nodes.iter().for_each(|node| node.prefixes(found)),
            _ => {}
        }
    }
}

/// Folds a prefix the way the index folds terms. For an identifier, returns its last part.
fn folded(prefix: &str) -> String {
    let last = tokenize::terms(prefix).into_iter().rfind(|(_, _, whole)| !whole);
    last.map_or_else(|| prefix.to_lowercase(), |(term, _, _)| term)
}

/// Splits a text without operators into pieces. Also reports whether it had too many, so that some were left out.
fn pieces(text: &str) -> (Vec<Chunk>, bool) {
    let mut chunks: Vec<Chunk> = text.split_whitespace().filter_map(|word| chunk(word, false)).collect();
    let is_long = chunks.iter().map(Chunk::size).sum::<usize>() > TERMS_CAP;
    if is_long {
        thin(&mut chunks);
    }
    (chunks, is_long)
}

/// Keeps the most distinctive pieces, each once and in order. Longer words come first because they are usually rarer.
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

/// Cuts a long piece, such as a line without blanks, into phrases that are still distinctive.
fn in_windows(chunk: Chunk) -> Vec<Chunk> {
    if chunk.size() <= WINDOW * 2 {
        return vec![chunk];
    }
    let window = |terms: &[String]| Chunk { terms: terms.to_vec(), wholes: Vec::new(), quoted: false };
    chunk.terms.chunks(WINDOW).map(window).collect()
}

/// Refuses a text longer than [`QUERY_CAP`].
fn check_length(text: &str) -> Result<()> {
    if text.len() > QUERY_CAP {
        return Err(Error::new(ErrorKind::Usage, format!("the query is too long: at most {QUERY_CAP} bytes")));
    }
    Ok(())
}

/// Makes a piece of a text. Returns `None` if the text contains no terms.
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
        // A plain word may be an identifier typed without capitals or separators.
        chunk.wholes.push(format!("{WHOLE_MARK}{word}"));
    }
    (!chunk.terms.is_empty()).then_some(chunk)
}

/// Guesses the shape of a query.
fn shape_of(text: &str, chunks: &[Chunk]) -> Shape {
    let text = text.trim();
    let is_one_piece = !text.contains(char::is_whitespace);
    let ends_in_extension = text.rsplit_once('.').is_some_and(|(name, extension)| {
        !name.is_empty()
            && (1..=5).contains(&extension.len())
            && extension.bytes().all(|b| b.is_ascii_alphanumeric())
            && !extension.bytes().all(|b| b.is_ascii_digit())
    });
    // An email address, a URL or a pattern is not a file.
    let is_address = text.contains('@') || text.contains("://");
    let is_pattern = text.len() > 1 && text.starts_with('/') && text.ends_with('/');
    if is_one_piece && !is_address && !is_pattern && (text.contains(['/', '\\']) || ends_in_extension) {
        return Shape::Path;
    }
    let symbols = text.chars().filter(|c| "(){}[]=<>:;|&$`'#\\/@!*%^~".contains(*c)).count();
    if symbols > 0 && symbols * 4 >= chunks.len() { Shape::Code } else { Shape::Words }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows pieces as their terms, whole identifiers in brackets, quoted pieces in quotes.
    fn show(text: &str) -> String {
        let query = Query::parse(text, &QueryContext::default()).expect("a query");
        let show = |chunk: &Chunk| {
            let mut shown = chunk.terms.join("+");
            chunk.wholes.iter().for_each(|whole| shown += &format!("[{whole}]"));
            if chunk.quoted { format!("\"{shown}\"") } else { shown }
        };
        format!("{:?} {}", query.shape, query.chunks.iter().map(show).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn queries_are_split_into_pieces() {
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
        let refused = |text: &str| Query::parse(text, &QueryContext::default()).is_err();
        assert!(refused("") && refused("?!") && refused(&"-".repeat(5000)));
        assert!(refused(&"(a OR ".repeat(30)));
        assert!(Query::literal(&"a".repeat(5000), false).is_err() && Query::quoted(&"a ".repeat(300)).is_err());
        // A paragraph of a script without blanks is one long word.
        let paragraph: String = ('\u{4e00}'..'\u{4f00}').collect();
        assert!(Query::literal(&paragraph, false).is_ok() && Query::plain(&paragraph.repeat(3)).is_ok());
    }

    #[test]
    fn pasted_text_is_thinned_to_distinctive_words() {
        let trace =
            |number: usize| format!("  at Object.handler{number} (src/a/b.js:{number}:7) && -x is:it /(/ OR \n");
        let text: String = (0..500).map(trace).collect();
        let query = Query::parse(&text, &QueryContext::default()).expect("a query");
        assert!(query.thinned && query.needs.is_empty() && query.conditions.is_empty() && query.without.is_empty());
        assert!(query.chunks.iter().map(Chunk::size).sum::<usize>() <= TERMS_CAP);
        assert!(query.chunks.iter().any(|chunk| chunk.terms.contains(&"handler".to_string())));
        assert!(query.sequence().is_empty());
        for endless in ["\"key\":[1,2],".repeat(500), "文字".repeat(600), "🚀".repeat(3000)] {
            let query = Query::parse(&endless, &QueryContext::default()).expect("a query");
            assert!(query.thinned && !query.chunks.is_empty());
        }
    }
}
