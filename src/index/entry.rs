//! A document on its way into the index, as tantivy wants to see it: fields and values.

use std::sync::Arc;

use tantivy::schema::document::{ReferenceValue, ReferenceValueLeaf};
use tantivy::schema::{Field, Value};

use super::budget::Permit;

/// A value of an entry.
#[derive(Clone, Debug)]
pub(super) enum Leaf {
    Text(String),
    Name(&'static str),
    Shared(Arc<str>),
    /// What is left of a text behind its first bytes.
    Tail(Arc<str>, usize),
    Bytes(Vec<u8>),
    Unsigned(u64),
    Signed(i64),
}

/// A document on its way into the index. It carries the permit of its batch, which returns to the budget when the last
/// entry of the batch is dropped. tantivy's own queue counts documents, not bytes.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) values: Vec<(Field, Leaf)>,
    pub(super) _permit: Arc<Permit>,
}

impl tantivy::schema::document::Document for Entry {
    type Value<'a> = EntryValue<'a>;
    type FieldsValuesIter<'a> = EntryValues<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        EntryValues(self.values.iter())
    }
}

/// Walks over the values of an entry.
#[derive(Clone)]
pub(super) struct EntryValues<'a>(std::slice::Iter<'a, (Field, Leaf)>);

impl<'a> Iterator for EntryValues<'a> {
    type Item = (Field, EntryValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(field, leaf)| (*field, EntryValue(leaf)))
    }
}

/// A value of an entry, as tantivy wants to see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryValue<'a>(&'a Leaf);

impl<'a> Value<'a> for EntryValue<'a> {
    type ArrayIter = std::iter::Empty<Self>;
    type ObjectIter = std::iter::Empty<(&'a str, Self)>;

    fn as_value(&self) -> ReferenceValue<'a, Self> {
        ReferenceValue::Leaf(match self.0 {
            Leaf::Text(text) => ReferenceValueLeaf::Str(text),
            Leaf::Name(name) => ReferenceValueLeaf::Str(name),
            Leaf::Shared(text) => ReferenceValueLeaf::Str(text),
            Leaf::Tail(text, from) => ReferenceValueLeaf::Str(&text[*from..]),
            Leaf::Bytes(bytes) => ReferenceValueLeaf::Bytes(bytes),
            Leaf::Unsigned(number) => ReferenceValueLeaf::U64(*number),
            Leaf::Signed(number) => ReferenceValueLeaf::I64(*number),
        })
    }
}
