//! All tuned numbers of ranking, and what each gains.
//!
//! A score is the product of the factors in [`super::Factors`].
//!
//! "Gain: 6 / 12" is measured: without the number (a factor of 1, a limit of none), session MRR@10 falls by 6
//! thousandths and message MRR@10 by 12, from .983 and .968, over 940 queries drawn by `tests/it/ranking/draw.rs` from
//! 49 MB of real sessions and from the fixtures. A number with a gain of 0 / 0 limits the time of a search, or decides
//! cases that these queries do not contain (questions in prose, pasted stack traces, titles of other sessions). A few
//! thousandths either way are noise. All gains come from one run of a build that read these numbers from the
//! environment; no script in the repository repeats it.

use std::ops::RangeInclusive;

// Candidates: the documents that are selected, and those of them that are rescored.

/// The most documents that the words of a query may select, however large the index is. More common words only rank.
/// Gain: 0 / 0.
pub(super) const SELECTED: u64 = 6000;
/// The number of best candidates that are rescored with all factors. Gain: 1 / 1.
pub(super) const RESCORED: usize = 200;
/// The most further candidates that are rescored because they contain the query word for word, or a very rare word of
/// it. A long text may be the right one and still have a low BM25 score. Gain: 1 / 1.
pub(super) const RESERVED: usize = 100;
/// A word in at most this many documents is very rare. Gain: 1 / 1.
pub(super) const VERY_RARE: u64 = 50;
/// This many words in a row hardly ever match by chance. Gain: 0 / 0.
pub(super) const MIN_WORDS_IN_ORDER: usize = 3;
/// The weight of all words in a row. High enough that even the longest text that contains them is rescored.
/// Gain: 0 / 0.
pub(super) const WORD_FOR_WORD: f32 = 3.0;
/// The weight of two neighbouring words of the query. Gain: 0 / 0.
pub(super) const NEIGHBOURS: f32 = 0.3;
/// The weight of a path that is among the files of a document. Gain: 0 / 1.
pub(super) const PATH_OF_FILE: f32 = 2.0;
/// The most pieces of a query whose words are also searched joined as one identifier. Gain: -1 / 0.
pub(super) const JOINED_CAP: usize = 12;
/// The most pieces of a query whose neighbouring words count. Gain: 0 / 0.
pub(super) const NEIGHBOURS_CAP: usize = 32;
/// A query of at least this many words may be a copied line, whose first and last word may be cut off. Gain: 0 / 0.
pub(super) const COPIED_LINE: usize = 6;
/// The most terms that a piece of text may be part of. With more, it does not narrow the search down and matches all.
pub(super) const PART_CAP: usize = 4096;
/// A document with at least this share of the score of a prompt in the history is likely that prompt, with the text
/// that was pasted into it. Gain: 0 / 0.
pub(super) const SAME_PROMPT: f32 = 0.5;

// The kind of document, for queries of plain words.

/// Titles, which summarize a session. Gain: 0 / -1.
pub(super) const TITLE: f32 = 1.5;
/// Prompts that people or programs wrote. Gain: -1 / 1.
pub(super) const HUMAN: f32 = 1.3;
/// Claude's answers and summaries. Gain: 0 / 1.
pub(super) const ANSWER: f32 = 1.2;
/// Output of tools. Gain: 1 / 2.
pub(super) const TOOL_OUTPUT: f32 = 0.8;
/// Text that Claude Code itself inserted: reminders and skills. Gain: 0 / 0.
pub(super) const META: f32 = 0.6;
/// For a query that is a path: calls that change the file. Gain: 0 / 1.
pub(super) const FILE_CHANGED: f32 = 2.0;
/// For a query that is a path: calls that read the file. Gain: 0 / 0.
pub(super) const FILE_READ: f32 = 1.5;
/// A title whose session is unknown. Gain: 0 / 1.
pub(super) const UNKNOWN_SESSION: f32 = 0.7;

// Coverage: how much of the query a document contains.

/// The factor of a document that contains almost nothing of the query. All of it gives 1. Gain: 6 / 12.
pub(super) const COVERED_LEAST: f32 = 0.05;
/// Another form of a word, as a share of the word, when coverage is measured. Gain: 0 / 0.
pub(super) const OTHER_FORM_COVERED: f32 = 0.8;
/// A part of an identifier of the query, as a share of it, if the document does not contain the identifier.
/// Gain: 0 / 0.
pub(super) const LOOSE_PART: f32 = 0.5;
/// A document with a smaller share of the query is a weak hit.
pub(super) const WEAK: f32 = 0.34;
/// The square of the factor of a document without any neighbours of a long query. All of them give 1. Gain: 0 / 0.
pub(super) const SCATTERED: f32 = 0.25;
/// A query is long if it has at least the first number of pairs of neighbours. At most the last number is compared.
pub(super) const PAIRS_COMPARED: RangeInclusive<usize> = 4..=16;

// Verbatim: whether a document contains the query as it was typed.

/// The factor for all words in order, by the number of words.
pub(super) const IN_ORDER: [f32; 4] = [1.0, 1.0, 2.0, 4.0];
/// The factor for the whole query as one identifier. Gain: 2 / 3.
pub(super) const AS_ONE: f32 = 2.5;
/// The same for a query that is an identifier itself. Multiplied with the factor for all words in order. Gain: 1 / 2.
pub(super) const AS_TYPED_IN_ONE: f32 = 2.0;
/// The factor for the query letter by letter, punctuation included. Gain: 4 / 11.
pub(super) const AS_TYPED: f32 = 1.5;
/// This many words in order do not match by chance. A long text with them comes before short ones with the same words.
/// Gain: 0 / 0.
pub(super) const LIFTED_WORDS_IN_ORDER: usize = 4;
/// The most texts that are read to compare them letter by letter. Gain: 4 / 12.
pub(super) const READ_CAP: usize = 64;

// Age.

/// The share of a score that depends on age. Gain: -1 / -1.
pub(super) const AGE_SHARE: f32 = 0.1;
/// The time in which a hit loses half of that share, in milliseconds.
pub(super) const AGE_HALF: f32 = 90.0 * 86_400_000.0;

// Spelling: words to search for besides those that were typed.

/// The weight of another form of a word. Gain: 0 / -1.
pub(super) const OTHER_FORM: f32 = 0.5;
/// The most pieces of a query whose words are also searched in other forms. In a longer query, each word matters less.
/// Gain: 0 / -1.
pub(super) const FORMS_CAP: usize = 12;
/// The most documents that may contain a word that is also searched in other forms. A more common word is found often
/// enough as it is. Gain: 0 / 0.
pub(super) const FORMS_OF: u64 = 2000;
/// The most corrections of a word. Gain: 3 / 4.
pub(super) const MEANT: usize = 4;
/// A misspelling is likelier than an unfinished word if its correction is this many times as common. Gain: 0 / 0.
pub(super) const COMMONER: u64 = 1000;
/// The shortest beginning of a word that is completed. Gain: 62 / 75.
pub(super) const LEAST_BEGINNING: usize = 4;
/// The most terms of a segment with the same beginning that are compared. Gain: 0 / 0.
pub(super) const BEGINNINGS: usize = 2000;
/// The shortest word that is searched for inside identifiers. Gain: 0 / 0.
pub(super) const LEAST_INSIDE: usize = 5;
/// The shortest part of two words that were typed as one. Gain: -2 / -3.
pub(super) const LEAST_PART: usize = 2;
/// The most words that are searched for inside identifiers.
pub(super) const INSIDE_CAP: usize = 16;
/// The most identifiers of a segment that are searched for them.
pub(super) const LOOKED_THROUGH: usize = 200_000;
/// The most pairs of characters that replace a single character.
pub(super) const CHARACTER_PAIRS: usize = 64;

// The second ranking, for questions in prose: of what people and Claude said, by words alone.

// 237 paraphrases and topics (tests/it/ranking/prose.tsv and prose_real.tsv) do not distinguish these numbers from
// neighbouring ones.

/// The weight of common words.
pub(super) const COMMON_SAID: f32 = 0.3;
/// The share of the first ranking in the score. Below 1, so that the best hit is something that was said.
pub(super) const FIRST_RANKING: f32 = 0.15;
/// The number of best hits that are compared with the query: whether one of them contains all its words, or contains it
/// almost as typed.
pub(super) const TOP_HITS: usize = 5;
/// A text with this share of the question's neighbouring words contains it almost as typed.
pub(super) const PAIRS_QUOTED: f32 = 0.5;
/// The number of best documents of the second ranking.
pub(super) const SAID_RANKED: usize = 300;
