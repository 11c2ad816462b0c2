//! Parser of the query language. Plain words just work; operators are few and hard to write by accident.
//!
//! - `oauth retry` — words; hits with more of them, and with rarer ones, come first
//! - `"rate limit"` — a phrase that must occur; a quotation mark inside a word is punctuation
//! - `-github`, `NOT github` — must not occur
//! - `retry OR backoff` — at least one must occur; binds tighter than a blank
//! - `retry AND timeout` — both must occur
//! - `(a b) OR c` — grouping, in queries that contain OR, AND or NOT; elsewhere parentheses are punctuation
//! - `retr*` — words with this prefix
//! - `tool:Bash since:2d -role:tool` — conditions
//! - `/retry.{0,9}after/` — a regular expression
//!
//! A query whose operators may be plain text (`rm -rf x`, `a OR b` in SQL) is marked as doubtful. If that text occurs
//! somewhere exactly as typed, it is read as text.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};
use crate::query::conditions::{Condition, FIELDS, QueryContext};
use crate::query::pattern::Pattern;
use crate::query::{Chunk, Node, chunk};
use crate::tokenize;

/// Maximum nesting depth of parentheses.
const DEPTH_CAP: usize = 16;

/// The parts of a parsed query.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Words and quoted words, in order.
    pub(super) chunks: Vec<Chunk>,
    /// Further requirements that a hit must match.
    pub(super) needs: Vec<Node>,
    /// Exclusions that a hit must not match.
    pub(super) without: Vec<Node>,
    /// Conditions that narrow the search down.
    pub(super) conditions: Vec<Condition>,
    /// Set if it contains operators that may be plain text instead.
    pub(super) doubtful: bool,
}

/// A token of a query.
#[derive(Clone, Debug)]
struct Token {
    span: Range<usize>,
    kind: TokenKind,
    /// Set if a dash precedes it.
    negated: bool,
}

#[derive(Clone, Debug)]
enum TokenKind {
    Word(String),
    Quoted(String),
    Regex(String),
    Prefix(String),
    Field(String, String),
    Or,
    And,
    Not,
    Open,
    Close,
}

/// Parses a query. The error of an invalid one marks the part that cannot be parsed.
pub(super) fn parse(text: &str, context: &QueryContext) -> Result<Parsed> {
    let mut tokens = tokens(text);
    let has_operators =
        tokens.iter().any(|token| matches!(token.kind, TokenKind::Or | TokenKind::And | TokenKind::Not));
    if !has_operators {
        // In a query without operators, parentheses are punctuation.
        tokens.retain(|token| !matches!(token.kind, TokenKind::Open | TokenKind::Close));
    }
    let mut parser = Parser { text, context, tokens: tokens.into_iter().peekable(), depth: 0, doubtful: has_operators };
    let items = parser.sequence()?;
    let mut parsed = Parsed { doubtful: parser.doubtful, ..Parsed::default() };
    items.into_iter().for_each(|item| parsed.add(item));
    if parsed.chunks.is_empty() && parsed.needs.is_empty() && parsed.conditions.is_empty() && !parsed.without.is_empty()
    {
        let message = "the query only excludes words";
        return Err(error_at(text, &(0..text.len()), message, Some("add a word to search for, or quote it: \"-x\"")));
    }
    Ok(parsed)
}

/// An element of a sequence.
#[derive(Debug)]
struct Item {
    node: Node,
    /// Set if `AND` precedes or follows it.
    required: bool,
}

impl Parsed {
    /// Adds an item to the part of the query that it belongs to.
    fn add(&mut self, item: Item) {
        match item.node {
            Node::Not(inner) => match *inner {
                Node::Is(condition) => self.conditions.push(Condition { negated: true, ..condition }),
                node => self.without.push(node),
            },
            Node::Is(condition) => self.conditions.push(condition),
            Node::Words(chunk) if !item.required => self.chunks.push(chunk),
            Node::Words(chunk) => {
                self.chunks.push(chunk.clone());
                self.needs.push(Node::Words(chunk));
            }
            node => self.needs.push(node),
        }
    }
}

struct Parser<'q> {
    text: &'q str,
    context: &'q QueryContext,
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    depth: usize,
    doubtful: bool,
}

impl Parser<'_> {
    /// Parses items up to the end of the query, or to a closing parenthesis.
    fn sequence(&mut self) -> Result<Vec<Item>> {
        let mut items: Vec<Item> = Vec::new();
        let mut required = false;
        while let Some(token) = self.tokens.peek() {
            match token.kind {
                TokenKind::Close if self.depth > 0 => break,
                TokenKind::Close | TokenKind::Or => {
                    self.tokens.next();
                }
                TokenKind::And => {
                    self.tokens.next();
                    if let Some(last) = items.last_mut() {
                        last.required = true;
                    }
                    required = true;
                }
                _ => {
                    if let Some(node) = self.alternatives()? {
                        items.push(Item { node, required });
                    }
                    required = false;
                }
            }
        }
        Ok(items)
    }

    /// Parses one item, or several with `OR` between them.
    fn alternatives(&mut self) -> Result<Option<Node>> {
        let start = self.offset();
        let mut branches: Vec<Node> = self.item()?.into_iter().collect();
        while self.tokens.next_if(|token| matches!(token.kind, TokenKind::Or)).is_some() {
            branches.extend(self.item()?);
        }
        if branches.len() > 1 {
            self.refuse_patterns(start, &branches)?;
        }
        Ok(if branches.len() > 1 { Some(Node::Any(branches)) } else { branches.pop() })
    }

    /// The byte offset of the next token.
    fn offset(&mut self) -> usize {
        self.tokens.peek().map_or(self.text.len(), |token| token.span.start)
    }

    /// Refuses a pattern inside a group. Patterns are checked by reading the hits, which works only for the query as a
    /// whole.
    fn refuse_patterns(&mut self, start: usize, nodes: &[Node]) -> Result<()> {
        if !nodes.iter().any(|node| matches!(node, Node::Pattern(_))) {
            return Ok(());
        }
        let span = start..self.offset();
        let hint = "put the alternatives into the pattern: /a|b/";
        Err(error_at(self.text, &span, "a /pattern/ cannot be inside a group", Some(hint)))
    }

    /// Parses one item: a word, a phrase, a condition, a group or the like, possibly negated.
    fn item(&mut self) -> Result<Option<Node>> {
        let Some(token) =
            self.tokens.next_if(|token| !matches!(token.kind, TokenKind::Or | TokenKind::And | TokenKind::Close))
        else {
            return Ok(None);
        };
        let negated = token.negated;
        let node = match token.kind {
            TokenKind::Not => {
                // Counts instead of recursing: a long row of NOTs would overflow the stack.
                let mut is_odd = true;
                while self.tokens.next_if(|token| matches!(token.kind, TokenKind::Not)).is_some() {
                    is_odd = !is_odd;
                }
                return Ok(self.item()?.map(|node| if is_odd { Node::Not(Box::new(node)) } else { node }));
            }
            TokenKind::Open => self.group(&token.span)?,
            TokenKind::Word(word) => chunk(&word, false).map(Node::Words),
            TokenKind::Quoted(words) => chunk(&words, true).map(Node::Words),
            TokenKind::Prefix(prefix) => {
                self.doubtful = true;
                Some(Node::Prefix(prefix))
            }
            TokenKind::Regex(source) => {
                self.doubtful = true;
                let pattern = Pattern::regex(&source).map_err(|error| with_span(self.text, &token.span, &error))?;
                Some(Node::Pattern(pattern))
            }
            TokenKind::Field(field, value) => {
                let condition = Condition::parse(&field, &value, self.context).or_else(|error| {
                    let is_date = matches!(field.as_str(), "since" | "after" | "until" | "before");
                    self.longer_date(&field, &value).filter(|_| is_date).ok_or(error)
                });
                let condition = condition.map_err(|error| {
                    let hint = format!("to search for it as text, quote it: \"{field}:{value}\"");
                    let hint = error.hint_text().map_or_else(|| hint.clone(), |known| format!("{known}; {hint}"));
                    with_span(self.text, &token.span, &error).hint(hint)
                })?;
                Some(Node::Is(Condition { span: Some(token.span.clone()), ..condition }))
            }
            TokenKind::Or | TokenKind::And | TokenKind::Close => None,
        };
        if negated && node.is_some() {
            self.doubtful |= !matches!(node, Some(Node::Is(_)));
        }
        Ok(node.map(|node| if negated { Node::Not(Box::new(node)) } else { node }))
    }

    /// Parses a date of several words: `since:last friday`, `since:2 days ago`.
    fn longer_date(&mut self, field: &str, value: &str) -> Option<Condition> {
        let (mut date, mut ahead, mut found) = (value.to_string(), self.tokens.clone(), None);
        for _ in 0..2 {
            let Some(Token { kind: TokenKind::Word(word), negated: false, .. }) = ahead.next() else { break };
            date = format!("{date} {word}");
            if let Ok(condition) = Condition::parse(field, &date, self.context) {
                found = Some(condition);
                self.tokens = ahead.clone();
            }
        }
        found
    }

    /// Parses a group whose opening parenthesis is at `span`.
    fn group(&mut self, span: &Range<usize>) -> Result<Option<Node>> {
        self.depth += 1;
        if self.depth > DEPTH_CAP {
            return Err(error_at(self.text, span, "parentheses are nested too deeply here", None));
        }
        let items = self.sequence()?;
        self.depth -= 1;
        let mut nodes: Vec<Node> = items.into_iter().map(|item| item.node).collect();
        self.refuse_patterns(span.start, &nodes)?;
        self.tokens.next_if(|token| matches!(token.kind, TokenKind::Close));
        Ok(if nodes.len() > 1 { Some(Node::All(nodes)) } else { nodes.pop() })
    }
}

/// Splits a query into tokens. Refuses nothing: anything that is not an operator is a word.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let from = at;
        let negated = c == '-' && starts_operand(&text[at + 1..]);
        at += usize::from(negated);
        let (kind, to) = token(text, at);
        at = to.max(at + 1);
        while !text.is_char_boundary(at) {
            at += 1;
        }
        match kind {
            TokenKind::Word(word) if word.ends_with(')') && !negated => split_closing(&mut tokens, &word, from, at),
            kind => tokens.push(Token { span: from..at, kind, negated }),
        }
    }
    tokens
}

/// Reports whether the text after a dash can be negated by it.
fn starts_operand(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_alphanumeric() || "\"(/".contains(c))
}

/// Reads the token at an offset. Also returns its end.
fn token(text: &str, at: usize) -> (TokenKind, usize) {
    let rest = &text[at..];
    if rest.starts_with('(') {
        return (TokenKind::Open, at + 1);
    }
    if let Some(inner) = rest.strip_prefix('"')
        && let Some(end) = inner.find('"')
        && inner[end + 1..].chars().next().is_none_or(|c| c.is_whitespace() || c == ')')
    {
        return (TokenKind::Quoted(inner[..end].to_string()), at + end + 2);
    }
    if let Some(end) = regex_end(rest) {
        return (TokenKind::Regex(rest[1..end].replace("\\/", "/")), at + end + 1);
    }
    let field = FIELDS
        .iter()
        .chain(&["after", "before"])
        .find(|name| rest.strip_prefix(**name).and_then(|rest| rest.strip_prefix(':')).is_some_and(is_value));
    if let Some(name) = field {
        return field_token(text, at, name);
    }
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let word = &rest[..end];
    let kind = match word {
        "OR" => TokenKind::Or,
        "AND" => TokenKind::And,
        "NOT" => TokenKind::Not,
        ")" => TokenKind::Close,
        word => match word.strip_suffix('*') {
            Some(prefix) if prefix.len() > 1 && prefix.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                TokenKind::Prefix(prefix.to_string())
            }
            _ => TokenKind::Word(word.trim_start_matches('"').to_string()),
        },
    };
    (kind, at + end.max(1))
}

/// Reports whether the text after `field:` can be its value. If not, the colon is punctuation in a sentence, in code or
/// in a URL.
fn is_value(text: &str) -> bool {
    let is_quoted = text.strip_prefix('"').is_some_and(|inner| inner.contains('"'));
    is_quoted
        || text.starts_with(|c: char| tokenize::is_word(c) || "/~.*_-@[{\\".contains(c)) && !text.starts_with("//")
}

/// Reads a field with its value. A quoted value may contain blanks. Also returns the end.
fn field_token(text: &str, at: usize, name: &str) -> (TokenKind, usize) {
    let from = at + name.len() + 1;
    let value = &text[from..];
    if let Some(inner) = value.strip_prefix('"')
        && let Some(end) = inner.find('"')
    {
        return (TokenKind::Field(name.to_string(), inner[..end].to_string()), from + end + 2);
    }
    let end = value.find(char::is_whitespace).unwrap_or(value.len());
    let value = value[..end].trim_end_matches(')');
    (TokenKind::Field(name.to_string(), value.to_string()), from + value.len())
}

/// Returns the offset of the slash that ends a regular expression. Returns `None` for other text, such as a path.
fn regex_end(text: &str) -> Option<usize> {
    if !text.starts_with('/') {
        return None;
    }
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '/' => {
                let is_last = text[at + 1..].chars().next().is_none_or(char::is_whitespace);
                // `/tmp/` is a folder, so a pattern must contain a special character.
                let is_pattern = text[1..at].contains(['*', '+', '?', '[', '(', '{', '|', '^', '$', '\\']);
                return (is_last && is_pattern).then_some(at);
            }
            _ => {}
        }
    }
    None
}

/// Splits the closing parentheses off the end of a word, and adds all of them as tokens.
fn split_closing(tokens: &mut Vec<Token>, word: &str, from: usize, to: usize) {
    let bare = word.trim_end_matches(')');
    // In `main()` the closing parenthesis belongs to the word.
    let own_count = bare.matches('(').count().min(word.len() - bare.len());
    let bare = &word[..bare.len() + own_count];
    if !bare.is_empty() {
        let (kind, _) = token(bare, 0);
        tokens.push(Token { span: from..from + bare.len(), kind, negated: false });
    }
    for at in from + bare.len()..to {
        tokens.push(Token { span: at..at + 1, kind: TokenKind::Close, negated: false });
    }
}

/// Marks the part of the query that an error is about.
fn with_span(text: &str, span: &Range<usize>, error: &Error) -> Error {
    let marked = error_at(text, span, &error.to_string(), None);
    match error.hint_text() {
        Some(hint) => marked.hint(hint),
        None => marked,
    }
}

/// An error that marks the part of the query it is about.
fn error_at(text: &str, span: &Range<usize>, message: &str, hint: Option<&str>) -> Error {
    let error = Error::new(ErrorKind::Usage, message).about(text, span.clone());
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show_node(node: &Node) -> String {
        let join = |nodes: &[Node], between: &str| nodes.iter().map(show_node).collect::<Vec<_>>().join(between);
        match node {
            Node::Words(chunk) if chunk.quoted => format!("\"{}\"", chunk.terms.join(" ")),
            Node::Words(chunk) => chunk.terms.join("+"),
            Node::Prefix(prefix) => format!("{prefix}*"),
            Node::Pattern(pattern) => format!("/{}/", pattern.source),
            Node::Any(nodes) => format!("({})", join(nodes, " | ")),
            Node::All(nodes) => format!("({})", join(nodes, " & ")),
            Node::Not(node) => format!("!{}", show_node(node)),
            Node::Is(condition) => format!("{:?}", condition.test),
            other => format!("{other:?}"),
        }
    }

    /// Shows a query as its words, `+` requirements, `-` exclusions and `[conditions]`, or as its error.
    fn show(text: &str) -> String {
        match parse(text, &QueryContext::default()) {
            Ok(parsed) => {
                let mut shown: Vec<String> =
                    parsed.chunks.into_iter().map(|chunk| show_node(&Node::Words(chunk))).collect();
                shown.extend(parsed.needs.iter().map(|node| format!("+{}", show_node(node))));
                shown.extend(parsed.without.iter().map(|node| format!("-{}", show_node(node))));
                shown.extend(
                    parsed
                        .conditions
                        .iter()
                        .map(|condition| format!("{}[{:?}]", if condition.negated { "-" } else { "" }, condition.test)),
                );
                shown.join(" ")
            }
            Err(error) => match error.part() {
                Some((text, part)) => format!("error: {error}: {}", &text[part]),
                None => format!("error: {error}"),
            },
        }
    }

    #[test]
    fn operators_are_parsed() {
        for (text, shown) in [
            ("oauth retry", "oauth retry"),
            ("oauth -github", "oauth -github"),
            ("oauth -\"rate limit\"", "oauth -\"rate limit\""),
            ("oauth NOT github", "oauth -github"),
            ("oauth retry OR backoff", "oauth +(retry | backoff)"),
            ("retry AND timeout", "retry timeout +retry +timeout"),
            ("(retry backoff) OR timeout", "+((retry & backoff) | timeout)"),
            ("oauth (retry OR (backoff AND jitter))", "oauth +(retry | (backoff & jitter))"),
            ("a OR b OR c", "+(a | b | c)"),
            ("retr*", "+retr*"),
            ("retr* -bac*", "+retr* -bac*"),
            ("/retry.{0,9}after/ x", "x +/retry.{0,9}after/"),
            ("/a\\/bc/", "+/a/bc/"),
            ("/tmp/ x", "tmp x"),
            ("tool:Bash npm", "npm [Tool(\"Bash\")]"),
            ("npm -role:tool", "npm -[Role(Tool)]"),
            ("file:\"my file.txt\" x", "x [File(\"my file.txt\")]"),
            ("(tool:Bash OR tool:Read) x", "x +(Tool(\"Bash\") | Tool(\"Read\"))"),
            ("x project:api", "x [Project(\"api\")]"),
        ] {
            assert_eq!(show(text), shown, "{text}");
        }
    }

    #[test]
    fn plain_text_stays_plain() {
        for (text, shown) in [
            ("fn main() {", "fn main"),
            ("if (a == b) { return }", "if a b return"),
            ("--dry-run", "dry+run"),
            ("a lone \" quote", "a lone quote"),
            ("error: cannot find x", "error cannot find x"),
            ("file:///home/x.rs", "file+home+x+rs"),
            ("std::fs::read", "std+fs+read"),
            ("/usr/local/bin", "usr+local+bin"),
            ("cp /etc /tmp/", "cp etc tmp"),
            ("*.rs", "rs"),
            ("OR", ""),
            ("a OR", "a"),
            ("OR a", "a"),
            ("a AND", "a +a"),
            ("((( a OR b", "+(a | b)"),
            ("a OR b )))", "+(a | b)"),
            ("say \"hello\"", "say \"hello\""),
            ("println!(\"hi there\")", "println+hi there"),
            ("{\"name\": \"x\", \"a b\": 1}", "name x a b 1"),
            ("x -", "x"),
            ("kind: Pod", "kind pod"),
            ("streaming session:\", error)", "streaming session error"),
            ("cd /srv/app && mix test || true", "cd srv+app mix test true"),
            ("🤖 done /x+/y", "🤖 done x+y"),
            ("é/a+b/", "e+a+b"),
        ] {
            assert_eq!(show(text), shown, "{text}");
        }
    }

    #[test]
    fn errors_mark_the_invalid_part() {
        for (text, shown) in [
            ("x role:robot y", "error: unknown role \"robot\": role:robot"),
            ("日本 since:soon", "error: cannot read \"soon\" as a date: since:soon"),
            ("-github", "error: the query only excludes words: -github"),
        ] {
            assert_eq!(show(text), shown, "{text}");
        }
        for (words, single) in
            [("x since:last friday y", "x y since:\"last friday\""), ("since:2 days ago", "since:2d")]
        {
            assert!(show(words).contains("Since") && show(words) == show(single), "{words}");
        }
        assert!(show("x /(/").starts_with("error: cannot use the pattern"));
        assert!(show("/abc+/ OR x").contains("cannot be inside a group"));
        assert!(show(&format!("{} OR x", "(".repeat(40))).contains("nested too deeply"));
    }
}
