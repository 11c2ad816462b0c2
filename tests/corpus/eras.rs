//! The eras of the session format: their versions, their dates, and what they write.

use super::rng::Rng;

/// Where the versions of an era store subagents.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Agents {
    /// Sidechain lines inside the main file.
    Inline,
    /// `agent-<id>.jsonl` next to the main file.
    Root,
    /// `<session>/subagents/agent-<id>.jsonl`.
    Folder,
}

/// A range of versions that write the same format.
pub(crate) struct Era {
    prefix: &'static str,
    builds: (usize, usize),
    /// The first day on which a session can start, in days since 1970. `days` is the length of the era.
    first_day: i64,
    days: usize,
    pub agents: Agents,
    pub branch: bool,
    pub summaries: bool,
    pub queue: bool,
    pub progress: bool,
    pub attachments: bool,
    /// Set for late 2.1 versions, which write titles and modes and order keys differently.
    pub late: bool,
    /// Set if the output of Read separates line numbers with a tab instead of an arrow.
    pub tabs: bool,
    pub meta: bool,
    /// Share of thinking blocks without text.
    pub blank_thoughts: f64,
    pub model: &'static str,
}

const BASE: Era = Era {
    prefix: "2.1",
    builds: (12, 24),
    first_day: 20_459,
    days: 26,
    agents: Agents::Folder,
    branch: true,
    summaries: false,
    queue: true,
    progress: true,
    attachments: false,
    late: false,
    tabs: false,
    meta: false,
    blank_thoughts: 0.0,
    model: "claude-opus-4-5-20251101",
};

/// The eras in chronological order.
pub(crate) const ERAS: &[Era] = &[
    Era {
        prefix: "1.0",
        builds: (17, 128),
        first_day: 20_249,
        days: 110,
        agents: Agents::Inline,
        branch: false,
        summaries: true,
        queue: false,
        progress: false,
        model: "claude-sonnet-4-20250514",
        ..BASE
    },
    Era {
        prefix: "2.0",
        builds: (28, 77),
        first_day: 20_360,
        days: 98,
        agents: Agents::Root,
        summaries: true,
        progress: false,
        model: "claude-sonnet-4-5-20250929",
        ..BASE
    },
    Era { summaries: true, ..BASE },
    Era { builds: (25, 49), first_day: 20_485, days: 22, model: "claude-opus-4-6", ..BASE },
    Era { builds: (50, 74), first_day: 20_507, days: 21, meta: true, model: "claude-sonnet-4-6", ..BASE },
    Era {
        builds: (86, 99),
        first_day: 20_528,
        days: 26,
        meta: true,
        progress: false,
        attachments: true,
        tabs: true,
        blank_thoughts: 0.38,
        model: "claude-opus-4-6",
        ..BASE
    },
    Era {
        builds: (100, 149),
        first_day: 20_554,
        days: 50,
        meta: true,
        progress: false,
        attachments: true,
        late: true,
        tabs: true,
        blank_thoughts: 0.5,
        model: "claude-opus-4-7",
        ..BASE
    },
    Era {
        builds: (200, 232),
        first_day: 20_624,
        days: 56,
        meta: true,
        progress: false,
        attachments: true,
        late: true,
        tabs: true,
        blank_thoughts: 0.9,
        model: "claude-opus-4-8",
        ..BASE
    },
];

/// Share of the sessions in each era, as in the measured sample.
const WEIGHTS: [u32; 8] = [8, 4, 21, 42, 8, 5, 4, 12];

/// Returns the index of the era in which most of a project's sessions lie.
///
/// Successive projects spread evenly over the eras, so that small corpora have the mix of large ones.
pub(crate) fn centre(seed: u64, number: usize) -> usize {
    let total: u32 = WEIGHTS.iter().sum();
    let golden = (seed % 97) as f64 * 0.37 + number as f64 * 0.618_033_988_75;
    let mut left = (golden.fract() * f64::from(total)) as u32;
    WEIGHTS
        .iter()
        .position(|weight| {
            if left < *weight {
                true
            } else {
                left -= weight;
                false
            }
        })
        .unwrap_or(0)
}

/// Returns the era of a session: the project's own or an adjacent one.
pub(crate) fn near(rng: &mut Rng, centre: usize) -> &'static Era {
    let at = match rng.below(6) {
        0 => centre.saturating_sub(1),
        1 => (centre + 1).min(ERAS.len() - 1),
        _ => centre,
    };
    &ERAS[at]
}

impl Era {
    pub(crate) fn version(&self, rng: &mut Rng) -> String {
        format!("{}.{}", self.prefix, rng.range(self.builds.0, self.builds.1 + 1))
    }

    /// Draws the start of a session in this era, in milliseconds since 1970.
    pub(crate) fn start(&self, rng: &mut Rng) -> i64 {
        let day = self.first_day + rng.below(self.days) as i64;
        day * 86_400_000 + rng.range(7 * 3_600_000, 22 * 3_600_000) as i64
    }

    /// Returns true if subagents are in the main file, as in the oldest era.
    pub(crate) fn inline(&self) -> bool {
        self.agents == Agents::Inline
    }
}
