//! Dates as people type them: `2d`, `yesterday`, `last monday`, `2026-03`, `2026-03-01 14:30`, `@1700000000`. Pure.
//!
//! A date names a stretch of time: a day, a minute, a year. `since` means its beginning, `until` its end, so both
//! `since:2026-03 until:2026-03` and `since:today` mean what they say. Spans such as `2d` are always backwards from
//! now and name one instant.

use jiff::civil::{Date, DateTime, Weekday, date};
use jiff::{SignedDuration, Span, Timestamp, ToSpan as _, Zoned};

use crate::error::{Error, ErrorKind, Result};

/// Which end of the stretch that was named is meant.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Edge {
    /// Its beginning.
    Since,
    /// Its end.
    Until,
}

/// What is accepted, for messages and help.
pub const FORMS: &str = "now, today, yesterday, noon, monday, last friday, this week, last month, 2d, 3h, 6mo, 1d6h, \
                         2 days ago, 2026, 2026-03, 2026-03-01, 2026-03-01 14:30, RFC 3339, @1700000000";

/// Reads a date, in milliseconds since 1970.
pub fn parse(text: &str, now: &Zoned, edge: Edge) -> Result<i64> {
    let folded = text.trim().to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    let stretch = named(&folded, now).or_else(|| span_ago(&folded, now)).or_else(|| written(&folded, now));
    let Some((from, to)) = stretch else {
        return Err(Error::new(ErrorKind::Usage, format!("cannot read {text:?} as a date"))
            .hint(format!("say it as one of: {FORMS}")));
    };
    let at = match edge {
        Edge::Since => from,
        // The last instant before the next stretch begins.
        Edge::Until if to > from => to - SignedDuration::from_millis(1),
        Edge::Until => to,
    };
    Ok(at.as_millisecond())
}

type Stretch = (Timestamp, Timestamp);

/// Reads words: `today`, `last week`, `monday`.
fn named(text: &str, now: &Zoned) -> Option<Stretch> {
    let today = now.date();
    let instant = |at: Timestamp| Some((at, at));
    match text {
        "now" => return instant(now.timestamp()),
        "noon" => return instant(at(today.at(12, 0, 0, 0), now)?),
        "today" => return days(today, 1.day(), now),
        "yesterday" => return days(today.yesterday().ok()?, 1.day(), now),
        _ => {}
    }
    let (which, unit) = text.split_once(' ').unwrap_or(("last", text));
    if let Some(weekday) = weekday(unit) {
        // Today's own name means today; `last` makes it a week ago.
        let passed = i64::from(today.weekday().since(weekday));
        let back = if passed == 0 && text.starts_with("last ") { 7 } else { passed };
        return (which == "last").then_some(()).and_then(|()| days(today.checked_sub(back.days()).ok()?, 1.day(), now));
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
    days(first.checked_sub(length.checked_mul(back).ok()?).ok()?, length, now)
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

/// Reads how long ago: `2d`, `1d6h`, `3 weeks ago`.
fn span_ago(text: &str, now: &Zoned) -> Option<Stretch> {
    let mut rest = text.strip_suffix(" ago").unwrap_or(text).trim();
    let mut span = Span::new();
    let mut any = false;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let count: i64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        span = with_unit(span, &rest[..letters], count)?;
        rest = rest[letters..].trim_start();
        any = true;
    }
    let then = now.checked_sub(span).ok()?.timestamp();
    any.then_some((then, then))
}

fn with_unit(span: Span, unit: &str, count: i64) -> Option<Span> {
    match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => span.try_seconds(span_of(&span, 0) + count),
        "m" | "min" | "mins" | "minute" | "minutes" => span.try_minutes(span_of(&span, 1) + count),
        "h" | "hr" | "hrs" | "hour" | "hours" => span.try_hours(span_of(&span, 2) + count),
        "d" | "day" | "days" => span.try_days(span_of(&span, 3) + count),
        "w" | "week" | "weeks" => span.try_weeks(span_of(&span, 4) + count),
        "mo" | "month" | "months" => span.try_months(span_of(&span, 5) + count),
        "y" | "yr" | "year" | "years" => span.try_years(span_of(&span, 6) + count),
        _ => return None,
    }
    .ok()
}

/// What a span already has of a unit, so that `1h 1h` is two hours.
fn span_of(span: &Span, unit: usize) -> i64 {
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

/// Reads digits: a year, a month, a day, a minute, a second, an offset, seconds since 1970.
fn written(text: &str, now: &Zoned) -> Option<Stretch> {
    if let Some(seconds) = text.strip_prefix('@') {
        return length(Timestamp::from_second(seconds.parse().ok()?).ok()?, 1.second());
    }
    let upper = text.to_uppercase();
    let of_shape = |shape: &str| same_shape(&upper, shape);
    let number = |from: usize, to: usize| upper[from..to].parse::<i8>().ok();
    let year = upper.get(..4).filter(|year| year.bytes().all(|byte| byte.is_ascii_digit()))?.parse::<i16>().ok()?;
    if of_shape("0000") {
        return days(Date::new(year, 1, 1).ok()?, 1.year(), now);
    }
    if of_shape("0000-00") {
        return days(Date::new(year, number(5, 7)?, 1).ok()?, 1.month(), now);
    }
    if of_shape("0000-00-00") {
        return days(Date::new(year, number(5, 7)?, number(8, 10)?).ok()?, 1.day(), now);
    }
    let civil = upper.replacen(' ', "T", 1);
    if same_shape(&civil, "0000-00-00T00:00") {
        return length(at(format!("{civil}:00").parse().ok()?, now)?, 1.minute());
    }
    if let Ok(moment) = civil.parse::<Timestamp>() {
        return length(moment, 1.second());
    }
    if !same_shape(civil.get(..19)?, "0000-00-00T00:00:00") || civil.contains(['+', 'Z', '[']) {
        return None;
    }
    length(at(civil.parse().ok()?, now)?, 1.second())
}

fn same_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text
            .bytes()
            .zip(shape.bytes())
            .all(|(byte, wanted)| if wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted })
}

/// Whole days, in local time: clock changes make some of them longer.
fn days(first: Date, length: Span, now: &Zoned) -> Option<Stretch> {
    let next = first.checked_add(length).unwrap_or(date(9999, 12, 31));
    Some((
        at(first.to_datetime(jiff::civil::Time::midnight()), now)?,
        at(next.to_datetime(jiff::civil::Time::midnight()), now)?,
    ))
}

fn length(from: Timestamp, length: Span) -> Option<Stretch> {
    Some((from, from.checked_add(length).ok()?))
}

fn at(local: DateTime, now: &Zoned) -> Option<Timestamp> {
    Some(now.time_zone().to_ambiguous_zoned(local).compatible().ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a date on a Wednesday afternoon in Berlin and shows it in local time.
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
    fn dates_mean_what_people_mean() {
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
            // The night the clocks go forward has no half past two.
            ("2026-03-29", "2026-03-29 00:00:00", "2026-03-29 23:59:59"),
            ("2026-03-29 02:30", "2026-03-29 03:30:00", "2026-03-29 03:30:59"),
        ] {
            assert_eq!(show(text, Edge::Since), since, "since {text}");
            assert_eq!(show(text, Edge::Until), until, "until {text}");
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
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
