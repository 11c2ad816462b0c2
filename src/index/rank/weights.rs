//! Every tuned number of ranking, with what it buys.
//!
//! A score is the product of the factors in [`super::Factors`]. The figures after "buys" are session / message MRR@10 lost
//! without the number, in thousandths, over the queries of `tests/it/ranking` drawn from 49 MB of real sessions.

use std::ops::RangeInclusive;

// Candidates: what is looked at more closely than by its words.

/// The documents that the words of a query may select, however large the index is. Commoner words only rank.
pub(super) const SELECTED: u64 = 6000;
/// The best candidates that are scored with all factors.
pub(super) const RESCORED: usize = 200;
/// Further candidates that are, because they contain the query word for word or a very rare word of it. A long text may
/// be the one that is looked for and still have a low BM25 score.
pub(super) const RESERVED: usize = 100;
/// A word in at most this many documents is very rare.
pub(super) const VERY_RARE: u64 = 50;
/// Words in a row that hardly ever match by chance.
pub(super) const TELLING: usize = 3;
/// The weight of all words in a row, so that the longest text that contains them is scored with all factors.
pub(super) const WORD_FOR_WORD: f32 = 3.0;
/// The weight of two words of the query that are neighbours.
pub(super) const NEIGHBOURS: f32 = 0.3;
/// The weight of a path among the files of a document.
pub(super) const PATH_OF_FILE: f32 = 2.0;
/// In a longer query, words are not also tried as one identifier.
pub(super) const JOINED_CAP: usize = 12;
/// In a longer query, neighbours do not count.
pub(super) const NEIGHBOURS_CAP: usize = 32;
/// A query of this many words may be a copied line, whose first and last word may be cut.
pub(super) const COPIED_LINE: usize = 6;
/// The most terms that a piece of text may be part of before it no longer narrows anything down.
pub(super) const PART_CAP: usize = 4096;
/// A document with this share of the score of a prompt in the history is likely that prompt, with what was pasted.
pub(super) const SAME_PROMPT: f32 = 0.5;

// The kind of document, for queries of plain words.

/// Titles: they sum up a session.
pub(super) const TITLE: f32 = 1.5;
/// What people typed.
pub(super) const HUMAN: f32 = 1.3;
/// What Claude answered.
pub(super) const ANSWER: f32 = 1.2;
/// What tools printed.
pub(super) const TOOL_OUTPUT: f32 = 0.8;
/// What Claude Code itself put in: reminders and skills.
pub(super) const META: f32 = 0.6;
/// For a query that is a path: calls that change the file.
pub(super) const FILE_CHANGED: f32 = 2.0;
/// For a query that is a path: calls that read the file.
pub(super) const FILE_READ: f32 = 1.5;
/// A title whose session is unknown.
pub(super) const UNKNOWN_SESSION: f32 = 0.7;

// Coverage: how much of the query a document contains.

/// The factor of a document that contains hardly anything of the query; 1 is all of it.
pub(super) const COVERED_LEAST: f32 = 0.05;
/// Another form of a word, as a share of the word, when coverage is measured.
pub(super) const OTHER_FORM_COVERED: f32 = 0.8;
/// A part of an identifier of the query, where the document does not contain the identifier.
pub(super) const LOOSE_PART: f32 = 0.5;
/// The factor of a document without any neighbours of a long query; 1 is all of them.
pub(super) const SCATTERED: f32 = 0.25;
/// A query is long if it has this many pairs of neighbours; at most this many are compared.
pub(super) const PAIRS_COMPARED: RangeInclusive<usize> = 4..=16;

// Verbatim: whether a document contains the query as it was typed.

/// The factor for all words in their order, by the number of words.
pub(super) const IN_ORDER: [f32; 4] = [1.0, 1.0, 2.0, 4.0];
/// The factor for the whole query as one identifier.
pub(super) const AS_ONE: f32 = 2.5;
/// The same, besides the factor of its order, for a query that is an identifier itself.
pub(super) const AS_TYPED_IN_ONE: f32 = 2.0;
/// The factor for the query letter by letter, punctuation included.
pub(super) const AS_TYPED: f32 = 1.5;
/// This many words in their order are no accident: a long text with them comes before short ones with the same words.
pub(super) const BY_NO_CHANCE: usize = 4;
/// Texts that are read to compare them letter by letter.
pub(super) const READ_CAP: usize = 64;

// Age.

/// The share of a score that depends on age.
pub(super) const AGE_SHARE: f32 = 0.1;
/// The time in which a hit loses half of that share, in milliseconds.
pub(super) const AGE_HALF: f32 = 90.0 * 86_400_000.0;

// Spelling: words to look for besides those that were typed.

/// The weight of another form of a word.
pub(super) const OTHER_FORM: f32 = 0.5;
/// A longer query is not searched for other forms: each word matters less.
pub(super) const FORMS_CAP: usize = 12;
/// A word in more documents is found often enough as it is.
pub(super) const FORMS_OF: u64 = 2000;
/// The words that may be meant by one.
pub(super) const MEANT: usize = 4;
/// A misspelling is likelier than an unfinished word if its correction is this many times as common.
pub(super) const COMMONER: u64 = 1000;
/// The shortest beginning of a word that is completed.
pub(super) const LEAST_BEGINNING: usize = 4;
/// The terms with the same beginning that are looked at.
pub(super) const BEGINNINGS: usize = 2000;
/// The shortest word that is looked for inside of identifiers.
pub(super) const LEAST_INSIDE: usize = 5;
/// The shortest part of two words that were typed as one.
pub(super) const LEAST_PART: usize = 2;
/// The words that are looked for inside of identifiers.
pub(super) const INSIDE_CAP: usize = 16;
/// The identifiers of a segment that are looked through for them.
pub(super) const LOOKED_THROUGH: usize = 200_000;
/// The pairs of characters that may be looked for in place of one character.
pub(super) const CHARACTER_PAIRS: usize = 64;
