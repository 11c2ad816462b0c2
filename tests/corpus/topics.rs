//! The subjects of the invented projects. Each has a name, its own words and its own modules.

/// The subject of a project.
pub(crate) struct Topic {
    pub name: &'static str,
    /// Domain words, which occur in the prose, identifiers and paths of the project.
    pub words: &'static str,
}

pub(crate) const TOPICS: &[Topic] = &[
    Topic {
        name: "tidewatch",
        words: "tide harbour gauge buoy swell mooring sounding chart current ebb marina pilot sluice estuary draught lock berth fathom",
    },
    Topic {
        name: "breadline",
        words: "bakery dough oven proof starter flour batch loaf glaze recipe crust yeast hydration scale crumb bake pastry rye",
    },
    Topic {
        name: "lettercase",
        words: "font glyph kerning ligature hinting outline baseline ascender serif weight axis foundry specimen raster contour cmap typeface",
    },
    Topic {
        name: "paywise",
        words: "invoice ledger refund charge payout dispute settlement currency tax merchant mandate chargeback reconcile balance receipt tariff",
    },
    Topic {
        name: "quizforge",
        words: "quiz question answer grade student lesson rubric attempt score deck flashcard hint syllabus streak tutor marking",
    },
    Topic {
        name: "railpass",
        words: "train timetable platform fare ticket carriage junction delay connection seat reservation operator station headway itinerary",
    },
    Topic {
        name: "starfield",
        words: "telescope exposure star catalogue photometry magnitude orbit ephemeris spectrum flare dome filter plate declination parallax",
    },
    Topic {
        name: "voxline",
        words: "audio sample waveform codec mixer track tempo pitch reverb gain channel playback recorder envelope metronome resample",
    },
    Topic {
        name: "greenhouse",
        words: "sensor soil humidity irrigation pump valve seedling harvest nutrient greenhouse lamp moisture forecast crop bed climate",
    },
    Topic {
        name: "docketeer",
        words: "contract clause signature witness deadline filing docket court appeal statute redline amendment party exhibit counsel",
    },
    Topic {
        name: "mapmaker",
        words: "tile polygon raster projection coordinate geofence route waypoint elevation contour layer bounding atlas bearing geocode",
    },
    Topic {
        name: "shiplane",
        words: "parcel courier depot manifest label pickup carrier pallet customs tracking dispatch weight locker consignment returns",
    },
    Topic {
        name: "pixelpress",
        words: "image thumbnail crop palette dither exif histogram resize canvas brush mask blend sharpen watermark gamma",
    },
    Topic {
        name: "ledgerdb",
        words: "segment compaction tombstone bloom memtable checkpoint replica quorum wal page btree vacuum snapshot isolation shard",
    },
    Topic {
        name: "chatterbox",
        words: "message thread mention reaction presence typing channel moderator emoji inbox digest unread bot webhook room",
    },
    Topic {
        name: "medroster",
        words: "patient ward nurse shift rota dosage appointment clinic triage discharge allergy referral consent bed pager",
    },
    Topic {
        name: "kernelkit",
        words: "driver interrupt scheduler syscall pagetable mutex spinlock device firmware boot bus dma register trap allocator",
    },
    Topic {
        name: "shopfront",
        words: "basket checkout coupon catalogue variant shipping stock wishlist payment product storefront promotion facet review bundle",
    },
    Topic {
        name: "modelbench",
        words: "dataset tokenizer embedding checkpoint epoch loss gradient batch evaluation prompt sampling attention latency inference quantize",
    },
    Topic {
        name: "gatehouse",
        words: "login session token scope role permission tenant policy audit credential oauth consent passkey lockout directory",
    },
    Topic {
        name: "pipeyard",
        words: "pipeline runner artifact stage matrix secret deploy rollback canary environment workflow approval cache trigger release",
    },
    Topic {
        name: "cardinal",
        words: "chess board move castle pawn rook bishop engine evaluation opening endgame clock rating puzzle transposition",
    },
    Topic {
        name: "newsroom",
        words: "article headline editor draft byline embargo paywall newsletter column edition correction feed summary archive press",
    },
    Topic {
        name: "gridwatt",
        words: "turbine inverter meter tariff demand battery charger outage feeder substation carbon peak forecast voltage dispatch",
    },
];

pub(crate) const USERS: &[&str] =
    &["mira", "jonas", "aiko", "petra", "sam", "leila", "tomasz", "dev", "nadia", "oskar"];

pub(crate) const FOLDERS: &[&str] = &[
    "api", "core", "store", "parser", "render", "worker", "auth", "config", "model", "view", "service", "client",
    "util", "sync", "import", "report", "search", "queue", "http", "cli",
];

pub(crate) const PACKAGES: &[&str] = &[
    "tokio", "serde", "react", "vitest", "fastify", "pydantic", "numpy", "sqlx", "zod", "redis", "axum", "lodash",
    "pytest", "httpx", "postgres", "webpack", "esbuild", "anyhow", "clap", "mocha", "eslint", "prettier", "ruff",
    "mypy", "rollup", "hyper", "tracing", "rayon", "express", "prisma",
];

pub(crate) const SLUG: &[&[&str]] = &[
    &["humble", "merry", "quiet", "dazzling", "fuzzy", "kind", "modular", "lucky", "brisk", "gentle"],
    &["doodling", "seeking", "brewing", "drifting", "painting", "tumbling", "humming", "snacking"],
    &["wolf", "umbrella", "seal", "whisper", "turtle", "popcorn", "comet", "teapot", "lagoon", "fern"],
];
