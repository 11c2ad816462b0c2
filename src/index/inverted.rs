//! The terms of a segment: gathered document by document, then turned into lists of where each of them stands.
//!
//! tantivy has such a list for each term from the start, and with every word goes to the end of one, which mostly is far
//! from the one before. Here words are only numbered and noted in a row ([`Log`]). At the end that row is read a few
//! times, and each time the places of as many terms as fit in memory are put in order. It takes far less time, and
//! hardly any memory for each word; what is written in the end is byte for byte what tantivy writes.

use std::io;
use std::ops::Range;
use std::path::Path;

use tantivy::fieldnorm::{FieldNormReaders, FieldNormsSerializer, FieldNormsWriter};
use tantivy::index::SegmentComponent;
use tantivy::postings::{FieldSerializer, InvertedIndexSerializer};
use tantivy::schema::document::{Document as _, ReferenceValue, ReferenceValueLeaf, Value as _};
use tantivy::schema::{Field, FieldType, Schema};
use tantivy::{DocId, Segment};

use super::log::Log;
use super::schema::Entry;
use super::terms::Terms;
use super::tokenizer::WORDS;
use crate::analysis::analyze;

/// Between two values of a field there is a place without a word.
const BETWEEN: u32 = 1;
/// For so many places, the document of the first is remembered.
const COARSE: u32 = 256;

/// A field whose terms are looked up.
#[derive(Clone, Copy, Debug)]
struct Looked {
    field: Field,
    /// Whether it is looked up as a whole, and not by its words.
    is_whole: bool,
    /// How many terms were noted.
    noted: u64,
}

/// The terms of a segment; see the module's text.
pub(super) struct Inverted {
    /// The fields that are looked up; terms have their number among them.
    looked: Vec<Looked>,
    /// That number, by the number that tantivy gives the field.
    numbers: Vec<Option<u8>>,
    terms: Terms,
    log: Log,
    /// The place at which each document begins, counted through all of them, and at last where the next one would.
    starts: Vec<u32>,
    norms: FieldNormsWriter,
    /// How many places are put in order at a time.
    room: usize,
}

impl Inverted {
    /// Begins with nothing; `folder` is where a file may be made for what does not fit in memory, of which `heap` bytes
    /// may be taken.
    pub(super) fn new(schema: &Schema, folder: &Path, heap: usize) -> Self {
        let mut looked = Vec::new();
        let numbers = schema.fields().map(|(field, entry)| {
            let is_whole = is_whole(entry.field_type())?;
            looked.push(Looked { field, is_whole, noted: 0 });
            u8::try_from(looked.len() - 1).ok()
        });
        Self {
            numbers: numbers.collect(),
            looked,
            terms: Terms::new(),
            log: Log::new(folder),
            starts: vec![0],
            norms: FieldNormsWriter::for_schema(schema),
            // By then, what terms are looked up in is free again. Few in a debug build, so that the tests see more than one time.
            room: if cfg!(debug_assertions) { 50_000 } else { heap / 12 },
        }
    }

    /// How many documents were added.
    pub(super) fn documents(&self) -> DocId {
        self.starts.len() as DocId - 1
    }

    /// The memory taken, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.terms.memory() + self.starts.capacity() * 4
    }

    /// Whether places can still be counted.
    pub(super) fn has_room(&self) -> bool {
        self.starts.last().is_some_and(|next| *next < 1 << 31)
    }

    /// Adds the terms of a document.
    pub(super) fn add(&mut self, entry: &Entry, text: Field, paths: Field) -> io::Result<()> {
        let mut reach = 1;
        for field in [text, paths] {
            let (end, count) = self.add_words(entry, field);
            reach = reach.max(end);
            if let Some(count) = count {
                self.norms.record(self.documents(), field, count);
            }
        }
        for (field, value) in entry.iter_fields_and_values() {
            let Some(number) = self.numbers[field.field_id() as usize] else { continue };
            let looked = &mut self.looked[usize::from(number)];
            if looked.is_whole {
                let term: &[u8] = match value.as_value() {
                    ReferenceValue::Leaf(ReferenceValueLeaf::Str(name)) => str::as_bytes(name),
                    ReferenceValue::Leaf(ReferenceValueLeaf::Bytes(bytes)) => bytes,
                    _ => continue,
                };
                looked.noted += 1;
                self.log.pin(self.terms.number(number, term), 0);
            }
        }
        self.log.end_document()?;
        self.starts.push(self.starts.last().map_or(0, |start| start + reach));
        Ok(())
    }

    /// Adds the words of a field, value by value: to which place they reach, and how many they are, if there is a value.
    fn add_words(&mut self, entry: &Entry, field: Field) -> (u32, Option<u32>) {
        let Self { terms, log, looked, numbers, .. } = self;
        let Some(id) = numbers[field.field_id() as usize] else { return (0, None) };
        let (mut base, mut next, mut count, mut is_there) = (0, 0, 0, false);
        for (_, value) in entry.iter_fields_and_values().filter(|(of, _)| *of == field) {
            let ReferenceValue::Leaf(ReferenceValueLeaf::Str(value)) = value.as_value() else { continue };
            let mut end = base;
            is_there = true;
            analyze(value, &mut |term| {
                let number = terms.number(id, term.text.as_bytes());
                let position = base + term.position as u32;
                end = end.max(position + 1);
                count += 1;
                if term.whole {
                    log.pin(number, position);
                    return;
                }
                while next < position {
                    log.gap();
                    next += 1;
                }
                log.word(number);
                next += 1;
            });
            base = end + BETWEEN;
        }
        log.end_words();
        looked[usize::from(id)].noted += u64::from(count);
        (next.max(base), is_there.then_some(count))
    }

    /// Gives back the memory that only adding needs.
    pub(super) fn settle(&mut self) {
        self.terms.settle();
    }

    /// Writes the lists.
    pub(super) fn write(mut self, segment: &Segment) -> tantivy::Result<()> {
        self.norms.fill_up_to_max_doc(self.documents());
        let norms = FieldNormsSerializer::from_write(segment.open_write(SegmentComponent::FieldNorms)?)?;
        self.norms.serialize(norms, None)?;
        let norms = FieldNormReaders::open(segment.open_read(SegmentComponent::FieldNorms)?)?;
        let mut out = InvertedIndexSerializer::open(segment)?;
        let order = self.terms.sorted();
        let mut places = Places::new(&mut self.log, &self.starts, &order, self.room)?;
        let mut lists = Lists::new(&self.starts);
        let mut at = 0;
        while let Some(first) = order.get(at) {
            let id = self.terms.field(*first);
            let Looked { field, is_whole, noted } = self.looked[usize::from(id)];
            let mut out = out.new_field(field, noted, norms.get_field(field)?)?;
            while let Some(number) = order.get(at).filter(|number| self.terms.field(**number) == id) {
                let term = self.terms.term(*number);
                if places.are_too_many(at) {
                    places.write_from_log(*number, term, is_whole, &mut out)?;
                } else {
                    lists.write(places.of(at)?, term, is_whole, &mut out)?;
                }
                at += 1;
            }
            out.close()?;
        }
        Ok(out.close()?)
    }
}

/// Whether a field is looked up as a whole or by its words; none if it is not looked up.
fn is_whole(field: &FieldType) -> Option<bool> {
    match field {
        FieldType::Str(options) => options.get_indexing_options().map(|indexing| indexing.tokenizer() != WORDS),
        FieldType::Bytes(options) => options.is_indexed().then_some(true),
        _ => None,
    }
}

/// The places of terms, put in order for some terms at a time.
struct Places<'a> {
    log: &'a mut Log,
    starts: &'a [u32],
    /// The numbers of terms, in the order in which they are asked for.
    order: &'a [u32],
    /// How many places are at hand at a time.
    room: usize,
    /// How many places each term has, by number.
    counts: Vec<u32>,
    /// Which of `order` are at hand.
    at_hand: Range<usize>,
    /// Their places, one term behind the other.
    places: Vec<u32>,
    /// Where among them those of each term end, by number; [`ABSENT`] if they are not at hand.
    ends: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl<'a> Places<'a> {
    fn new(log: &'a mut Log, starts: &'a [u32], order: &'a [u32], room: usize) -> io::Result<Self> {
        let mut counts = vec![0; order.len()];
        log.each(starts, |number, _, _| counts[number as usize] += 1)?;
        let ends = vec![ABSENT; order.len()];
        Ok(Self { log, starts, order, room, counts, at_hand: 0..0, places: Vec::new(), ends })
    }

    fn count(&self, at: usize) -> usize {
        self.counts[self.order[at] as usize] as usize
    }

    /// Whether a term has more places than are ever at hand.
    fn are_too_many(&self, at: usize) -> bool {
        self.count(at) > self.room
    }

    /// The places of a term.
    fn of(&mut self, at: usize) -> io::Result<&[u32]> {
        if !self.at_hand.contains(&at) {
            self.load(at)?;
        }
        let end = self.ends[self.order[at] as usize] as usize;
        Ok(&self.places[end - self.count(at)..end])
    }

    fn load(&mut self, from: usize) -> io::Result<()> {
        for number in &self.order[self.at_hand.clone()] {
            self.ends[*number as usize] = ABSENT;
        }
        let (mut to, mut total) = (from, 0);
        while to < self.order.len() && total + self.count(to) <= self.room {
            self.ends[self.order[to] as usize] = total as u32;
            total += self.count(to);
            to += 1;
        }
        self.at_hand = from..to;
        self.places.resize(total, 0);
        let (ends, places) = (&mut self.ends, &mut self.places);
        self.log.each(self.starts, |number, _, place| {
            let end = &mut ends[number as usize];
            if *end != ABSENT {
                places[*end as usize] = place;
                *end += 1;
            }
        })
    }

    /// Writes the list of a term whose places are too many, as they come.
    fn write_from_log(&mut self, term: u32, bytes: &[u8], is_whole: bool, out: &mut FieldSerializer) -> io::Result<()> {
        let (mut documents, mut last) = (0, None);
        self.log.each(self.starts, |number, document, _| {
            if number == term && last != Some(document) {
                documents += 1;
                last = Some(document);
            }
        })?;
        out.new_term(bytes, if is_whole { 0 } else { documents }, !is_whole)?;
        let (mut positions, mut last) = (Vec::new(), None);
        let mut put = |document: Option<DocId>, positions: &mut Vec<u32>| {
            if let Some(document) = document {
                write_document(document, positions, is_whole, out);
                positions.clear();
            }
        };
        self.log.each(self.starts, |number, document, place| {
            if number == term {
                if last != Some(document) {
                    put(last, &mut positions);
                    last = Some(document);
                }
                positions.push(place - self.starts[document as usize]);
            }
        })?;
        put(last, &mut positions);
        out.close_term()
    }
}

/// Makes lists from places.
struct Lists<'a> {
    starts: &'a [u32],
    /// For every [`COARSE`] places, the document of the first of them.
    coarse: Vec<DocId>,
    /// The documents of a list, each with the number of its places.
    documents: Vec<(DocId, usize)>,
    positions: Vec<u32>,
}

impl<'a> Lists<'a> {
    fn new(starts: &'a [u32]) -> Self {
        let last = starts.last().copied().unwrap_or_default();
        let mut document = 0;
        let coarse = (0..=last / COARSE).map(|block| {
            while starts.get(document + 1).is_some_and(|next| *next <= block * COARSE) {
                document += 1;
            }
            document as DocId
        });
        Self { starts, coarse: coarse.collect(), documents: Vec::new(), positions: Vec::new() }
    }

    /// Writes the list of a term.
    fn write(&mut self, places: &[u32], term: &[u8], is_whole: bool, out: &mut FieldSerializer) -> io::Result<()> {
        self.documents.clear();
        self.positions.clear();
        let mut rest = places;
        while let Some(first) = rest.first() {
            let document = self.document_of(*first);
            let (start, next) = (self.starts[document as usize], self.starts[document as usize + 1]);
            let count = rest.iter().take_while(|place| **place < next).count();
            self.positions.extend(rest[..count].iter().map(|place| place - start));
            self.documents.push((document, count));
            rest = &rest[count..];
        }
        out.new_term(term, if is_whole { 0 } else { self.documents.len() as u32 }, !is_whole)?;
        let mut positions = &mut self.positions[..];
        for (document, count) in &self.documents {
            let (own, others) = positions.split_at_mut(*count);
            write_document(*document, own, is_whole, out);
            positions = others;
        }
        out.close_term()
    }

    fn document_of(&self, place: u32) -> DocId {
        let mut document = self.coarse[(place / COARSE) as usize];
        while self.starts[document as usize + 1] <= place {
            document += 1;
        }
        document
    }
}

/// Writes a document of a list; of its positions, the distances are kept.
fn write_document(document: DocId, positions: &mut [u32], is_whole: bool, out: &mut FieldSerializer) {
    if is_whole {
        return out.write_doc(document, 0, &[]);
    }
    let mut last = 0;
    for position in positions.iter_mut() {
        (last, *position) = (*position, *position - last);
    }
    out.write_doc(document, positions.len() as u32, positions);
}
