//! The names of one invented project: its vocabulary, identifiers and file tree.

use super::rng::Rng;
use super::topics::{FOLDERS, TOPICS, Topic, USERS};
use super::words::{ADJECTIVES, COMMON, NOUNS, VERBS};

/// The programming language a project is written in.
#[derive(Clone, Copy, PartialEq)]
pub enum Code {
    Rust,
    TypeScript,
    Python,
    Go,
}

impl Code {
    pub const ALL: [Code; 4] = [Code::Rust, Code::TypeScript, Code::Python, Code::Go];

    pub fn extension(self) -> &'static str {
        match self {
            Code::Rust => "rs",
            Code::TypeScript => "ts",
            Code::Python => "py",
            Code::Go => "go",
        }
    }
}

/// An identifier in the spellings different languages use.
#[derive(Clone)]
pub struct Ident {
    pub snake: String,
    pub camel: String,
    pub pascal: String,
}

impl Ident {
    pub fn from_parts(parts: &[&str]) -> Self {
        let pascal: String = parts.iter().map(|part| capital(part)).collect();
        let camel = format!("{}{}", parts[0], &pascal[parts[0].len()..]);
        Ident { snake: parts.join("_"), camel, pascal }
    }
}

/// The word with its first letter in upper case.
pub fn capital(word: &str) -> String {
    let mut chars = word.chars();
    let first = chars.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

/// Everything a project's sessions name.
pub struct Names {
    pub topic: &'static Topic,
    pub code: Code,
    /// The project's working directory, in the notation of its platform.
    pub root: String,
    pub home: String,
    /// The part of the path below `projects/`.
    pub dir: String,
    pub windows: bool,
    pub hooks: bool,
    /// Prose vocabulary, topic words and the project's own names, by Zipf rank.
    pub words: Vec<String>,
    pub topic_words: Vec<&'static str>,
    pub verbs: Vec<&'static str>,
    pub nouns: Vec<&'static str>,
    pub adjectives: Vec<&'static str>,
    pub idents: Vec<Ident>,
    /// Relative paths of the source files, with `/`.
    pub paths: Vec<String>,
    pub branches: Vec<String>,
}

impl Names {
    pub fn new(rng: &mut Rng, number: usize) -> Self {
        let topic = &TOPICS[(number + rng.below(3)) % TOPICS.len()];
        let code = Code::ALL[rng.weighted(&[30, 40, 20, 10])];
        let windows = rng.chance(0.15);
        let (home, root) = places(rng, topic, windows, number);
        let mut names = Names {
            dir: encode(&root),
            hooks: number % 2 == 0,
            words: vocabulary(rng, topic),
            topic_words: topic.words.split(' ').collect(),
            verbs: shuffled(rng, VERBS),
            nouns: shuffled(rng, NOUNS),
            adjectives: shuffled(rng, ADJECTIVES),
            idents: Vec::new(),
            paths: Vec::new(),
            branches: Vec::new(),
            topic,
            code,
            root,
            home,
            windows,
        };
        let count = rng.log_range(400, 3000);
        names.idents = (0..count).map(|_| names.ident(rng)).collect();
        names.paths = tree(rng, &names);
        names.branches = branches(rng, &names);
        names
    }

    /// A new identifier from the words of the project.
    pub fn ident(&self, rng: &mut Rng) -> Ident {
        let mut parts: Vec<&str> = Vec::with_capacity(4);
        if rng.chance(0.6) {
            parts.push(rng.zipf_str(&self.verbs));
        }
        if rng.chance(0.3) {
            parts.push(rng.zipf_str(&self.adjectives));
        }
        parts.push(if rng.chance(0.5) { rng.pick_str(&self.topic_words) } else { rng.zipf_str(&self.nouns) });
        if parts.len() < 2 || rng.chance(0.5) {
            parts.push(rng.zipf_str(&self.nouns));
        }
        Ident::from_parts(&parts)
    }

    /// A relative path as an absolute one of the project's platform.
    pub fn absolute(&self, path: &str) -> String {
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

/// The directory name Claude Code derives from a working directory.
pub fn encode(cwd: &str) -> String {
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

/// The common words with topic words pulled forward and coined names in the tail.
fn vocabulary(rng: &mut Rng, topic: &Topic) -> Vec<String> {
    let mut words: Vec<String> = COMMON.split(' ').map(String::from).collect();
    for word in topic.words.split(' ') {
        words.insert(rng.range(20, 300), word.to_string());
    }
    // The order of the tail differs from project to project.
    for at in (200..words.len()).rev() {
        words.swap(at, rng.range(200, at + 1));
    }
    words.extend((0..300).map(|_| coin(rng, 2)));
    words
}

const ONSETS: &[&str] =
    &["b", "br", "d", "f", "gl", "h", "k", "l", "m", "n", "p", "qu", "r", "s", "st", "t", "tr", "v", "w", "z"];
const RHYMES: &[&str] =
    &["a", "ar", "ast", "e", "el", "en", "i", "ik", "im", "o", "on", "or", "u", "um", "ax", "ett", "olm", "und"];

/// An invented word, for names and other rare terms.
pub fn coin(rng: &mut Rng, syllables: usize) -> String {
    (0..syllables + rng.below(2)).map(|_| [*rng.pick(ONSETS), *rng.pick(RHYMES)].concat()).collect()
}

fn tree(rng: &mut Rng, names: &Names) -> Vec<String> {
    let count = rng.log_range(14, 60);
    let mut paths: Vec<String> = (0..count).map(|_| file_path(rng, names)).collect();
    paths.sort();
    paths.dedup();
    // The order is the popularity, not the alphabet.
    for at in (1..paths.len()).rev() {
        paths.swap(at, rng.below(at + 1));
    }
    paths
}

fn file_path(rng: &mut Rng, names: &Names) -> String {
    let ident = names.ident(rng);
    let stem = match names.code {
        Code::TypeScript if rng.chance(0.5) => ident.pascal,
        Code::TypeScript => ident.snake.replace('_', "-"),
        _ => ident.snake,
    };
    match rng.below(10) {
        0 => format!("docs/{}.md", stem.to_lowercase()),
        1 | 2 => format!("tests/{stem}_test.{}", names.code.extension()),
        3 => format!("src/{}/{}/{stem}.{}", rng.zipf(FOLDERS), rng.pick(&names.topic_words), names.code.extension()),
        _ => format!("src/{}/{stem}.{}", rng.zipf(FOLDERS), names.code.extension()),
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
