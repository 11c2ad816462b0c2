//! Finds secrets by their format: keys with an issuer's prefix, JWTs, private keys, URLs with a password.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::redact::Secret;
use crate::redact::chance::{HARMLESS, is_random, is_stand_in};

/// A secret format.
#[derive(Debug)]
pub(super) struct Format {
    kind: &'static str,
    /// Every such secret contains at least one of these strings, in any case.
    pub(super) anchors: &'static [&'static str],
    matcher: Matcher,
}

/// The way to find the secret at an anchor.
#[derive(Debug)]
enum Matcher {
    /// The secret begins at the anchor. Only group 1 is redacted if the pattern has one.
    Starts(LazyLock<Option<Regex>>),
    /// The secret is group 1 of a match on the same line as the anchor.
    Around(LazyLock<Option<Regex>>),
    /// A function returns the range of the secret.
    Read(fn(&str, usize) -> Option<Range<usize>>),
}

/// The number of bytes examined before an anchor on its line; twice as many are examined after it.
const LINE_REACH: usize = 200;
/// The number of bytes examined for a secret that begins at its anchor.
const SECRET_REACH: usize = 4000;

/// Shortens the rows of the table. The pattern is compiled on first use.
macro_rules! starts {
    ($kind:literal, $anchors:expr, $pattern:literal) => {
        Format {
            kind: $kind,
            anchors: &$anchors,
            matcher: Matcher::Starts(LazyLock::new(|| Regex::new(concat!("^(?:", $pattern, ")")).ok())),
        }
    };
}
macro_rules! around {
    ($kind:literal, $anchors:expr, $pattern:literal) => {
        Format {
            kind: $kind,
            anchors: &$anchors,
            matcher: Matcher::Around(LazyLock::new(|| Regex::new($pattern).ok())),
        }
    };
}

/// All secret formats.
#[rustfmt::skip]
pub(super) static FORMATS: [Format; 56] = [
    starts!("aws key", ["AKIA", "ASIA", "ABIA", "ACCA"], r"A[KSBC][IC]A[A-Z2-7][A-Z0-9]{15}\b"),
    starts!("github token", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[A-Za-z0-9]{30,255}\b"),
    starts!("github token", ["github_pat_"], r"github_pat_[A-Za-z0-9_]{22,255}\b"),
    starts!("gitlab token", ["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"], r"gl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_.=-]{18,}"),
    starts!("anthropic key", ["sk-ant-"], r"sk-ant-[A-Za-z0-9_-]{20,}"),
    starts!("openai key", ["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    starts!("api key", ["sk-or-v1-", "sk-lf-"], r"sk-(?:or-v1|lf)-[A-Za-z0-9-]{30,}"),
    starts!("api key", ["sk-"], r"sk-[A-Za-z0-9]{20,}\b"),
    starts!("slack token", ["xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-"], r"xox[abceoprsd][.-][A-Za-z0-9%._/+-]{10,}"),
    starts!("slack token", ["xapp-"], r"xapp-\d-[A-Za-z0-9-]{20,}"),
    starts!("slack webhook", ["hooks.slack.com/"], r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/+]{20,})"),
    starts!("stripe key", ["sk_live_", "sk_test_", "rk_live_", "rk_test_"], r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    starts!("webhook secret", ["whsec_"], r"whsec_[A-Za-z0-9+/=]{24,}"),
    starts!("google key", ["AIza"], r"AIza[0-9A-Za-z_-]{35}"),
    starts!("google token", ["ya29."], r"ya29\.[0-9A-Za-z_-]{20,}"),
    starts!("google secret", ["GOCSPX-"], r"GOCSPX-[0-9A-Za-z_-]{20,}"),
    starts!("google token", ["1//0"], r"1//0[0-9A-Za-z_-]{35,}"),
    starts!("jwt", ["eyJ"], r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}"),
    Format { kind: "private key", anchors: &["-----BEGIN"], matcher: Matcher::Read(private_key) },
    starts!("private key", ["AGE-SECRET-KEY-"], r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
    Format { kind: "password", anchors: &["://"], matcher: Matcher::Read(address) },
    around!("password", ["curl "], r#"(?:^|\s)(?:-u|--user|--proxy-user)[ =]?["']?[^\s:"'$]+:([^\s"'$<{]{3,})"#),
    around!("password", ["sshpass "], r#"\s-p ?["']?([^\s"'$<{-][^\s"'$<{]{3,})"#),
    around!("password", ["mysql", "mariadb"], r#"\s-p["']?([^\s"'$<{=]{4,})"#),
    around!("password", ["machine "], r#"\blogin\s+\S+\s+password\s+([^\s"'$<{]{4,})"#),
    starts!("npm token", ["npm_"], r"npm_[A-Za-z0-9]{36}\b"),
    starts!("pypi token", ["pypi-AgE"], r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    starts!("hugging face token", ["hf_"], r"hf_[A-Za-z0-9]{30,}\b"),
    starts!("digitalocean token", ["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[a-f0-9]{64}"),
    starts!("sendgrid key", ["SG."], r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,}"),
    around!("telegram token", [":AA"], r"\b(\d{8,10}:AA[A-Za-z0-9_-]{32,35})\b"),
    around!("discord token", ["discord"], r"\b([MNO][A-Za-z0-9_-]{23,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})"),
    around!("discord webhook", ["/api/webhooks/"], r"/api/webhooks/\d+/([A-Za-z0-9_-]{40,})"),
    starts!("shopify token", ["shpat_", "shpca_", "shppa_", "shpss_"], r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    starts!("databricks token", ["dapi"], r"dapi[a-f0-9]{32}(?:-\d)?\b"),
    starts!("linear key", ["lin_api_", "lin_oauth_"], r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    starts!("notion token", ["ntn_"], r"ntn_[A-Za-z0-9]{40,}"),
    starts!("supabase token", ["sbp_", "sb_secret_"], r"(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    starts!("vault token", ["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    starts!("groq key", ["gsk_"], r"gsk_[A-Za-z0-9]{40,}"),
    starts!("xai key", ["xai-"], r"xai-[A-Za-z0-9]{40,}"),
    starts!("perplexity key", ["pplx-"], r"pplx-[A-Za-z0-9]{40,}"),
    starts!("replicate token", ["r8_"], r"r8_[A-Za-z0-9]{36,40}\b"),
    starts!("mailgun key", ["key-"], r"key-[0-9a-f]{32}\b"),
    starts!("doppler token", ["dp.pt.", "dp.st."], r"dp\.[ps]t\.[A-Za-z0-9._-]{36,}"),
    starts!("tailscale key", ["tskey-"], r"tskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    starts!("new relic key", ["NRAK-", "NRII-"], r"NR(?:AK|II)-[A-Za-z0-9_-]{25,}"),
    starts!("sentry token", ["sntrys_", "sntryu_"], r"sntry[su]_[A-Za-z0-9+/=_]{40,}"),
    starts!("grafana token", ["glsa_", "glc_"], r"gl(?:sa|c)_[A-Za-z0-9+/=_]{30,}"),
    starts!("postman key", ["PMAK-"], r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    starts!("atlassian token", ["ATATT3x", "ATCTT3x"], r"AT[AC]TT3x[A-Za-z0-9_=.-]{40,}"),
    starts!("square token", ["sq0atp-", "sq0csp-"], r"sq0(?:atp|csp)-[A-Za-z0-9_-]{20,}"),
    starts!("figma token", ["figd_"], r"figd_[A-Za-z0-9_-]{30,}"),
    starts!("fly token", ["FlyV1 "], r"FlyV1 ([A-Za-z0-9+/=,_-]{30,})"),
    around!("twilio key", ["twilio"], r"\b((?:SK|AC)[0-9a-f]{32})\b"),
    around!("azure signature", ["sig="], r"[?&]sig=([A-Za-z0-9%+/=]{32,})"),
];

impl Format {
    /// Adds the secrets at the anchor at offset `at` to `found`.
    pub(super) fn find(&self, text: &str, at: usize, found: &mut Vec<Secret>) {
        let mut note = |range: Range<usize>| found.push(Secret { range, kind: self.kind });
        match &self.matcher {
            Matcher::Starts(regex) => {
                if !at_word_start(text, at) {
                    return;
                }
                let Some(regex) = regex.as_ref() else { return };
                let rest = &text[at..text.ceil_char_boundary((at + SECRET_REACH).min(text.len()))];
                let Some(groups) = regex.captures(rest) else { return };
                let Some(secret) = groups.get(1).or(groups.get(0)) else { return };
                if !is_stand_in(secret.as_str()) {
                    note(at + secret.start()..at + secret.end());
                }
            }
            Matcher::Around(regex) => {
                let Some(regex) = regex.as_ref() else { return };
                let (line, from) = line_around(text, at);
                for groups in regex.captures_iter(line) {
                    let Some(secret) = groups.get(1) else { continue };
                    if !is_stand_in(secret.as_str()) && !is_harmless(secret.as_str()) {
                        note(from + secret.start()..from + secret.end());
                    }
                }
            }
            Matcher::Read(read) => read(text, at).into_iter().for_each(note),
        }
    }
}

/// Reports whether `at` is the start of a word.
fn at_word_start(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    match at.checked_sub(1).map(|before| bytes[before]) {
        // A word also starts after an escaped line break, as in JSON inside JSON.
        Some(b'n' | b't' | b'r') if at >= 2 && bytes[at - 2] == b'\\' => true,
        Some(before) => !before.is_ascii_alphanumeric() && before != b'_',
        None => true,
    }
}

/// Returns the line around `at` and its offset. Long lines are cut on both sides.
fn line_around(text: &str, at: usize) -> (&str, usize) {
    let floor = text.floor_char_boundary(at.saturating_sub(LINE_REACH));
    let ceiling = text.ceil_char_boundary((at + 2 * LINE_REACH).min(text.len()));
    let from = memchr::memrchr(b'\n', &text.as_bytes()[floor..at]).map_or(floor, |newline| floor + newline + 1);
    let to = memchr::memchr(b'\n', &text.as_bytes()[at..ceiling]).map_or(ceiling, |newline| at + newline);
    (&text[from..to], from)
}

/// Reports whether a password is only used in examples.
fn is_harmless(password: &str) -> bool {
    let stem: String = password.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase();
    HARMLESS.contains(&stem.as_str())
}

/// Finds the password in `scheme://user:password@host`, or a token that replaces the user name.
fn address(text: &str, at: usize) -> Option<Range<usize>> {
    let scheme = text[..at].bytes().next_back().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let start = at + "://".len();
    let rest = text.get(start..text.ceil_char_boundary((start + 2 * LINE_REACH).min(text.len()))).filter(|_| scheme)?;
    // Parsed by hand because compiling the pattern takes longer than a whole search.
    let (login, host) = rest.split_once('@')?;
    let is_host = |c: char| c.is_alphanumeric() || "_[$%{".contains(c);
    if !host.starts_with(is_host) || login.contains(|c: char| c.is_whitespace() || "/?\"'`<>\\".contains(c)) {
        return None;
    }
    let Some((user, word)) = login.split_once(':') else {
        let is_token = login.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        return (is_token && is_random(login, 20)).then(|| start..start + login.len());
    };
    if user.contains(['#', '(', ')', '{', '}', '$']) || word.is_empty() {
        return None;
    }
    let password = start + user.len() + 1..start + login.len();
    let is_variable = word.starts_with(['$', '%', '{', '[', '*', ':']);
    let is_plain = word == user || is_harmless(word) || word.bytes().all(|byte| byte == b'x');
    (!is_variable && !is_plain && !is_stand_in(word)).then_some(password)
}

/// Finds a PEM private key, complete or truncated.
fn private_key(text: &str, at: usize) -> Option<Range<usize>> {
    static HEAD: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----").ok());
    static TAIL: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----").ok());
    let rest = &text[at..];
    let body = HEAD.as_ref()?.find(rest)?.end();
    let near = &rest[body..rest.ceil_char_boundary((body + 5 * SECRET_REACH).min(rest.len()))];
    let end = TAIL.as_ref()?.find(near).map_or_else(|| truncated_key_len(near), |tail| tail.end());
    let longest = near[..end].split(|c: char| !c.is_ascii_alphanumeric() && !"+/=".contains(c)).map(str::len).max();
    (longest.unwrap_or(0) >= KEY_LINE).then_some(at..at + body + end)
}

/// The minimum length of a line of a key. Only the last line can be shorter.
const KEY_LINE: usize = 24;

/// Returns the length of a key whose end marker is missing.
fn truncated_key_len(text: &str) -> usize {
    let is_key = |line: &str| {
        let line = line.trim();
        line.len() < 8000 && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=\\:,-.".contains(&byte))
    };
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if !is_key(line) && end > 0 {
            break;
        }
        if !is_key(line) {
            return joined_key_len(line);
        }
        end += line.len();
    }
    text[..end].trim_end().len()
}

/// Returns the length of a key whose lines were joined into one line, as in a title. Text after the key is not part of
/// it, but a last word that may be a truncated key line is.
fn joined_key_len(line: &str) -> usize {
    let (mut at, mut end) = (0, 0);
    let mut words = line.split_inclusive(char::is_whitespace).peekable();
    while let Some(word) = words.next() {
        let text = word.trim_end();
        let key = text.find(|c: char| !c.is_ascii_alphanumeric() && !"+/=\\".contains(c)).unwrap_or(text.len());
        let is_truncated = end > 0 && key > 0 && words.peek().is_none();
        let is_key = key >= KEY_LINE || is_truncated;
        if is_key {
            end = at + key;
        }
        if !text.is_empty() && (!is_key || key < text.len()) {
            break;
        }
        at += word.len();
    }
    end
}
