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

use super::entry::Entry;
use super::log::Log;
use super::noting::{Noting, Words};
use super::tokenizer::WORDS;

/// So many terms are looked at beforehand.
const AHEAD: usize = 64;
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
    noting: Noting,
    /// The place at which each document begins, counted through all of them, and at last where the next one would.
    starts: Vec<u32>,
    norms: FieldNormsWriter,
    /// How much memory may be taken.
    heap: usize,
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
            noting: Noting::new(folder),
            starts: vec![0],
            norms: FieldNormsWriter::for_schema(schema),
            heap,
        }
    }

    /// How many documents were added.
    pub(super) fn documents(&self) -> DocId {
        self.starts.len() as DocId - 1
    }

    /// The memory taken, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.noting.terms.memory() + self.starts.capacity() * 4
    }

    /// Whether places can still be counted.
    pub(super) fn has_room(&self) -> bool {
        self.starts.last().is_some_and(|next| *next < 1 << 31)
    }

    /// Adds the terms of a document.
    pub(super) fn add(&mut self, entry: &Entry, text: Field, paths: Field) -> io::Result<()> {
        let mut reach = 1;
        for field in [text, paths] {
            let Some(words) = self.add_words(entry, field) else { continue };
            reach = reach.max(words.reach);
            if let Some(count) = words.count {
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
                self.noting.name(number, term);
            }
        }
        self.noting.end_document()?;
        self.starts.push(self.starts.last().map_or(0, |start| start + reach));
        Ok(())
    }

    /// Adds the words of a field: to which place they reach, and how many they are, if there is a value.
    fn add_words(&mut self, entry: &Entry, field: Field) -> Option<Words> {
        let id = self.numbers[field.field_id() as usize]?;
        let values = entry.iter_fields_and_values().filter(|(of, _)| *of == field).filter_map(|(_, value)| match value
            .as_value()
        {
            ReferenceValue::Leaf(ReferenceValueLeaf::Str(value)) => Some(value),
            _ => None,
        });
        let words = self.noting.words(id, values);
        self.looked[usize::from(id)].noted += u64::from(words.count.unwrap_or(0));
        Some(words)
    }

    /// Gives back the memory that only adding needs.
    pub(super) fn settle(&mut self) {
        self.noting.settle();
    }

    /// Writes the lists.
    pub(super) fn write(mut self, segment: &Segment) -> tantivy::Result<()> {
        self.norms.fill_up_to_max_doc(self.documents());
        let norms = FieldNormsSerializer::from_write(segment.open_write(SegmentComponent::FieldNorms)?)?;
        self.norms.serialize(norms, None)?;
        let norms = FieldNormReaders::open(segment.open_read(SegmentComponent::FieldNorms)?)?;
        let mut out = InvertedIndexSerializer::open(segment)?;
        let Noting { terms, mut log, .. } = self.noting;
        let order = terms.sorted();
        let taken = terms.memory() + order.len() * (size_of::<u32>() + size_of::<Way>());
        let mut places = Places::new(&mut log, &self.starts, &order, room_in(self.heap, taken))?;
        let mut lists = Lists::new(&self.starts);
        let (mut at, mut seen) = (0, 0);
        while let Some(first) = order.get(at) {
            let id = terms.field(*first);
            let Looked { field, is_whole, noted } = self.looked[usize::from(id)];
            let mut out = out.new_field(field, noted, norms.get_field(field)?)?;
            while let Some(number) = order.get(at).filter(|number| terms.field(**number) == id) {
                if at >= seen {
                    seen = order.len().min(at + AHEAD);
                    terms.look_at(&order[at..seen]);
                    places.look_at(at..seen);
                }
                let term = terms.term(*number);
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
    /// How many bytes of places are at hand at a time.
    room: usize,
    /// How far each term has come, by number.
    ways: Vec<Way>,
    /// Which of `order` are at hand.
    at_hand: Range<usize>,
    /// Their places, one term behind the other, each as its distance from the one before.
    packed: Vec<u8>,
}

/// How many bytes of places are put in order at a time, if so much memory is taken already. Few in a debug build, so that
/// the tests see more than one time.
fn room_in(heap: usize, taken: usize) -> usize {
    const LEAST: usize = 8 << 20;
    if cfg!(debug_assertions) { 50_000 } else { (heap / 5 * 4).saturating_sub(taken).max(LEAST) }
}

/// How far a term has come.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    /// Its last place; [`ABSENT`] if its places are not at hand.
    last: u32,
    /// Where its places end among those at hand; how many bytes they take, until they are at hand.
    end: u32,
}

const ABSENT: u32 = u32::MAX;

impl<'a> Places<'a> {
    fn new(log: &'a mut Log, starts: &'a [u32], order: &'a [u32], room: usize) -> io::Result<Self> {
        let mut ways = vec![Way::default(); order.len()];
        log.each(starts, |number, _, place| {
            let way = &mut ways[number as usize];
            way.end += packed_length(place - way.last);
            way.last = place;
        })?;
        ways.iter_mut().for_each(|way| way.last = ABSENT);
        Ok(Self { log, starts, order, room, ways, at_hand: 0..0, packed: Vec::new() })
    }

    fn way(&self, at: usize) -> Way {
        self.ways[self.order[at] as usize]
    }

    /// Whether a term has more places than are ever at hand.
    fn are_too_many(&self, at: usize) -> bool {
        !self.at_hand.contains(&at) && self.way(at).end as usize > self.room
    }

    /// Looks at what will be needed soon.
    fn look_at(&self, soon: Range<usize>) {
        std::hint::black_box(soon.fold(0, |seen, at| seen ^ self.way(at).end));
    }

    /// The places of a term, packed.
    fn of(&mut self, at: usize) -> io::Result<&[u8]> {
        if !self.at_hand.contains(&at) {
            self.load(at)?;
        }
        let start = if at == self.at_hand.start { 0 } else { self.way(at - 1).end };
        Ok(&self.packed[start as usize..self.way(at).end as usize])
    }

    fn load(&mut self, from: usize) -> io::Result<()> {
        for number in &self.order[self.at_hand.clone()] {
            self.ways[*number as usize].last = ABSENT;
        }
        let (mut to, mut total) = (from, 0);
        while to < self.order.len() && total + self.way(to).end as usize <= self.room {
            let way = &mut self.ways[self.order[to] as usize];
            let length = way.end as usize;
            *way = Way { last: 0, end: total as u32 };
            total += length;
            to += 1;
        }
        self.at_hand = from..to;
        self.packed.resize(total, 0);
        let (ways, packed) = (&mut self.ways, &mut self.packed);
        self.log.each(self.starts, |number, _, place| {
            let way = &mut ways[number as usize];
            if way.last != ABSENT {
                pack(packed, &mut way.end, place - way.last);
                way.last = place;
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
        let (mut distances, mut last, mut before) = (Vec::new(), None, 0);
        self.log.each(self.starts, |number, document, place| {
            if number == term {
                if last != Some(document) {
                    last.into_iter().for_each(|last| write_document(last, &distances, is_whole, out));
                    distances.clear();
                    (last, before) = (Some(document), self.starts[document as usize]);
                }
                distances.push(place - before);
                before = place;
            }
        })?;
        last.into_iter().for_each(|last| write_document(last, &distances, is_whole, out));
        out.close_term()
    }
}

/// Makes lists from places.
struct Lists<'a> {
    starts: &'a [u32],
    /// For every [`COARSE`] places, the document of the first of them.
    coarse: Vec<DocId>,
    /// The documents of a list, each with where its distances end.
    documents: Vec<(DocId, usize)>,
    /// The distance of each place from the one before, or from the beginning of its document.
    distances: Vec<u32>,
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
        Self { starts, coarse: coarse.collect(), documents: Vec::new(), distances: Vec::new() }
    }

    /// Writes the list of a term.
    fn write(&mut self, packed: &[u8], term: &[u8], is_whole: bool, out: &mut FieldSerializer) -> io::Result<()> {
        self.documents.clear();
        self.distances.clear();
        let (mut at, mut place, mut next) = (0, 0, 0);
        let mut document = 0;
        while at < packed.len() {
            let mut distance = take(packed, &mut at);
            place += distance;
            if place >= next {
                if next > 0 {
                    self.documents.push((document, self.distances.len()));
                }
                document = self.document_of(place);
                distance = place - self.starts[document as usize];
                next = self.starts[document as usize + 1];
            }
            self.distances.push(distance);
        }
        self.documents.push((document, self.distances.len()));
        out.new_term(term, if is_whole { 0 } else { self.documents.len() as u32 }, !is_whole)?;
        let mut start = 0;
        for (document, end) in &self.documents {
            write_document(*document, &self.distances[start..*end], is_whole, out);
            start = *end;
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

/// Writes a document of a list.
fn write_document(document: DocId, distances: &[u32], is_whole: bool, out: &mut FieldSerializer) {
    if is_whole {
        return out.write_doc(document, 0, &[]);
    }
    out.write_doc(document, distances.len() as u32, distances);
}

/// How many bytes a distance takes.
#[inline(always)]
fn packed_length(distance: u32) -> u32 {
    (u32::BITS + 6 - (distance | 1).leading_zeros()) / 7
}

/// Writes a distance, and moves on behind it.
#[inline(always)]
fn pack(out: &mut [u8], at: &mut u32, mut distance: u32) {
    while distance >= 0x80 {
        out[*at as usize] = distance as u8 | 0x80;
        *at += 1;
        distance >>= 7;
    }
    out[*at as usize] = distance as u8;
    *at += 1;
}

/// Reads a distance, and moves on behind it.
#[inline(always)]
fn take(packed: &[u8], at: &mut usize) -> u32 {
    let mut distance = 0;
    for shift in (0..u32::BITS).step_by(7) {
        let byte = packed[*at];
        *at += 1;
        distance |= u32::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    distance
}
