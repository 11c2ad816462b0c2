//! Text charts: bars, sparklines and shades, each with an ASCII version for terminals without UTF-8.

/// Returns a bar, precise to an eighth of a character. A value above 0 is always visible.
pub fn bar(value: u64, most: u64, width: usize, ascii: bool) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if most == 0 || value == 0 {
        return String::new();
    }
    let share = value.min(most) as f64 / most as f64;
    if ascii {
        return "#".repeat(((share * width as f64).round() as usize).max(1));
    }
    let eighths = ((share * (width * 8) as f64).round() as usize).max(1);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Returns one column per value, as high as the value. A value of 0 is a blank.
pub fn sparkline(values: &[u64], ascii: bool) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const LETTERS: [char; 8] = ['.', '.', ':', ':', '+', '+', '*', '#'];
    let most = values.iter().copied().max().unwrap_or(0);
    let column = |value: &u64| {
        if *value == 0 {
            return ' ';
        }
        let height = ((*value as f64 / most as f64 * 8.0).ceil() as usize).clamp(1, 8) - 1;
        if ascii { LETTERS[height] } else { BLOCKS[height] }
    };
    values.iter().map(column).collect()
}

/// Sums neighbouring values so that at most `columns` values remain.
pub fn squeezed(values: &[u64], columns: usize) -> Vec<u64> {
    let each = values.len().div_ceil(columns.max(1)).max(1);
    values.chunks(each).map(|chunk| chunk.iter().sum()).collect()
}

/// Returns one of five shades, from 0 (none) to 4 (most).
pub fn shade(level: usize, ascii: bool) -> char {
    const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
    const LETTERS: [char; 5] = ['.', ':', '+', '*', '#'];
    let shades = if ascii { LETTERS } else { SHADES };
    shades[level.min(4)]
}

/// Assigns shades to values. Shades 1 to 4 each cover a quarter of the values above 0.
#[derive(Clone, Debug, Default)]
pub struct Shades(Vec<u64>);

impl Shades {
    /// Computes the shades from all values.
    pub fn of(values: impl Iterator<Item = u64>) -> Self {
        let mut values: Vec<u64> = values.filter(|value| *value > 0).collect();
        values.sort_unstable();
        Self(values)
    }

    /// Returns the shade of a value, from 0 to 4.
    pub fn level(&self, value: u64) -> usize {
        if value == 0 || self.0.is_empty() {
            return 0;
        }
        let below = self.0.partition_point(|other| *other < value);
        1 + (below * 4 / self.0.len()).min(3)
    }
}

/// Formats a number with about three digits: `999`, `12.3k`, `4.56M`, `1.18B`.
pub fn short(number: u64) -> String {
    let (scaled, unit) = match number {
        0..1000 => return number.to_string(),
        1000..999_500 => (number as f64 / 1e3, "k"),
        999_500..999_500_000 => (number as f64 / 1e6, "M"),
        _ => (number as f64 / 1e9, "B"),
    };
    let digits = if scaled < 9.995 { 2 } else { usize::from(scaled < 99.95) };
    format!("{scaled:.digits$}{unit}")
}

/// Formats a duration in its two largest units.
pub fn duration(ms: i64) -> String {
    let seconds = (ms.max(0) + 500) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_proportional() {
        for (value, drawn, plain) in
            [(0, "", ""), (1, "▏", "#"), (50, "████", "####"), (56, "████▌", "####"), (100, "████████", "########")]
        {
            assert_eq!((bar(value, 100, 8, false), bar(value, 100, 8, true)), (drawn.into(), plain.into()), "{value}");
        }
        assert_eq!(bar(5, 0, 8, false), "");
    }

    #[test]
    fn sparklines_are_proportional() {
        assert_eq!(sparkline(&[0, 1, 50, 100], false), " ▁▄█");
        assert_eq!(sparkline(&[0, 1, 50, 100], true), " .:#");
        assert_eq!(sparkline(&[], false), "");
        assert_eq!(squeezed(&[1, 2, 3, 4, 5], 2), [6, 9]);
        assert_eq!(squeezed(&[1, 2, 3], 5), [1, 2, 3]);
    }

    #[test]
    fn each_shade_covers_a_quarter_of_the_values() {
        let shades = Shades::of([0, 1, 2, 3, 4].into_iter());
        assert_eq!([0, 1, 2, 3, 4, 9].map(|value| shades.level(value)), [0, 1, 2, 3, 4, 4]);
        assert_eq!(Shades::default().level(3), 0);
        assert_eq!((shade(0, false), shade(4, false), shade(9, true)), ('·', '█', '#'));
    }

    #[test]
    fn numbers_are_short() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1000, "1.00k"),
            (9_999, "10.0k"),
            (12_345, "12.3k"),
            (999_499, "999k"),
            (999_500, "1.00M"),
            (456_000_000, "456M"),
            (1_180_000_000, "1.18B"),
            (23_456_000_000, "23.5B"),
        ] {
            assert_eq!(short(number), expected);
        }
    }

    #[test]
    fn durations_have_two_units() {
        for (ms, expected) in
            [(400, "0 s"), (42_000, "42 s"), (310_000, "5 min 10 s"), (3_840_000, "1 h 4 min"), (90_000_000, "1 d 1 h")]
        {
            assert_eq!(duration(ms), expected);
        }
    }
}
