//! Finds the byte ranges of JSON members and elements, and edits them without changing any other byte.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The formatting of a JSON file.
#[derive(Debug)]
pub struct Style {
    /// One level of indentation; `None` if everything is on one line.
    indent: Option<String>,
    newline: &'static str,
}

impl Style {
    /// Detects the formatting of `text`.
    pub fn of(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indented = text.lines().map(|line| &line[..line.len() - line.trim_start().len()]).find(|i| !i.is_empty());
        let indent = text.trim().contains('\n').then(|| indented.unwrap_or("  ").to_string());
        Self { indent, newline }
    }

    /// Returns a line break indented to `level`; empty if everything is on one line.
    fn line(&self, level: usize) -> String {
        self.indent.as_ref().map(|indent| format!("{}{}", self.newline, indent.repeat(level))).unwrap_or_default()
    }

    fn colon(&self) -> &'static str {
        if self.indent.is_some() { ": " } else { ":" }
    }

    /// Formats a value as JSON for an indentation level.
    pub fn write(&self, value: &impl serde::Serialize, level: usize) -> Option<String> {
        let Some(indent) = &self.indent else { return serde_json::to_string(value).ok() };
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
        value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter)).ok()?;
        Some(String::from_utf8(bytes).ok()?.replace('\n', &self.line(level)))
    }
}

/// Returns the range of the top-level object of a text.
pub fn whole(text: &str) -> Result<Range<usize>, String> {
    let value: &RawValue = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if value.get().starts_with('{') { Ok(range_of(text, value)) } else { Err("not a JSON object".to_string()) }
}

/// Returns the members of an object, in order; `None` if it is not an object.
pub fn members(text: &str, object: Range<usize>) -> Option<Vec<(String, Range<usize>)>> {
    let members: Members<'_> = serde_json::from_str(&text[object]).ok()?;
    Some(members.0.into_iter().map(|(key, value)| (key, range_of(text, value))).collect())
}

/// Returns the elements of an array, in order; `None` if it is not an array.
pub fn elements(text: &str, array: Range<usize>) -> Option<Vec<Range<usize>>> {
    let elements: Vec<&RawValue> = serde_json::from_str(&text[array]).ok()?;
    Some(elements.into_iter().map(|value| range_of(text, value)).collect())
}

/// Returns the text without one element of an array.
pub fn without_element(text: &str, array: Range<usize>, at: usize) -> Option<String> {
    let elements = elements(text, array.clone())?;
    without_item(text, array, &elements, at)
}

/// Returns the text without one member of an object.
pub fn without_member(text: &str, object: Range<usize>, name: &str) -> Option<String> {
    let members = members(text, object.clone())?;
    let at = members.iter().rposition(|(key, _)| key == name)?;
    let values: Vec<Range<usize>> = members.into_iter().map(|(_, range)| range).collect();
    without_item(text, object, &values, at)
}

/// Returns the text with one more element at the end of an array, which is at indentation `level`.
pub fn with_element(text: &str, array: Range<usize>, value: &str, style: &Style, level: usize) -> Option<String> {
    let last = elements(text, array.clone())?.pop();
    Some(with_item(text, array, last, value, style, level))
}

/// Returns the text with one more member at the end of an object, which is at indentation `level`.
pub fn with_member(
    text: &str,
    object: Range<usize>,
    name: &str,
    value: &str,
    style: &Style,
    level: usize,
) -> Option<String> {
    let last = members(text, object.clone())?.pop().map(|(_, range)| range);
    let name = serde_json::to_string(name).ok()?;
    Some(with_item(text, object, last, &format!("{name}{}{value}", style.colon()), style, level))
}

/// Inserts an item after the last one of an array or object.
fn with_item(
    text: &str,
    container: Range<usize>,
    last: Option<Range<usize>>,
    item: &str,
    style: &Style,
    level: usize,
) -> String {
    let line = style.line(level + 1);
    match last {
        Some(last) => format!("{},{line}{item}{}", &text[..last.end], &text[last.end..]),
        None => {
            // The white space between the brackets is kept after the new item, so that removing the item restores it.
            let inside = &text[container.start + 1..container.end - 1];
            let end = if inside.is_empty() { style.line(level) } else { inside.to_string() };
            format!("{}{line}{item}{end}{}", &text[..=container.start], &text[container.end - 1..])
        }
    }
}

/// Removes an item together with the comma that separates it from its neighbour.
fn without_item(text: &str, container: Range<usize>, items: &[Range<usize>], at: usize) -> Option<String> {
    let item = items.get(at)?;
    let cut = match (at, items.len()) {
        (0, 1) => container.start + 1..item.end,
        (0, _) => container.start + 1..item.end + text[item.end..].find(',')? + 1,
        _ => items.get(at - 1)?.end..item.end,
    };
    Some(format!("{}{}", &text[..cut.start], &text[cut.end..]))
}

/// Returns the range of a borrowed value in the text it was read from.
fn range_of(text: &str, value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr() as usize - text.as_ptr() as usize;
    start..start + value.get().len()
}

/// The members of an object in file order, duplicates included.
struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'de: 't, 't> Deserialize<'de> for Members<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(MembersVisitor).map(Members)
    }
}
