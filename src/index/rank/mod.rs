//! From a [`Query`] to ranked hits.
//!
//! Candidates come from one disjunction over words and identifiers. The best of them are then looked at again: how
//! much of the query do they hold, do they hold it word for word. That is answered from postings; only where a query is
//! more than words are a few texts read, to see whether they hold it letter by letter.

pub(in crate::index) mod seek;
pub(in crate::index) mod collect;
pub(in crate::index) mod hits;
pub(in crate::index) mod spelling;
pub(in crate::index) mod candidates;
pub(in crate::index) mod exact_text;
pub(in crate::index) mod score;

use std::collections::HashMap;
use std::path::PathBuf;

use rayon::prelude::*;
use tantivy::collector::Collector as _;
use tantivy::query::EnableScoring;

use crate::document::{Kind, Role};
use crate::error::Result;
use crate::index::file_key::FileKey;
use crate::index::hash_map::HashMap64;
use crate::index::hash_map::HashSet64;
use crate::index::rank::candidates::{Candidates, SearchPlan};
use crate::index::rank::collect::{Details, HitCollector, RawHit, ShownElsewhere, Wanted, dedup};

use crate::index::rank::score::prior_for;
use crate::index::rank::spelling::Corrections;
use crate::index::read::Reader;
use crate::index::schema::{from_class, session_key};
use crate::query::{Filter, Query};
use crate::transcript::discover::SourceKind;

/// How many of the best candidates are looked at again.
const RESCORED: usize = 200;
/// So many more are, if they hold the query word for word, or a very rare word of it: a long text may hold just what is
/// looked for and still have a low score.
const RESERVED: usize = 100;
/// How much a name counts that belongs to no known session.
const NAMELESS: f32 = 0.7;
/// How many names of sessions are looked up.
const NAMES_CAP: usize = 16;

/// In which order hits come.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Sort {
    /// The best first.
    #[default]
    Relevance,
    /// The newest first.
    Newest,
    /// The oldest first.
    Oldest,
}

/// What to find, and how to order it.
#[derive(Clone, Copy, Debug)]
pub struct Search<'q> {
    /// The query.
    pub query: &'q Query,
    /// What may be found.
    pub filter: &'q Filter,
    /// What is looked for instead of words that are nowhere.
    pub corrections: &'q Corrections,
    /// In which order.
    pub sort: Sort,
    /// Whether plain words must all be there.
    pub strict: bool,
    /// The time, in milliseconds since 1970.
    pub now: i64,
}

/// What a score is made of: the product of these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// The words, by how often and how rare (BM25).
    pub words: f32,
    /// What it is and who speaks.
    pub kind: f32,
    /// How much of the query it holds.
    pub coverage: f32,
    /// Whether it holds the query word for word, as one identifier, or letter by letter.
    pub verbatim: f32,
    /// How new it is.
    pub age: f32,
}

/// All hits. Ordering all of them would take longer than finding them, so only the first few are in order at first.
#[derive(Clone, Debug, Default)]
pub struct Ranked {
    hits: Vec<RawHit>,
    in_order: usize,
    sort: Sort,
    factors: HashMap64<Factors>,
    /// How many sessions they are in.
    pub sessions: usize,
    /// Whether all of them are what Claude Code itself put in, which was not asked for.
    pub only_meta: bool,
}

impl Ranked {
    /// All hits, the first of them in order.
    pub fn hits(&self) -> &[RawHit] {
        &self.hits
    }

    /// How many of the hits are in order, the best first.
    pub fn in_order(&self) -> usize {
        self.in_order
    }

    /// What the score of a hit is made of, if it was looked at closely.
    pub fn factors(&self, hit: &RawHit) -> Option<Factors> {
        self.factors.get(&hit.group).copied()
    }

    /// Puts all hits in order.
    pub fn order_all(&mut self) {
        let sort = self.sort;
        self.hits[self.in_order..].sort_unstable_by(|a, b| a.order(b, sort));
        self.in_order = self.hits.len();
    }

    /// Drops what Claude Code itself put in: reminders and skills stand in every session. Left are those that hold the
    /// query word for word where nothing that was said does, or all of them where there is nothing else.
    fn drop_meta(&mut self) {
        let is_meta = |hit: &RawHit| from_class(hit.class).0 == Role::Meta;
        self.only_meta = !self.hits.is_empty() && self.hits.iter().all(is_meta);
        if self.only_meta || !self.hits.iter().any(is_meta) {
            return;
        }
        let mut hits = std::mem::take(&mut self.hits);
        let word_for_word = |hit: &RawHit| self.factors(hit).is_some_and(|found| found.verbatim > 1.0);
        let closest = &hits[..self.in_order];
        let said = self.sort != Sort::Relevance || closest.iter().any(|hit| !is_meta(hit) && word_for_word(hit));
        let stays = |hit: &RawHit| !is_meta(hit) || !said && word_for_word(hit);
        let in_order = closest.iter().filter(|hit| stays(hit)).count();
        hits.retain(stays);
        (self.hits, self.in_order) = (hits, in_order);
    }

    /// Keeps only those hits that a look at their texts has confirmed.
    pub fn retain(&mut self, keep: impl FnMut(&RawHit) -> bool) {
        self.order_all();
        self.hits.retain(keep);
        let told = ShownElsewhere::by(&self.hits);
        self.hits.retain(|hit| !told.tells(hit));
        self.in_order = self.hits.len();
        self.sessions = self.hits.iter().map(|hit| hit.session).collect::<HashSet64>().len();
    }
}

impl Reader {
    /// Finds all hits of a query; equal ones have a fixed order.
    pub fn find(&self, search: &Search<'_>) -> Result<Ranked> {
        self.guarded(|| {
            let Search { query, filter, corrections, sort, strict, .. } = *search;
            let plan = SearchPlan { query, filter, corrections, strict };
            let budget = Self::budget(plan);
            let mut matches = self.matches(plan, budget)?;
            let is_wanted = |found: &RawHit| finds_meta(plan) || from_class(found.class).0 != Role::Meta;
            if budget < u64::MAX && !matches.iter().any(is_wanted) {
                // The rare words may stand in nothing that is wanted.
                matches = self.matches(plan, u64::MAX)?;
            }
            let details = Details::of(self)?;
            let (mut hits, equals) = dedup(matches, &details, query.has_patterns());
            let look_up = |hit: &mut RawHit| hit.time = details.time(hit.address);
            if sort != Sort::Relevance {
                hits.iter_mut().for_each(look_up);
            }
            let in_order = best_first(&mut hits, sort);
            hits[..in_order].iter_mut().for_each(look_up);
            self.pick_copy(&mut hits[..in_order], &equals, &details)?;
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

    fn matches(&self, plan: SearchPlan<'_>, budget: u64) -> tantivy::Result<Vec<RawHit>> {
        let Candidates { query, ranking, in_order, rare } = self.candidates(plan, budget)?;
        let wanted =
            Wanted { without: plan.filter.without_session.as_deref().map(session_key), prior: prior_for(plan.query) };
        let scoring = EnableScoring::enabled_from_searcher(&self.searcher);
        let gather = HitCollector {
            wanted,
            ranking: ranking.iter().map(|one| one.weight(scoring)).collect::<tantivy::Result<_>>()?,
            in_order: in_order.map(|words| words.weight(scoring)).transpose()?,
            rare: rare.map(|word| word.weight(scoring)).transpose()?,
        };
        let weight = query.weight(scoring)?;
        let segments = self.searcher.segment_readers().par_iter().with_max_len(1).enumerate();
        let found = segments.map(|(ord, reader)| gather.collect_segment(&*weight, ord as u32, reader));
        gather.merge_fruits(found.collect::<tantivy::Result<_>>()?)
    }

    /// Of copies of equal age, shows that of the conversation itself rather than what a subagent was given, and then the
    /// one whose file comes first.
    fn pick_copy(
        &self,
        hits: &mut [RawHit],
        equals: &HashMap64<Vec<RawHit>>,
        details: &Details<'_>,
    ) -> tantivy::Result<()> {
        let mut places: HashMap<FileKey, (bool, PathBuf)> = HashMap::new();
        for hit in hits.iter_mut() {
            let Some(copies) = equals.get(&hit.group) else { continue };
            let mut placed = Vec::with_capacity(copies.len());
            for copy in copies.iter().filter(|copy| details.time(copy.address) == hit.time) {
                let place = places.entry(self.source_key(copy.address)?).or_insert_with_key(|key| {
                    let file = self.summary(*key).ok().flatten();
                    file.map(|file| (file.source_kind() == SourceKind::Agent, file.path())).unwrap_or_default()
                });
                placed.push(((from_class(copy.class).2, place.clone()), copy));
            }
            let line = |one: &RawHit| (self.line_of(one.address), one.address);
            let better = |a: &RawHit, b: &RawHit| b.score.total_cmp(&a.score).then_with(|| line(a).cmp(&line(b)));
            if let Some((_, first)) = placed.into_iter().min_by(|a, b| a.0.cmp(&b.0).then_with(|| better(a.1, b.1))) {
                let (in_order, rare) = (hit.in_order, hit.rare);
                *hit = RawHit { score: hit.score, time: hit.time, in_order, rare, ..*first };
            }
        }
        Ok(())
    }

    /// A name that a file gives to another session, by way of a message, is a hit of that one.
    fn attribute_titles(&self, hits: &mut [RawHit]) -> tantivy::Result<()> {
        let names = hits.iter_mut().filter(|hit| from_class(hit.class).1 == Kind::Title);
        for hit in names.take(NAMES_CAP) {
            match self.named_session(hit.address)? {
                Some(Some(session)) => hit.session = session_key(&session),
                Some(None) => hit.score *= NAMELESS,
                None => {}
            }
        }
        Ok(())
    }
}

/// Puts those that are looked at again to the front, and says how many they are.
fn best_first(hits: &mut [RawHit], sort: Sort) -> usize {
    let first = |hits: &mut [RawHit], count: usize| {
        if count < hits.len() {
            hits.select_nth_unstable_by(count, |a, b| a.order(b, sort));
        }
        count.min(hits.len())
    };
    if sort != Sort::Relevance || hits.len() <= RESCORED {
        return first(hits, RESCORED);
    }
    let mut close = 0;
    for at in 0..hits.len() {
        if hits[at].in_order || hits[at].rare {
            hits.swap(at, close);
            close += 1;
        }
    }
    let reserved = first(&mut hits[..close], RESERVED);
    reserved + first(&mut hits[reserved..], RESCORED)
}

impl RawHit {
    /// The better score first, then the newer, then a fixed order; or by time alone.
    fn order(&self, other: &Self, sort: Sort) -> std::cmp::Ordering {
        let newest = |hit: &Self| if hit.time == i64::MAX { i64::MIN } else { hit.time };
        let newer = || newest(other).cmp(&newest(self));
        let better = || other.score.total_cmp(&self.score);
        let first = match sort {
            Sort::Relevance => better().then_with(newer),
            Sort::Newest => newer().then_with(better),
            Sort::Oldest => self.time.cmp(&other.time).then_with(better),
        };
        first.then_with(|| self.group.cmp(&other.group))
    }
}

fn finds_meta(plan: SearchPlan<'_>) -> bool {
    let in_query = Filter { conditions: plan.query.conditions.clone(), ..Filter::default() };
    plan.filter.finds_meta() || in_query.finds_meta()
}
