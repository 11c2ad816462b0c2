//! Planted facts: rare strings that occur in only one session, for tests of ranking.

use super::ink::Ink;
use super::names::{capital, coin};
use super::words::RARE;

/// Where in a session the string is planted.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    Prompt,
    Reply,
    Command,
    Output,
}

/// A fact that is not planted yet.
pub(crate) struct Fact {
    pub class: &'static str,
    pub place: Place,
    pub query: String,
    pub sentence: String,
}

/// Invents a fact. Sessions in another language get one in that language.
pub(crate) fn invent(ink: &mut Ink) -> Fact {
    if let Some(script) = ink.story.script {
        let query = script.rare(&mut ink.rng);
        return Fact { class: "cjk", place: Place::Prompt, sentence: query.clone(), query };
    }
    let (one, two) = (coin(&mut ink.rng, 3), coin(&mut ink.rng, 3));
    let number = ink.rng.range(1000, 9999);
    match ink.rng.below(7) {
        0 => identifier(&one, &two),
        1 => path(ink, &one, &two),
        2 => error(&one, number),
        3 => command(&one, &two, number),
        4 => phrase(ink),
        5 => keyword(&one, &two),
        _ => code(&one, &two),
    }
}

fn identifier(one: &str, two: &str) -> Fact {
    let query = format!("{one}{}", capital(two));
    let sentence = format!("The name `{query}` is new; it replaces the old helper.");
    Fact { class: "identifier", place: Place::Reply, query, sentence }
}

fn path(ink: &mut Ink, one: &str, two: &str) -> Fact {
    let query = format!("src/{one}/{two}.{}", ink.names.code.extension());
    let sentence = format!("please have a look at {query} as well");
    Fact { class: "path", place: Place::Prompt, query, sentence }
}

fn error(one: &str, number: usize) -> Fact {
    let query = format!("{}Error: code {number} from {one}", capital(one));
    let sentence = format!("\n{query}\n    at the outermost frame");
    Fact { class: "error", place: Place::Output, query, sentence }
}

fn command(one: &str, two: &str, number: usize) -> Fact {
    let query = format!("{one}ctl --{two} {number}");
    Fact { class: "command", place: Place::Command, sentence: query.clone(), query }
}

fn phrase(ink: &mut Ink) -> Fact {
    let words: Vec<&str> = RARE.split(' ').collect();
    let drawn: Vec<&str> = (0..5).map(|_| *ink.rng.pick(&words)).collect();
    let query = drawn.join(" ");
    Fact { class: "phrase", place: Place::Prompt, sentence: format!("remember the words {query}"), query }
}

fn keyword(one: &str, two: &str) -> Fact {
    let query = format!("{one}{two}");
    let sentence = format!("The customer calls this feature {query} in the contract.");
    Fact { class: "keyword", place: Place::Reply, query, sentence }
}

fn code(one: &str, two: &str) -> Fact {
    let query = format!("{one}_{two}(&mut self.{two}[..])");
    let sentence = format!("The line to change is:\n\n```\n    let held = {query}?;\n```");
    Fact { class: "code", place: Place::Reply, query, sentence }
}
