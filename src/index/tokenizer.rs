//! Shows our analysis to tantivy as one of its tokenizers.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::analysis::{Term, analyze};

/// The name of the tokenizer in the schema.
pub(super) const WORDS: &str = "unspool_words";

/// The tokenizer of all text fields.
#[derive(Clone, Debug, Default)]
pub(super) struct WordTokenizer;

/// The terms of one text. Indexing takes them in one pass through [`TokenStream::process`]; whoever asks for them
/// one by one gets them from a list.
pub(super) struct WordStream<'a> {
    text: &'a str,
    listed: Option<std::vec::IntoIter<Token>>,
    token: Token,
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        WordStream { text, listed: None, token: Token::default() }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let text = self.text;
        let listed = self.listed.get_or_insert_with(|| {
            let mut tokens = Vec::new();
            analyze(text, &mut |term| {
                let mut token = Token::default();
                fill(&mut token, term);
                tokens.push(token);
            });
            tokens.into_iter()
        });
        match listed.next() {
            Some(token) => {
                self.token = token;
                true
            }
            None => false,
        }
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }

    fn process(&mut self, sink: &mut dyn FnMut(&Token)) {
        let token = &mut self.token;
        analyze(self.text, &mut |term| {
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
