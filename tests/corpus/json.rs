//! Writes compact JSON: escaped strings, objects, and the identifiers that sessions contain.

use super::rng::Rng;
use std::fmt::Write;

/// Appends `text` as a quoted JSON string, escaped as JavaScript's JSON.stringify does.
pub(crate) fn quote(out: &mut String, text: &str) {
    out.push('"');
    escape(out, text);
    out.push('"');
}

fn escape(out: &mut String, text: &str) {
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[start..at]);
        start = at + 1;
        escape_byte(out, byte);
    }
    out.push_str(&text[start..]);
}

fn escape_byte(out: &mut String, byte: u8) {
    match byte {
        b'\n' => out.push_str("\\n"),
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\t' => out.push_str("\\t"),
        b'\r' => out.push_str("\\r"),
        _ => drop(write!(out, "\\u{byte:04x}")),
    }
}

/// An object under construction.
pub(crate) struct Obj<'a> {
    out: &'a mut String,
    first: bool,
}

impl<'a> Obj<'a> {
    /// Writes an object.
    pub(crate) fn write(out: &'a mut String, fill: impl FnOnce(&mut Obj)) {
        out.push('{');
        let mut obj = Obj { out, first: true };
        fill(&mut obj);
        obj.out.push('}');
    }

    pub(crate) fn key(&mut self, key: &str) -> &mut String {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str("\":");
        self.out
    }

    pub(crate) fn str(&mut self, key: &str, value: &str) -> &mut Self {
        quote(self.key(key), value);
        self
    }

    pub(crate) fn raw(&mut self, key: &str, json: &str) -> &mut Self {
        self.key(key).push_str(json);
        self
    }

    pub(crate) fn num(&mut self, key: &str, value: usize) -> &mut Self {
        let _ = write!(self.key(key), "{value}");
        self
    }

    pub(crate) fn bool(&mut self, key: &str, value: bool) -> &mut Self {
        self.raw(key, if value { "true" } else { "false" })
    }

    pub(crate) fn obj(&mut self, key: &str, fill: impl FnOnce(&mut Obj)) -> &mut Self {
        Obj::write(self.key(key), fill);
        self
    }

    /// Ends a chain of calls, for closures that return nothing.
    pub(crate) fn end(&mut self) {}

    /// Writes a list of strings.
    pub(crate) fn strs<T: AsRef<str>>(&mut self, key: &str, items: &[T]) -> &mut Self {
        let out = self.key(key);
        out.push('[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            quote(out, item.as_ref());
        }
        out.push(']');
        self
    }

    /// Writes a list with one object.
    pub(crate) fn one(&mut self, key: &str, fill: impl FnOnce(&mut Obj)) -> &mut Self {
        let out = self.key(key);
        out.push('[');
        Obj::write(out, fill);
        out.push(']');
        self
    }
}

/// Returns an object as a string.
pub(crate) fn object(fill: impl FnOnce(&mut Obj)) -> String {
    let mut out = String::new();
    Obj::write(&mut out, fill);
    out
}

const HEX: &[u8; 16] = b"0123456789abcdef";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn hex(rng: &mut Rng, length: usize, out: &mut String) {
    let mut bits = 0;
    for at in 0..length {
        if at % 16 == 0 {
            bits = rng.next();
        }
        out.push(HEX[bits as usize & 15] as char);
        bits >>= 4;
    }
}

/// Returns a random version 4 UUID.
pub(crate) fn uuid(rng: &mut Rng) -> String {
    let (high, low) = (rng.next(), rng.next());
    let mut out = String::with_capacity(36);
    for at in 0..32 {
        if matches!(at, 8 | 12 | 16 | 20) {
            out.push('-');
        }
        let nibble = if at < 16 { high >> (at * 4) } else { low >> ((at - 16) * 4) } as usize & 15;
        let digit = match at {
            12 => 4,
            16 => 8 | (nibble & 3),
            _ => nibble,
        };
        out.push(HEX[digit] as char);
    }
    out
}

pub(crate) fn base64(rng: &mut Rng, length: usize, out: &mut String) {
    let mut bits = 0;
    out.reserve(length);
    for at in 0..length {
        if at % 10 == 0 {
            bits = rng.next();
        }
        out.push(BASE64[bits as usize & 63] as char);
        bits >>= 6;
    }
}

/// Returns a random API identifier: a prefix and letters or digits.
pub(crate) fn api_id(rng: &mut Rng, prefix: &str) -> String {
    let mut out = String::from(prefix);
    while out.len() < prefix.len() + 22 {
        let digit = BASE64[rng.next() as usize & 63];
        if digit.is_ascii_alphanumeric() {
            out.push(digit as char);
        }
    }
    out
}

/// Formats milliseconds since 1970 as `YYYY-MM-DDTHH:MM:SS.mmmZ`.
pub(crate) fn iso(ms: i64) -> String {
    let (days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    let milli = rest % 1000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Converts days since 1970 to a calendar date with Howard Hinnant's algorithm.
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    (year, month, doy - (153 * mp + 2) / 5 + 1)
}
