//! Serializers for times and paths in JSON.

use std::path::Path;

use serde::{Serialize as _, Serializer};

/// Serializes a time in milliseconds since 1970 as RFC 3339.
pub(crate) fn rfc3339<S: Serializer>(time: &Option<i64>, to: S) -> Result<S::Ok, S::Error> {
    time.map(timestamp).serialize(to)
}

/// Returns a time in milliseconds since 1970 as RFC 3339.
pub fn timestamp(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map(|time| format!("{time:.3}")).unwrap_or_default()
}

/// Serializes a path; bytes that are not UTF-8 become U+FFFD.
pub(crate) fn lossy_path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}
