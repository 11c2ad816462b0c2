//! Distinguishes random strings, made-up passwords, ordinary words and placeholders.

/// Letter pairs that are common in English and code. They make up only a fifth of the pairs in random letters.
const COMMON_PAIRS: &str = "th he in er an re nd at on nt ha es st en ed to it ou ea hi is or ti as te et ng of al \
    de se le sa si ar ve ra ld ur ro ri ic me li ne ce io ll co ma be el ta la ch us no om ec ge ee ss di em ho tr \
    un ot sh ts ut ac il lo ul pe ca po mo ow so pr id ex im ap ke ey ok cr fi fr ad am ab ag ai ay ck cl ct cu da \
    do ef ei ep ev fe fo gr ie if ig ir iv ki mp na nc nf ns op os ow pa pl pu ry sc sp su sw sy tt ty ue up va vi \
    wh wo ww ov ub";

/// Substrings of placeholder values.
#[rustfmt::skip]
const PLACEHOLDERS: [&str; 21] = [
    "your", "placeholder", "changeme", "change_me", "change-me", "redacted", "dummy", "xxxx", "****",
    "....", "...", "…", "••", "<", "{{", "${", "insert", "replace", "todo", "_here", "-here",
];

/// Reports whether a value is a placeholder for a secret.
pub(super) fn is_stand_in(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let has_word = |word: &str| lower.match_indices(word).any(|(at, _)| is_one_case(&value[at..at + word.len()]));
    // `EXAMPLE` in capitals occurs in widely copied example keys, which are redacted like any other key.
    PLACEHOLDERS.iter().any(|word| has_word(word))
        || value.contains("example")
        || longest_run(lower.as_bytes()) >= 8.min(lower.len())
}

/// Reports whether all letters after the first have the same case. Words do; `yOUr` occurs only in random letters.
fn is_one_case(word: &str) -> bool {
    let rest = word.trim_start_matches(|c: char| !c.is_alphabetic());
    let rest = rest.chars().skip(1).filter(char::is_ascii_alphabetic);
    let (upper, lower): (Vec<_>, Vec<_>) = rest.partition(char::is_ascii_uppercase);
    let starts_lower = word.starts_with(|c: char| c.is_ascii_lowercase());
    upper.is_empty() || (lower.is_empty() && !starts_lower)
}

/// Returns the length of the longest run of one byte.
fn longest_run(bytes: &[u8]) -> usize {
    bytes.chunk_by(|a, b| a == b).map(<[u8]>::len).max().unwrap_or(0)
}

/// Reports whether a value looks random: at least `min_len` bytes, several kinds of characters, no words.
pub(super) fn is_random(value: &str, min_len: usize) -> bool {
    let bytes = value.as_bytes();
    let is_token = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-.~%:$!".contains(byte));
    bytes.len() >= min_len
        && is_token
        && is_mixed(value)
        && (common_pair_share(bytes) < 0.45 || digits_between_letters(bytes) >= 3)
}

/// Reports whether the rest of a token with a known prefix and length may be random. Less strict than [`is_random`],
/// because few words have such a prefix.
pub(super) fn is_random_rest(value: &str) -> bool {
    let bytes = value.as_bytes();
    is_mixed(value) && (common_pair_share(bytes) < 0.6 || digits_between_letters(bytes) >= 2)
}

/// Reports whether a value consists of several kinds of characters and is not a placeholder.
fn is_mixed(value: &str) -> bool {
    let bytes = value.as_bytes();
    let count = |is: fn(&u8) -> bool| bytes.iter().filter(|byte| is(byte)).count();
    let (digits, upper, lower) =
        (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    let has_kinds = upper + lower > 0 && (digits > 0 || (upper > 2 && lower > 2));
    has_kinds && entropy(bytes) >= 3.0 && !is_stand_in(value) && !has_ascending_run(bytes)
}

/// Counts the digits between two letters, which do not occur in words.
fn digits_between_letters(bytes: &[u8]) -> usize {
    let is_inside =
        |three: &&[u8]| three[0].is_ascii_alphabetic() && three[1].is_ascii_digit() && three[2].is_ascii_alphabetic();
    bytes.windows(3).filter(is_inside).count()
}

/// Returns the Shannon entropy in bits per byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0usize; 256];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let whole = bytes.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| *count as f64 / whole)
        .map(|share| -share * share.log2())
        .sum()
}

/// Reports whether it contains an ascending sequence, as in `1234567890abcdef`.
fn has_ascending_run(bytes: &[u8]) -> bool {
    bytes.chunk_by(|a, b| *b == a.wrapping_add(1)).any(|run| run.len() >= 8)
}

/// Returns the share of letter pairs that are common in words.
fn common_pair_share(bytes: &[u8]) -> f64 {
    let mut pairs = 0.0;
    let mut common = 0.0;
    for pair in bytes.windows(2).filter(|pair| pair.iter().all(u8::is_ascii_alphabetic)) {
        pairs += 1.0;
        let lower = [pair[0].to_ascii_lowercase(), pair[1].to_ascii_lowercase()];
        if COMMON_PAIRS.as_bytes().split(|byte| *byte == b' ').any(|common_pair| common_pair == lower) {
            common += 1.0;
        }
    }
    // A few pairs prove nothing. Neither do the six letters of hexadecimal; the digits between them do.
    let is_hex = bytes.iter().all(u8::is_ascii_hexdigit);
    if pairs < 3.0 || is_hex { 0.0 } else { common / pairs }
}

/// Reports whether a value is a UUID.
pub(super) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Reports whether a value may be a password that a person made up: letters mixed with digits or symbols, not code.
pub(super) fn is_password(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.chars().any(is);
    let has_symbol = has(|c| "!@#$%^&*?+=~".contains(c));
    (6..=128).contains(&value.len())
        && has(|c| c.is_ascii_alphabetic())
        && (has_symbol || has(|c| c.is_ascii_digit()))
        && !has(|c| c.is_whitespace() || c.is_control() || "(){}[]<>;|\\\"'`".contains(c))
        && !is_stand_in(value)
        && !is_harmless(value)
        && !is_code(value)
}

/// Reports whether a password is only used in examples.
pub(super) fn is_harmless(password: &str) -> bool {
    let stem: String = password.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase();
    HARMLESS.contains(&stem.as_str())
}

/// Passwords used in examples, without digits and symbols. Redacting them would hide nothing.
#[rustfmt::skip]
const HARMLESS: [&str; 34] = [
    "", "a", "abc", "admin", "bar", "changeme", "demo", "dev", "foo", "guest", "local", "minio", "mongo",
    "mypassword", "mysql", "neo", "newpassword", "none", "null", "oldpassword", "p", "pass", "passwd", "password",
    "postgres", "pw", "pwd", "rabbitmq", "redis", "root", "secret", "test", "testpassword", "user",
];

/// Reports whether a value is an identifier or expression: `user.password2`, `a1 + b`, `utf8`.
fn is_code(value: &str) -> bool {
    let word = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let dotted = value.contains('.') && value.split('.').all(|part| word(part) && !part.as_bytes()[0].is_ascii_digit());
    let starts_as_code = value.starts_with(['$', '@', '&', '*', '%', '#', '!', '=', '~', '?', '+', '/', '-']);
    let rest_is_word = word(value.get(1..).unwrap_or_default());
    let without_number = value.trim_end_matches(|c: char| c.is_ascii_digit());
    // A word with a number: `password2`, `v1alpha`.
    let numbered = without_number.len() >= value.len() - 2
        && without_number.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-.".contains(&byte))
        && common_pair_share(without_number.as_bytes()) > 0.6
        && value.len() < 9
        && !value.starts_with("hunter");
    dotted || (starts_as_code && rest_is_word && common_pair_share(value.as_bytes()) > 0.45) || numbered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_strings_are_distinguished_from_words() {
        for value in
            ["9f8a7b6c5d4e3f2a1b0c9d8e", "Zx81kQpR7vT2mN4bLw", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "k3v9x2m7q1w8z5j4"]
        {
            assert!(is_random(value, 16), "{value}");
        }
        for value in [
            "getTokenFromRequest2",
            "settings.SECRET_KEY_BASE",
            "process.env.GITHUB_TOKEN",
            "my-super-secret-token-2",
            "1234567890abcdef1234",
            "xxxxxxxxxxxxxxxxxxxx",
            "your-api-key-goes-here1",
            "authentication-required-4",
        ] {
            assert!(!is_random(value, 16), "{value}");
        }
    }

    #[test]
    fn passwords_are_distinguished_from_code() {
        for value in ["hunter2", "Tr0ub4dor&3", "S3cr3t!pw", "correct-horse-7-battery", "pa55w0rd!"] {
            assert!(is_password(value), "{value}");
        }
        for value in
            ["password123", "user.password2", "string", "required", "test1234", "${DB_PASS1}", "*****", "foo()1"]
        {
            assert!(!is_password(value), "{value}");
        }
    }
}
