//! Makes our text analysis available to tantivy as a tokenizer.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::tokenize::{Scratch, Term, analyze_with};

/// The name of the tokenizer in the schema.
pub(super) const WORDS: &str = "unspool_words";

/// The tokenizer of all full-text fields.
#[derive(Clone, Debug, Default)]
pub(super) struct WordTokenizer {
    scratch: Scratch,
    token: Token,
}

/// The terms of one text. Indexing consumes them in one pass with [`TokenStream::process`]. Callers that advance one
/// term at a time get them from a list.
pub(super) struct WordStream<'a> {
    text: &'a str,
    tokenizer: &'a mut WordTokenizer,
    listed: Option<std::vec::IntoIter<Token>>,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        WordStream { text, tokenizer: self, listed: None }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        if self.listed.is_none() {
            let mut tokens = Vec::new();
            self.process(&mut |token| tokens.push(token.clone()));
            self.listed = Some(tokens.into_iter());
        }
        match self.listed.as_mut().and_then(Iterator::next) {
            Some(token) => {
                self.tokenizer.token = token;
                true
            }
            None => false,
        }
    }

    fn token(&self) -> &Token {
        &self.tokenizer.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.tokenizer.token
    }

    fn process(&mut self, sink: &mut dyn FnMut(&Token)) {
        let WordTokenizer { scratch, token } = &mut *self.tokenizer;
        analyze_with(self.text, scratch, &mut |term| {
            fill(token, term);
            sink(token);
        });
    }
}

fn fill(token: &mut Token, term: Term<'_>) {
    token.text.clear();
    token.text.push_str(term.text);
    token.offset_from = term.from;
    token.offset_to = term.to;
    token.position = term.position;
    token.position_length = 1;
}
