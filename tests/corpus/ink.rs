//! Fills text templates. A slot is `%` and a letter, such as `%w` for a word or `%n` for a number.

use super::cjk::Script;
use super::json;
use super::names::{Ident, Names, capital};
use super::phrases;
use super::rng::Rng;
use super::topics::PACKAGES;
use std::fmt::Write;

/// The subject of one session. Prompts, edits and errors all refer to it.
pub(crate) struct Story {
    pub title: String,
    /// Positions of the files the session works on.
    pub focus: Vec<usize>,
    /// Positions of identifiers that are more frequent than in other sessions.
    pub idents: Vec<usize>,
    /// Positions of words that are more frequent than in other sessions.
    pub words: Vec<usize>,
    pub error: String,
    pub script: Option<Script>,
}

/// Returns a text that depends only on the project and the key, such as a skill, a web page or instructions.
pub(crate) fn standing(names: &Names, key: &str, longest: usize) -> String {
    let seed = key.bytes().fold(7, |hash: u64, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let mut ink = Ink::new(Rng::new(&[seed]), names, None);
    let (mut text, length) = (String::new(), ink.rng.log_range(longest / 14, longest));
    ink.markdown(&mut text, length);
    text
}

/// Writes text with the vocabulary of one project and one session.
pub(crate) struct Ink<'a> {
    pub rng: Rng,
    pub names: &'a Names,
    pub story: Story,
    /// Positions of the last identifiers, because code and prose name the same thing several times.
    recent: [usize; 4],
}

impl<'a> Ink<'a> {
    pub(crate) fn new(mut rng: Rng, names: &'a Names, script: Option<Script>) -> Self {
        let focus = (0..rng.range(5, 20)).map(|_| rng.zipf_at(names.paths.len())).collect();
        let (idents, words) = (Vec::new(), Vec::new());
        let story = Story { title: String::new(), focus, idents, words, error: String::new(), script };
        let mut ink = Ink { rng, names, story, recent: [0; 4] };
        ink.new_words();
        ink.story.error = ink.text(phrases::ERRORS);
        ink.story.title = ink.text_in(phrases::TITLES, |script, rng| script.title(rng));
        ink
    }

    /// Chooses the words and identifiers that a session or a file is about.
    pub(crate) fn new_words(&mut self) {
        let (rng, names) = (&mut self.rng, self.names);
        self.story.idents = (0..rng.range(12, 40)).map(|_| rng.below(names.idents.len())).collect();
        self.story.words = (0..rng.log_range(50, 200)).map(|_| names.uncommon(rng)).collect();
    }

    /// Picks a template from the list and fills it.
    pub(crate) fn text(&mut self, templates: &[&str]) -> String {
        let mut out = String::new();
        let template = *self.rng.pick(templates);
        self.fill(&mut out, template);
        out
    }

    /// Like `text`, but in the session's own language if that is not English.
    pub(crate) fn text_in(&mut self, templates: &[&str], other: impl Fn(Script, &mut Rng) -> String) -> String {
        match self.story.script {
            Some(script) => other(script, &mut self.rng),
            None => self.text(templates),
        }
    }

    /// Appends the template with every slot replaced.
    pub(crate) fn fill(&mut self, out: &mut String, template: &str) {
        let mut rest = template;
        while let Some(at) = rest.find('%') {
            out.push_str(&rest[..at]);
            self.slot(out, rest.as_bytes()[at + 1]);
            rest = &rest[at + 2..];
        }
        out.push_str(rest);
    }

    fn slot(&mut self, out: &mut String, slot: u8) {
        match slot {
            b'w' | b'l' | b's' | b'S' | b't' | b'o' | b'a' | b'r' | b'u' | b'm' => self.word_slot(out, slot),
            b'v' | b'z' | b'g' | b'y' => self.verb_slot(out, slot),
            b'i' | b'c' | b'P' | b'k' | b'K' => self.ident_slot(out, slot),
            b'n' | b'N' | b'd' | b'h' | b'H' | b'T' | b'D' | b'V' => self.number_slot(out, slot),
            b'f' | b'F' | b'b' | b'j' => self.path_slot(out, slot),
            b'e' => out.push_str(&self.story.error),
            b'q' => out.push_str(&self.story.title),
            b'x' => out.push_str(self.rng.zipf_str(PACKAGES)),
            b'L' => out.push(*self.rng.zipf(&['x', 'n', 'i', 'k', 'v', 's', 'a', 'b', 'p', 'q', 't', 'r'])),
            other => out.push(other as char),
        }
    }

    fn word_slot(&mut self, out: &mut String, slot: u8) {
        match slot {
            b'w' => out.push_str(self.word(0.55)),
            b'o' | b't' if self.rng.chance(0.5) => out.push_str(self.word(1.0)),
            b't' => out.push_str(self.rng.zipf_str(&self.names.topic_words)),
            b'o' => out.push_str(self.rng.zipf_str(&self.names.nouns)),
            b'u' => out.push_str(self.rng.zipf_str(phrases::ARTICLES)),
            b'm' => out.push_str(self.rng.zipf_str(phrases::LINKS)),
            b'a' => out.push_str(self.rng.zipf_str(&self.names.adjectives)),
            b'r' => out.push_str(self.rng.zipf_str(&self.names.people)),
            b'l' => self.loose(out, 3, 8),
            b's' => self.clause(out),
            _ => self.sentence(out),
        }
    }

    /// Appends words with natural frequencies but no grammar.
    fn loose(&mut self, out: &mut String, low: usize, high: usize) {
        for at in 0..self.rng.range(low, high) {
            if at > 0 {
                out.push(' ');
            }
            out.push_str(self.word(0.55));
        }
    }

    /// Draws a word of the session with probability `own`, and otherwise a word of the project.
    fn word(&mut self, own: f64) -> &'a str {
        let names = self.names;
        if self.rng.chance(own) {
            &names.words[*self.rng.zipf(&self.story.words)]
        } else {
            self.rng.zipf_str(&names.words)
        }
    }

    fn clause(&mut self, out: &mut String) {
        let template = *self.rng.pick(phrases::CLAUSES);
        self.fill(out, template);
    }

    /// Appends a capitalized sentence with its full stop.
    pub(crate) fn sentence(&mut self, out: &mut String) {
        if let Some(script) = self.story.script {
            return out.push_str(&script.sentence(&mut self.rng));
        }
        let start = out.len();
        let template = *self.rng.pick(phrases::SENTENCES);
        self.fill(out, template);
        if let Some(first) = out.get_mut(start..start + 1) {
            first.make_ascii_uppercase();
        }
    }

    fn verb_slot(&mut self, out: &mut String, slot: u8) {
        let flat = self.rng.chance(0.5);
        let verb = *if flat { self.rng.pick(&self.names.verbs) } else { self.rng.zipf(&self.names.verbs) };
        let stem = verb.strip_suffix('e').unwrap_or(verb);
        let (y_stem, ends_in_y) = (verb.strip_suffix('y').unwrap_or(verb), verb.ends_with('y'));
        let hiss = verb.ends_with('s') || verb.ends_with("ch") || verb.ends_with('x');
        let _ = match slot {
            b'v' => write!(out, "{verb}"),
            b'g' => write!(out, "{stem}ing"),
            b'z' if ends_in_y => write!(out, "{y_stem}ies"),
            b'z' if hiss => write!(out, "{verb}es"),
            b'z' => write!(out, "{verb}s"),
            _ if ends_in_y => write!(out, "{y_stem}ied"),
            _ => write!(out, "{stem}ed"),
        };
    }

    /// Draws an identifier: one of the last few, or one of the session, or one of the project.
    pub(crate) fn ident(&mut self) -> &'a Ident {
        let names = self.names;
        if self.rng.chance(0.58) {
            return &names.idents[*self.rng.pick(&self.recent)];
        }
        let own = self.rng.chance(0.7);
        let at = if own { *self.rng.zipf(&self.story.idents) } else { self.rng.zipf_at(names.idents.len()) };
        self.recent.rotate_right(1);
        self.recent[0] = at;
        &names.idents[at]
    }

    fn ident_slot(&mut self, out: &mut String, slot: u8) {
        let ident = self.ident();
        match slot {
            b'i' => out.push_str(&ident.snake),
            b'c' => out.push_str(&ident.camel),
            b'P' => out.push_str(&ident.pascal),
            b'k' => out.extend(ident.snake.chars().map(|c| if c == '_' { '-' } else { c })),
            _ => out.extend(ident.snake.chars().map(|c| c.to_ascii_uppercase())),
        }
    }

    fn number_slot(&mut self, out: &mut String, slot: u8) {
        let rng = &mut self.rng;
        let _ = match slot {
            b'n' => write!(out, "{}", rng.log_range(1, 400)),
            b'N' if rng.chance(0.9) => write!(out, "{}", rng.pick(&self.names.numbers)),
            b'N' => write!(out, "{}", rng.log_range(100, 9_000_000)),
            b'd' if rng.chance(0.6) => write!(out, "{}", rng.log_range(1, 90)),
            b'd' => write!(out, "{}.{}", rng.log_range(1, 90), rng.below(10)),
            b'T' => write!(out, "{:02}:{:02}", rng.below(24), rng.below(60)),
            b'D' => write!(out, "2026-{:02}-{:02}", rng.range(1, 9), rng.range(1, 29)),
            b'V' => write!(out, "{}.{}", rng.log_range(1, 9), rng.below(30)),
            b'h' if rng.chance(0.85) => write!(out, "{}", &rng.zipf(&self.names.hashes)[..8]),
            _ => return json::hex(rng, if slot == b'h' { 8 } else { 40 }, out),
        };
    }

    fn path_slot(&mut self, out: &mut String, slot: u8) {
        let focus = *self.rng.zipf(&self.story.focus);
        let any = self.rng.below(self.names.paths.len());
        let path = &self.names.paths[if slot == b'j' || self.rng.chance(0.8) { focus } else { any }];
        match slot {
            b'F' => out.push_str(&self.names.absolute(path)),
            b'b' => out.push_str(path.rsplit('/').next().unwrap_or(path)),
            _ => out.push_str(path),
        }
    }

    /// Appends a paragraph of about `length` bytes.
    pub(crate) fn paragraph(&mut self, out: &mut String, length: usize) {
        let end = out.len() + length;
        self.sentence(out);
        while out.len() < end {
            out.push(' ');
            self.sentence(out);
        }
    }

    /// Appends Markdown with headings, lists, code and paragraphs, as models like to write.
    pub(crate) fn markdown(&mut self, out: &mut String, length: usize) {
        let end = out.len() + length;
        while out.len() < end {
            match self.rng.below(6) {
                0 => self.heading(out),
                1 | 2 => self.bullets(out),
                3 => self.fenced(out),
                _ => self.paragraph(out, 200),
            }
            out.push_str("\n\n");
        }
        out.truncate(out.trim_end().len());
    }

    fn heading(&mut self, out: &mut String) {
        let title = self.text_in(phrases::HEADINGS, |script, rng| script.title(rng));
        let _ = write!(out, "## {}", capital(&title));
    }

    fn bullets(&mut self, out: &mut String) {
        for at in 0..self.rng.range(2, 6) {
            if at > 0 {
                out.push('\n');
            }
            out.push_str("- ");
            if self.rng.chance(0.25) {
                self.fill(out, "**`%f`**: ");
            }
            self.sentence(out);
        }
    }

    fn fenced(&mut self, out: &mut String) {
        let _ = writeln!(out, "```{}", self.names.code.extension());
        super::code::function(self, out);
        out.push_str("```");
    }
}
