//! All hits of a search in one session, in the order of the conversation, so that a front end can walk from hit to hit.

use std::collections::HashMap;
use std::ops::Range;

use crate::archive::conversation::{Extent, OpenConversation};
use crate::archive::request::{Context, Filters, SearchRequest};
use crate::archive::search::all_hits;
use crate::archive::snippet::Marks;
use crate::document::Kind;
use crate::error::Result;
use crate::index::{Checkpoint, Corrections, FileKey, HitSpot};
use crate::query::Query;
use crate::transcript::discover::SourceKind;

/// All hits of a search in one session.
#[derive(Debug)]
pub struct Occurrences {
    /// The hits, in order. Those in a subagent come together, where it was started.
    pub hits: Vec<Occurrence>,
    /// Marks the words of the search.
    pub marker: Marker,
}

/// A hit in a session.
#[derive(Clone, Debug)]
pub struct Occurrence {
    /// The subagent in whose conversation it is.
    pub agent: Option<String>,
    at: HitSpot,
}

/// The place of a hit, seen from an open conversation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HitPlace {
    /// In this block.
    Block(usize),
    /// In the title.
    Title,
    /// In a message that is not shown on its own, near this block.
    Near(usize),
    /// In a message that this conversation leaves out unless it is opened with all of them.
    LeftOut,
    /// In the conversation of another subagent, or in the main one.
    Elsewhere,
}

/// Marks the words of a search in texts.
#[derive(Debug, Default)]
pub struct Marker {
    query: Option<(Query, Corrections)>,
}

/// Finds all hits in a session.
pub(super) fn find(reading: &OpenConversation, request: &SearchRequest, context: &Context) -> Result<Occurrences> {
    let (reader, session) = (reading.reader(), reading.target.session.as_str());
    let filters = Filters { session: vec![session.to_string()], include_current: true, ..request.filters.clone() };
    let request = SearchRequest { filters, ..request.clone() };
    let (ranked, query, corrections) = all_hits(reader, &request, context)?;
    let files = reader.files_of_session(session)?;
    let files: HashMap<FileKey, &Checkpoint> = files.iter().map(|file| (file.key(), file)).collect();
    let mut hits = Vec::new();
    for (number, at) in reader.spots(ranked.hits())?.into_iter().enumerate() {
        let file = files.get(&at.file).filter(|file| file.source_kind() == SourceKind::Agent);
        let agent = file.and_then(|file| file.agent_id()).map(str::to_string);
        // All hits in a subagent come where it began.
        let begin = file.and_then(|file| file.summary().first).or(at.time);
        hits.push(((begin, agent.clone().unwrap_or_default(), number), Occurrence { agent, at }));
    }
    hits.sort_by(|(a, _), (b, _)| a.cmp(b));
    let hits = hits.into_iter().map(|(_, hit)| hit).collect();
    Ok(Occurrences { hits, marker: Marker { query: Some((query, corrections)) } })
}

impl Occurrence {
    /// Returns the part of its block to read, if the text there is very long.
    pub fn extent_in(&self, reading: &OpenConversation) -> Extent {
        reading.part_of(self.at.spot).map_or(Extent::Beginning, Extent::From)
    }

    /// Returns the place of the hit, seen from a conversation of the same session.
    pub fn place_in(&self, reading: &OpenConversation) -> HitPlace {
        match reading.block_at(self.at.spot) {
            Some(block) => HitPlace::Block(block),
            None if self.agent != reading.target.agent => HitPlace::Elsewhere,
            None if self.at.kind == Kind::Title => HitPlace::Title,
            None if !reading.is_complete => HitPlace::LeftOut,
            None => HitPlace::Near(reading.last_block_before(self.at.time)),
        }
    }
}

impl Marker {
    /// Returns the ranges to mark in each of several texts.
    pub fn ranges<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> Vec<Vec<Range<usize>>> {
        let marks = self.query.as_ref().map(|(query, corrections)| Marks::new(query, corrections));
        let of = |text: &str| -> Vec<Range<usize>> {
            let found = marks.as_ref().map(|marks| marks.matches(text)).unwrap_or_default();
            found.into_iter().map(|(range, _)| range).collect()
        };
        texts.into_iter().map(of).collect()
    }
}
