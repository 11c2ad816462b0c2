//! The list of sessions with their best hits, and the text of the query with its filters.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;
use unspool::archive::request::Filters;
use unspool::archive::search::{Hit, SessionHits};
use unspool::archive::{SessionInfo, sessions::Session};
use unspool::render::terminal::style::Screen;
use unspool::untrusted::{for_terminal, one_line};

use crate::tui::theme::{Theme, cut, cut_line};

/// A session in the list.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) info: SessionInfo,
    pub(crate) hits: Vec<Hit>,
    pub(crate) total: usize,
    /// More about it, if it is not a result of a search.
    facts: String,
}

impl Entry {
    pub(crate) fn of_hits(found: SessionHits) -> Self {
        Self { info: found.session, hits: found.hits, total: found.total, facts: String::new() }
    }

    pub(crate) fn of_session(session: &Session) -> Self {
        let plural = |number: u64, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
        let info = SessionInfo {
            id: session.id.clone(),
            title: session.title.clone(),
            project: session.project.clone(),
            branch: session.branch.clone(),
            first: session.first,
            last: session.last,
            gone: session.gone,
            agents_only: session.agents_only,
            history_only: session.history_only,
        };
        let facts = [plural(session.prompts, "prompt"), plural(session.files_changed as u64, "file") + " changed"];
        Self { info, hits: Vec::new(), total: 0, facts: facts.join(", ") }
    }

    pub(crate) fn id(&self) -> &str {
        self.info.id.raw()
    }

    /// Returns the number of rows it takes.
    pub(crate) fn height(&self, hits: usize) -> usize {
        2 + self.hits.len().min(hits)
    }
}

/// Draws the list with the selected entry in view.
pub(crate) struct ListView<'a> {
    pub(crate) entries: &'a [Entry],
    pub(crate) selected: usize,
    pub(crate) top: usize,
    pub(crate) hits: usize,
    pub(crate) screen: &'a Screen,
    pub(crate) theme: Theme,
}

impl ListView<'_> {
    /// Returns the first entry to show, so that the selected one is in view.
    pub(crate) fn scrolled(&self, height: usize) -> usize {
        let mut top = self.top.min(self.selected);
        while top < self.selected {
            let used: usize = self.entries[top..=self.selected].iter().map(|entry| entry.height(self.hits)).sum();
            if used <= height {
                break;
            }
            top += 1;
        }
        top
    }

    /// Draws the entries. Returns the entry on each row.
    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect) -> Vec<usize> {
        let mut rows = Vec::new();
        let mut y = area.y;
        for (at, entry) in self.entries.iter().enumerate().skip(self.top) {
            for line in self.lines(entry, at == self.selected, usize::from(area.width)) {
                if y >= area.bottom() {
                    return rows;
                }
                frame.render_widget(line, Rect { y, height: 1, ..area });
                rows.push(at);
                y += 1;
            }
        }
        rows
    }

    fn lines(&self, entry: &Entry, is_selected: bool, width: usize) -> Vec<Line<'static>> {
        let theme = self.theme;
        let mut facts = Vec::new();
        if entry.info.gone {
            facts.push("transcript gone".to_string());
        } else if entry.info.history_only {
            facts.push("prompts only".to_string());
        }
        match entry.total {
            0 => {}
            1 => facts.push("1 hit".to_string()),
            number => facts.push(format!("{number} hits")),
        }
        facts.extend(entry.info.last.map(|time| self.screen.moment(time)));
        let mut facts = facts.join("  ");
        let title = entry.info.title.line();
        let title = if title.is_empty() { "(no title)" } else { &title };
        if title.width() + facts.width() + 4 > width && width < 46 {
            facts = facts.replace(" hits", "").replace(" hit", "");
        }
        let room = width.saturating_sub(facts.width() + 4);
        let title = cut(title, room);
        let gap = " ".repeat(room.saturating_sub(title.width()) + 2);
        let (sign, style) = if is_selected { ("▌ ", theme.title()) } else { ("  ", theme.title()) };
        let title_style = if is_selected { theme.chosen().patch(style) } else { style };
        let mut lines = vec![Line::from(vec![
            Span::styled(sign, theme.key()),
            Span::styled(title, title_style),
            Span::raw(gap),
            Span::styled(facts, theme.dim()),
        ])];
        let id: String = one_line(entry.id()).chars().take(8).collect();
        let place = [self.screen.project(&entry.info.project), entry.info.branch.line(), entry.facts.clone()];
        let place = place.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
        let room = width.saturating_sub(id.width() + 6);
        let place = cut(&place, room);
        let gap = " ".repeat(room.saturating_sub(place.width()) + 2);
        let sign = Span::styled(if is_selected { "▌   " } else { "    " }, theme.key());
        lines.push(Line::from(vec![sign.clone(), Span::styled(format!("{place}{gap}{id}"), theme.dim())]));
        lines.extend(entry.hits.iter().take(self.hits).map(|hit| {
            let mut line = Line::from(sign.clone());
            line.extend(self.hit(hit, width.saturating_sub(5)));
            line
        }));
        lines
    }

    /// Returns the line of a hit: who or which tool, and the part of the text that matches.
    fn hit(&self, hit: &Hit, width: usize) -> Line<'static> {
        let label = match (&hit.tool, hit.kind.name(), hit.role.name()) {
            (Some(tool), "tool_result" | "output", _) => format!("{} →", cut(&tool.line(), 14)),
            (Some(tool), ..) => cut(&tool.line(), 16),
            (None, "thinking", _) => "thinking".to_string(),
            (None, _, "human") => "you".to_string(),
            (None, _, "assistant") => "claude".to_string(),
            (None, _, role) => role.to_string(),
        };
        let label = if hit.agent.is_some() { format!("↳ {label}") } else { label };
        let room = width.saturating_sub(label.width() + 1);
        let snippet = &hit.snippet;
        // The match stays in view on a narrow screen.
        let first = snippet.ranges.first().map_or(0, |range| range.0);
        let start = if snippet.text[..first].width() > room / 2 {
            snippet.text.ceil_char_boundary(first.saturating_sub(room / 3))
        } else {
            0
        };
        let mut spans = vec![(self.theme.dim(), format!("{label} "))];
        if start > 0 || snippet.cut_before {
            spans.push((self.theme.dim(), "…".to_string()));
        }
        let mut at = start;
        for (from, to) in snippet.ranges.iter().filter(|range| range.0 >= start) {
            spans.push((ratatui::style::Style::new(), snippet.text[at.min(*from)..*from].to_string()));
            spans.push((self.theme.hit(), snippet.text[*from..*to].to_string()));
            at = *to;
        }
        spans.push((ratatui::style::Style::new(), snippet.text[at..].to_string()));
        if snippet.cut_after {
            spans.push((self.theme.dim(), "…".to_string()));
        }
        let line = spans.into_iter().map(|(style, text)| Span::styled(for_terminal(&text).into_owned(), style));
        cut_line(line.collect(), width)
    }
}

/// Filters that can be typed in a query.
const FIELDS: [&str; 14] = [
    "project", "role", "kind", "tool", "file", "branch", "model", "since", "until", "after", "before", "is", "session",
    "cwd",
];

/// Returns filters as they are typed in a query. `here` and the running session are not among them.
pub(crate) fn as_typed(given: &Filters) -> String {
    let many: [(&str, &[String]); 8] = [
        ("role", &given.role),
        ("kind", &given.kind),
        ("tool", &given.tool),
        ("file", &given.file),
        ("project", &given.project),
        ("cwd", &given.cwd),
        ("session", &given.session),
        ("branch", &given.branch),
    ];
    let many = many.into_iter().chain([
        ("model", given.model.as_slice()),
        ("since", given.since.as_slice()),
        ("until", given.until.as_slice()),
    ]);
    let word = |field: &str, value: &String| match value.contains(char::is_whitespace) {
        true => format!("{field}:\"{value}\""),
        false => format!("{field}:{value}"),
    };
    let mut words: Vec<String> =
        many.flat_map(|(field, values)| values.iter().map(move |value| word(field, value))).collect();
    words.extend(given.errors.then(|| "is:error".to_string()));
    words.extend(given.agents.map(|only| if only { "is:agent" } else { "-is:agent" }.to_string()));
    words.join(" ")
}

/// Returns the filters in a query, each with its range in the text.
pub(crate) fn filters(query: &str) -> Vec<std::ops::Range<usize>> {
    let mut is_quoted = false;
    let ends_word = |c: char| {
        is_quoted ^= c == '"';
        c.is_whitespace() && !is_quoted
    };
    let mut found = Vec::new();
    let mut at = 0;
    for word in query.split_inclusive(ends_word) {
        let plain = word.trim_end();
        let name = plain.trim_start_matches('-').split_once(':').map(|(name, _)| name);
        if name.is_some_and(|name| FIELDS.contains(&name)) {
            found.push(at..at + plain.len());
        }
        at += word.len();
    }
    found
}

/// Returns the field and the part of the name that are typed at the end of a query.
pub(crate) fn completed(query: &str) -> Option<(&str, &str)> {
    let word = query.rsplit(char::is_whitespace).next()?;
    let (field, typed) = word.trim_start_matches('-').split_once(':')?;
    ["project", "role", "kind", "tool", "branch", "model"].contains(&field).then_some((field, typed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_found_in_a_query() {
        let found = |query: &str| filters(query).into_iter().map(|range| query[range].to_string()).collect::<Vec<_>>();
        assert_eq!(found("oauth project:shop -tool:Bash x:y"), ["project:shop", "-tool:Bash"]);
        assert_eq!(found("  since:2d"), ["since:2d"]);
        assert_eq!(found("x project:\"tax tool\" -is:agent"), ["project:\"tax tool\"", "-is:agent"]);
        assert!(found("no filter: here").is_empty());
    }

    #[test]
    fn options_become_text_in_the_query() {
        let project = vec!["shop".to_string(), "tax tool".to_string()];
        let given = Filters { project, since: Some("2d".into()), agents: Some(false), ..Filters::default() };
        assert_eq!(as_typed(&given), "project:shop project:\"tax tool\" since:2d -is:agent");
    }

    #[test]
    fn the_last_word_is_completed() {
        assert_eq!(completed("oauth tool:Ba"), Some(("tool", "Ba")));
        assert_eq!(completed("oauth -tool:"), Some(("tool", "")));
        assert_eq!(completed("tool:Bash oauth"), None);
        assert_eq!(completed("since:2"), None);
    }
}
