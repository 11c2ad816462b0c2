//! The query language: plain words just work; operators are few and hard to write by accident.
//!
//! - `oauth retry` — words; hits with more of them, and with rarer ones, come first
//! - `"rate limit"` — words that stand together, and must be there; a quotation mark inside a word is punctuation
//! - `-github`, `NOT github` — must not be there
//! - `retry OR backoff` — one of them must be there; binds tighter than a blank
//! - `retry AND timeout` — both must be there
//! - `(a b) OR c` — grouping, in queries that hold OR, AND or NOT; elsewhere parentheses are punctuation
//! - `retr*` — words with this beginning
//! - `tool:Bash since:2d -role:tool` — conditions
//! - `/retry.{0,9}after/` — a regular expression
//!
//! What looks like an operator but may be text (`rm -rf x`, `a OR b` in SQL) is marked as doubtful: if the text stands
//! somewhere as it was typed, it was meant as typed.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};
use crate::query::filter::{Condition, FIELDS, Surroundings};
use crate::query::pattern::Pattern;
use crate::query::{Chunk, Node, chunk};
use crate::tokenize;

/// How deep parentheses may be nested.
const DEPTH_CAP: usize = 16;

/// What a query says, before it is weighed.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    /// Words and quoted words, in order.
    pub(super) chunks: Vec<Chunk>,
    /// What must hold besides.
    pub(super) needs: Vec<Node>,
    /// What must not hold.
    pub(super) without: Vec<Node>,
    /// What narrows the search down.
    pub(super) conditions: Vec<Condition>,
    /// Whether it holds operators that may be mere text.
    pub(super) doubtful: bool,
}

/// A piece of a query.
#[derive(Clone, Debug)]
struct Token {
    span: Range<usize>,
    what: What,
    negated: bool,
}

#[derive(Clone, Debug)]
enum What {
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

/// Parses a query; refuses it with a mark under the part that cannot be understood.
pub(super) fn parse(text: &str, around: &Surroundings) -> Result<Parsed> {
    let mut tokens = tokens(text);
    let grouped = tokens.iter().any(|token| matches!(token.what, What::Or | What::And | What::Not));
    if !grouped {
        // Without operators between them, parentheses are punctuation.
        tokens.retain(|token| !matches!(token.what, What::Open | What::Close));
    }
    let mut parser = Parser { text, around, tokens: tokens.into_iter().peekable(), depth: 0, doubtful: grouped };
    let items = parser.sequence()?;
    let mut parsed = Parsed { doubtful: parser.doubtful, ..Parsed::default() };
    items.into_iter().for_each(|item| parsed.take(item));
    if parsed.chunks.is_empty() && parsed.needs.is_empty() && parsed.conditions.is_empty() && !parsed.without.is_empty()
    {
        let what = "the query only says what must not be found";
        return Err(caret(text, &(0..text.len()), what, Some("add a word to look for, or quote it: \"-x\"")));
    }
    Ok(parsed)
}

/// A part of a sequence, and how strictly it is meant.
#[derive(Debug)]
struct Item {
    node: Node,
    required: bool,
}

impl Parsed {
    fn take(&mut self, item: Item) {
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
    around: &'q Surroundings,
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    depth: usize,
    doubtful: bool,
}

impl Parser<'_> {
    /// Reads up to the end, or to a closing parenthesis.
    fn sequence(&mut self) -> Result<Vec<Item>> {
        let mut items: Vec<Item> = Vec::new();
        let mut required = false;
        while let Some(token) = self.tokens.peek() {
            match token.what {
                What::Close if self.depth > 0 => break,
                What::Close | What::Or => {
                    self.tokens.next();
                }
                What::And => {
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

    /// Reads one thing, or several with `OR` between them.
    fn alternatives(&mut self) -> Result<Option<Node>> {
        let start = self.place();
        let mut branches: Vec<Node> = self.item()?.into_iter().collect();
        while self.tokens.next_if(|token| matches!(token.what, What::Or)).is_some() {
            branches.extend(self.item()?);
        }
        if branches.len() > 1 {
            self.no_patterns(start, &branches)?;
        }
        Ok(if branches.len() > 1 { Some(Node::Any(branches)) } else { branches.pop() })
    }

    fn place(&mut self) -> usize {
        self.tokens.peek().map_or(self.text.len(), |token| token.span.start)
    }

    /// A pattern is checked by reading what was found; inside a group that cannot be done.
    fn no_patterns(&mut self, start: usize, nodes: &[Node]) -> Result<()> {
        if !nodes.iter().any(|node| matches!(node, Node::Pattern(_))) {
            return Ok(());
        }
        let span = start..self.place();
        let hint = "put the alternatives into the pattern: /a|b/";
        Err(caret(self.text, &span, "a /pattern/ must stand by itself, not in a group", Some(hint)))
    }

    fn item(&mut self) -> Result<Option<Node>> {
        let Some(token) = self.tokens.next_if(|token| !matches!(token.what, What::Or | What::And | What::Close)) else {
            return Ok(None);
        };
        let negated = token.negated;
        let node = match token.what {
            What::Not => {
                // Counted, not nested: a query of nothing else would reach the end of the stack.
                let mut odd = true;
                while self.tokens.next_if(|token| matches!(token.what, What::Not)).is_some() {
                    odd = !odd;
                }
                return Ok(self.item()?.map(|node| if odd { Node::Not(Box::new(node)) } else { node }));
            }
            What::Open => self.group(&token.span)?,
            What::Word(word) => chunk(&word, false).map(Node::Words),
            What::Quoted(words) => chunk(&words, true).map(Node::Words),
            What::Prefix(beginning) => {
                self.doubtful = true;
                Some(Node::Prefix(beginning))
            }
            What::Regex(source) => {
                self.doubtful = true;
                let pattern = Pattern::regex(&source).map_err(|error| at(self.text, &token.span, &error))?;
                Some(Node::Pattern(pattern))
            }
            What::Field(field, value) => {
                let condition = Condition::parse(&field, &value, self.around).or_else(|error| {
                    let is_date = matches!(field.as_str(), "since" | "after" | "until" | "before");
                    self.longer_date(&field, &value).filter(|_| is_date).ok_or(error)
                });
                let condition = condition.map_err(|error| {
                    let hint = format!("to look for it as text, quote it: \"{field}:{value}\"");
                    let hint = error.hint_text().map_or_else(|| hint.clone(), |known| format!("{known}; {hint}"));
                    at(self.text, &token.span, &error).hint(hint)
                })?;
                Some(Node::Is(Condition { span: Some(token.span.clone()), ..condition }))
            }
            What::Or | What::And | What::Close => None,
        };
        if negated && node.is_some() {
            self.doubtful |= !matches!(node, Some(Node::Is(_)));
        }
        Ok(node.map(|node| if negated { Node::Not(Box::new(node)) } else { node }))
    }

    /// A date of several words: `since:last friday`, `since:2 days ago`.
    fn longer_date(&mut self, field: &str, value: &str) -> Option<Condition> {
        let (mut date, mut ahead, mut found) = (value.to_string(), self.tokens.clone(), None);
        for _ in 0..2 {
            let Some(Token { what: What::Word(word), negated: false, .. }) = ahead.next() else { break };
            date = format!("{date} {word}");
            if let Ok(condition) = Condition::parse(field, &date, self.around) {
                found = Some(condition);
                self.tokens = ahead.clone();
            }
        }
        found
    }

    fn group(&mut self, span: &Range<usize>) -> Result<Option<Node>> {
        self.depth += 1;
        if self.depth > DEPTH_CAP {
            return Err(caret(self.text, span, "parentheses are nested too deeply here", None));
        }
        let items = self.sequence()?;
        self.depth -= 1;
        let mut nodes: Vec<Node> = items.into_iter().map(|item| item.node).collect();
        self.no_patterns(span.start, &nodes)?;
        self.tokens.next_if(|token| matches!(token.what, What::Close));
        Ok(if nodes.len() > 1 { Some(Node::All(nodes)) } else { nodes.pop() })
    }
}

/// Cuts a query into tokens. Nothing is refused here: what is no operator is a word.
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
        let (what, to) = token(text, at);
        at = to.max(at + 1);
        while !text.is_char_boundary(at) {
            at += 1;
        }
        match what {
            What::Word(word) if word.ends_with(')') && !negated => close_after(&mut tokens, &word, from, at),
            what => tokens.push(Token { span: from..at, what, negated }),
        }
    }
    tokens
}

/// Whether what follows a dash can be excluded by it.
fn starts_operand(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_alphanumeric() || "\"(/".contains(c))
}

fn token(text: &str, at: usize) -> (What, usize) {
    let rest = &text[at..];
    if rest.starts_with('(') {
        return (What::Open, at + 1);
    }
    if let Some(inner) = rest.strip_prefix('"')
        && let Some(end) = inner.find('"')
        && inner[end + 1..].chars().next().is_none_or(|c| c.is_whitespace() || c == ')')
    {
        return (What::Quoted(inner[..end].to_string()), at + end + 2);
    }
    if let Some(end) = regex_end(rest) {
        return (What::Regex(rest[1..end].replace("\\/", "/")), at + end + 1);
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
    let what = match word {
        "OR" => What::Or,
        "AND" => What::And,
        "NOT" => What::Not,
        ")" => What::Close,
        word => match word.strip_suffix('*') {
            Some(beginning) if beginning.len() > 1 && beginning.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                What::Prefix(beginning.to_string())
            }
            _ => What::Word(word.trim_start_matches('"').to_string()),
        },
    };
    (what, at + end.max(1))
}

/// Whether what follows `field:` can be its value, as against the punctuation of a sentence, of code or of an address.
fn is_value(text: &str) -> bool {
    let is_quoted = text.strip_prefix('"').is_some_and(|inner| inner.contains('"'));
    is_quoted
        || text.starts_with(|c: char| tokenize::is_word(c) || "/~.*_-@[{\\".contains(c)) && !text.starts_with("//")
}

/// A field with its value; a quoted value may hold blanks.
fn field_token(text: &str, at: usize, name: &str) -> (What, usize) {
    let from = at + name.len() + 1;
    let value = &text[from..];
    if let Some(inner) = value.strip_prefix('"')
        && let Some(end) = inner.find('"')
    {
        return (What::Field(name.to_string(), inner[..end].to_string()), from + end + 2);
    }
    let end = value.find(char::is_whitespace).unwrap_or(value.len());
    let value = value[..end].trim_end_matches(')');
    (What::Field(name.to_string(), value.to_string()), from + value.len())
}

/// The place of the slash that ends a regular expression; none if this is no such thing but, say, a path.
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
                let ends = text[at + 1..].chars().next().is_none_or(char::is_whitespace);
                // `/tmp/` is a folder.
                let is_pattern = text[1..at].contains(['*', '+', '?', '[', '(', '{', '|', '^', '$', '\\']);
                return (ends && is_pattern).then_some(at);
            }
            _ => {}
        }
    }
    None
}

/// Parts closing parentheses from the end of a word.
fn close_after(tokens: &mut Vec<Token>, word: &str, from: usize, to: usize) {
    let bare = word.trim_end_matches(')');
    // `main()` closes what it opens.
    let own = bare.matches('(').count().min(word.len() - bare.len());
    let bare = &word[..bare.len() + own];
    if !bare.is_empty() {
        let (what, _) = token(bare, 0);
        tokens.push(Token { span: from..from + bare.len(), what, negated: false });
    }
    for at in from + bare.len()..to {
        tokens.push(Token { span: at..at + 1, what: What::Close, negated: false });
    }
}

fn at(text: &str, span: &Range<usize>, error: &Error) -> Error {
    let shown = caret(text, span, &error.to_string(), None);
    match error.hint_text() {
        Some(hint) => shown.hint(hint),
        None => shown,
    }
}

/// An error that shows the part of the query it is about.
fn caret(text: &str, span: &Range<usize>, what: &str, hint: Option<&str>) -> Error {
    let error = Error::new(ErrorKind::Usage, what).about(text, span.clone());
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show_node(node: &Node) -> String {
        let many = |nodes: &[Node], between: &str| nodes.iter().map(show_node).collect::<Vec<_>>().join(between);
        match node {
            Node::Words(chunk) if chunk.quoted => format!("\"{}\"", chunk.terms.join(" ")),
            Node::Words(chunk) => chunk.terms.join("+"),
            Node::Prefix(beginning) => format!("{beginning}*"),
            Node::Pattern(pattern) => format!("/{}/", pattern.source),
            Node::Any(nodes) => format!("({})", many(nodes, " | ")),
            Node::All(nodes) => format!("({})", many(nodes, " & ")),
            Node::Not(node) => format!("!{}", show_node(node)),
            Node::Is(condition) => format!("{:?}", condition.test),
            other => format!("{other:?}"),
        }
    }

    fn show(text: &str) -> String {
        match parse(text, &Surroundings::default()) {
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
    fn operators_are_understood() {
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
    fn what_cannot_be_meant_is_shown() {
        for (text, shown) in [
            ("x role:robot y", "error: there is no role \"robot\": role:robot"),
            ("日本 since:soon", "error: cannot read \"soon\" as a date: since:soon"),
            ("-github", "error: the query only says what must not be found: -github"),
        ] {
            assert_eq!(show(text), shown, "{text}");
        }
        for (several, one) in [("x since:last friday y", "x y since:\"last friday\""), ("since:2 days ago", "since:2d")]
        {
            assert!(show(several).contains("Since") && show(several) == show(one), "{several}");
        }
        assert!(show("x /(/").starts_with("error: cannot use the pattern"));
        assert!(show("/abc+/ OR x").contains("must stand by itself"));
        assert!(show(&format!("{} OR x", "(".repeat(40))).contains("nested too deeply"));
    }
}
