//! Splits a shell command into simple commands, as far as that can be done without running it. Pure.

/// One simple command, or the start or end of a subshell.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    /// A command with its words and redirections.
    Command(SimpleCommand),
    /// `(`: a subshell starts.
    Open,
    /// `)`: a subshell ends.
    Close,
}

/// A simple command: words and redirections, without operators between them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    /// The text of its here-document.
    pub(super) heredoc: Option<Word>,
}

/// `>` or `>>` into a file.
#[derive(Debug, PartialEq)]
pub(super) struct Redirect {
    pub(super) target: Word,
    pub(super) append: bool,
    /// Set if it redirects standard output.
    pub(super) stdout: bool,
}

/// A word, in parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Word(pub(super) Vec<Part>);

/// A part of a word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// Text that needs no expansion.
    Literal(String),
    /// The value of the variable with this name.
    Variable(String),
    /// A glob or a substitution, which only a running shell can expand.
    Unknown,
}

impl Word {
    /// Appends literal text.
    fn push(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part::Literal(before)) => before.push_str(text),
            _ => self.0.push(Part::Literal(text.to_string())),
        }
    }

    /// Returns the text of a word that needs no expansion.
    pub(super) fn literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }
}

/// Splits a command line.
pub(super) fn split(command: &str) -> Vec<Piece> {
    let mut splitter =
        Splitter { rest: command, pieces: Vec::new(), current: SimpleCommand::default(), waiting: Vec::new() };
    splitter.run();
    splitter.pieces
}

struct Splitter<'c> {
    /// The part of the command line that has not been read yet.
    rest: &'c str,
    pieces: Vec<Piece>,
    /// The command being read.
    current: SimpleCommand,
    /// Here-documents whose text starts on the next line.
    waiting: Vec<PendingHeredoc>,
}

/// A here-document whose text has not been read yet.
struct PendingHeredoc {
    delimiter: String,
    is_literal: bool,
    strips_tabs: bool,
    /// Its command, as an index into the pieces; `None` if that is still being read.
    command: Option<usize>,
}

impl<'c> Splitter<'c> {
    fn run(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r']);
            let Some(first) = self.rest.chars().next() else { break };
            match first {
                '\n' => {
                    self.skip(1);
                    self.end_command();
                    self.read_heredocs();
                }
                '\\' if self.rest.starts_with("\\\n") => self.skip(2),
                ';' | '|' | '&' if !self.rest.starts_with("&>") => {
                    self.rest = self.rest.trim_start_matches([';', '|', '&']);
                    self.end_command();
                }
                '(' => {
                    self.skip(1);
                    self.end_command();
                    self.pieces.push(Piece::Open);
                }
                ')' => {
                    self.skip(1);
                    self.end_command();
                    self.pieces.push(Piece::Close);
                }
                '#' => self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]),
                _ if self.redirection() => {}
                _ => {
                    let word = self.word();
                    self.current.words.push(word);
                }
            }
        }
        self.end_command();
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    /// Finishes the command being read, if there is one.
    fn end_command(&mut self) {
        let done = std::mem::take(&mut self.current);
        // A here-document without a command still makes an empty one.
        if done != SimpleCommand::default() || self.waiting.iter().any(|heredoc| heredoc.command.is_none()) {
            let at = self.pieces.len();
            for heredoc in &mut self.waiting {
                heredoc.command.get_or_insert(at);
            }
            self.pieces.push(Piece::Command(done));
        }
    }

    /// Reads a redirection such as `>`, `2>>`, `&>`, `<` or `<<`. Reports whether there was one.
    fn redirection(&mut self) -> bool {
        let digits = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = &self.rest[..self.rest.len() - digits.len()];
        let (both, sign) = match digits.strip_prefix('&') {
            Some(after) if number.is_empty() => (true, after),
            _ => (false, digits),
        };
        if !sign.starts_with(['<', '>']) || (both && sign.starts_with('<')) {
            return false;
        }
        if let Some(after) = sign.strip_prefix("<<<") {
            self.rest = after.trim_start_matches([' ', '\t']);
            self.word();
        } else if let Some(after) = sign.strip_prefix("<<") {
            self.heredoc(after);
        } else if sign.starts_with("<(") || sign.starts_with(">(") {
            self.rest = after_parenthesis(&sign[2..]);
            self.current.words.push(Word(vec![Part::Unknown]));
        } else if let Some(after) = sign.strip_prefix('<') {
            self.rest = after.trim_start_matches([' ', '\t', '&']);
            self.word();
        } else {
            let (append, after) = sign.strip_prefix(">>").map_or((false, &sign[1..]), |after| (true, after));
            let (to_number, after) = after.strip_prefix('&').map_or((false, after), |after| (true, after));
            self.rest = after.strip_prefix('|').unwrap_or(after).trim_start_matches([' ', '\t']);
            let target = self.word();
            let is_number =
                to_number && target.literal().is_some_and(|text| text.chars().all(|c| c.is_ascii_digit() || c == '-'));
            if !is_number && !target.0.is_empty() {
                let stdout = both || to_number || matches!(number, "" | "1");
                self.current.redirects.push(Redirect { target, append, stdout });
            }
        }
        true
    }

    /// Reads the delimiter of a here-document. `after` starts right after the `<<`.
    fn heredoc(&mut self, after: &'c str) {
        let (strips_tabs, after) = after.strip_prefix('-').map_or((false, after), |after| (true, after));
        let after = after.trim_start_matches([' ', '\t']);
        let is_literal = after.starts_with(['\'', '"', '\\']);
        self.rest = after;
        let word = self.word();
        let delimiter: String = word
            .0
            .iter()
            .filter_map(|part| if let Part::Literal(text) = part { Some(text.as_str()) } else { None })
            .collect();
        self.waiting.push(PendingHeredoc { delimiter, is_literal, strips_tabs, command: None });
    }

    /// Reads the texts of the waiting here-documents, which begin on the line after their command.
    fn read_heredocs(&mut self) {
        for heredoc in std::mem::take(&mut self.waiting) {
            let (text, rest) = heredoc_text(self.rest, &heredoc.delimiter, heredoc.strips_tabs);
            self.rest = rest;
            let is_plain = heredoc.is_literal || !text.contains(['$', '`', '\\']);
            let word = Word(vec![if is_plain { Part::Literal(text) } else { Part::Unknown }]);
            if let Some(Piece::Command(command)) = heredoc.command.and_then(|at| self.pieces.get_mut(at)) {
                command.heredoc = Some(word);
            }
        }
    }

    /// Reads one word.
    fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(first) = self.rest.chars().next() {
            match first {
                ' ' | '\t' | '\n' | '\r' | ';' | '|' | '&' | '(' | ')' | '<' | '>' => break,
                '\'' => {
                    let (text, rest) = self.rest[1..].split_once('\'').unwrap_or((&self.rest[1..], ""));
                    word.push(text);
                    self.rest = rest;
                }
                '"' => {
                    self.skip(1);
                    word.push("");
                    self.quoted(&mut word);
                }
                '\\' => {
                    let next = self.rest[1..].chars().next();
                    self.skip(1 + next.map_or(0, char::len_utf8));
                    if let Some(next) = next.filter(|next| *next != '\n') {
                        word.push(next.encode_utf8(&mut [0; 4]));
                    }
                }
                '$' | '`' => self.expansion(&mut word),
                '*' | '?' | '[' => {
                    word.0.push(Part::Unknown);
                    self.skip(1);
                }
                '{' if self.rest.find('}').is_some_and(|end| self.rest[..end].contains([',', '.'])) => {
                    word.0.push(Part::Unknown);
                    self.skip(1);
                }
                other => {
                    word.push(other.encode_utf8(&mut [0; 4]));
                    self.skip(other.len_utf8());
                }
            }
        }
        word
    }

    /// Reads up to the closing double quote.
    fn quoted(&mut self, word: &mut Word) {
        while let Some(first) = self.rest.chars().next() {
            match first {
                '"' => return self.skip(1),
                '\\' => {
                    let next = self.rest[1..].chars().next();
                    self.skip(1 + next.map_or(0, char::len_utf8));
                    match next {
                        Some(next @ ('"' | '\\' | '$' | '`')) => word.push(next.encode_utf8(&mut [0; 4])),
                        Some('\n') | None => {}
                        Some(next) => {
                            word.push("\\");
                            word.push(next.encode_utf8(&mut [0; 4]));
                        }
                    }
                }
                '$' | '`' => self.expansion(word),
                other => {
                    word.push(other.encode_utf8(&mut [0; 4]));
                    self.skip(other.len_utf8());
                }
            }
        }
    }

    /// Reads an expansion, which begins with `$` or a back quote.
    fn expansion(&mut self, word: &mut Word) {
        if let Some(after) = self.rest.strip_prefix('`') {
            self.rest = after.split_once('`').map_or("", |(_, rest)| rest);
            word.0.push(Part::Unknown);
            return;
        }
        let after = &self.rest[1..];
        if let Some(inside) = after.strip_prefix('(') {
            self.rest = after_parenthesis(inside);
            word.0.push(Part::Unknown);
        } else if let Some(inside) = after.strip_prefix('{') {
            let (name, rest) = inside.split_once('}').unwrap_or((inside, ""));
            let is_plain = !name.is_empty() && name.chars().all(is_name);
            word.0.push(if is_plain { Part::Variable(name.to_string()) } else { Part::Unknown });
            self.rest = rest;
        } else if let Some(quoted) = after.strip_prefix('\'') {
            self.rest = quoted.split_once('\'').map_or("", |(_, rest)| rest);
            word.0.push(Part::Unknown);
        } else {
            let rest = after.trim_start_matches(is_name);
            let name = &after[..after.len() - rest.len()];
            if name.is_empty() {
                // A special parameter such as `$?` or `$$`, or a lone dollar sign.
                let is_special = rest.starts_with(['?', '$', '!', '@', '*', '#', '-']);
                word.0.push(if is_special { Part::Unknown } else { Part::Literal("$".to_string()) });
                self.rest = &rest[usize::from(is_special)..];
            } else {
                word.0.push(Part::Variable(name.to_string()));
                self.rest = rest;
            }
        }
    }
}

/// Reports whether a character may be part of a variable's name.
fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the text of a here-document, and the input after its delimiter.
fn heredoc_text<'c>(from: &'c str, delimiter: &str, strips_tabs: bool) -> (String, &'c str) {
    let mut text = String::new();
    let mut rest = from;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = after;
        let line = if strips_tabs { line.trim_start_matches('\t') } else { line };
        if line == delimiter {
            break;
        }
        text.push_str(line);
        text.push('\n');
    }
    (text, rest)
}

/// Returns the input after the parenthesis that closes an already opened one. Parentheses inside quotes and
/// here-documents do not count.
fn after_parenthesis(inside: &str) -> &str {
    let mut rest = inside;
    let mut depth = 1;
    let mut delimiters: Vec<String> = Vec::new();
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        rest = match first {
            '(' => {
                depth += 1;
                after
            }
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return after;
                }
                after
            }
            '\\' => after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default(),
            '\'' => after.split_once('\'').map_or("", |(_, rest)| rest),
            '"' => after_quote(after),
            '<' if after.starts_with('<') && !after.starts_with("<<") => {
                let word = after[1..].trim_start_matches(['-', ' ', '\t']);
                let end =
                    word.find(|c: char| c.is_whitespace() || matches!(c, ')' | ';' | '|' | '&')).unwrap_or(word.len());
                delimiters.push(word[..end].replace(['\'', '"', '\\'], ""));
                &word[end..]
            }
            '\n' => delimiters.drain(..).fold(after, |rest, delimiter| heredoc_text(rest, &delimiter, true).1),
            _ => after,
        };
    }
    ""
}

/// Returns the input after the double quote that closes an already opened one.
fn after_quote(inside: &str) -> &str {
    let mut rest = inside;
    while let Some(at) = rest.find(['"', '\\', '$']) {
        let after = &rest[at + 1..];
        rest = match rest.as_bytes()[at] {
            b'"' => return after,
            b'\\' => after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default(),
            _ => after.strip_prefix('(').map_or(after, after_parenthesis),
        };
    }
    ""
}
