//! What the user typed, taken apart: pieces, their terms, and what sort of thing is being looked for. Pure.
//!
//! Plain words never are a syntax error. Quotes make a phrase that must be there.

use crate::analysis::{self, WHOLE_MARK};
use crate::error::{Error, ErrorKind, Result};

/// The longest query that is answered, in bytes.
pub const QUERY_CAP: usize = 4096;
/// The most terms a query may have.
pub const TERMS_CAP: usize = 256;

/// What is being looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The query as typed.
    pub text: String,
    /// Its pieces, in order.
    pub chunks: Vec<Chunk>,
    /// What it looks like.
    pub shape: Shape,
    /// Whether the words must stand in the text letter by letter.
    pub literal: bool,
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
    /// Takes a query apart.
    pub fn parse(text: &str) -> Result<Self> {
        let chunks = split_quotes(text).flat_map(|(quoted, piece)| chunks_of(piece, quoted)).collect();
        Self::checked(text, chunks, false)
    }

    /// Takes text that is to be found just as it is.
    pub fn literal(text: &str) -> Result<Self> {
        Self::checked(text, chunk(text, true).into_iter().collect(), true)
    }

    fn checked(text: &str, chunks: Vec<Chunk>, literal: bool) -> Result<Self> {
        let terms: usize = chunks.iter().map(|chunk| chunk.terms.len() + chunk.wholes.len()).sum();
        if text.len() > QUERY_CAP || terms > TERMS_CAP {
            let what = format!("the query is too long: at most {QUERY_CAP} bytes and {TERMS_CAP} words");
            return Err(Error::new(ErrorKind::Usage, what));
        }
        if chunks.is_empty() {
            let hint = "give at least one word or number to look for";
            return Err(Error::new(ErrorKind::Usage, "the query holds nothing to look for").hint(hint));
        }
        Ok(Self { text: text.trim().to_string(), shape: shape_of(text, &chunks), chunks, literal })
    }

    /// All terms that may be highlighted.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        self.chunks.iter().flat_map(|chunk| chunk.terms.iter().chain(&chunk.wholes)).map(String::as_str)
    }

    /// All parts in order, as they would stand in the text.
    pub fn sequence(&self) -> Vec<&str> {
        self.chunks.iter().flat_map(|chunk| &chunk.terms).map(String::as_str).collect()
    }
}

/// Cuts at quotation marks: what is between two of them is quoted. A lone one counts as a blank.
fn split_quotes(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let pieces: Vec<&str> = text.split('"').collect();
    let count = pieces.len();
    pieces.into_iter().enumerate().map(move |(at, piece)| (at % 2 == 1 && at + 1 < count, piece))
}

fn chunks_of(piece: &str, quoted: bool) -> Vec<Chunk> {
    if quoted {
        chunk(piece, true).into_iter().collect()
    } else {
        piece.split_whitespace().filter_map(|word| chunk(word, false)).collect()
    }
}

fn chunk(text: &str, quoted: bool) -> Option<Chunk> {
    let mut chunk = Chunk { terms: Vec::new(), wholes: Vec::new(), quoted };
    for (term, _, whole) in analysis::terms(text) {
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
    if one_piece && (text.contains(['/', '\\']) || ends_in_extension) {
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
        let query = Query::parse(text).expect("a query");
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
        assert!(Query::parse("").is_err());
        assert!(Query::parse("?!").is_err());
        assert!(Query::parse(&"a ".repeat(300)).is_err());
        assert!(Query::parse(&"a".repeat(5000)).is_err());
    }
}
