//! Schedules of jobs: parses what the user writes, and converts it for systemd and cron.

use unspool::error::{Error, ErrorKind};

/// A recurring time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum When {
    /// Every N minutes, counted from midnight. N divides an hour, or is a number of hours that divides a day.
    Every(u32),
    /// Every day at hour and minute.
    Daily(u8, u8),
    /// Every Sunday at hour and minute.
    Weekly(u8, u8),
    /// On the first of every month at hour and minute.
    Monthly(u8, u8),
    /// In the scheduler's own syntax.
    Calendar(String),
}

impl When {
    /// Parses an interval such as `15m` or `2h`. It must divide an hour or a day: every scheduler supports that, keeps
    /// it over a restart, and interprets it the same way.
    pub(crate) fn every(text: &str) -> Result<Self, String> {
        const ASK: &str = "use 1, 2, 3, 4, 5, 6, 10, 12, 15, 20 or 30 minutes, or 1, 2, 3, 4, 6, 8, 12 or 24 hours \
                           (such as 15m or 1h)";
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let count: u32 = number.trim().parse().map_err(|_| ASK.to_string())?;
        let minutes = match text[number.len()..].trim() {
            "m" | "min" | "minute" | "minutes" => count,
            "h" | "hour" | "hours" => count.saturating_mul(60),
            "d" | "day" if count == 1 => 24 * 60,
            _ => return Err(ASK.to_string()),
        };
        let is_valid = minutes > 0
            && (minutes < 60 && 60 % minutes == 0 || minutes.is_multiple_of(60) && (24 * 60) % minutes == 0);
        match minutes {
            1440 => Ok(Self::Daily(0, 0)),
            _ if is_valid => Ok(Self::Every(minutes)),
            _ => Err(ASK.to_string()),
        }
    }

    /// Parses a time of day such as `03:00`.
    pub(crate) fn daily(text: &str) -> Result<Self, String> {
        let time = text.split_once(':').and_then(|(hour, minute)| {
            let (hour, minute): (u8, u8) = (hour.parse().ok()?, minute.parse().ok()?);
            (hour < 24 && minute < 60).then_some(Self::Daily(hour, minute))
        });
        time.ok_or_else(|| "use a time of day such as 03:00".to_string())
    }

    /// Returns the schedule in plain English.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Every(1) => "every minute".into(),
            Self::Every(60) => "every hour".into(),
            Self::Every(minutes @ 1..60) => format!("every {minutes} minutes"),
            Self::Every(minutes) => format!("every {} hours", minutes / 60),
            Self::Daily(hour, minute) => format!("every day at {hour:02}:{minute:02}"),
            Self::Weekly(hour, minute) => format!("every Sunday at {hour:02}:{minute:02}"),
            Self::Monthly(hour, minute) => format!("on the first of every month at {hour:02}:{minute:02}"),
            Self::Calendar(text) => format!("at \"{text}\""),
        }
    }

    /// Returns the schedule for systemd's `OnCalendar=`.
    pub(crate) fn systemd(&self) -> String {
        match self {
            Self::Every(minutes @ 1..60) => format!("*-*-* *:00/{minutes}:00"),
            Self::Every(60) => "*-*-* *:00:00".to_string(),
            Self::Every(minutes) => format!("*-*-* 00/{}:00:00", minutes / 60),
            Self::Daily(hour, minute) => format!("*-*-* {hour:02}:{minute:02}:00"),
            Self::Weekly(hour, minute) => format!("Sun *-*-* {hour:02}:{minute:02}:00"),
            Self::Monthly(hour, minute) => format!("*-*-01 {hour:02}:{minute:02}:00"),
            Self::Calendar(text) => text.clone(),
        }
    }

    /// Returns the schedule as cron's five fields, with one blank between them.
    pub(crate) fn cron(&self) -> Result<String, Error> {
        let text = match self {
            Self::Every(1) => "* * * * *".to_string(),
            Self::Every(minutes @ 1..60) => format!("*/{minutes} * * * *"),
            Self::Every(60) => "0 * * * *".to_string(),
            Self::Every(minutes) => format!("0 */{} * * *", minutes / 60),
            Self::Daily(hour, minute) => format!("{minute} {hour} * * *"),
            Self::Weekly(hour, minute) => format!("{minute} {hour} * * 0"),
            Self::Monthly(hour, minute) => format!("{minute} {hour} 1 * *"),
            Self::Calendar(text) => match text.trim() {
                "@hourly" => "0 * * * *".to_string(),
                "@daily" | "@midnight" => "0 0 * * *".to_string(),
                "@weekly" => "0 0 * * 0".to_string(),
                "@monthly" => "0 0 1 * *".to_string(),
                "@yearly" | "@annually" => "0 0 1 1 *".to_string(),
                text => cronexpr::normalize_crontab(text),
            },
        };
        if crontab(&text).is_none() {
            return Err(Error::new(ErrorKind::Usage, format!("cron does not understand the time \"{text}\""))
                .hint("use five fields: minute hour day month weekday, such as \"30 3 * * 1-5\""));
        }
        Ok(text)
    }
}

/// Parses cron's five fields in the system's time zone. Refuses what only some crons support: `L`, `W`, `#` and names
/// of time zones.
pub(super) fn crontab(text: &str) -> Option<cronexpr::Crontab> {
    let is_name = |value: &str| value.len() == 3 && value.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_known = |value: &str| value == "*" || value.bytes().all(|byte| byte.is_ascii_digit()) || is_name(value);
    if text.split(' ').count() != 5 || !text.split([' ', ',', '-', '/']).all(is_known) {
        return None;
    }
    let mut options = cronexpr::ParseOptions::default();
    options.fallback_timezone_option = cronexpr::FallbackTimezoneOption::System;
    cronexpr::parse_crontab_with(text, options).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_divide_an_hour_or_a_day() {
        for (text, minutes) in [("15m", 15), ("1h", 60), ("30 min", 30), ("8 hours", 480)] {
            assert_eq!(When::every(text), Ok(When::Every(minutes)), "{text}");
        }
        assert_eq!((When::every("24h"), When::every("1d")), (Ok(When::Daily(0, 0)), Ok(When::Daily(0, 0))));
        for text in ["", "m", "7m", "0m", "90m", "5h", "48h", "15", "15s", "-5m", "99999999999m", "4294967295h", "½h"]
        {
            assert!(When::every(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_of_day_are_parsed() {
        assert_eq!(When::daily("03:00"), Ok(When::Daily(3, 0)));
        assert_eq!(When::daily("3:05"), Ok(When::Daily(3, 5)));
        for text in ["24:00", "03:60", "3", "03:00:00", "noon", ""] {
            assert!(When::daily(text).is_err(), "{text}");
        }
    }

    #[test]
    fn schedules_are_converted_for_each_scheduler() {
        for (when, words, systemd, cron) in [
            (When::Every(15), "every 15 minutes", "*-*-* *:00/15:00", "*/15 * * * *"),
            (When::Every(60), "every hour", "*-*-* *:00:00", "0 * * * *"),
            (When::Every(120), "every 2 hours", "*-*-* 00/2:00:00", "0 */2 * * *"),
            (When::Daily(3, 0), "every day at 03:00", "*-*-* 03:00:00", "0 3 * * *"),
            (When::Weekly(4, 20), "every Sunday at 04:20", "Sun *-*-* 04:20:00", "20 4 * * 0"),
            (When::Monthly(4, 20), "on the first of every month at 04:20", "*-*-01 04:20:00", "20 4 1 * *"),
        ] {
            assert_eq!((when.words().as_str(), when.systemd().as_str()), (words, systemd));
            assert_eq!(when.cron().expect("a time"), cron);
        }
    }

    #[test]
    fn cron_times_are_checked() {
        for (text, fields) in [
            ("*/15 * * * *", "*/15 * * * *"),
            (" 30  3\t* * mon-fri ", "30 3 * * mon-fri"),
            ("0 12 13-20/3 nov,Dec *", "0 12 13-20/3 nov,Dec *"),
            ("5/10 4 1 * 7", "5/10 4 1 * 7"),
            ("@daily", "0 0 * * *"),
        ] {
            assert_eq!(When::Calendar(text.into()).cron().expect("a time"), fields, "{text}");
        }
        for text in
            ["", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "*/0 * * * *", "5-1 * * * *"]
        {
            assert!(When::Calendar(text.into()).cron().is_err(), "{text}");
        }
        for text in
            ["+1 * * * *", "a * * * *", "mon * * * *", "1,,2 * * * *", "@reboot", "* * * * * /bin/sh", "1\n2 * * * * *"]
        {
            assert!(When::Calendar(text.into()).cron().is_err(), "{text}");
        }
        for text in ["0 0 L * *", "0 0 15W * *", "0 0 * * 5L", "0 0 * * 5#3", "* * * * * UTC"] {
            assert!(When::Calendar(text.into()).cron().is_err(), "{text}");
        }
    }
}
