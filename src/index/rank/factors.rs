//! The score of a hit: a product of factors that `--explain` shows. The kind of document and its age are decided here.

use schemars::JsonSchema;
use serde::Serialize;
use tantivy::Score;

use crate::document::{Kind, Role};
use crate::index::rank::weights::{
    AGE_HALF, AGE_SHARE, ANSWER, FILE_CHANGED, FILE_READ, HUMAN, META, TITLE, TOOL_OUTPUT, WEAK,
};
use crate::index::schema::{Action, action_of, from_class};
use crate::query::{Query, Shape};

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

/// Returns the weight of a document, given its class.
pub(in crate::index) type Prior = fn(u64) -> Score;

/// Returns the weights of documents for the shape of a query.
pub(in crate::index) fn prior_for(query: &Query) -> Prior {
    match query.shape {
        Shape::Words => words_prior,
        Shape::Path => path_prior,
        Shape::Code => code_prior,
    }
}

/// Prefers titles, prompts and answers to the output of tools.
fn words_prior(class: u64) -> Score {
    match from_class(class) {
        (_, Kind::Title, _) => TITLE,
        (Role::Human | Role::Programmatic, _, _) => HUMAN,
        (_, Kind::Text | Kind::Compaction | Kind::Recap, _) => ANSWER,
        (_, Kind::ToolResult | Kind::Output, _) => TOOL_OUTPUT,
        (Role::Meta, _, _) => META,
        _ => 1.0,
    }
}

/// Prefers changes of a file, because a search for a file is mostly about those.
fn path_prior(class: u64) -> Score {
    let action = match action_of(class) {
        Action::Change => FILE_CHANGED,
        Action::Read => FILE_READ,
        Action::None => 1.0,
    };
    action * code_prior(class)
}

fn code_prior(class: u64) -> Score {
    if from_class(class).0 == Role::Meta { META } else { 1.0 }
}

/// Returns the factor for the age of a document. An unknown time counts as very old.
pub(super) fn recency(time: i64, now: i64) -> f32 {
    if time == i64::MAX || now == 0 {
        return 1.0 - AGE_SHARE;
    }
    let age = now.saturating_sub(time).max(0) as f32;
    1.0 - AGE_SHARE + AGE_SHARE * (-age / AGE_HALF).exp2()
}
