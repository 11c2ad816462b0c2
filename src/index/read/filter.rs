//! From conditions to queries of the engine, so that filters narrow down before anything is counted or cut.
//!
//! Names are looked up among those the index knows; a name that means none of them is told apart from one that only
//! has no hits.

use std::ops::Bound;

use regex::Regex;
use tantivy::Term;
use tantivy::query::{
    BooleanQuery, ConstScoreQuery, EmptyQuery, Occur, Query as TantivyQuery, RangeQuery, RegexQuery, TermQuery,
    TermSetQuery,
};
use tantivy::schema::{Field, IndexRecordOption};

use crate::document::normal_path;
use crate::error::Result;
use crate::index::read::Reader;
use crate::index::schema::{AGENT, ERROR};
use crate::query::glob;
use crate::query::names::{self, Naming};
use crate::query::{Condition, Filter, Test};

/// A name that means nothing the index knows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownName {
    /// The field: `project`, `tool`.
    pub field: &'static str,
    /// What was typed.
    pub wanted: String,
    /// Known names that come near it.
    pub nearest: Vec<String>,
}

/// Fields with few values, which can be listed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Listed {
    /// Projects.
    Project,
    /// Folders.
    Cwd,
    /// Tools.
    Tool,
    /// Git branches.
    Branch,
    /// Models.
    Model,
}

/// A clause of a boolean query.
pub(in crate::index) type Clause = (Occur, Box<dyn TantivyQuery>);

impl Reader {
    /// All values of a field, in order.
    pub fn names(&self, which: Listed) -> Result<Vec<String>> {
        self.guarded(|| self.values(self.listed(which)))
    }

    /// Names in a filter that mean nothing.
    pub fn unknown_names(&self, filter: &Filter) -> Result<Vec<UnknownName>> {
        let mut unknown = Vec::new();
        for condition in &filter.conditions {
            let Some((which, naming, wanted)) = named(&condition.test) else { continue };
            let known = self.names(which)?;
            if names::pick(wanted, &known, naming).is_empty() {
                let nearest = names::nearest(wanted, &known, naming).into_iter().map(String::from).collect();
                unknown.push(UnknownName { field: condition.field(), wanted: wanted.to_string(), nearest });
            }
        }
        Ok(unknown)
    }

    /// The clauses of a filter; they add nothing to any score.
    pub(in crate::index) fn clauses(&self, filter: &Filter) -> tantivy::Result<Vec<Clause>> {
        let mut clauses = Vec::new();
        let mut fields: Vec<&str> = Vec::new();
        for condition in &filter.conditions {
            if condition.negated {
                clauses.push((Occur::MustNot, self.condition(condition)?));
            } else if !fields.contains(&condition.field()) {
                fields.push(condition.field());
            }
        }
        for field in fields {
            let same = filter.conditions.iter().filter(|one| !one.negated && one.field() == field);
            let any = same.map(|one| self.condition(one)).collect::<tantivy::Result<Vec<_>>>()?;
            // Bounds of time are one stretch, not alternatives.
            let together = if matches!(field, "since" | "until") { all_of(any) } else { any_of(any) };
            clauses.push((Occur::Must, Box::new(ConstScoreQuery::new(together, 0.0))));
        }
        Ok(clauses)
    }

    fn condition(&self, condition: &Condition) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let fields = &self.fields;
        let time = |at: i64| Term::from_field_i64(fields.time, at);
        Ok(match &condition.test {
            Test::Role(role) => exact(fields.role, role.name()),
            Test::Kind(kind) => exact(fields.kind, kind.name()),
            Test::Error => exact(fields.flag, ERROR),
            Test::Agent => exact(fields.flag, AGENT),
            Test::Since(at) => Box::new(RangeQuery::new(Bound::Included(time(*at)), Bound::Unbounded)),
            Test::Until(at) => Box::new(RangeQuery::new(Bound::Unbounded, Bound::Included(time(*at)))),
            Test::Session(id) => self.fitting(fields.session, &beginning(&id.to_lowercase()))?,
            Test::File(path) => self.file_query(path)?,
            Test::Cwd(folder) => self.below(fields.cwd, folder)?,
            Test::Here(folders) => {
                let mut any = Vec::new();
                for folder in folders {
                    any.push(self.below(fields.cwd, folder)?);
                    any.push(self.below(fields.project, folder)?);
                }
                any_of(any)
            }
            test => match named(test) {
                Some((which, naming, wanted)) => {
                    let field = self.listed(which);
                    let known = self.values(field)?;
                    let meant = names::pick(wanted, &known, naming);
                    any_of(meant.into_iter().map(|name| exact(field, name)).collect())
                }
                None => Box::new(EmptyQuery),
            },
        })
    }

    /// Everything about a file, the files of a folder, or those that fit a glob.
    pub(in crate::index) fn file_query(&self, path: &str) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let path = path.to_lowercase();
        let file = self.fields.file;
        if glob::is_pattern(&path) {
            return self.fitting(file, &glob::expression(&path));
        }
        let folder = path.trim_end_matches('/');
        let inside = self.fitting(file, &beginning(&format!("{folder}/")))?;
        Ok(if path.ends_with('/') { inside } else { any_of(vec![exact(file, &path), inside]) })
    }

    /// Returns a query for the terms of a field that an expression matches from end to end.
    pub(in crate::index) fn fitting(&self, field: Field, expression: &str) -> tantivy::Result<Box<dyn TantivyQuery>> {
        if let Ok(query) = RegexQuery::from_pattern(expression, field) {
            return Ok(Box::new(query));
        }
        // tantivy's automata have at most a thousand states; what needs more is compared with each term.
        let Ok(regex) = Regex::new(&format!("^(?:{expression})$")) else { return Ok(Box::new(EmptyQuery)) };
        let values = self.values(field)?;
        let terms = values.iter().filter(|value| regex.is_match(value));
        Ok(Box::new(TermSetQuery::new(terms.map(|value| Term::from_field_text(field, value)))))
    }

    /// Everything in a folder or below it. Where the path has no beginning, any folder with that end is meant.
    fn below(&self, field: Field, folder: &str) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let folder = folder.trim_end_matches('/').to_lowercase();
        let inside = format!("{folder}/");
        let is_whole = folder.starts_with('/') || folder.get(1..2) == Some(":");
        let fits = |name: &String| {
            let name = format!("{}/", normal_path(name, None).to_lowercase());
            name.starts_with(&inside) || (!is_whole && name.contains(&format!("/{inside}")))
        };
        Ok(any_of(self.values(field)?.iter().filter(|name| fits(name)).map(|name| exact(field, name)).collect()))
    }

    /// All terms of a field that has few of them.
    fn values(&self, field: Field) -> tantivy::Result<Vec<String>> {
        let mut values = Vec::new();
        for reader in self.searcher.segment_readers() {
            let index = reader.inverted_index(field)?;
            let mut stream = index.terms().stream()?;
            while stream.advance() {
                values.push(String::from_utf8_lossy(stream.key()).into_owned());
            }
        }
        values.sort_unstable();
        values.dedup();
        Ok(values)
    }

    fn listed(&self, which: Listed) -> Field {
        match which {
            Listed::Project => self.fields.project,
            Listed::Cwd => self.fields.cwd,
            Listed::Tool => self.fields.tool,
            Listed::Branch => self.fields.branch,
            Listed::Model => self.fields.model,
        }
    }
}

/// The conditions whose names are looked up.
fn named(test: &Test) -> Option<(Listed, Naming, &str)> {
    match test {
        Test::Project(name) => Some((Listed::Project, Naming::Path, name)),
        Test::Tool(name) => Some((Listed::Tool, Naming::Plain, name)),
        Test::Branch(name) => Some((Listed::Branch, Naming::Plain, name)),
        Test::Model(name) => Some((Listed::Model, Naming::Plain, name)),
        _ => None,
    }
}

pub(in crate::index) fn exact(field: Field, text: &str) -> Box<dyn TantivyQuery> {
    Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::Basic))
}

fn any_of(mut queries: Vec<Box<dyn TantivyQuery>>) -> Box<dyn TantivyQuery> {
    match queries.len() {
        0 => Box::new(EmptyQuery),
        1 => queries.remove(0),
        _ => Box::new(BooleanQuery::union(queries)),
    }
}

fn all_of(mut queries: Vec<Box<dyn TantivyQuery>>) -> Box<dyn TantivyQuery> {
    if queries.len() == 1 { queries.remove(0) } else { Box::new(BooleanQuery::intersection(queries)) }
}

/// Returns an expression for terms that begin with a text.
pub(in crate::index) fn beginning(text: &str) -> String {
    format!("{}.*", regex_syntax::escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_can_be_compared_with_terms() {
        for pattern in ["*.rs", "src/**/x.rs", "a?.{ts,tsx}", "a{b", "[!a-z]ä", "[", "app/[slug]/*"] {
            let compiled = RegexQuery::from_pattern(&glob::expression(pattern), Field::from_field_id(0));
            assert!(compiled.is_ok(), "{pattern}");
        }
    }
}
