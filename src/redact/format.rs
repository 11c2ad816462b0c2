//! The description of a secret format: its anchors, and how the secret is found at one of them.

use std::ops::Range;

use crate::redact::shape::Part;

/// A secret format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub(super) kind: &'static str,
    /// Every such secret contains at least one of these strings, or follows it.
    pub(super) anchors: &'static [&'static str],
    pub(super) matcher: Matcher,
    /// A text with such a secret, and a text that only resembles one. See `formats` for the notation.
    #[cfg(test)]
    pub(super) examples: [&'static str; 2],
}

/// The way to find the secret at an anchor.
#[derive(Clone, Copy, Debug)]
pub(super) enum Matcher {
    /// A token of known shape around or after the anchor.
    Token { before: Option<Part>, after: &'static [Part], is_shown: bool, guard: Guard },
    /// A value that is assigned to a name with the anchor in it.
    Named(&'static [Part]),
    /// Group 1 of every match of a regex on the anchor's line.
    Line(&'static str),
    /// A function adds the ranges of the secrets.
    Read(fn(&str, usize, &mut Vec<Range<usize>>)),
}

/// A further condition for formats whose anchor also occurs in ordinary text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Guard {
    None,
    /// The token must look random and must not be a piece of base64.
    Random,
    /// The line must not announce a checksum.
    NotDigest,
}

impl Format {
    const fn new(kind: &'static str, anchors: &'static [&'static str], matcher: Matcher) -> Self {
        Self {
            kind,
            anchors,
            matcher,
            #[cfg(test)]
            examples: [""; 2],
        }
    }

    /// A token that begins with one of `prefixes`, in this case.
    pub(super) const fn token(kind: &'static str, prefixes: &'static [&'static str], after: &'static [Part]) -> Self {
        Self::new(kind, prefixes, Matcher::Token { before: None, after, is_shown: false, guard: Guard::None })
    }

    /// A token after one of `prefixes`, which stay visible.
    pub(super) const fn after(kind: &'static str, prefixes: &'static [&'static str], after: &'static [Part]) -> Self {
        Self::new(kind, prefixes, Matcher::Token { before: None, after, is_shown: true, guard: Guard::None })
    }

    /// A token with a fixed text in its middle or at its end.
    pub(super) const fn around(
        kind: &'static str,
        before: Part,
        middle: &'static [&'static str],
        after: &'static [Part],
    ) -> Self {
        Self::new(kind, middle, Matcher::Token { before: Some(before), after, is_shown: false, guard: Guard::None })
    }

    /// A value assigned to a name that contains one of `services`, in any case, and a word such as `key`.
    pub(super) const fn named(kind: &'static str, services: &'static [&'static str], value: &'static [Part]) -> Self {
        Self::new(kind, services, Matcher::Named(value))
    }

    /// Group 1 of a regex on a line that contains one of `words`, in any case.
    pub(super) const fn line(kind: &'static str, words: &'static [&'static str], regex: &'static str) -> Self {
        Self::new(kind, words, Matcher::Line(regex))
    }

    /// Secrets that need a parser of their own.
    pub(super) const fn read(
        kind: &'static str,
        words: &'static [&'static str],
        read: fn(&str, usize, &mut Vec<Range<usize>>),
    ) -> Self {
        Self::new(kind, words, Matcher::Read(read))
    }

    /// Restricts the format to tokens that look random.
    pub(super) const fn random(self) -> Self {
        self.guarded(Guard::Random)
    }

    /// Restricts the format to lines that do not announce a checksum.
    pub(super) const fn not_digest(self) -> Self {
        self.guarded(Guard::NotDigest)
    }

    const fn guarded(mut self, wanted: Guard) -> Self {
        if let Matcher::Token { guard, .. } = &mut self.matcher {
            *guard = wanted;
        }
        self
    }

    /// Reports whether the anchors count only at the start of a word or after an underscore.
    pub(super) const fn starts_name(&self) -> bool {
        matches!(self.matcher, Matcher::Token { before: None, .. } | Matcher::Named(_))
    }

    /// Adds the examples that the test checks.
    #[cfg_attr(not(test), expect(unused_variables, unused_mut, reason = "only tests keep the examples"))]
    pub(super) const fn like(mut self, example: &'static str, near_miss: &'static str) -> Self {
        #[cfg(test)]
        {
            self.examples = [example, near_miss];
        }
        self
    }
}
