//! Offers: the filters of the query, which can be dropped one by one, and what helps after a search without hits. Each
//! has a number. The menu of all actions lists them as well.

use super::*;
use crate::tui::list::filters;
use crate::tui::overlay::Menu;

/// Something that a number key or a click does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Offer {
    /// Drop the filter in this range of the query.
    Drop(std::ops::Range<usize>),
    /// Change the query as suggested.
    Take(Suggestion),
}

impl App {
    /// Returns the offers, in the order of their numbers.
    pub(crate) fn offers(&self) -> Vec<Offer> {
        let dropped = filters(self.input.value()).into_iter().map(Offer::Drop);
        let is_empty = self.entries.is_empty();
        let suggested = self.suggestions.iter().filter(|_| is_empty).cloned().map(Offer::Take);
        dropped.chain(suggested).take(9).collect()
    }

    /// Returns the text of an offer.
    pub(crate) fn offer_text(&self, offer: &Offer) -> String {
        match offer {
            Offer::Drop(range) => format!("searches without {}", one_line(&self.input.value()[range.clone()])),
            Offer::Take(suggestion) => {
                let query = suggestion.query.as_deref().map(|query| format!(": {query}")).unwrap_or_default();
                let plural = if suggestion.hits == 1 { "" } else { "s" };
                one_line(&format!("{}{query} ({} hit{plural})", suggestion.change, suggestion.hits))
            }
        }
    }

    /// Does what an offer says.
    pub(super) fn take_offer(&mut self, number: u8) {
        match self.offers().into_iter().nth(usize::from(number).saturating_sub(1)) {
            Some(Offer::Drop(range)) => self.drop_filters(|other| *other == range),
            Some(Offer::Take(suggestion)) => self.follow_suggestion(&suggestion),
            None => self.status_line = Some("nothing has this number".to_string()),
        }
    }

    /// Drops the last filter of the query.
    pub(super) fn drop_last_filter(&mut self) {
        if let Some(last) = filters(self.input.value()).pop() {
            self.drop_filters(|range| *range == last);
        }
    }

    /// Takes the first suggestion that changes the words.
    pub(super) fn correct(&mut self) {
        match self.suggestions.iter().find(|suggestion| suggestion.query.is_some()).cloned() {
            Some(suggestion) => self.follow_suggestion(&suggestion),
            None => self.status_line = Some("no suggestion for this query".to_string()),
        }
    }

    fn follow_suggestion(&mut self, suggestion: &Suggestion) {
        if let Some(query) = &suggestion.query {
            return self.set_query(query.clone());
        }
        let dropped = &suggestion.drop;
        if dropped.contains(&"here") || dropped.contains(&"project") {
            self.scope = Scope::All;
            self.project = None;
        }
        self.setup.filters.include_current |= suggestion.add.is_some();
        let query = self.input.value().to_string();
        let is_dropped = |range: &std::ops::Range<usize>| {
            let word = &query[range.clone()];
            let field = word.trim_start_matches('-').split_once(':').map_or("", |(field, _)| field);
            dropped.contains(&field) || dropped.contains(&word)
        };
        self.drop_filters(is_dropped);
        if dropped.contains(&"not") {
            let kept = self.input.value().split_whitespace().filter(|word| !word.starts_with('-'));
            self.set_query(kept.collect::<Vec<_>>().join(" "));
        }
    }

    /// Removes filters from the query and searches again.
    fn drop_filters(&mut self, is_dropped: impl Fn(&std::ops::Range<usize>) -> bool) {
        let mut query = self.input.value().to_string();
        for range in filters(&query).into_iter().rev().filter(is_dropped) {
            query.replace_range(range, "");
        }
        self.set_query(query.split_whitespace().collect::<Vec<_>>().join(" "));
    }

    /// Returns the reason why the session in question cannot be resumed, if that is known.
    pub(crate) fn why_no_resume(&self) -> Option<&'static str> {
        let (gone, history_only, agents_only) = match (self.open.last(), self.entries.get(self.selected)) {
            (Some(viewer), _) => {
                let session = &viewer.reading.session;
                (session.gone, session.history_only, session.agents_only)
            }
            (None, Some(entry)) => (entry.info.gone, entry.info.history_only, entry.info.agents_only),
            (None, None) => return None,
        };
        match (gone, history_only, agents_only) {
            (_, true, _) => Some("prompts only, no resume"),
            (true, ..) => Some("transcript gone, no resume"),
            (.., true) => Some("subagents only, no resume"),
            _ => None,
        }
    }

    /// Opens the menu of all actions. Actions that are impossible now are left out.
    pub(super) fn show_menu(&mut self) {
        let reason = self.why_no_resume();
        let is_possible = |what: KeyAction| reason.is_none() || !what.resumes();
        let actions = self.setup.keys.menu(self.place()).into_iter().filter(|(.., what)| is_possible(*what));
        let mut items: Vec<_> = actions.map(|(letter, text, what)| (letter, text.to_string(), what)).collect();
        let offers = (1..).zip(self.offers());
        items.extend(
            offers
                .map(|(number, offer)| (char::from(b'0' + number), self.offer_text(&offer), KeyAction::Offer(number))),
        );
        let title = reason.map_or_else(|| "Actions".to_string(), |reason| format!("Actions · {reason}"));
        self.overlay = Some(Overlay::Menu(Menu { title, items, at: 0 }));
    }
}
