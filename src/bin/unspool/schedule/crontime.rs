//! Cron's five fields: what they mean, and when that is next. Cron itself tells nobody, and launchd wants it spelled
//! out.

use jiff::{ToSpan as _, Zoned};

/// A time in cron's language.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct CronTime {
    text: String,
    /// The values each field allows, in order: minute, hour, day, month, weekday (0 is Sunday).
    fields: [Vec<u8>; 5],
    /// Whether day and weekday were named: cron takes either then.
    either_day: bool,
}

/// The lowest and the highest value of each field. Sunday is 0 and 7.
const BOUNDS: [(u8, u8); 5] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)];
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl CronTime {
    /// Reads five fields, or one of the usual names for them.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let spelled = match text.trim() {
            "@hourly" => "0 * * * *",
            "@daily" | "@midnight" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            "@yearly" | "@annually" => "0 0 1 1 *",
            text => text,
        };
        let words: Vec<&str> = spelled.split_ascii_whitespace().collect();
        let [minute, hour, day, month, weekday] = words.as_slice() else { return None };
        let mut weekdays = field(weekday, 4)?;
        weekdays.iter_mut().for_each(|day| *day %= 7);
        weekdays.sort_unstable();
        weekdays.dedup();
        Some(Self {
            text: words.join(" "),
            fields: [field(minute, 0)?, field(hour, 1)?, field(day, 2)?, field(month, 3)?, weekdays],
            either_day: !day.starts_with('*') && !weekday.starts_with('*'),
        })
    }

    /// The five fields as cron reads them.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The values of each field that is not free: minute, hour, day, month, weekday.
    pub(crate) fn restricted(&self) -> [Option<&[u8]>; 5] {
        let whole = [60, 24, 31, 12, 7];
        std::array::from_fn(|at| (self.fields[at].len() < whole[at]).then_some(self.fields[at].as_slice()))
    }

    /// Whether a day is right if either its number or its weekday is.
    pub(crate) fn either_day(&self) -> bool {
        self.either_day
    }

    /// The first time after this one; none if there is none in the next eight years (30 February).
    pub(crate) fn next(&self, now: &Zoned) -> Option<Zoned> {
        let mut day = now.start_of_day().ok()?;
        for _ in 0..8 * 366 {
            if self.is_day(&day)
                && let Some(time) = self.next_on(&day, now)
            {
                return Some(time);
            }
            day = day.tomorrow().ok()?.start_of_day().ok()?;
        }
        None
    }

    fn is_day(&self, day: &Zoned) -> bool {
        let has = |at: usize, value: i8| self.fields[at].contains(&u8::try_from(value).unwrap_or(u8::MAX));
        let (number, weekday) = (has(2, day.day()), has(4, day.weekday().to_sunday_zero_offset()));
        has(3, day.month()) && if self.either_day { number || weekday } else { number && weekday }
    }

    fn next_on(&self, day: &Zoned, now: &Zoned) -> Option<Zoned> {
        let times = self.fields[1].iter().flat_map(|hour| self.fields[0].iter().map(move |minute| (*hour, *minute)));
        let at = |(hour, minute): (u8, u8)| {
            let time = jiff::civil::time(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0);
            day.date().to_datetime(time).to_zoned(day.time_zone().clone()).ok()
        };
        let last_second = now.checked_add(1.second()).ok()?;
        times.filter_map(at).find(|time| *time >= last_second)
    }
}

/// Reads one field: a list of values, ranges and steps.
fn field(text: &str, at: usize) -> Option<Vec<u8>> {
    let (low, high) = BOUNDS[at];
    let mut values = Vec::new();
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse::<u8>().ok().filter(|step| *step > 0)?),
            None => (part, 1),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (low, if at == 4 { 6 } else { high }),
            Some((from, to)) => (value(from, at)?, value(to, at)?),
            None if part.contains('/') => (value(range, at)?, high),
            None => (value(range, at)?, value(range, at)?),
        };
        if from > to {
            return None;
        }
        values.extend((from..=to).step_by(usize::from(step)));
    }
    values.sort_unstable();
    values.dedup();
    Some(values)
}

fn value(text: &str, at: usize) -> Option<u8> {
    let named = |names: &[&str]| names.iter().position(|name| text.eq_ignore_ascii_case(name));
    let by_name = match at {
        3 => named(&MONTHS).map(|place| place + 1),
        4 => named(&DAYS),
        _ => None,
    };
    let (low, high) = BOUNDS[at];
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = by_name.and_then(|number| u8::try_from(number).ok()).or_else(|| {
        // A sign is no digit, although the standard library takes one.
        text.parse().ok().filter(|_| digits)
    })?;
    (low..=high).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_times() {
        // 2026-11-16 is a Monday; clocks go forward in Berlin on 2027-03-28 at 2:00.
        for (text, now, next) in [
            ("*/15 * * * *", "2026-11-16T12:00:00", "2026-11-16T12:15:00"),
            ("*/15 * * * *", "2026-11-16T12:14:59", "2026-11-16T12:15:00"),
            ("0 3 * * *", "2026-11-16T12:00:00", "2026-11-17T03:00:00"),
            ("0 3 * * *", "2026-11-16T02:59:59", "2026-11-16T03:00:00"),
            ("20 4 * * 0", "2026-11-16T12:00:00", "2026-11-22T04:20:00"),
            ("20 4 * * 7", "2026-11-16T12:00:00", "2026-11-22T04:20:00"),
            ("20 4 1 * *", "2026-11-16T12:00:00", "2026-12-01T04:20:00"),
            ("30 3 * * mon-fri", "2026-11-20T12:00:00", "2026-11-23T03:30:00"),
            ("0 0 29 2 *", "2026-11-16T12:00:00", "2028-02-29T00:00:00"),
            ("0 0 13 * fri", "2026-11-16T12:00:00", "2026-11-20T00:00:00"),
            ("0 12 13-20/3 nov *", "2026-11-16T12:00:00", "2026-11-19T12:00:00"),
            ("30 2 * * *", "2027-03-27T12:00:00", "2027-03-28T03:30:00"),
            ("@daily", "2026-11-16T12:00:00", "2026-11-17T00:00:00"),
        ] {
            let at = |text: &str| format!("{text}[Europe/Berlin]").parse::<Zoned>().expect("a time");
            let time = CronTime::parse(text).expect("a cron time");
            assert_eq!(time.next(&at(now)), Some(at(next)), "{text} after {now}");
        }
        let never = CronTime::parse("0 0 30 2 *").expect("a cron time");
        assert_eq!(never.next(&"2026-11-16T12:00:00[UTC]".parse().expect("a time")), None);
    }

    #[test]
    fn what_is_no_cron_time() {
        for text in
            ["", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "*/0 * * * *", "5-1 * * * *"]
        {
            assert_eq!(CronTime::parse(text), None, "{text}");
        }
        for text in ["+1 * * * *", "a * * * *", "1,,2 * * * *", "@reboot", "* * * * * /bin/sh", "1\n2 * * * * *"] {
            assert_eq!(CronTime::parse(text), None, "{text}");
        }
    }
}
