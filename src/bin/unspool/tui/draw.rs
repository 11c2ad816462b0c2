//! Draws the state on the screen.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;
use unspool::archive::request::Sort;

use crate::tui::app::{App, Offer, PreviewPlace, Scope};
use crate::tui::keys::{KeyAction, Place};
use crate::tui::list::ListView;
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
    app.clicks.clear();
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
    if draw_hints(app, frame, Rect { y: top, height: 1, ..area }) {
        top += 1;
    }
    if let Some(note) = app.notes.first().filter(|_| !app.entries.is_empty()) {
        let note = Span::styled(cut(&format!("   {note}"), usize::from(area.width)), app.setup.theme.dim());
        frame.render_widget(Line::from(note), Rect { y: top, height: 1, ..area });
        top += 1;
    }
    let theme = app.setup.theme;
    let rest = Rect { y: top, height: area.bottom().saturating_sub(top), ..area };
    if app.entries.is_empty() {
        return draw_nothing(app, frame, rest);
    }
    let hits = if area.width < BELOW { 1 } else { 3 };
    let is_beside = area.width >= BESIDE && app.preview_place == PreviewPlace::Auto;
    let is_below = !is_beside && app.preview_place != PreviewPlace::Off && area.width >= BELOW && area.height >= 16;
    let (list, preview) = if is_beside {
        let width = rest.width / 2;
        (Rect { width, ..rest }, Some(Rect { x: rest.x + width + 1, width: rest.width - width - 1, ..rest }))
    } else if is_below {
        let needed: usize = app.entries.iter().take(30).map(|entry| entry.height(hits)).sum();
        let height = (rest.height * 3 / 5).min(u16::try_from(needed.max(3)).unwrap_or(u16::MAX));
        (Rect { height, ..rest }, Some(Rect { y: rest.y + height, height: rest.height - height, ..rest }))
    } else {
        (rest, None)
    };
    if let Some(area) = preview {
        draw_preview(app, frame, area, is_beside);
    }
    app.list_area = list;
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
    let (rule, lead) = if is_beside { (" ", " ") } else { ("─", "──") };
    let room = usize::from(area.width).saturating_sub(label.width() + 2);
    let mut head = Line::from(Span::styled(lead, theme.dim()));
    head.extend(preview.title(room.saturating_sub(lead.width()), theme.dim()));
    let gap = rule.repeat(room.saturating_sub(head.width()) + 1);
    head.extend([Span::styled(gap, theme.dim()), Span::styled(label, theme.hit())]);
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
    let gap = if order.is_empty() { "" } else { "  " };
    right.push(Span::styled(format!("{gap}{order}{found}"), theme.dim()));
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

/// Draws the line below the query, if it has one: the error in it, completions, or its filters.
fn draw_hints(app: &mut App, frame: &mut Frame<'_>, area: Rect) -> bool {
    let theme = app.setup.theme;
    let width = usize::from(area.width);
    let text = if let Some(error) = &app.query_error {
        Span::styled(cut(&format!("   {error}"), width), theme.bad())
    } else if !app.names.is_empty() {
        let names: Vec<String> =
            app.names.iter().map(|name| format!("{} ({})", name.name.line(), name.count)).collect();
        let key = app.setup.keys.first(Place::Search, KeyAction::Scope);
        Span::styled(cut(&format!("   {key}: {}", names.join("  ")), width), theme.key())
    } else {
        return draw_chips(app, frame, area);
    };
    frame.render_widget(Line::from(text), area);
    true
}

/// Draws the filters of the query, each of which can be dropped by a click or by its number. Reports whether there are
/// any.
fn draw_chips(app: &mut App, frame: &mut Frame<'_>, area: Rect) -> bool {
    let theme = app.setup.theme;
    let mut x = area.x + 3;
    let mut number = 0;
    for offer in app.offers() {
        let Offer::Drop(range) = offer else { break };
        number += 1;
        let chip = unspool::untrusted::one_line(&app.input.value()[range]);
        let chip = cut(&format!(" {chip} × "), usize::from(area.right().saturating_sub(x)));
        let place = Rect { x, width: u16::try_from(chip.width()).unwrap_or(0), ..area };
        frame.render_widget(Span::styled(chip, theme.chosen()), place);
        app.clicks.push((place, KeyAction::Offer(number)));
        x = (place.right() + 1).min(area.right());
    }
    let key = |what| app.setup.keys.first(Place::Search, what);
    let hint = match number {
        0 => return false,
        1 => format!(" {} drops it", key(KeyAction::DropFilter)),
        _ => {
            let (first, last) = (key(KeyAction::Offer(1)), key(KeyAction::Offer(number)));
            format!(" {first} to {last} drop one, {} the last", key(KeyAction::DropFilter))
        }
    };
    if hint.width() <= usize::from(area.right() - x) {
        frame.render_widget(Span::styled(hint, theme.dim()), Rect { x, width: area.right() - x, ..area });
    }
    true
}

/// Explains an empty list, with what can be done about it.
fn draw_nothing(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let theme = app.setup.theme;
    let mut lines: Vec<(String, Style, Option<KeyAction>)> =
        explanation(app).into_iter().map(|text| (text, Style::new(), None)).collect();
    lines.push((String::new(), Style::new(), None));
    let offers = ways_on(app).into_iter();
    lines.extend(offers.map(|(key, text, what)| (format!("{key:<6} {text}"), theme.key(), Some(what))));
    let y = area.y + 1;
    for (y, (text, style, what)) in (y..area.bottom()).zip(lines) {
        let text = cut(&text, usize::from(area.width).saturating_sub(5));
        let place = Rect { x: area.x + 4, y, width: area.width - 4, height: 1 };
        frame.render_widget(Span::styled(text, style), place);
        app.clicks.extend(what.map(|what| (place, what)));
    }
}

/// Returns what was searched and why nothing is shown.
fn explanation(app: &App) -> Vec<String> {
    let is_first = app.found.is_none() && app.freshness.starts_with("first index");
    let mut lines: Vec<String> = app.notes.iter().filter(|_| !is_first).cloned().collect();
    lines.extend(is_first.then(|| "all sessions are read once; they appear here meanwhile".to_string()));
    let scope = match app.scope {
        Scope::Here => "in this folder and its repository",
        Scope::Project => "in one project",
        Scope::All => "in all sessions",
    };
    if app.found.is_some() {
        lines.push(format!("searched {scope}"));
    } else if lines.is_empty() {
        lines.push("looking…".to_string());
    }
    lines
}

/// Returns what may find something: each with its key and what it does.
fn ways_on(app: &App) -> Vec<(String, String, KeyAction)> {
    let key = |what| app.setup.keys.first(Place::Search, what);
    let mut ways = Vec::new();
    if app.scope != Scope::All {
        ways.push((key(KeyAction::Scope), "widens where the search looks".to_string(), KeyAction::Scope));
    }
    let offers: Vec<(Offer, KeyAction)> = app.offers().into_iter().zip((1..).map(KeyAction::Offer)).collect();
    let last = offers.iter().rposition(|(offer, _)| matches!(offer, Offer::Drop(_)));
    let correction = offers.iter().position(|(offer, _)| matches!(offer, Offer::Take(it) if it.query.is_some()));
    for (at, (offer, what)) in offers.into_iter().enumerate() {
        let key = match Some(at) {
            it if it == last => key(KeyAction::DropFilter),
            it if it == correction => key(KeyAction::Correct),
            _ => key(what),
        };
        ways.push((key, app.offer_text(&offer), what));
    }
    ways
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
    let title = viewer.title(room, theme.title());
    let left = room.saturating_sub(title.width());
    let place = if left > 12 { cut(&place, left - 2) } else { String::new() };
    let gap = " ".repeat(room.saturating_sub(title.width() + place.width() + 2));
    let mut head = Line::from(" ");
    head.extend(title);
    head.extend([Span::styled(format!("  {place}{gap} "), theme.dim()), Span::styled(right, theme.hit())]);
    frame.render_widget(head, Rect { height: 1, ..area });
}

/// Draws the keys that fit, and on the right the state of the index or what was just done.
fn draw_footer(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let theme = app.setup.theme;
    let width = usize::from(area.width);
    if let Some(said) = &app.status_line {
        frame.render_widget(Line::from(Span::styled(cut(&format!(" {said}"), width), theme.title())), area);
        return;
    }
    let reason = app.why_no_resume().filter(|_| app.place() != Place::File);
    let state = app.news_mark().or_else(|| Some(app.freshness.clone()).filter(|text| !text.is_empty()));
    let state = state.or_else(|| reason.map(str::to_string)).unwrap_or_default();
    let state = cut(&state, width / 2);
    let mut left = width.saturating_sub(if state.is_empty() { 0 } else { state.width() + 3 });
    let mut spans = vec![Span::raw(" ")];
    for (key, text, what) in app.setup.keys.footer(app.place()) {
        if what.resumes() && reason.is_some() {
            continue;
        }
        let text = if text == "open at hit" && app.setup.pick.is_some() { "choose" } else { text };
        let needed = key.width() + text.width() + 2;
        if needed > left {
            break;
        }
        // Two blanks follow, unless it is the last one.
        left = left.saturating_sub(needed + 1);
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
            let lines: Vec<String> = keys.iter().map(|(keys, text, _)| format!("{keys:<22} {text}")).collect();
            Overlay::window(frame, area, theme, "Keys (Esc closes)", &lines, None, *from);
        }
        Some(Overlay::Menu(menu)) => {
            Overlay::window(frame, area, theme, &menu.title, &menu.lines(), Some(menu.at), 0);
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
