//! The names of one invented project: its vocabulary, identifiers and file tree.

use super::json;
use super::rng::Rng;
use super::topics::{FOLDERS, TOPICS, Topic, USERS};
use super::words::{ADJECTIVES, COMMON, NOUNS, VERBS};

/// The programming language a project is written in.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Code {
    Rust,
    TypeScript,
    Python,
    Go,
}

impl Code {
    pub(crate) const ALL: [Self; 4] = [Self::Rust, Self::TypeScript, Self::Python, Self::Go];

    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Rust => "rs",
            Self::TypeScript => "ts",
            Self::Python => "py",
            Self::Go => "go",
        }
    }
}

/// An identifier in the spellings of different languages.
#[derive(Clone)]
pub(crate) struct Ident {
    pub snake: String,
    pub camel: String,
    pub pascal: String,
}

impl Ident {
    pub(crate) fn from_parts(parts: &[&str]) -> Self {
        let pascal: String = parts.iter().map(|part| capital(part)).collect();
        let camel = format!("{}{}", parts[0], &pascal[parts[0].len()..]);
        Self { snake: parts.join("_"), camel, pascal }
    }
}

/// Returns the word with its first letter in upper case.
pub(crate) fn capital(word: &str) -> String {
    let mut chars = word.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

/// All names that a project's sessions use.
pub(crate) struct Names {
    pub topic: &'static Topic,
    pub code: Code,
    /// The project's working directory, in the notation of its platform.
    pub root: String,
    pub home: String,
    /// The part of the path below `projects/`.
    pub dir: String,
    pub windows: bool,
    pub hooks: bool,
    /// Prose vocabulary by Zipf rank: common words, topic words, then the project's jargon.
    pub words: Vec<String>,
    /// Position of the first word of the jargon.
    jargon: usize,
    pub topic_words: Vec<&'static str>,
    pub verbs: Vec<&'static str>,
    pub nouns: Vec<&'static str>,
    pub adjectives: Vec<&'static str>,
    pub idents: Vec<Ident>,
    /// Relative paths of the source files, with `/`.
    pub paths: Vec<String>,
    pub branches: Vec<String>,
    /// People who review code and report errors.
    pub people: Vec<String>,
    /// Ids of commits and other things that occur repeatedly.
    pub hashes: Vec<String>,
    /// Ports, sizes, issue numbers and the like.
    pub numbers: Vec<usize>,
    /// Names of skills.
    pub skills: Vec<String>,
}

impl Names {
    pub(crate) fn new(rng: &mut Rng, number: usize) -> Self {
        let topic = &TOPICS[(number + rng.below(3)) % TOPICS.len()];
        let code = Code::ALL[rng.weighted(&[30, 25, 30, 15])];
        let windows = rng.chance(0.15);
        let (home, root) = places(rng, topic, windows, number);
        let mut words = vocabulary(rng, topic);
        let jargon = words.len();
        words.extend((0..rng.log_range(1000, 3600)).map(|_| short_coin(rng)));
        let mut names = Self {
            dir: encode(&root),
            hooks: number.is_multiple_of(2),
            words,
            jargon,
            topic_words: topic.words.split(' ').collect(),
            verbs: shuffled(rng, VERBS),
            nouns: shuffled(rng, NOUNS),
            adjectives: shuffled(rng, ADJECTIVES),
            idents: Vec::new(),
            paths: Vec::new(),
            branches: Vec::new(),
            people: (0..12).map(|_| coin(rng, 2)).collect(),
            hashes: (0..120).map(|_| hash(rng)).collect(),
            numbers: (0..200).map(|_| rng.log_range(100, 9_000_000)).collect(),
            skills: Vec::new(),
            topic,
            code,
            root,
            home,
            windows,
        };
        let count = rng.log_range(700, 4000);
        names.idents = (0..count).map(|_| names.ident(rng)).collect();
        names.paths = tree(rng, &names);
        names.branches = branches(rng, &names);
        names.skills = (0..4).map(|_| rng.pick(&names.idents).snake.replace('_', "-")).collect();
        names
    }

    /// Builds an identifier from the words of the project.
    pub(crate) fn ident(&self, rng: &mut Rng) -> Ident {
        let count = rng.weighted(&[47, 43, 10]) + 1;
        let mut parts: Vec<&str> = Vec::with_capacity(count);
        if count > 1 && rng.chance(0.5) {
            parts.push(rng.zipf_str(&self.verbs));
        }
        while parts.len() < count {
            parts.push(match rng.weighted(&[25, 30, 35, 10]) {
                0 => rng.pick_str(&self.topic_words),
                1 => rng.pick_str(&self.words[self.jargon..]),
                2 => rng.zipf_str(&self.nouns),
                _ => rng.zipf_str(&self.adjectives),
            });
        }
        Ident::from_parts(&parts)
    }

    /// Returns the position of a word that is not among the most frequent ones.
    pub(crate) fn uncommon(&self, rng: &mut Rng) -> usize {
        rng.range(150, self.words.len())
    }

    /// Makes a relative path absolute, in the notation of the project's platform.
    pub(crate) fn absolute(&self, path: &str) -> String {
        if self.windows {
            format!("{}\\{}", self.root, path.replace('/', "\\"))
        } else {
            format!("{}/{}", self.root, path)
        }
    }
}

fn places(rng: &mut Rng, topic: &Topic, windows: bool, number: usize) -> (String, String) {
    let user = *rng.pick(USERS);
    let name = match number / TOPICS.len() {
        0 => topic.name.to_string(),
        n => format!("{}-{}", topic.name, ["web", "core", "cli", "next", "infra"][n % 5]),
    };
    let name = if number >= TOPICS.len() * 5 { format!("{name}{number}") } else { name };
    if windows {
        let home = format!("C:\\Users\\{user}");
        let root = format!("{home}\\source\\{name}");
        return (home, root);
    }
    let home = if rng.chance(0.5) { format!("/home/{user}") } else { format!("/Users/{user}") };
    let root = format!("{home}/{}/{name}", rng.pick(&["work", "src", "code", "projects"]));
    (home, root)
}

/// Returns the directory name that Claude Code derives from a working directory.
pub(crate) fn encode(cwd: &str) -> String {
    cwd.encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => byte as char,
            _ => '-',
        })
        .collect()
}

fn shuffled(rng: &mut Rng, list: &'static str) -> Vec<&'static str> {
    let mut words: Vec<&str> = list.split(' ').collect();
    for at in (1..words.len()).rev() {
        words.swap(at, rng.below(at + 1));
    }
    words
}

/// Returns the common words, with the topic's words inserted near the beginning.
fn vocabulary(rng: &mut Rng, topic: &Topic) -> Vec<String> {
    let mut words: Vec<String> = COMMON.split(' ').map(String::from).collect();
    for word in topic.words.split(' ') {
        words.insert(rng.range(20, 300), word.to_string());
    }
    // The order of the tail differs from project to project.
    for at in (200..words.len()).rev() {
        words.swap(at, rng.range(200, at + 1));
    }
    words
}

fn hash(rng: &mut Rng) -> String {
    let mut out = String::new();
    json::hex(rng, 40, &mut out);
    out
}

const ONSETS: &[&str] =
    &["b", "br", "d", "f", "gl", "h", "k", "l", "m", "n", "p", "qu", "r", "s", "st", "t", "tr", "v", "w", "z"];
const RHYMES: &[&str] =
    &["a", "ar", "ast", "e", "el", "en", "i", "ik", "im", "o", "on", "or", "u", "um", "ax", "ett", "olm", "und"];

/// Invents a word, for names and other rare terms.
pub(crate) fn coin(rng: &mut Rng, syllables: usize) -> String {
    (0..syllables + rng.below(2)).map(|_| [*rng.pick(ONSETS), *rng.pick(RHYMES)].concat()).collect()
}

/// Like `coin`, but as short as the words in identifiers.
fn short_coin(rng: &mut Rng) -> String {
    let syllables = 1 + rng.below(2);
    coin(rng, syllables)
}

fn tree(rng: &mut Rng, names: &Names) -> Vec<String> {
    let count = rng.log_range(40, 160);
    let folders: Vec<String> = (0..count / 6).map(|_| folder(rng, names)).collect();
    let mut paths: Vec<String> = (0..count).map(|_| file_path(rng, names, &folders)).collect();
    paths.sort();
    paths.dedup();
    // Positions are ranks of popularity, so the order must not be alphabetical.
    for at in (1..paths.len()).rev() {
        paths.swap(at, rng.below(at + 1));
    }
    paths
}

fn folder(rng: &mut Rng, names: &Names) -> String {
    let top = *rng.zipf(&["src", "lib", "app", "internal", "packages", "web"]);
    let part = if rng.chance(0.5) { rng.zipf_str(FOLDERS) } else { rng.pick_str(&names.words[names.jargon..]) };
    match rng.below(3) {
        0 => format!("{top}/{part}/{}", rng.pick(&names.topic_words)),
        1 => format!("{part}/{}", rng.pick(&names.topic_words)),
        _ => format!("{top}/{part}"),
    }
}

fn file_path(rng: &mut Rng, names: &Names, folders: &[String]) -> String {
    let ident = names.ident(rng);
    let stem = match names.code {
        Code::TypeScript if rng.chance(0.5) => ident.pascal,
        Code::TypeScript => ident.snake.replace('_', "-"),
        _ => ident.snake,
    };
    match rng.below(10) {
        0 => format!("docs/{}.md", stem.to_lowercase()),
        1 => format!("config/{}.yml", stem.to_lowercase()),
        2 | 3 => format!("tests/{stem}_test.{}", names.code.extension()),
        _ => format!("{}/{stem}.{}", rng.zipf(folders), names.code.extension()),
    }
}

fn branches(rng: &mut Rng, names: &Names) -> Vec<String> {
    let mut list = vec![String::from("main")];
    for _ in 0..6 {
        let kind = rng.pick(&["fix", "feat", "chore", "refactor"]);
        list.push(format!("{kind}/{}", rng.pick(&names.idents).snake.replace('_', "-")));
    }
    list
}
