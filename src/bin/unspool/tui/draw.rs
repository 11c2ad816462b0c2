//! Draws the state on the screen.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;
use unspool::archive::request::Sort;

use crate::tui::app::{App, PreviewPlace, Scope};
use crate::tui::keys::Place;
use crate::tui::list::{ListView, filters};
use crate::tui::overlay::Overlay;
use crate::tui::theme::cut;

/// The smallest window that is of use.
const SMALLEST: (u16, u16) = (30, 6);
/// Width from which the preview is beside the list.
const BESIDE: u16 = 100;
/// Width from which the preview is below the list.
const BELOW: u16 = 70;

/// Draws everything.
pub(crate) fn draw(app: &mut App, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        frame.render_widget(Line::from("the window is too small"), Rect { height: 1.min(area.height), ..area });
        return;
    }
    let footer = Rect { y: area.bottom() - 1, height: 1, ..area };
    let body = Rect { height: area.height - 1, ..area };
    match app.place() {
        Place::Search => search(app, frame, body),
        Place::Conversation => conversation(app, frame, body),
        Place::File => {
            app.view_area = body;
            if let Some(file) = &mut app.file {
                file.draw(frame, body);
            }
        }
    }
    draw_footer(app, frame, footer);
    draw_overlay(app, frame, area);
}

fn search(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    draw_input(app, frame, Rect { height: 1, ..area });
    let mut top = area.y + 1;
    for line in remarks(app, usize::from(area.width)) {
        frame.render_widget(line, Rect { y: top, height: 1, ..area });
        top += 1;
    }
    let theme = app.setup.theme;
    let rest = Rect { y: top, height: area.bottom().saturating_sub(top), ..area };
    let is_beside = area.width >= BESIDE && app.preview_place == PreviewPlace::Auto;
    let is_below = !is_beside && app.preview_place != PreviewPlace::Off && area.width >= BELOW && area.height >= 16;
    let (list, preview) = if is_beside {
        let width = rest.width / 2;
        (Rect { width, ..rest }, Some(Rect { x: rest.x + width + 1, width: rest.width - width - 1, ..rest }))
    } else if is_below {
        let height = rest.height * 3 / 5;
        (Rect { height, ..rest }, Some(Rect { y: rest.y + height, height: rest.height - height, ..rest }))
    } else {
        (rest, None)
    };
    if let Some(area) = preview {
        draw_preview(app, frame, area, is_beside);
    }
    app.list_area = list;
    if app.entries.is_empty() {
        return draw_nothing(app, frame, list);
    }
    let hits = if area.width < BELOW { 1 } else { 3 };
    let mut view = ListView {
        entries: &app.entries,
        selected: app.selected,
        top: app.top,
        hits,
        screen: &app.setup.screen,
        theme,
    };
    view.top = view.scrolled(usize::from(list.height));
    app.top = view.top;
    app.rows = view.draw(frame, list);
}

fn draw_preview(app: &mut App, frame: &mut Frame<'_>, area: Rect, is_beside: bool) {
    let theme = app.setup.theme;
    app.view_area = area;
    if is_beside {
        for y in area.y..area.bottom() {
            frame.buffer_mut().set_string(area.x - 1, y, "│", theme.dim());
        }
    }
    let Some(preview) = &mut app.preview else { return };
    let label = preview.hit_label();
    let rule = if is_beside { " " } else { "─" };
    let room = usize::from(area.width).saturating_sub(label.width() + 2);
    let title = cut(&preview.title(), room.saturating_sub(2));
    let line = if is_beside { format!(" {title}") } else { format!("──{title}") };
    let gap = rule.repeat(room.saturating_sub(line.width()) + 1);
    let head = Line::from(vec![Span::styled(format!("{line}{gap}"), theme.dim()), Span::styled(label, theme.hit())]);
    frame.render_widget(head, Rect { height: 1, ..area });
    let view = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    preview.draw(frame, view, false);
}

/// Draws the query, and on its right where it looks, the order, and what was found.
fn draw_input(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let theme = app.setup.theme;
    let width = usize::from(area.width);
    let order = match app.order {
        Sort::Relevance => "best",
        Sort::Newest => "newest",
        Sort::Oldest => "oldest",
    };
    let found = match app.found {
        None => String::new(),
        Some((hits, sessions, ms)) if width >= 100 => {
            let plural = |number: usize| if number == 1 { "" } else { "s" };
            format!("  {hits} hit{}, {sessions} session{}  {ms:.0} ms", plural(hits), plural(sessions))
        }
        Some((hits, sessions, ms)) if width >= usize::from(BELOW) => format!("  {hits} in {sessions}  {ms:.0} ms"),
        Some((hits, sessions, _)) => format!("  {hits} in {sessions}"),
    };
    let mut right = Vec::new();
    let scopes = [(Scope::Here, "here"), (Scope::Project, "project"), (Scope::All, "all")];
    for (scope, name) in scopes {
        let is_chosen = app.scope == scope;
        if width >= 76 || is_chosen {
            let style = if is_chosen { theme.chosen() } else { theme.dim() };
            right.push(Span::styled(format!(" {name} "), style));
        }
    }
    let order = if width < usize::from(BELOW) && app.order == Sort::Relevance { "" } else { order };
    right.push(Span::styled(format!("  {order}{found}"), theme.dim()));
    let right = Line::from(right);
    let right_width = right.width().min(width / 2 + 8);
    let room = width.saturating_sub(right_width + 5);
    let scroll = app.input.visual_scroll(room);
    let value = unspool::untrusted::for_terminal(app.input.value()).into_owned();
    let mut column = 0;
    let mut shown = String::new();
    for c in value.chars() {
        let wide = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if column >= scroll && column + wide <= scroll + room {
            shown.push(c);
        }
        column += wide;
    }
    let mut left = vec![Span::styled(" > ", theme.key())];
    let style = if app.query_error.is_some() { theme.bad() } else { Style::new() };
    if app.input.value().is_empty() {
        left.push(Span::styled(cut("type to search everything", room), theme.dim()));
    } else {
        left.push(Span::styled(shown, style));
    }
    frame.render_widget(Line::from(left), area);
    let x = area.right().saturating_sub(u16::try_from(right_width).unwrap_or(0));
    frame.render_widget(right, Rect { x, width: area.right() - x, ..area });
    if app.overlay.is_none() {
        let cursor = app.input.visual_cursor().max(scroll) - scroll;
        frame.set_cursor_position(Position { x: area.x + 3 + u16::try_from(cursor).unwrap_or(0), y: area.y });
    }
}

/// Returns the lines below the query: completions, filters, the error, remarks.
fn remarks(app: &App, width: usize) -> Vec<Line<'static>> {
    let theme = app.setup.theme;
    let mut lines = Vec::new();
    let query = app.input.value();
    if let Some(error) = &app.query_error {
        lines.push(Line::from(Span::styled(cut(&format!("   {error}"), width), theme.bad())));
    } else if !app.names.is_empty() {
        let mut text = "   Tab: ".to_string();
        for name in &app.names {
            text.push_str(&format!("{} ({})  ", name.name.line(), name.count));
        }
        lines.push(Line::from(Span::styled(cut(&text, width), theme.key())));
    } else {
        let chips = filters(query);
        if !chips.is_empty() {
            let mut spans = vec![Span::raw("   ")];
            for range in chips {
                spans.push(Span::styled(format!(" {} ", &query[range]), theme.chosen()));
                spans.push(Span::raw(" "));
            }
            spans.push(Span::styled("F5 drops the last", theme.dim()));
            lines.push(Line::from(spans));
        }
    }
    if !app.entries.is_empty() {
        lines.extend(
            app.notes.first().map(|note| Line::from(Span::styled(cut(&format!("   {note}"), width), theme.dim()))),
        );
    }
    lines
}

/// Explains an empty list, with what can be done about it.
fn draw_nothing(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let theme = app.setup.theme;
    let is_first = app.found.is_none() && app.freshness.starts_with("first index");
    let notes = app.notes.iter().filter(|_| !is_first).cloned();
    let notes = notes.chain(is_first.then(|| "all sessions are read once; they appear here meanwhile".to_string()));
    let mut lines: Vec<(String, Style)> = notes.map(|note| (note, Style::new())).collect();
    let scope = match app.scope {
        Scope::Here => "in this folder and its repository",
        Scope::Project => "in one project",
        Scope::All => "in all sessions",
    };
    if app.found.is_some() {
        lines.push((format!("searched {scope}"), theme.dim()));
    } else if lines.is_empty() {
        lines.push(("looking…".to_string(), theme.dim()));
    }
    lines.push((String::new(), Style::new()));
    if app.scope != Scope::All {
        lines.push(("Tab  widens where the search looks".to_string(), theme.key()));
    }
    if let Some(range) = filters(app.input.value()).pop() {
        lines.push((format!("F5   searches without {}", &app.input.value()[range]), theme.key()));
    }
    for (number, suggestion) in app.suggestions.iter().enumerate() {
        let key = if number == 0 && suggestion.query.is_some() { "F6  " } else { "    " };
        let query = suggestion.query.as_deref().unwrap_or_default();
        let text = format!("{key} {} ({} hits)  {query}", suggestion.change, suggestion.hits);
        lines.push((unspool::untrusted::one_line(&text), theme.key()));
    }
    for (row, (text, style)) in lines.into_iter().enumerate() {
        let y = area.y + 1 + u16::try_from(row).unwrap_or(0);
        if y < area.bottom() {
            let text = cut(&text, usize::from(area.width).saturating_sub(5));
            frame.render_widget(
                Line::from(Span::styled(text, style)),
                Rect { x: area.x + 4, y, width: area.width - 4, height: 1 },
            );
        }
    }
}

fn conversation(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let theme = app.setup.theme;
    let view = Rect { y: area.y + 1, height: area.height - 1, ..area };
    app.view_area = view;
    let is_following = app.follow;
    let screen = app.setup.screen.clone();
    let Some(viewer) = app.open.last_mut() else { return };
    viewer.draw(frame, view, true);
    let mut right = Vec::new();
    if viewer.reading.session.gone {
        right.push("transcript gone".to_string());
    }
    if is_following {
        right.push("following".to_string());
    }
    let label = viewer.hit_label();
    right.extend((!label.is_empty()).then_some(label));
    let right = right.join("  ");
    let session = &viewer.reading.session;
    let place = format!("{}  {}", screen.project(&session.project), session.branch.line());
    let room = usize::from(area.width).saturating_sub(right.width() + 6);
    let title = cut(&viewer.title(), room);
    let left = room.saturating_sub(title.width());
    let place = if left > 12 { cut(&place, left - 2) } else { String::new() };
    let gap = " ".repeat(room.saturating_sub(title.width() + place.width() + 2));
    let head = Line::from(vec![
        Span::styled(format!(" {title}"), theme.title()),
        Span::styled(format!("  {place}{gap} "), theme.dim()),
        Span::styled(right, theme.hit()),
    ]);
    frame.render_widget(head, Rect { height: 1, ..area });
}

/// Draws the keys that fit, and on the right the state of the index or what was just done.
fn draw_footer(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let theme = app.setup.theme;
    let width = usize::from(area.width);
    if let Some(said) = &app.said {
        frame.render_widget(Line::from(Span::styled(cut(&format!(" {said}"), width), theme.title())), area);
        return;
    }
    let state = match (app.news, app.freshness.is_empty()) {
        (true, _) => "new messages, ^L".to_string(),
        (false, false) => app.freshness.clone(),
        (false, true) => String::new(),
    };
    let state = cut(&state, width / 2);
    let mut left = width.saturating_sub(state.width() + 2);
    let mut spans = vec![Span::raw(" ")];
    for (key, text) in app.setup.keys.footer(app.place()) {
        let text = if text == "open at hit" && app.setup.pick.is_some() { "choose" } else { text };
        let needed = key.width() + text.width() + 3;
        if needed > left {
            break;
        }
        left -= needed;
        spans.push(Span::styled(key, theme.key()));
        spans.push(Span::styled(format!(" {text}  "), theme.dim()));
    }
    frame.render_widget(Line::from(spans), area);
    let x = area.right().saturating_sub(u16::try_from(state.width() + 1).unwrap_or(0));
    frame.render_widget(Line::from(Span::styled(state, theme.dim())), Rect { x, width: area.right() - x, ..area });
}

fn draw_overlay(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let theme = app.setup.theme;
    match &app.overlay {
        None => {}
        Some(Overlay::Help(from)) => {
            let keys = app.setup.keys.help(app.place());
            let lines: Vec<String> = keys.iter().map(|(keys, text)| format!("{keys:<22} {text}")).collect();
            Overlay::window(frame, area, theme, "Keys (Esc closes)", &lines, None, *from);
        }
        Some(Overlay::List { title, items, at }) => {
            let lines: Vec<String> = items.iter().map(|(text, _)| text.clone()).collect();
            Overlay::window(frame, area, theme, title, &lines, Some(*at), 0);
        }
        Some(Overlay::Find(input)) => {
            let line = Rect { y: area.bottom() - 1, height: 1, ..area };
            frame.render_widget(ratatui::widgets::Clear, line);
            let value = unspool::untrusted::for_terminal(input.value()).into_owned();
            frame.render_widget(Line::from(vec![Span::styled(" / ", theme.key()), Span::raw(value)]), line);
            let cursor = u16::try_from(input.visual_cursor()).unwrap_or(0);
            frame.set_cursor_position(Position { x: (3 + cursor).min(line.right() - 1), y: line.y });
        }
    }
}
