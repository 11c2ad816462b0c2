//! Stop words, such as `the`.

use crate::query::{Chunk, Query};

/// Words too common to be searched on their own.
const COMMON: [&str; 69] = [
    "a", "about", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
    "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "just", "me", "my", "not",
    "of", "on", "or", "our", "should", "so", "some", "still", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "to", "was", "we", "were", "what", "when", "where", "whether", "which", "who",
    "why", "will", "with", "without", "would", "you", "your",
];

/// Reports whether a word is too common to be searched on its own.
pub(in crate::index) fn is_common_word(word: &str) -> bool {
    COMMON.contains(&word)
}

/// Reports whether a piece of a query is a single common word.
pub(in crate::index) fn is_common(chunk: &Chunk) -> bool {
    chunk.terms.len() == 1 && is_common_word(&chunk.terms[0])
}

/// Returns the significant pieces of a query: without common words, unless there is nothing else.
pub(in crate::index) fn significant(query: &Query) -> impl Iterator<Item = &Chunk> {
    let only_common = query.chunks.iter().all(is_common);
    query.chunks.iter().filter(move |chunk| only_common || !is_common(chunk))
}
