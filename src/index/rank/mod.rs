//! Runs a [`Query`] against the index and ranks the hits.
//!
//! One disjunction over words and identifiers selects the candidates. tantivy scores words by BM25, and `collect` adds
//! up the clauses. The best of them are then rescored by how much of
//! the query they contain, and whether they contain it word for word. Postings answer both. Texts are read only if the
//! query is more than words, and only a few of them, to find those that contain it letter by letter.

mod weights;
mod factors;
pub(in crate::index) mod seek;
pub(in crate::index) mod common_words;
pub(in crate::index) mod collect;
pub(in crate::index) mod dedup;
pub(in crate::index) mod fetch;
pub(in crate::index) mod corrections;
pub(in crate::index) mod spelling;
pub(in crate::index) mod candidates;
pub(in crate::index) mod verbatim;
pub(in crate::index) mod score;
mod prose_ranking;
mod missing_words;

use std::collections::HashMap;
use std::path::PathBuf;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tantivy::collector::Collector as _;
use tantivy::query::{EnableScoring, Weight};

use crate::document::{Kind, Role};
use crate::error::Result;
use crate::index::file_key::FileKey;
use crate::index::hash_map::HashMap64;
use crate::index::hash_map::HashSet64;
use crate::index::rank::candidates::{Candidates, SearchPlan};
use crate::index::rank::collect::{HitCollector, HitFilter, RawHit};
use crate::index::rank::corrections::Corrections;
use crate::index::rank::dedup::{Details, ShownElsewhere, dedup};
use crate::index::rank::factors::prior_for;
use crate::index::rank::weights::{RESCORED, RESERVED};
use crate::index::read::Reader;
use crate::index::schema::{from_class, session_key};
use crate::query::{Filter, Query};
use crate::transcript::discover::SourceKind;

pub use factors::Factors;

/// The most titles whose sessions are looked up in one search.
const TITLES_CAP: usize = 16;

/// The order of hits.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// Best first.
    #[default]
    Relevance,
    /// Newest first.
    Newest,
    /// Oldest first.
    Oldest,
}

/// A query, and everything else that affects its hits and their order.
#[derive(Clone, Copy, Debug)]
pub struct Search<'q> {
    /// The query.
    pub query: &'q Query,
    /// Restricts the hits.
    pub filter: &'q Filter,
    /// Terms to search for besides the words of the query, or instead of unknown ones.
    pub corrections: &'q Corrections,
    /// The order of the hits.
    pub sort: Sort,
    /// Set if a hit must contain all plain words.
    pub strict: bool,
    /// The current time, in milliseconds since 1970.
    pub now: i64,
}

/// All hits of a search. Sorting all of them would take longer than finding them, so at first only the best are sorted.
#[derive(Clone, Debug, Default)]
pub struct Ranked {
    hits: Vec<RawHit>,
    in_order: usize,
    sort: Sort,
    factors: HashMap64<Factors>,
    /// The number of sessions with a hit.
    pub sessions: usize,
    /// Set if Claude Code itself inserted the texts of all hits, although the search does not ask for such texts.
    pub only_meta: bool,
}

impl Ranked {
    /// All hits. Only the first [`Self::in_order()`] of them are sorted.
    pub fn hits(&self) -> &[RawHit] {
        &self.hits
    }

    /// The number of hits at the front that are sorted.
    pub fn in_order(&self) -> usize {
        self.in_order
    }

    /// Returns the factors of a hit's score, if the hit was rescored.
    pub fn factors(&self, hit: &RawHit) -> Option<Factors> {
        self.factors.get(&hit.group).copied()
    }

    /// Sorts all hits.
    pub fn order_all(&mut self) {
        let sort = self.sort;
        self.hits[self.in_order..].sort_unstable_by(|a, b| a.order(b, sort));
        self.in_order = self.hits.len();
    }

    /// Removes texts that Claude Code itself inserted, because every session contains reminders and skills. All of them
    /// stay if there are no other hits. When sorting by relevance, those that contain the query word for word stay if
    /// no other hit does.
    fn drop_meta(&mut self) {
        let is_meta = |hit: &RawHit| from_class(hit.class).0 == Role::Meta;
        self.only_meta = !self.hits.is_empty() && self.hits.iter().all(is_meta);
        if self.only_meta || !self.hits.iter().any(is_meta) {
            return;
        }
        let mut hits = std::mem::take(&mut self.hits);
        let is_verbatim = |hit: &RawHit| self.factors(hit).is_some_and(|factors| factors.verbatim > 1.0);
        let sorted = &hits[..self.in_order];
        let drop_all = self.sort != Sort::Relevance || sorted.iter().any(|hit| !is_meta(hit) && is_verbatim(hit));
        let stays = |hit: &RawHit| !is_meta(hit) || !drop_all && is_verbatim(hit);
        let in_order = sorted.iter().filter(|hit| stays(hit)).count();
        hits.retain(stays);
        (self.hits, self.in_order) = (hits, in_order);
    }

    /// Keeps only the hits that `keep` confirms after their texts were read. Also removes prompts of the history that
    /// the remaining hits already show.
    pub fn retain(&mut self, keep: impl FnMut(&RawHit) -> bool) {
        self.order_all();
        self.hits.retain(keep);
        let elsewhere = ShownElsewhere::by(&self.hits);
        self.hits.retain(|hit| !elsewhere.shows(hit));
        self.in_order = self.hits.len();
        self.sessions = self.hits.iter().map(|hit| hit.session).collect::<HashSet64>().len();
    }
}

impl Reader {
    /// Finds all hits of a query. Hits with the same score have a fixed order.
    pub fn find(&self, search: &Search<'_>) -> Result<Ranked> {
        self.guarded(|| {
            let Search { query, filter, corrections, sort, strict, .. } = *search;
            let plan = SearchPlan { query, filter, corrections, strict };
            let budget = Self::budget(plan);
            let mut matches = self.matches(plan, budget)?;
            let is_wanted = |hit: &RawHit| finds_meta(plan) || from_class(hit.class).0 != Role::Meta;
            if budget < u64::MAX && !matches.iter().any(is_wanted) {
                // No wanted message contains the rare words, so common words must select too.
                matches = self.matches(plan, u64::MAX)?;
            }
            let details = Details::of(self)?;
            let (mut hits, copies_by_group) = dedup(matches, &details, query.has_patterns());
            let set_time = |hit: &mut RawHit| hit.time = details.time(hit.address);
            if sort != Sort::Relevance {
                hits.iter_mut().for_each(set_time);
            }
            let in_order = best_first(&mut hits, sort);
            hits[..in_order].iter_mut().for_each(set_time);
            self.pick_copy(&mut hits[..in_order], &copies_by_group, &details)?;
            self.attribute_titles(&mut hits[..in_order])?;
            let mut factors = self.rescore(search, &mut hits[..in_order])?;
            hits[..in_order].sort_unstable_by(|a, b| a.order(b, sort));
            if sort == Sort::Relevance {
                self.boost_verbatim(query, &mut hits[..in_order], &mut factors);
                hits[..in_order].sort_unstable_by(|a, b| a.order(b, sort));
            }
            let mut ranked = Ranked { hits, in_order, sort, factors, ..Ranked::default() };
            if !finds_meta(plan) {
                ranked.drop_meta();
            }
            ranked.sessions = ranked.hits.iter().map(|hit| hit.session).collect::<HashSet64>().len();
            Ok(ranked)
        })
    }

    /// Returns all documents that match, with their first scores. Plain words select up to `budget` documents.
    fn matches(&self, plan: SearchPlan<'_>, budget: u64) -> tantivy::Result<Vec<RawHit>> {
        let Candidates { query, ranking, in_order, rare } = self.candidates(plan, budget)?;
        let filter = HitFilter {
            without: plan.filter.without_session.as_deref().map(session_key),
            prior: prior_for(plan.query),
        };
        let scoring = EnableScoring::enabled_from_searcher(&self.searcher);
        let collector = HitCollector {
            filter,
            ranking: ranking.iter().map(|query| query.weight(scoring)).collect::<tantivy::Result<_>>()?,
            in_order: in_order.map(|words| words.weight(scoring)).transpose()?,
            rare: rare.map(|word| word.weight(scoring)).transpose()?,
        };
        self.collect(&collector, &*query.weight(scoring)?)
    }

    /// Collects the matches of a query from all segments, in parallel.
    fn collect(&self, collector: &HitCollector, weight: &dyn Weight) -> tantivy::Result<Vec<RawHit>> {
        let segments = self.searcher.segment_readers().par_iter().with_max_len(1).enumerate();
        let found = segments.map(|(ord, reader)| collector.collect_segment(weight, ord as u32, reader));
        collector.merge_fruits(found.collect::<tantivy::Result<_>>()?)
    }

    /// Replaces each hit with the copy of it to show. Of copies with the same time, one that is not a duplicate comes
    /// first, then one in the conversation itself rather than in a subagent's transcript, then the one whose path sorts
    /// first.
    fn pick_copy(
        &self,
        hits: &mut [RawHit],
        copies_by_group: &HashMap64<Vec<RawHit>>,
        details: &Details<'_>,
    ) -> tantivy::Result<()> {
        let mut locations: HashMap<FileKey, (bool, PathBuf)> = HashMap::new();
        for hit in hits.iter_mut() {
            let Some(copies) = copies_by_group.get(&hit.group) else { continue };
            let mut located = Vec::with_capacity(copies.len());
            for copy in copies.iter().filter(|copy| details.time(copy.address) == hit.time) {
                let location = locations.entry(self.source_key(copy.address)?).or_insert_with_key(|key| {
                    let file = self.summary(*key).ok().flatten();
                    file.map(|file| (file.source_kind() == SourceKind::Agent, file.path())).unwrap_or_default()
                });
                located.push(((from_class(copy.class).2, location.clone()), copy));
            }
            let line = |copy: &RawHit| (self.line_of(copy.address), copy.address);
            let better = |a: &RawHit, b: &RawHit| b.score.total_cmp(&a.score).then_with(|| line(a).cmp(&line(b)));
            if let Some((_, first)) = located.into_iter().min_by(|a, b| a.0.cmp(&b.0).then_with(|| better(a.1, b.1))) {
                let (in_order, rare) = (hit.in_order, hit.rare);
                *hit = RawHit { score: hit.score, time: hit.time, in_order, rare, ..*first };
            }
        }
        Ok(())
    }

    /// Assigns titles to the sessions they are about. A title may identify its session by a message, and a file may
    /// contain titles of other sessions.
    fn attribute_titles(&self, hits: &mut [RawHit]) -> tantivy::Result<()> {
        let titles = hits.iter_mut().filter(|hit| from_class(hit.class).1 == Kind::Title);
        for hit in titles.take(TITLES_CAP) {
            match self.named_session(hit.address)? {
                Some(Some(session)) => hit.session = session_key(&session),
                Some(None) => hit.is_nameless = true,
                None => {}
            }
        }
        Ok(())
    }
}

/// Moves the best hits to the front and returns their number, at most `count`.
fn select_best(hits: &mut [RawHit], count: usize, sort: Sort) -> usize {
    if count < hits.len() {
        hits.select_nth_unstable_by(count, |a, b| a.order(b, sort));
    }
    count.min(hits.len())
}

/// Moves the hits to be rescored to the front and returns their number.
fn best_first(hits: &mut [RawHit], sort: Sort) -> usize {
    if sort != Sort::Relevance || hits.len() <= RESCORED {
        return select_best(hits, RESCORED, sort);
    }
    let mut promising = 0;
    for at in 0..hits.len() {
        if hits[at].in_order || hits[at].rare {
            hits.swap(at, promising);
            promising += 1;
        }
    }
    let reserved = select_best(&mut hits[..promising], RESERVED, sort);
    reserved + select_best(&mut hits[reserved..], RESCORED, sort)
}

impl RawHit {
    /// Compares by score and then time, or by time and then score. The group breaks ties, so that the order is fixed.
    fn order(&self, other: &Self, sort: Sort) -> std::cmp::Ordering {
        // Newest first, hits without a time come last.
        let known_time = |hit: &Self| if hit.time == i64::MAX { i64::MIN } else { hit.time };
        let newer = || known_time(other).cmp(&known_time(self));
        let better = || other.score.total_cmp(&self.score);
        let first = match sort {
            Sort::Relevance => better().then_with(newer),
            Sort::Newest => newer().then_with(better),
            Sort::Oldest => self.time.cmp(&other.time).then_with(better),
        };
        first.then_with(|| self.group.cmp(&other.group))
    }
}

/// Reports whether the filter or the query asks for texts that Claude Code itself inserted.
fn finds_meta(plan: SearchPlan<'_>) -> bool {
    let in_query = Filter { conditions: plan.query.conditions.clone(), ..Filter::default() };
    plan.filter.finds_meta() || in_query.finds_meta()
}
