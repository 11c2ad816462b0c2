//! Parses dates as people type them: `2d`, `yesterday`, `last monday`, `2026-03`, `2026-03-01 14:30`, `@1700000000`.
//!
//! A date names a period of time: a day, a minute, a year. `since` means its beginning and `until` its end. So both
//! `since:2026-03 until:2026-03` and `since:today` work as expected. Spans such as `2d` always count back from now and
//! name one instant. The current time is an argument, so the functions are pure.

use jiff::civil::{Date, DateTime, Weekday, date};
use jiff::{SignedDuration, Span, Timestamp, ToSpan as _, Zoned};

use crate::error::{Error, ErrorKind, Result};

/// The end of a period that a date refers to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Edge {
    /// The beginning of the period.
    Since,
    /// The end of the period.
    Until,
}

/// Examples of the accepted forms, for messages and help.
pub const FORMS: &str = "now, today, yesterday, noon, monday, last friday, this week, last month, 2d, 3h, 6mo, 1d6h, \
                         2 days ago, 2026, 2026-03, 2026-03-01, 2026-03-01 14:30, RFC 3339, @1700000000";

/// Parses a date and returns it in milliseconds since 1970.
pub fn parse(text: &str, now: &Zoned, edge: Edge) -> Result<i64> {
    let folded = text.trim().to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    let period = parse_words(&folded, now).or_else(|| parse_span(&folded, now)).or_else(|| parse_numeric(&folded, now));
    let Some((from, to)) = period else {
        return Err(Error::new(ErrorKind::Usage, format!("cannot read {text:?} as a date"))
            .hint(format!("use one of: {FORMS}")));
    };
    let at = match edge {
        Edge::Since => from,
        // The last millisecond before the next period begins.
        Edge::Until if to > from => to - SignedDuration::from_millis(1),
        Edge::Until => to,
    };
    Ok(at.as_millisecond())
}

/// The start and the exclusive end of a period; equal for an instant.
type Period = (Timestamp, Timestamp);

/// Parses words: `today`, `last week`, `monday`.
fn parse_words(text: &str, now: &Zoned) -> Option<Period> {
    let today = now.date();
    let instant = |at: Timestamp| Some((at, at));
    match text {
        "now" => return instant(now.timestamp()),
        "noon" => return instant(to_timestamp(today.at(12, 0, 0, 0), now)?),
        "today" => return day_period(today, 1.day(), now),
        "yesterday" => return day_period(today.yesterday().ok()?, 1.day(), now),
        _ => {}
    }
    let (which, unit) = text.split_once(' ').unwrap_or(("last", text));
    if let Some(weekday) = weekday(unit) {
        // The name of today's weekday means today. With `last` it means a week ago.
        let passed = i64::from(today.weekday().since(weekday));
        let back = if passed == 0 && text.starts_with("last ") { 7 } else { passed };
        return (which == "last")
            .then_some(())
            .and_then(|()| day_period(today.checked_sub(back.days()).ok()?, 1.day(), now));
    }
    let back = match which {
        "this" => 0,
        "last" if text.starts_with("last ") => 1,
        _ => return None,
    };
    let (first, length) = match unit {
        "week" => (today.checked_sub(i64::from(today.weekday().to_monday_zero_offset()).days()).ok()?, 1.week()),
        "month" => (today.first_of_month(), 1.month()),
        "year" => (today.first_of_year(), 1.year()),
        _ => return None,
    };
    day_period(first.checked_sub(length.checked_mul(back).ok()?).ok()?, length, now)
}

fn weekday(name: &str) -> Option<Weekday> {
    const NAMES: [(&str, Weekday); 7] = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    NAMES.iter().find(|(full, _)| *full == name || (name.len() == 3 && full.starts_with(name))).map(|(_, day)| *day)
}

/// Parses a span before now: `2d`, `1d6h`, `3 weeks ago`.
fn parse_span(text: &str, now: &Zoned) -> Option<Period> {
    let mut rest = text.strip_suffix(" ago").unwrap_or(text).trim();
    let mut span = Span::new();
    let mut has_parts = false;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let count: i64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        span = with_unit(span, &rest[..letters], count)?;
        rest = rest[letters..].trim_start();
        has_parts = true;
    }
    let then = now.checked_sub(span).ok()?.timestamp();
    has_parts.then_some((then, then))
}

/// Adds `count` of a unit to a span. Returns `None` if the unit is unknown.
fn with_unit(span: Span, unit: &str, count: i64) -> Option<Span> {
    match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => span.try_seconds(unit_value(&span, 0) + count),
        "m" | "min" | "mins" | "minute" | "minutes" => span.try_minutes(unit_value(&span, 1) + count),
        "h" | "hr" | "hrs" | "hour" | "hours" => span.try_hours(unit_value(&span, 2) + count),
        "d" | "day" | "days" => span.try_days(unit_value(&span, 3) + count),
        "w" | "week" | "weeks" => span.try_weeks(unit_value(&span, 4) + count),
        "mo" | "month" | "months" => span.try_months(unit_value(&span, 5) + count),
        "y" | "yr" | "year" | "years" => span.try_years(unit_value(&span, 6) + count),
        _ => return None,
    }
    .ok()
}

/// Returns the current value of a unit in a span. Needed so that `1h 1h` adds up to two hours.
fn unit_value(span: &Span, unit: usize) -> i64 {
    match unit {
        0 => span.get_seconds(),
        1 => span.get_minutes(),
        2 => i64::from(span.get_hours()),
        3 => i64::from(span.get_days()),
        4 => i64::from(span.get_weeks()),
        5 => i64::from(span.get_months()),
        _ => i64::from(span.get_years()),
    }
}

/// Parses numeric dates: a year, a month, a day, a minute, a second, with an optional offset, or seconds since 1970.
fn parse_numeric(text: &str, now: &Zoned) -> Option<Period> {
    if let Some(seconds) = text.strip_prefix('@') {
        return period_from(Timestamp::from_second(seconds.parse().ok()?).ok()?, 1.second());
    }
    let upper = text.to_uppercase();
    let has_shape = |shape: &str| matches_shape(&upper, shape);
    let number = |from: usize, to: usize| upper[from..to].parse::<i8>().ok();
    let year = upper.get(..4).filter(|year| year.bytes().all(|byte| byte.is_ascii_digit()))?.parse::<i16>().ok()?;
    if has_shape("0000") {
        return day_period(Date::new(year, 1, 1).ok()?, 1.year(), now);
    }
    if has_shape("0000-00") {
        return day_period(Date::new(year, number(5, 7)?, 1).ok()?, 1.month(), now);
    }
    if has_shape("0000-00-00") {
        return day_period(Date::new(year, number(5, 7)?, number(8, 10)?).ok()?, 1.day(), now);
    }
    let civil = upper.replacen(' ', "T", 1);
    if matches_shape(&civil, "0000-00-00T00:00") {
        return period_from(to_timestamp(format!("{civil}:00").parse().ok()?, now)?, 1.minute());
    }
    if let Ok(moment) = civil.parse::<Timestamp>() {
        return period_from(moment, 1.second());
    }
    if !matches_shape(civil.get(..19)?, "0000-00-00T00:00:00") || civil.contains(['+', 'Z', '[']) {
        return None;
    }
    period_from(to_timestamp(civil.parse().ok()?, now)?, 1.second())
}

/// Reports whether `text` matches `shape`, where `0` matches any digit.
fn matches_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text
            .bytes()
            .zip(shape.bytes())
            .all(|(byte, wanted)| if wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted })
}

/// Returns a period of whole days in local time. Clock changes make some days longer or shorter.
fn day_period(first: Date, length: Span, now: &Zoned) -> Option<Period> {
    let next = first.checked_add(length).unwrap_or(date(9999, 12, 31));
    Some((
        to_timestamp(first.to_datetime(jiff::civil::Time::midnight()), now)?,
        to_timestamp(next.to_datetime(jiff::civil::Time::midnight()), now)?,
    ))
}

/// Returns the period of a given length that begins at `from`.
fn period_from(from: Timestamp, length: Span) -> Option<Period> {
    Some((from, from.checked_add(length).ok()?))
}

/// Converts a local time to a timestamp in the time zone of `now`.
fn to_timestamp(local: DateTime, now: &Zoned) -> Option<Timestamp> {
    Some(now.time_zone().to_ambiguous_zoned(local).compatible().ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a date on a Wednesday afternoon in Berlin and shows it in local time.
    fn show(text: &str, edge: Edge) -> String {
        let now: Zoned = "2026-03-11T14:30:00[Europe/Berlin]".parse().expect("a time");
        match parse(text, &now, edge) {
            Ok(ms) => {
                let local = Timestamp::from_millisecond(ms).expect("a time").to_zoned(now.time_zone().clone());
                local.strftime("%Y-%m-%d %H:%M:%S").to_string()
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn dates_are_parsed_as_people_mean_them() {
        for (text, since, until) in [
            ("30m", "2026-03-11 14:00:00", "2026-03-11 14:00:00"),
            ("3h", "2026-03-11 11:30:00", "2026-03-11 11:30:00"),
            ("2d", "2026-03-09 14:30:00", "2026-03-09 14:30:00"),
            ("1w", "2026-03-04 14:30:00", "2026-03-04 14:30:00"),
            ("6mo", "2025-09-11 14:30:00", "2025-09-11 14:30:00"),
            ("1y", "2025-03-11 14:30:00", "2025-03-11 14:30:00"),
            ("1d6h", "2026-03-10 08:30:00", "2026-03-10 08:30:00"),
            ("2 days ago", "2026-03-09 14:30:00", "2026-03-09 14:30:00"),
            ("7 days", "2026-03-04 14:30:00", "2026-03-04 14:30:00"),
            ("3 weeks ago", "2026-02-18 14:30:00", "2026-02-18 14:30:00"),
            ("1 month ago", "2026-02-11 14:30:00", "2026-02-11 14:30:00"),
            ("now", "2026-03-11 14:30:00", "2026-03-11 14:30:00"),
            ("noon", "2026-03-11 12:00:00", "2026-03-11 12:00:00"),
            ("today", "2026-03-11 00:00:00", "2026-03-11 23:59:59"),
            ("Yesterday", "2026-03-10 00:00:00", "2026-03-10 23:59:59"),
            ("monday", "2026-03-09 00:00:00", "2026-03-09 23:59:59"),
            ("last monday", "2026-03-09 00:00:00", "2026-03-09 23:59:59"),
            ("wednesday", "2026-03-11 00:00:00", "2026-03-11 23:59:59"),
            ("last wednesday", "2026-03-04 00:00:00", "2026-03-04 23:59:59"),
            ("fri", "2026-03-06 00:00:00", "2026-03-06 23:59:59"),
            ("this month", "2026-03-01 00:00:00", "2026-03-31 23:59:59"),
            ("last month", "2026-02-01 00:00:00", "2026-02-28 23:59:59"),
            ("last week", "2026-03-02 00:00:00", "2026-03-08 23:59:59"),
            ("this year", "2026-01-01 00:00:00", "2026-12-31 23:59:59"),
            ("2026", "2026-01-01 00:00:00", "2026-12-31 23:59:59"),
            ("2026-02", "2026-02-01 00:00:00", "2026-02-28 23:59:59"),
            ("2026-03-01", "2026-03-01 00:00:00", "2026-03-01 23:59:59"),
            ("2026-03-01 14:30", "2026-03-01 14:30:00", "2026-03-01 14:30:59"),
            ("2026-03-01T14:30", "2026-03-01 14:30:00", "2026-03-01 14:30:59"),
            ("2026-03-01T14:30:05", "2026-03-01 14:30:05", "2026-03-01 14:30:05"),
            ("2026-03-01T14:30:00Z", "2026-03-01 15:30:00", "2026-03-01 15:30:00"),
            ("@1700000000", "2023-11-14 23:13:20", "2023-11-14 23:13:20"),
            // 02:30 does not exist in the night when the clocks go forward.
            ("2026-03-29", "2026-03-29 00:00:00", "2026-03-29 23:59:59"),
            ("2026-03-29 02:30", "2026-03-29 03:30:00", "2026-03-29 03:30:59"),
        ] {
            assert_eq!(show(text, Edge::Since), since, "since {text}");
            assert_eq!(show(text, Edge::Until), until, "until {text}");
        }
    }

    #[test]
    fn invalid_dates_are_rejected() {
        for text in [
            "",
            "bogus",
            "two days ago",
            "next friday",
            "nov 3",
            "3 Nov 2026",
            "12:30",
            "-2d",
            "P2D",
            "2026-13",
            "2026-02-30",
            "2",
            "d",
            "last",
            "last bogus",
            "this monday",
            "99999999999y",
            "@",
            "@x",
            "week",
            "20260301",
            "２０２６",
            "1d-",
            "2026-03-01T25:00",
        ] {
            assert!(show(text, Edge::Since).starts_with("cannot read"), "{text}: {}", show(text, Edge::Since));
        }
    }
}
