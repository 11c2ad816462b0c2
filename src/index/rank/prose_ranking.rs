//! A second ranking for questions in prose: of what people and Claude said, not of what tools printed.
//!
//! Tools print the words of a question far more often than anybody says them, and then crowd out the message that answers
//! it. The second ranking is plain BM25 over what was said. It is used only if nothing contains the question almost as
//! typed, because then the first ranking is better.
//!
//! On 1.4 GB of real sessions, plain BM25 over what was said raised the session MRR of questions in prose from .520 to
//! .600. On our own questions it changes little: .426 instead of .423 on the sample of real sessions (49 MB, 119
//! questions), .708 instead of .742 on the fixtures (106 questions). The answer itself is found about as often on the
//! fixtures, and more often on the sample (message MRR of paraphrases .096 instead of .071).
//!
//! The gate knows function words of seven languages with blanks between words. Chinese, Japanese and Korean stay with the
//! first ranking: plain BM25 over what was said looked better for them (.667 → .742), but on 11 queries only.
//!
//! There is no embedding model, because none within reach helps enough. On 1.4 GB of real sessions, questions in prose
//! have a session MRR of .520 with the first ranking alone, and .600 to .622 with lexical rankings like this one. Static
//! token vectors alone reach .410, vectors learnt from the corpus .289, and both on top of the lexical ranking add .004,
//! which is noise. Re-ranking the best 50 with MiniLM gives .653, not significantly more, and takes 1.7 CPU-seconds a
//! query.

use std::collections::HashSet;

use tantivy::query::{BooleanQuery, EnableScoring, Query as TantivyQuery};
use tantivy::{DocAddress, Score};

use crate::document::{Kind, Role};
use crate::error::Result;
use crate::index::hash_map::{HashMap64, HashSet64};
use crate::index::rank::candidates::{boosted, corrected_sequence, phrase, term};
use crate::index::rank::collect::{HitCollector, HitFilter, RawHit};
use crate::index::rank::common_words::is_common_word;
use crate::index::rank::dedup::{Details, dedup};
use crate::index::rank::weights::{COMMON_SAID, FIRST_RANKING, PAIRS_QUOTED, SAID_RANKED, TOP_HITS};
use crate::index::rank::{Factors, Ranked, Search, select_best};
use crate::index::read::Reader;
use crate::index::schema::{from_class, session_key};

type Queries = Vec<Box<dyn TantivyQuery>>;

impl Reader {
    /// Ranks the hits of a question in prose again, by what was said. Returns false and changes nothing if one of the
    /// best hits contains the question almost as typed, or if nobody said a word of it.
    pub fn rank_said(&self, search: &Search<'_>, ranked: &mut Ranked) -> Result<bool> {
        self.guarded(|| {
            if self.is_almost_quoted(search, ranked)? {
                return Ok(false);
            }
            let details = Details::of(self)?;
            let (mut said, copies) = dedup(self.said(search)?, &details, false);
            let count = select_best(&mut said, SAID_RANKED, search.sort);
            said.truncate(count);
            if said.is_empty() {
                return Ok(false);
            }
            said.iter_mut().for_each(|hit| hit.time = details.time(hit.address));
            self.pick_copy(&mut said, &copies, &details)?;
            self.attribute_titles(&mut said)?;
            said.sort_unstable_by_key(|hit| hit.address);
            let addresses: Vec<DocAddress> = said.iter().map(|hit| hit.address).collect();
            let covered = self.coverage(search, &addresses)?;
            ranked.blend(said, &covered);
            Ok(true)
        })
    }

    /// Reports whether one of the best hits contains the whole query, or half of its neighbouring words as neighbours.
    fn is_almost_quoted(&self, search: &Search<'_>, ranked: &Ranked) -> tantivy::Result<bool> {
        let best = &ranked.hits()[..ranked.in_order().min(TOP_HITS)];
        if best.iter().any(|hit| ranked.factors(hit).is_some_and(|factors| factors.verbatim > 1.0)) {
            return Ok(true);
        }
        let mut addresses: Vec<DocAddress> = best.iter().map(|hit| hit.address).collect();
        addresses.sort_unstable();
        let sequence = corrected_sequence(search.query, search.corrections);
        let mut found = vec![0; addresses.len()];
        for pair in sequence.windows(2) {
            let matches = self.match_each(&*phrase(self.fields.body, pair), &addresses)?;
            found.iter_mut().zip(matches).for_each(|(found, matches)| *found += usize::from(matches));
        }
        let pairs = sequence.len().saturating_sub(1);
        Ok(found.into_iter().any(|found| found as f32 >= pairs as f32 * PAIRS_QUOTED))
    }

    /// Returns everything that was said and contains a significant word of the query, with its BM25 score.
    fn said(&self, search: &Search<'_>) -> tantivy::Result<Vec<RawHit>> {
        let scoring = EnableScoring::enabled_from_searcher(&self.searcher);
        let (common, significant) = self.words_said(search);
        let (selecting, ranking) = if significant.is_empty() { (common, Vec::new()) } else { (significant, common) };
        let without = search.filter.without_session.as_deref().map(session_key);
        let collector = HitCollector {
            filter: HitFilter { without, prior: is_said },
            ranking: ranking.iter().map(|query| query.weight(scoring)).collect::<tantivy::Result<_>>()?,
            in_order: None,
            rare: None,
        };
        self.collect(&collector, &*BooleanQuery::union(selecting).weight(scoring)?)
    }

    /// Returns queries for the common and for the significant words of the query, and for corrections and other forms
    /// of them.
    fn words_said(&self, search: &Search<'_>) -> (Queries, Queries) {
        let body = self.fields.body;
        let (mut common, mut significant, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        let words = search.query.chunks.iter().flat_map(|chunk| &chunk.terms);
        for word in words.filter(|word| seen.insert(word.as_str())) {
            match search.corrections.of(word) {
                Some(others) => significant.extend(others.iter().map(|it| boosted(term(body, &it.term), it.weight))),
                None if is_common_word(word) => common.push(boosted(term(body, word), COMMON_SAID)),
                None => {
                    significant.push(term(body, word));
                    let forms = search.corrections.forms_of(word);
                    significant.extend(forms.iter().map(|it| boosted(term(body, &it.term), it.weight)));
                }
            }
        }
        (common, significant)
    }
}

impl Ranked {
    /// Adds the hits of the second ranking. Each score is relative to the best of its ranking, and the first ranking
    /// counts for a small share. `covered` is the share of the query that each hit contains.
    fn blend(&mut self, said: Vec<RawHit>, covered: &[f32]) {
        let best = |hits: &[RawHit]| hits.iter().map(|hit| hit.score).fold(f32::MIN_POSITIVE, f32::max);
        let tail = self.hits.split_off(self.in_order);
        let (best_said, best_first) = (best(&said), best(&self.hits));
        let mut places: HashMap64<usize> = HashMap64::default();
        for (at, hit) in self.hits.iter_mut().enumerate() {
            hit.score *= FIRST_RANKING / best_first;
            places.insert(hit.group, at);
        }
        for (hit, covered) in said.into_iter().zip(covered) {
            let score = hit.score / best_said;
            match places.get(&hit.group) {
                Some(at) => self.hits[*at].score += score,
                None => {
                    places.insert(hit.group, self.hits.len());
                    self.factors.insert(hit.group, Factors::of_words(hit.score, *covered));
                    self.hits.push(RawHit { score, ..hit });
                }
            }
        }
        for hit in &self.hits {
            if let Some(factors) = self.factors.get_mut(&hit.group) {
                factors.rank_as_said(hit.score);
            }
        }
        self.in_order = self.hits.len();
        self.hits.sort_unstable_by(|a, b| a.order(b, self.sort));
        self.hits.extend(tail.into_iter().filter(|hit| !places.contains_key(&hit.group)));
        self.sessions = self.hits.iter().map(|hit| hit.session).collect::<HashSet64>().len();
    }
}

/// Returns 1 for what people and Claude said, and 0 for everything else.
fn is_said(class: u64) -> Score {
    let (role, kind, _) = from_class(class);
    let is_said =
        matches!(kind, Kind::Prompt | Kind::Text | Kind::Thinking | Kind::Title | Kind::Compaction | Kind::Recap);
    if is_said && role != Role::Meta { 1.0 } else { 0.0 }
}
