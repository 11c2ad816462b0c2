//! Keys as people write them, and as shells write them.

use std::fmt;
use std::str::FromStr;

/// Keys that are pressed one after the other. None of them means no key binding.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Key(pub(crate) Vec<Press>);

/// One press of a key.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Press {
    modifier: Modifier,
    name: Name,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Modifier {
    None,
    Ctrl,
    Alt,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Name {
    /// A lower case letter or a digit.
    Char(char),
    /// F1 to F12.
    Function(u8),
}

/// What a terminal sends for F1 to F12, after the escape character.
const FUNCTION_KEYS: [&str; 12] =
    ["OP", "OQ", "OR", "OS", "[15~", "[17~", "[18~", "[19~", "[20~", "[21~", "[23~", "[24~"];

/// Keys that look like others on a terminal, or that stop or end programs.
const TAKEN: [(char, &str); 9] = [
    ('c', "interrupts"),
    ('d', "ends the input"),
    ('h', "is Backspace on many terminals"),
    ('i', "is Tab on a terminal"),
    ('j', "is Enter on a terminal"),
    ('m', "is Enter on a terminal"),
    ('q', "lets a stopped terminal continue"),
    ('s', "stops the terminal"),
    ('z', "suspends programs"),
];

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("none") {
            return Ok(Self(Vec::new()));
        }
        let presses = text.split_whitespace().map(press).collect::<Result<Vec<_>, _>>()?;
        match presses.as_slice() {
            [Press { modifier: Modifier::None, name: Name::Char(letter) }, ..] => {
                Err(format!("the first key needs Ctrl or Alt, else `{letter}` could not be typed any more"))
            }
            [_] | [_, _] => Ok(Self(presses)),
            _ => Err("expected one or two keys, such as alt-i or `ctrl-x u`".to_string()),
        }
    }
}

fn press(text: &str) -> Result<Press, String> {
    let lower = text.to_ascii_lowercase();
    let (modifier, name) = match lower.split_once(['-', '+']) {
        Some(("ctrl" | "c", name)) => (Modifier::Ctrl, name),
        Some(("alt" | "a" | "m", name)) => (Modifier::Alt, name),
        Some(_) => return Err(format!("cannot read {text:?} as a key; only ctrl- and alt- are possible")),
        None => (Modifier::None, lower.as_str()),
    };
    let mut letters = name.chars();
    let name = match (letters.next(), letters.next()) {
        (Some(letter), None) if letter.is_ascii_alphanumeric() => Name::Char(letter),
        _ => match name.strip_prefix('f').and_then(|number| number.parse().ok()) {
            Some(number @ 1..=12) if modifier == Modifier::None => Name::Function(number),
            _ => return Err(format!("cannot read {text:?} as a key; use letters, digits and f1 to f12")),
        },
    };
    if let (Modifier::Ctrl, Name::Char(letter)) = (modifier, name) {
        if letter.is_ascii_digit() {
            return Err("a terminal sends the same for Ctrl and a digit as for the digit alone".to_string());
        }
        if let Some((_, reason)) = TAKEN.iter().find(|(taken, _)| *taken == letter) {
            return Err(format!("ctrl-{letter} {reason}"));
        }
    }
    Ok(Press { modifier, name })
}

impl Press {
    /// Returns the key for `bindkey` of zsh, within single quotes.
    pub(crate) fn in_zsh(&self) -> String {
        match (self.modifier, self.name) {
            (Modifier::Ctrl, Name::Char(letter)) => format!("^{}", letter.to_ascii_uppercase()),
            (modifier, name) => format!("{}{}", escape(modifier, name, "^["), sent(name)),
        }
    }

    /// Returns the key for `bind` of bash, within double quotes.
    pub(crate) fn in_readline(&self) -> String {
        match (self.modifier, self.name) {
            (Modifier::Ctrl, Name::Char(letter)) => format!("\\C-{letter}"),
            (modifier, name) => format!("{}{}", escape(modifier, name, "\\e"), sent(name)),
        }
    }

    /// Returns the key for `bind` of fish, without quotes.
    pub(crate) fn in_fish(&self) -> String {
        match (self.modifier, self.name) {
            (Modifier::Ctrl, Name::Char(letter)) => format!("\\c{letter}"),
            (modifier, name) => format!("{}{}", escape(modifier, name, "\\e"), sent(name).replace('[', "\\[")),
        }
    }

    /// Returns the modifier of a key binding of nu.
    pub(crate) fn modifier_in_nu(&self) -> &'static str {
        match self.modifier {
            Modifier::None => "none",
            Modifier::Ctrl => "control",
            Modifier::Alt => "alt",
        }
    }

    /// Returns the key code of a key binding of nu.
    pub(crate) fn keycode_in_nu(&self) -> String {
        match self.name {
            Name::Char(letter) => format!("char_{letter}"),
            Name::Function(number) => format!("f{number}"),
        }
    }

    /// Returns the key for `Set-PSReadLineKeyHandler`.
    pub(crate) fn in_powershell(&self) -> String {
        let modifier = match self.modifier {
            Modifier::None => "",
            Modifier::Ctrl => "Ctrl+",
            Modifier::Alt => "Alt+",
        };
        match self.name {
            Name::Char(letter) => format!("{modifier}{letter}"),
            Name::Function(number) => format!("{modifier}F{number}"),
        }
    }
}

/// Returns the escape character in the notation of a shell, if the terminal sends it first.
fn escape(modifier: Modifier, name: Name, notation: &'static str) -> &'static str {
    if modifier == Modifier::Alt || matches!(name, Name::Function(_)) { notation } else { "" }
}

/// Returns what the terminal sends for a key, without the escape character.
fn sent(name: Name) -> String {
    match name {
        Name::Char(letter) => letter.to_string(),
        Name::Function(number) => {
            FUNCTION_KEYS.get(usize::from(number).saturating_sub(1)).copied().unwrap_or_default().to_string()
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, press) in self.0.iter().enumerate() {
            let blank = if number > 0 { " " } else { "" };
            let modifier = match press.modifier {
                Modifier::None => "",
                Modifier::Ctrl => "ctrl-",
                Modifier::Alt => "alt-",
            };
            match press.name {
                Name::Char(letter) => write!(to, "{blank}{modifier}{letter}")?,
                Name::Function(number) => write!(to, "{blank}{modifier}f{number}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_in_usual_notations() {
        for (text, expected) in [
            ("alt-i", Ok("alt-i")),
            ("Alt+I", Ok("alt-i")),
            ("M-i", Ok("alt-i")),
            ("C-x u", Ok("ctrl-x u")),
            ("ctrl-x ctrl-u", Ok("ctrl-x ctrl-u")),
            ("F12", Ok("f12")),
            ("none", Ok("")),
            ("u", Err("the first key needs Ctrl or Alt")),
            ("ctrl-i", Err("ctrl-i is Tab on a terminal")),
            ("ctrl-5", Err("a terminal sends the same")),
            ("f13", Err("cannot read \"f13\" as a key")),
            ("alt-f5", Err("cannot read \"alt-f5\" as a key")),
            ("super-x", Err("cannot read \"super-x\" as a key")),
            ("alt-'", Err("cannot read \"alt-'\" as a key")),
            ("ctrl-x a b", Err("expected one or two keys")),
            ("", Err("expected one or two keys")),
        ] {
            match (text.parse::<Key>(), expected) {
                (Ok(key), Ok(shown)) => assert_eq!(key.to_string(), shown),
                (Err(error), Err(start)) => assert!(error.starts_with(start), "{text}: {error}"),
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
    }
}
