//! Finds names in a filter that are not in the index, and similar ones that are: "did you mean".

use crate::error::Result;
use crate::index::read::Reader;
use crate::index::read::filter::name_of;
use crate::query::Filter;
use crate::query::names;

/// A name in a filter that matches no name in the index.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownName {
    /// The field, for example `project` or `tool`.
    pub field: &'static str,
    /// The name as typed.
    pub wanted: String,
    /// Similar names in the index.
    pub nearest: Vec<String>,
}

impl Reader {
    /// Returns the names in a filter that match nothing in the index.
    pub fn unknown_names(&self, filter: &Filter) -> Result<Vec<UnknownName>> {
        let mut unknown = Vec::new();
        for condition in &filter.conditions {
            let Some((which, naming, wanted)) = name_of(&condition.test) else { continue };
            let known = self.names(which)?;
            if names::pick(wanted, &known, naming).is_empty() {
                let nearest = names::nearest(wanted, &known, naming).into_iter().map(String::from).collect();
                unknown.push(UnknownName { field: condition.field(), wanted: wanted.to_string(), nearest });
            }
        }
        Ok(unknown)
    }
}
