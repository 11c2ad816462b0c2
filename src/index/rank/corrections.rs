//! What is searched for instead of the words of a query, and besides them.

use std::collections::{BTreeMap, BTreeSet};

use crate::query::english::is_ordinary;
use crate::query::names;
use crate::tokenize;

/// Corrections that replace unknown words of a query, and other forms that are searched besides known ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Corrections {
    pub(super) meant: BTreeMap<String, Vec<Meant>>,
    pub(super) forms: BTreeMap<String, Vec<Meant>>,
    /// The words in `meant` that were replaced by words with other letters.
    pub(super) guessed: BTreeSet<String>,
    pub(super) none_occurs: bool,
    pub(super) all_guessed: bool,
}

/// A word to search for instead of a word of the query, or besides it.
#[derive(Clone, Debug, PartialEq)]
pub struct Meant {
    /// The word. If two words were typed as one, both of them with a blank between them.
    pub term: String,
    /// The weight of the word in the score.
    pub weight: f32,
    /// The number of documents that contain the word.
    pub(super) documents: u64,
}

impl Corrections {
    /// Returns the corrections of a word, the most likely first.
    pub fn of(&self, term: &str) -> Option<&[Meant]> {
        self.meant.get(term).map(Vec::as_slice)
    }

    /// Returns other forms of a word, such as `retries` for `retry`.
    pub fn forms_of(&self, term: &str) -> &[Meant] {
        self.forms.get(term).map(Vec::as_slice).unwrap_or_default()
    }

    /// Iterates over the unknown words and their corrections. Leaves out single characters of a script without blanks,
    /// because the pairs that replace them are not corrections of a mistake.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Meant])> {
        let misspelled = self.meant.iter().filter(|(term, _)| tokenize::single(term).is_none());
        misspelled.map(|(term, meant)| (term.as_str(), meant.as_slice()))
    }

    /// Reports whether the correction of a word is hardly a coincidence: a longer word, ordinary words that were
    /// written as one, or a word with the same first letter and at most one letter that differs.
    pub fn is_certain(&self, term: &str) -> bool {
        let is_alike = |other: &Meant| {
            let is_longer = !self.guessed.contains(term) && !other.term.contains(' ');
            let is_near = same_start(term, &other.term) && names::distance(term, &other.term) < 2;
            is_longer || is_near || other.term.contains(' ') && other.term.split(' ').all(is_ordinary)
        };
        self.of(term).is_some_and(|meant| meant.iter().any(is_alike))
    }

    /// Reports whether no significant word of the query occurs anywhere, not even as a part of another. Hits for words
    /// with other letters are not hits for the query.
    pub fn none_occurs(&self) -> bool {
        self.none_occurs
    }

    /// Reports whether no significant word of the query occurs anywhere, and all of them were replaced by words with
    /// other letters.
    pub fn all_guessed(&self) -> bool {
        self.all_guessed
    }

    /// Reports whether nothing was corrected. Other forms do not count.
    pub fn is_empty(&self) -> bool {
        self.meant.is_empty()
    }
}

/// Reports whether two words begin with the same letter.
pub(super) fn same_start(a: &str, b: &str) -> bool {
    a.chars().next() == b.chars().next()
}
