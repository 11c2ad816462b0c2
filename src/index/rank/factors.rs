//! The score of a hit: a product of factors that `--explain` shows.

use schemars::JsonSchema;
use serde::Serialize;

use crate::index::rank::weights::WEAK;

/// The factors of a score. The score is their product.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct Factors {
    /// The words: how often the document contains them, and how rare they are (BM25).
    pub words: f32,
    /// Below 1 for a title whose session is unknown.
    pub title: f32,
    /// Raises a long document with a low score for its words, if it is about the file that the query names, or contains
    /// the words of the query in order or letter by letter.
    pub lift: f32,
    /// Depends on the kind of document and on its author.
    pub kind: f32,
    /// Grows with the share of the query that the document contains.
    pub coverage: f32,
    /// Above 1 if the document contains the query word for word, as one identifier, or letter by letter.
    pub verbatim: f32,
    /// Falls slightly with the age of the document.
    pub age: f32,
    /// For a question in prose: turns the score into the one of the second ranking, which compares only what people and
    /// Claude said. Otherwise 1.
    #[serde(skip_serializing_if = "is_one")]
    pub said: f32,
    /// The product of the first three factors. Stored, so that rounding never changes the order.
    #[serde(skip)]
    pub(in crate::index) lifted: f32,
    /// The share of the query that the document contains, from 0 to 1. Rarer words weigh more.
    #[serde(skip)]
    pub(in crate::index) covered: f32,
}

impl Factors {
    /// The score. Nothing else may compute one from factors.
    pub(in crate::index) fn score(&self) -> f32 {
        self.lifted * self.kind * self.coverage * self.verbatim * self.age * self.said
    }

    /// Reports whether the document contains little of the query.
    pub fn is_weak(&self) -> bool {
        self.covered < WEAK
    }

    /// Returns the factors of a document that was only scored by its words.
    pub(super) fn of_words(words: f32, covered: f32) -> Self {
        let (title, lift, kind, coverage, verbatim, age, said) = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0);
        Self { words, title, lift, kind, coverage, verbatim, age, said, lifted: words, covered }
    }

    /// Sets the factor of the second ranking, so that the score becomes `score`.
    pub(super) fn rank_as_said(&mut self, score: f32) {
        self.said = 1.0;
        self.said = score / self.score().max(f32::MIN_POSITIVE);
    }

    /// Sets the product of the first three factors, and `lift` to match it.
    pub(super) fn lift_to(&mut self, lifted: f32) {
        self.lifted = lifted;
        self.lift = lifted / (self.words * self.title).max(f32::MIN_POSITIVE);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(factor: &f32) -> bool {
    *factor == 1.0
}
