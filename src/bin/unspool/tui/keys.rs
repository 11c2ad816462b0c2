//! The one table of keys. The footer, the help and the section of the manual page are made from it, and the
//! configuration file can change it.

use std::collections::HashMap;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The screen that a key belongs to.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Place {
    Search,
    Conversation,
    File,
}

/// The effect of a key.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum KeyAction {
    Up,
    Down,
    PageUp,
    PageDown,
    HalfUp,
    HalfDown,
    Top,
    End,
    Open,
    Back,
    Quit,
    Help,
    NextHit,
    PreviousHit,
    PreviewUp,
    PreviewDown,
    Preview,
    Scope,
    ScopeBack,
    Order,
    Filter,
    Mine,
    DropFilter,
    Correct,
    /// The offer with this number: a filter to drop, or a suggestion.
    Offer(u8),
    Actions,
    Resume,
    Fork,
    CopyCommand,
    CopyId,
    CopyMessage,
    CopyMarkdown,
    PrintId,
    Edit,
    Export,
    Earlier,
    Later,
    Reload,
    Suspend,
    NextPrompt,
    PreviousPrompt,
    NextBlock,
    PreviousBlock,
    Fold,
    Whole,
    Tools,
    Thinking,
    Meta,
    Facts,
    LeftOut,
    Wrap,
    Left,
    Right,
    Find,
    Outline,
    Agents,
    Parent,
    Follow,
    File,
    NextSession,
    PreviousSession,
    Blame,
    Versions,
}

impl KeyAction {
    /// Reports whether it continues a session in Claude Code.
    pub(crate) fn resumes(self) -> bool {
        matches!(self, Self::Resume | Self::Fork | Self::CopyCommand)
    }
}

/// A row of the table: the screen, the name in the configuration, the keys, the text, and whether it is in the footer.
pub(crate) struct Row(
    pub(crate) Place,
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) &'static str,
    pub(crate) bool,
    pub(crate) KeyAction,
);

use Place::{Conversation as C, File as F, Search as S};

/// All keys. Several keys are separated by blanks; the first one is shown in the footer. `menu-r` is the letter r in
/// the menu of all actions, and `#` any digit from 1.
pub(crate) const TABLE: &[Row] = &[
    Row(S, "open", "enter menu-o", "open at hit", true, KeyAction::Open),
    Row(S, "resume", "ctrl-r menu-r", "resume", true, KeyAction::Resume),
    Row(S, "actions", "ctrl-x", "more", true, KeyAction::Actions),
    Row(S, "help", "f1 menu-?", "help", true, KeyAction::Help),
    Row(S, "scope", "tab menu-s", "scope", true, KeyAction::Scope),
    Row(S, "copy", "ctrl-y menu-c", "copy command", true, KeyAction::CopyCommand),
    Row(S, "order", "ctrl-t menu-t", "order", true, KeyAction::Order),
    Row(S, "filter", "ctrl-f menu-f", "filters", true, KeyAction::Filter),
    Row(S, "scope_back", "backtab", "scope, backwards", false, KeyAction::ScopeBack),
    Row(S, "up", "up ctrl-p", "session above", false, KeyAction::Up),
    Row(S, "down", "down ctrl-n", "session below", false, KeyAction::Down),
    Row(S, "page_up", "pageup", "page up", false, KeyAction::PageUp),
    Row(S, "page_down", "pagedown", "page down", false, KeyAction::PageDown),
    Row(S, "next_hit", "alt-n f3", "next hit in the preview", false, KeyAction::NextHit),
    Row(S, "previous_hit", "alt-p shift-f3", "previous hit in the preview", false, KeyAction::PreviousHit),
    Row(S, "preview_up", "shift-up", "scroll the preview up", false, KeyAction::PreviewUp),
    Row(S, "preview_down", "shift-down", "scroll the preview down", false, KeyAction::PreviewDown),
    Row(S, "preview", "f2 ctrl-_ ctrl-/ ctrl-7 menu-v", "preview: beside, below, off", false, KeyAction::Preview),
    Row(S, "mine", "alt-y f4 menu-y", "only what I typed", false, KeyAction::Mine),
    Row(S, "drop_filter", "f5 alt-d menu-d", "drop the last filter", false, KeyAction::DropFilter),
    Row(S, "correct", "f6 alt-c menu-w", "take the suggestion", false, KeyAction::Correct),
    Row(
        S,
        "offer",
        "alt-# menu-#",
        "drop the filter, or take the suggestion, with this number",
        false,
        KeyAction::Offer(0),
    ),
    Row(S, "copy_id", "alt-i f7 menu-i", "copy the id", false, KeyAction::CopyId),
    Row(S, "fork", "alt-f f8 menu-F", "resume in a copy", false, KeyAction::Fork),
    Row(S, "print_id", "ctrl-o menu-p", "print the id and leave", false, KeyAction::PrintId),
    Row(S, "export", "menu-e", "export to a Markdown file", false, KeyAction::Export),
    Row(S, "earlier", "ctrl-up alt-up", "earlier query", false, KeyAction::Earlier),
    Row(S, "later", "ctrl-down alt-down", "later query", false, KeyAction::Later),
    Row(S, "reload", "ctrl-l menu-l", "look for new messages", false, KeyAction::Reload),
    Row(S, "suspend", "ctrl-z", "suspend", false, KeyAction::Suspend),
    Row(S, "back", "esc", "clear the query, then leave", false, KeyAction::Back),
    Row(S, "quit", "ctrl-c menu-q", "leave", false, KeyAction::Quit),
    Row(C, "next_hit", "n f3", "hit", true, KeyAction::NextHit),
    Row(C, "fold", "o enter", "fold", true, KeyAction::Fold),
    Row(C, "find", "/", "find", true, KeyAction::Find),
    Row(C, "help", "? f1", "help", true, KeyAction::Help),
    Row(C, "back", "q esc", "back", true, KeyAction::Back),
    Row(C, "next_prompt", "}", "prompt", true, KeyAction::NextPrompt),
    Row(C, "resume", "r ctrl-r", "resume", true, KeyAction::Resume),
    Row(C, "tools", "t", "tools", true, KeyAction::Tools),
    Row(C, "outline", "m", "outline", true, KeyAction::Outline),
    Row(C, "copy_message", "y", "copy", true, KeyAction::CopyMessage),
    Row(C, "agents", "s", "subagents", true, KeyAction::Agents),
    Row(C, "previous_hit", "N shift-f3", "previous hit", false, KeyAction::PreviousHit),
    Row(C, "previous_prompt", "{", "previous prompt", false, KeyAction::PreviousPrompt),
    Row(C, "next_block", "J", "next message", false, KeyAction::NextBlock),
    Row(C, "previous_block", "K", "previous message", false, KeyAction::PreviousBlock),
    Row(C, "down", "j down", "line down", false, KeyAction::Down),
    Row(C, "up", "k up", "line up", false, KeyAction::Up),
    Row(C, "half_down", "d", "half a page down", false, KeyAction::HalfDown),
    Row(C, "half_up", "u", "half a page up", false, KeyAction::HalfUp),
    Row(C, "page_down", "space pagedown", "page down", false, KeyAction::PageDown),
    Row(C, "page_up", "b pageup", "page up", false, KeyAction::PageUp),
    Row(C, "top", "g home", "top", false, KeyAction::Top),
    Row(C, "end", "G end", "end", false, KeyAction::End),
    Row(C, "whole", "O", "read the whole of a very long text", false, KeyAction::Whole),
    Row(C, "thinking", "T", "thinking", false, KeyAction::Thinking),
    Row(C, "meta", "M", "what Claude Code itself added", false, KeyAction::Meta),
    Row(C, "left_out", "a", "abandoned branches and everything else that is left out", false, KeyAction::LeftOut),
    Row(C, "facts", "i", "times, tokens and models", false, KeyAction::Facts),
    Row(C, "wrap", "w", "wrap long lines, or not", false, KeyAction::Wrap),
    Row(C, "left", "left", "left, if lines are not wrapped", false, KeyAction::Left),
    Row(C, "right", "right", "right, if lines are not wrapped", false, KeyAction::Right),
    Row(C, "parent", "P", "parent of this subagent", false, KeyAction::Parent),
    Row(C, "follow", "f", "follow a live session", false, KeyAction::Follow),
    Row(C, "file", "B", "history of the file here", false, KeyAction::File),
    Row(C, "copy_id", "Y", "copy the id of the message", false, KeyAction::CopyId),
    Row(C, "copy_command", "c ctrl-y", "copy the resume command", false, KeyAction::CopyCommand),
    Row(C, "copy_markdown", "alt-m f9", "copy the message as Markdown", false, KeyAction::CopyMarkdown),
    Row(C, "fork", "F", "resume in a copy", false, KeyAction::Fork),
    Row(C, "export", "e", "export to a Markdown file", false, KeyAction::Export),
    Row(C, "edit", "E", "open in $EDITOR at this place", false, KeyAction::Edit),
    Row(C, "next_session", "]", "next session of the list", false, KeyAction::NextSession),
    Row(C, "previous_session", "[", "previous session of the list", false, KeyAction::PreviousSession),
    Row(C, "reload", "ctrl-l", "look for new messages", false, KeyAction::Reload),
    Row(C, "print_id", "ctrl-o", "print the id and leave", false, KeyAction::PrintId),
    Row(C, "suspend", "ctrl-z", "suspend", false, KeyAction::Suspend),
    Row(C, "quit", "ctrl-c", "leave", false, KeyAction::Quit),
    Row(F, "open", "enter", "open the session here", true, KeyAction::Open),
    Row(F, "blame", "b", "who wrote each line", true, KeyAction::Blame),
    Row(F, "versions", "v", "versions", true, KeyAction::Versions),
    Row(F, "copy", "y", "copy the command that recovers it", true, KeyAction::CopyCommand),
    Row(F, "back", "q esc", "back", true, KeyAction::Back),
    Row(F, "down", "j down", "line down", false, KeyAction::Down),
    Row(F, "up", "k up", "line up", false, KeyAction::Up),
    Row(F, "page_down", "space pagedown", "page down", false, KeyAction::PageDown),
    Row(F, "page_up", "pageup", "page up", false, KeyAction::PageUp),
    Row(F, "top", "g home", "top", false, KeyAction::Top),
    Row(F, "end", "G end", "end", false, KeyAction::End),
    Row(F, "help", "? f1", "help", false, KeyAction::Help),
    Row(F, "suspend", "ctrl-z", "suspend", false, KeyAction::Suspend),
    Row(F, "quit", "ctrl-c", "leave", false, KeyAction::Quit),
];

/// The keys as configured.
#[derive(Debug)]
pub(crate) struct Keys {
    by_key: HashMap<(Place, String), KeyAction>,
    rows: Vec<Shown>,
    /// The key of the menu of all actions.
    menu: String,
}

/// A row of the table as it is shown.
#[derive(Debug)]
struct Shown {
    place: Place,
    keys: Vec<String>,
    text: &'static str,
    in_footer: bool,
    what: KeyAction,
}

/// An entry of the footer, the help or the menu: the keys, the text and the action.
pub(crate) type KeyText = (String, &'static str, KeyAction);

impl Keys {
    /// Takes the keys from the table, and those of the configuration instead: `resume = "ctrl-g"`.
    pub(crate) fn new(configured: &[(String, String)]) -> Self {
        let mut keys = Self { by_key: HashMap::new(), rows: Vec::new(), menu: String::new() };
        for Row(place, name, usual, text, in_footer, what) in TABLE {
            let other = configured.iter().find(|(action, _)| action == name).map(|(_, keys)| keys.as_str());
            // The letter in the menu stays, unless another one is configured.
            let letters = usual.split_whitespace().filter(|key| key.starts_with("menu-"));
            let letters = letters.filter(|_| other.is_some_and(|other| !other.contains("menu-")));
            let names: Vec<String> =
                other.unwrap_or(usual).split_whitespace().chain(letters).map(str::to_string).collect();
            for key in &names {
                keys.by_key.insert((*place, key.clone()), *what);
            }
            keys.rows.push(Shown { place: *place, keys: names, text, in_footer: *in_footer, what: *what });
        }
        keys.menu = keys.first(S, KeyAction::Actions);
        keys
    }

    /// Returns what a key does on a screen.
    pub(crate) fn action(&self, place: Place, key: KeyEvent) -> Option<KeyAction> {
        let name = name_of(key);
        let digit = name.chars().last().and_then(|last| last.to_digit(10)).filter(|digit| *digit > 0);
        let numbered = digit.map(|_| format!("{}#", &name[..name.len() - 1]));
        let found = self.by_key.get(&(place, name)).copied();
        match (found, digit, numbered.and_then(|name| self.by_key.get(&(place, name)))) {
            (None, Some(digit), Some(KeyAction::Offer(_))) => Some(KeyAction::Offer(digit as u8)),
            (found, ..) => found,
        }
    }

    /// Returns the first key of an action, as it is shown.
    pub(crate) fn first(&self, place: Place, what: KeyAction) -> String {
        let number = if let KeyAction::Offer(number) = what { number } else { 0 };
        let wanted = if number > 0 { KeyAction::Offer(0) } else { what };
        let row = self.rows.iter().find(|row| row.place == place && row.what == wanted);
        let key = row.and_then(|row| row.keys.first()).map(|key| self.short(key)).unwrap_or_default();
        key.replace('#', &number.to_string())
    }

    /// Returns the entries of the footer, the most important first.
    pub(crate) fn footer(&self, place: Place) -> Vec<KeyText> {
        let rows = self.rows.iter().filter(|row| row.place == place && row.in_footer);
        rows.map(|row| (self.first(place, row.what), row.text, row.what)).collect()
    }

    /// Returns the entries of the help for a screen.
    pub(crate) fn help(&self, place: Place) -> Vec<KeyText> {
        let rows = self.rows.iter().filter(|row| row.place == place);
        let keys = |row: &Shown| row.keys.iter().map(|key| self.short(key)).collect::<Vec<_>>().join(" ");
        rows.map(|row| (keys(row), row.text, row.what)).collect()
    }

    /// Returns the entries of the menu for a screen, each with its letter.
    pub(crate) fn menu(&self, place: Place) -> Vec<(char, &'static str, KeyAction)> {
        let rows = self.rows.iter().filter(|row| row.place == place);
        let letter = |row: &Shown| row.keys.iter().find_map(|key| key.strip_prefix("menu-")?.chars().next());
        let rows = rows.filter_map(|row| Some((letter(row)?, row.text, row.what)));
        rows.filter(|(letter, ..)| *letter != '#').collect()
    }

    /// Returns a short form of the name of a key.
    fn short(&self, key: &str) -> String {
        if let Some(letter) = key.strip_prefix("menu-") {
            return format!("{} {letter}", self.menu);
        }
        if let Some(rest) = key.strip_prefix("ctrl-") {
            return format!("^{}", rest.to_uppercase());
        }
        match key {
            "pageup" => "PgUp".to_string(),
            "pagedown" => "PgDn".to_string(),
            "backtab" => "Shift-Tab".to_string(),
            key if key.chars().count() == 1 => key.to_string(),
            key => key.split('-').map(capitalized).collect::<Vec<_>>().join("-"),
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}

/// Returns the section of the manual page.
pub(crate) fn manual() -> String {
    let mut text = String::new();
    for (place, title) in [(S, "Search"), (C, "Conversation"), (F, "File")] {
        text.push_str(&format!("Keys in {title}:\n"));
        for Row(_, name, keys, what, ..) in TABLE.iter().filter(|row| row.0 == place) {
            text.push_str(&format!("  {keys:<32} {what} ({name})\n"));
        }
        text.push('\n');
    }
    text.push_str(
        "menu-r is the letter r in the menu of all actions (ctrl-x), and # a digit from 1 on. The names in parentheses \
         are those of the table [keys] in the configuration file:\n  resume = \"ctrl-g\"\n",
    );
    text
}

/// Returns the name of a key, as in the table.
fn name_of(key: KeyEvent) -> String {
    let code = match key.code {
        KeyCode::Char(' ') => "space".to_string(),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::F(number) => format!("f{number}"),
        KeyCode::BackTab => return "backtab".to_string(),
        other => format!("{other:?}").to_lowercase(),
    };
    let is_char = matches!(key.code, KeyCode::Char(_));
    let ctrl = if key.modifiers.contains(KeyModifiers::CONTROL) { "ctrl-" } else { "" };
    let alt = if key.modifiers.contains(KeyModifiers::ALT) { "alt-" } else { "" };
    let shift = if key.modifiers.contains(KeyModifiers::SHIFT) && !is_char { "shift-" } else { "" };
    format!("{ctrl}{alt}{shift}{code}")
}
