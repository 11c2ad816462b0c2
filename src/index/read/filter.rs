//! Turns search filters into tantivy queries, so that they apply before anything is counted or truncated.
//!
//! Names of projects, tools, branches and models are looked up among those in the index. So an unknown name can be
//! distinguished from a known one without hits.

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
use crate::index::schema::{AGENT, CHECKPOINT_KIND, ERROR};
use crate::query::glob;
use crate::query::names::{self, Naming};
use crate::query::{Condition, Filter, Test};

/// Fields with few distinct values, which can be listed.
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
    /// Roles.
    Role,
    /// Kinds of messages.
    Kind,
}

/// A clause of a boolean query.
pub(in crate::index) type Clause = (Occur, Box<dyn TantivyQuery>);

impl Reader {
    /// Returns all values of a field, sorted.
    pub fn names(&self, which: Listed) -> Result<Vec<String>> {
        self.guarded(|| self.values(self.listed(which)))
    }

    /// Returns all values of a field with the number of documents that have each.
    pub fn counted(&self, which: Listed) -> Result<Vec<(String, u64)>> {
        self.guarded(|| {
            let mut counts: std::collections::BTreeMap<String, u64> = std::collections::BTreeMap::new();
            for reader in self.searcher.segment_readers() {
                let index = reader.inverted_index(self.listed(which))?;
                let mut stream = index.terms().stream()?;
                while stream.advance() {
                    let name = String::from_utf8_lossy(stream.key()).into_owned();
                    *counts.entry(name).or_default() += u64::from(stream.value().doc_freq);
                }
            }
            Ok(counts.into_iter().collect())
        })
    }

    /// Returns the clauses of a filter. They do not affect scores.
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
            let same_field =
                filter.conditions.iter().filter(|condition| !condition.negated && condition.field() == field);
            let queries = same_field.map(|condition| self.condition(condition)).collect::<tantivy::Result<Vec<_>>>()?;
            // Time bounds all apply at once; other conditions on the same field are alternatives.
            let query = if matches!(field, "since" | "until") { all_of(queries) } else { any_of(queries) };
            clauses.push((Occur::Must, Box::new(ConstScoreQuery::new(query, 0.0))));
        }
        Ok(clauses)
    }

    /// Checkpoints have times too, but are never a match.
    fn in_time(&self, range: RangeQuery) -> Box<dyn TantivyQuery> {
        let checkpoints = exact(self.fields.kind, CHECKPOINT_KIND);
        Box::new(BooleanQuery::new(vec![(Occur::Must, Box::new(range)), (Occur::MustNot, checkpoints)]))
    }

    fn condition(&self, condition: &Condition) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let fields = &self.fields;
        let time = |at: i64| Term::from_field_i64(fields.time, at);
        Ok(match &condition.test {
            Test::Role(role) => exact(fields.role, role.name()),
            Test::Kind(kind) => exact(fields.kind, kind.name()),
            Test::Error => exact(fields.flag, ERROR),
            Test::Agent => exact(fields.flag, AGENT),
            Test::Since(at) => self.in_time(RangeQuery::new(Bound::Included(time(*at)), Bound::Unbounded)),
            Test::Until(at) => self.in_time(RangeQuery::new(Bound::Unbounded, Bound::Included(time(*at)))),
            Test::Session(id) => {
                let mut ids = vec![id.clone(), id.to_lowercase()];
                ids.dedup();
                any_of(
                    ids.iter()
                        .map(|id| self.fitting(fields.session, &beginning(id)))
                        .collect::<tantivy::Result<_>>()?,
                )
            }
            Test::File(path) => self.file_query(path)?,
            Test::Cwd(folder) => self.below(fields.cwd, folder)?,
            Test::Here(folders) => {
                let mut queries = Vec::new();
                for folder in folders {
                    queries.push(self.below(fields.cwd, folder)?);
                    queries.push(self.below(fields.project, folder)?);
                }
                any_of(queries)
            }
            test => match name_of(test) {
                Some((which, naming, wanted)) => {
                    let field = self.listed(which);
                    let known = self.values(field)?;
                    let matching = names::pick(wanted, &known, naming);
                    any_of(matching.into_iter().map(|name| exact(field, name)).collect())
                }
                None => Box::new(EmptyQuery),
            },
        })
    }

    /// Returns a query for a file and everything below it, everything below a folder, or all paths that match a glob.
    pub(in crate::index) fn file_query(&self, path: &str) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let path = path.to_lowercase();
        let file = self.fields.file;
        // A file with this very name comes before the files that match it as a pattern: `app/[slug]/page.tsx`.
        if glob::is_pattern(&path) && !self.is_known_path(&path)? {
            return self.fitting(file, &glob::expression(&path));
        }
        let folder = path.trim_end_matches('/');
        let inside = self.fitting(file, &beginning(&format!("{folder}/")))?;
        Ok(if path.ends_with('/') { inside } else { any_of(vec![exact(file, &path), inside]) })
    }

    /// Reports whether any document is about a file or folder of this very name.
    fn is_known_path(&self, path: &str) -> tantivy::Result<bool> {
        let inside = format!("{}/", path.trim_end_matches('/'));
        for reader in self.searcher.segment_readers() {
            let index = reader.inverted_index(self.fields.file)?;
            let mut below = index.terms().range().ge(&inside).into_stream()?;
            if index.doc_freq(&Term::from_field_text(self.fields.file, path))? > 0
                || below.advance() && below.key().starts_with(inside.as_bytes())
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns a query for the terms of a field that a regular expression matches as a whole.
    pub(in crate::index) fn fitting(&self, field: Field, expression: &str) -> tantivy::Result<Box<dyn TantivyQuery>> {
        if let Ok(query) = RegexQuery::from_pattern(expression, field) {
            return Ok(Box::new(query));
        }
        // tantivy's automata are limited to a thousand states. Larger expressions are compared with each term.
        let Ok(regex) = Regex::new(&format!("^(?:{expression})$")) else { return Ok(Box::new(EmptyQuery)) };
        let values = self.values(field)?;
        let terms = values.iter().filter(|value| regex.is_match(value));
        Ok(Box::new(TermSetQuery::new(terms.map(|value| Term::from_field_text(field, value)))))
    }

    /// Returns a query for everything in a folder, at any depth. A relative path matches any folder that ends with it.
    fn below(&self, field: Field, folder: &str) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let folder = folder.trim_end_matches('/').to_lowercase();
        let inside = format!("{folder}/");
        let is_absolute = folder.starts_with('/') || folder.get(1..2) == Some(":");
        let fits = |name: &String| {
            let name = format!("{}/", normal_path(name, None).to_lowercase());
            name.starts_with(&inside) || (!is_absolute && name.contains(&format!("/{inside}")))
        };
        Ok(any_of(self.values(field)?.iter().filter(|name| fits(name)).map(|name| exact(field, name)).collect()))
    }

    /// Returns all terms of a field with few terms.
    pub(in crate::index) fn values(&self, field: Field) -> tantivy::Result<Vec<String>> {
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
            Listed::Role => self.fields.role,
            Listed::Kind => self.fields.kind,
        }
    }
}

/// Returns the field and the name of a condition whose name is looked up in the index.
pub(in crate::index) fn name_of(test: &Test) -> Option<(Listed, Naming, &str)> {
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

/// Returns a regular expression for terms that begin with a text.
pub(in crate::index) fn beginning(text: &str) -> String {
    format!("{}.*", regex_syntax::escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_expressions_compile() {
        for pattern in ["*.rs", "src/**/x.rs", "a?.{ts,tsx}", "a{b", "[!a-z]ä", "[", "app/[slug]/*"] {
            let compiled = RegexQuery::from_pattern(&glob::expression(pattern), Field::from_field_id(0));
            assert!(compiled.is_ok(), "{pattern}");
        }
    }
}
