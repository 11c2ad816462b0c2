//! The ages of the session format: which versions, when, and what they write.

use super::rng::Rng;

/// Where an age keeps its subagents.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Agents {
    /// Sidechain lines inside the main file.
    Inline,
    /// `agent-<id>.jsonl` beside the main file.
    Root,
    /// `<session>/subagents/agent-<id>.jsonl`.
    Folder,
}

/// One age of the format.
pub(crate) struct Era {
    prefix: &'static str,
    builds: (usize, usize),
    /// Days since 1970 of the first session, and how many days follow.
    first_day: i64,
    days: usize,
    pub agents: Agents,
    pub branch: bool,
    pub summaries: bool,
    pub queue: bool,
    pub progress: bool,
    pub attachments: bool,
    /// Titles, modes and the key order of the late 2.1 versions.
    pub late: bool,
    /// Read output is numbered with a tab, not an arrow.
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

/// The ages in order of time.
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

/// Sessions in each age, in the proportions of the measured sample.
const WEIGHTS: [u32; 8] = [8, 4, 21, 42, 8, 5, 4, 12];

/// The age around which a project's sessions lie.
///
/// Successive projects spread evenly over the ages, so that small corpora have the mix of large ones.
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

/// The age of a session: the project's own or a neighbour.
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

    /// The first millisecond of a session in this age.
    pub(crate) fn start(&self, rng: &mut Rng) -> i64 {
        let day = self.first_day + rng.below(self.days) as i64;
        day * 86_400_000 + rng.range(7 * 3_600_000, 22 * 3_600_000) as i64
    }

    /// True for the oldest age.
    pub(crate) fn inline(&self) -> bool {
        self.agents == Agents::Inline
    }
}
