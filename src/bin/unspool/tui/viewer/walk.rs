//! The walk from hit to hit, and the number of hits in each block.

use std::collections::HashMap;

use ratatui::text::{Line, Span};
use unspool::archive::occurrences::{HitPlace, Occurrence};
use unspool::archive::{Occurrences, OpenConversation};

use super::Viewer;
use crate::tui::theme::cut_line;

/// The next hit of the walk.
pub(crate) enum NextHit {
    /// It is shown now.
    Here,
    /// It is in another conversation of the session, or in messages that are left out here.
    Elsewhere {
        hit: usize,
        agent: Option<String>,
        /// Set if it is in messages that are left out by default.
        is_left_out: bool,
    },
    /// There is none.
    Nowhere,
}

/// The number of hits in each block and in each subagent.
#[derive(Default)]
pub(super) struct HitCounts {
    blocks: HashMap<usize, usize>,
    agents: HashMap<String, usize>,
}

impl HitCounts {
    pub(super) fn new(reading: &OpenConversation, found: &Occurrences) -> Self {
        let mut counts = Self::default();
        for hit in &found.hits {
            match (hit.place_in(reading), &hit.agent) {
                (HitPlace::Block(block), _) => *counts.blocks.entry(block).or_default() += 1,
                (_, Some(agent)) => *counts.agents.entry(agent.clone()).or_default() += 1,
                _ => {}
            }
        }
        counts
    }

    pub(super) fn in_block(&self, block: usize) -> usize {
        self.blocks.get(&block).copied().unwrap_or(0)
    }

    pub(super) fn in_agent(&self, agent: &str) -> usize {
        self.agents.get(agent).copied().unwrap_or(0)
    }

    /// Returns the blocks with hits.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &usize> {
        self.blocks.keys()
    }
}

impl Viewer {
    /// Returns the number of hits in the session.
    pub(crate) fn hits(&self) -> usize {
        self.found.as_ref().map_or(0, |found| found.hits.len())
    }

    /// Walks to the next or previous hit of the session. The second value is set if the walk begins again at the other
    /// end.
    pub(crate) fn walk(&mut self, forward: bool) -> (NextHit, bool) {
        let number = self.hits();
        let to = match (self.hit, forward) {
            _ if number == 0 => return (NextHit::Nowhere, false),
            (None, true) => 0,
            (None, false) => number - 1,
            (Some(hit), true) => (hit + 1) % number,
            (Some(hit), false) => (hit + number - 1) % number,
        };
        let begins_again = self.hit.is_some_and(|hit| if forward { to <= hit } else { to >= hit });
        (self.step_to(to), begins_again)
    }

    fn step_to(&mut self, hit: usize) -> NextHit {
        let Some(found) = self.found.clone() else { return NextHit::Nowhere };
        let place = found.hits[hit].place_in(&self.reading);
        if matches!(place, HitPlace::Elsewhere | HitPlace::LeftOut) {
            let is_left_out = place == HitPlace::LeftOut;
            return NextHit::Elsewhere { hit, agent: found.hits[hit].agent.clone(), is_left_out };
        }
        self.show_hit(hit);
        NextHit::Here
    }

    /// Shows a hit: opens its fold and moves to the first marked line.
    pub(crate) fn show_hit(&mut self, hit: usize) {
        let Some(found) = self.found.clone() else { return };
        let Some(occurrence) = found.hits.get(hit) else { return };
        self.hit = Some(hit);
        let place = occurrence.place_in(&self.reading);
        match place {
            HitPlace::Block(block) | HitPlace::Near(block) => {
                let extent = occurrence.extent_in(&self.reading);
                self.set_extent(block, extent);
                let is_before = |other: &&Occurrence| {
                    other.place_in(&self.reading) == place && other.extent_in(&self.reading) == extent
                };
                let before = found.hits[..hit].iter().filter(is_before).count();
                self.show_block(block, before);
            }
            HitPlace::Title => self.go_to_top(),
            HitPlace::LeftOut | HitPlace::Elsewhere => {}
        }
    }

    /// Returns the first hit whose place fits.
    pub(crate) fn hit_at(&self, fits: impl Fn(HitPlace) -> bool) -> Option<usize> {
        let found = self.found.as_ref()?;
        found.hits.iter().position(|hit| fits(hit.place_in(&self.reading)))
    }

    /// Returns the place in the walk: `hit 3 of 13`.
    pub(crate) fn hit_label(&self) -> String {
        match (self.hit, self.hits()) {
            (_, 0) => String::new(),
            (Some(hit), all) => format!("hit {} of {all}", hit + 1),
            (None, 1) => "1 hit".to_string(),
            (None, all) => format!("{all} hits"),
        }
    }

    /// Adds a number of hits to the first line that has a sign.
    pub(super) fn note_hits(&self, lines: &mut [Line<'static>], sign: char, number: usize) {
        let has_sign = |span: &Span<'_>| span.content.contains(sign);
        let Some(head) = lines.iter_mut().find(|line| line.spans.iter().any(has_sign)) else { return };
        if number > 0 {
            let note = if number == 1 { "1 hit  ".to_string() } else { format!("{number} hits  ") };
            // Before the summary, which may fill the line.
            let at = head.spans.iter().position(has_sign).map_or(0, |at| at + 1);
            head.spans.insert(at, Span::styled(note, self.theme.hit()));
            *head = cut_line(std::mem::take(head), self.layout.width);
        }
    }
}
