//! Queries written by hand for `fixtures/home`, as a user would ask a month later.

use std::collections::BTreeSet;

use super::Wanted;

/// Class, query, and the beginnings of the ids of the sessions that are meant.
const QUERIES: [(&str, &str, &[&str]); 40] = [
    ("error message", "error[E0603]: struct `PostingBatch` is private", &["00000001"]),
    ("error message", "E0603", &["00000001"]),
    ("natural words", "why was the posting batch private", &["00000001"]),
    ("natural words", "where did the memory leak come from", &["00000002"]),
    ("natural words", "the deploy of the blog was slow", &["00000003"]),
    ("natural words", "apple pay counts shipping twice", &["25000001"]),
    ("natural words", "image urls in the rss feed must be absolute", &["11000001"]),
    ("natural words", "convert cups to grams", &["10000006"]),
    ("keyword", "oauth 429", &["05000001"]),
    ("keyword", "distroless dockerfile", &["14000001", "14000002"]),
    ("keyword", "parquet export", &["15000001", "15000002"]),
    ("keyword", "servings slider", &["10000001"]),
    ("keyword", "diacritic folding", &["10000003"]),
    ("keyword", "proofing alarm", &["10000004"]),
    ("keyword", "zola install", &["00000003"]),
    ("identifier", "parseRetryAfter", &["05000001"]),
    ("identifier", "PriceWatcher", &["00000002"]),
    ("identifier", "fold_from_dst_flag", &["03000002"]),
    ("identifier", "sku_pattern", &["01000001"]),
    ("identifier style", "parse_retry_after", &["05000001"]),
    ("identifier style", "price watcher", &["00000002"]),
    ("identifier style", "skuPattern", &["01000001"]),
    ("identifier style", "postingbatch", &["00000001"]),
    ("identifier part", "retryAfter", &["05000001"]),
    ("identifier part", "from_dst_flag", &["03000002"]),
    ("command", "cargo install zola", &["00000003"]),
    ("command", "--dry-run", &["05000001"]),
    ("code", "[Symbol.dispose]", &["00000002"]),
    ("code", "taiki-e/install-action@v2", &["00000003"]),
    ("typo", "memroy leak listeners", &["00000002"]),
    ("typo", "distrolless", &["14000001", "14000002"]),
    ("typo", "diacritc", &["10000003"]),
    ("cjk", "数据库查询", &["26000001"]),
    ("cjk", "分词", &["26000001"]),
    ("cjk", "並び順", &["26000002"]),
    ("cjk", "五十音", &["26000002"]),
    ("cjk", "부동소수점", &["26000003"]),
    ("cjk", "합계", &["26000003"]),
    ("cjk", "词", &["26000001"]),
    ("phrase", "\"print stylesheet\"", &["10000002"]),
];

/// All queries.
pub(super) fn all() -> Vec<Wanted> {
    let wanted = |(class, query, sessions): &(&'static str, &str, &[&str])| Wanted {
        class,
        query: (*query).to_string(),
        sessions: sessions.iter().map(ToString::to_string).collect(),
        messages: BTreeSet::new(),
    };
    QUERIES.iter().map(wanted).collect()
}
