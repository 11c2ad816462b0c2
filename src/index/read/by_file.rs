//! Finds documents by the files they are about, and the prompts that led to them.

use tantivy::collector::DocSetCollector;
use tantivy::query::{AllQuery, BooleanQuery, Occur, PhraseQuery, Query as TantivyQuery, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, Term};

use crate::document::{Document, Kind, Role};
use crate::error::Result;
use crate::index::file_key::FileKey;
use crate::index::read::Reader;
use crate::index::read::filter::beginning;
use crate::index::schema::from_class;
use crate::query::{Condition, Filter, Test};

/// A way to write the path of a file: in lower case, with forward slashes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Spelling {
    /// The whole path, or any suffix of it.
    Exact(String),
    /// Everything in a folder, at any depth.
    Below(String),
    /// Every path that a regular expression matches as a whole.
    Pattern(String),
}

/// Selects documents about a file.
#[derive(Clone, Debug, Default)]
pub struct About<'a> {
    /// The file, in any of these spellings.
    pub spellings: &'a [Spelling],
    /// Only these kinds.
    pub kinds: &'a [Kind],
    /// Only these tools; any tool if empty.
    pub tools: &'a [&'a str],
    /// None of these tools.
    pub without_tools: &'a [&'a str],
    /// A filter that documents must pass. Tool results are exempt: they belong to their calls.
    pub filter: Option<&'a Filter>,
}

/// A prompt, by time.
#[derive(Clone, Copy, Debug)]
pub struct PromptPlace {
    time: i64,
    address: DocAddress,
}

impl Reader {
    /// Returns all documents about a file, with the transcripts they were read from.
    pub fn about(&self, about: &About<'_>) -> Result<Vec<(FileKey, Document)>> {
        let query = self.guarded(|| {
            let spellings: tantivy::Result<Vec<_>> =
                about.spellings.iter().map(|spelling| self.spelling_query(spelling)).collect();
            let mut clauses = vec![(Occur::Must, any(spellings?))];
            clauses.push((Occur::Must, self.any_name(self.fields.kind, about.kinds.iter().map(|kind| kind.name()))));
            if !about.tools.is_empty() {
                clauses.push((Occur::Must, self.any_name(self.fields.tool, about.tools.iter().copied())));
            }
            for tool in about.without_tools {
                clauses.push((Occur::MustNot, term(self.fields.tool, tool)));
            }
            clauses.extend(self.filter_clause(about.filter)?);
            Ok(BooleanQuery::new(clauses))
        })?;
        self.fetch_matches(&query)
    }

    /// Returns the documents of a kind, and of a tool, that were written in certain working directories, at or after a
    /// time.
    pub fn calls_in(
        &self,
        kind: Kind,
        tool: Option<&str>,
        is_wanted: &dyn Fn(&str) -> bool,
        since: i64,
    ) -> Result<Vec<(FileKey, Document)>> {
        let query = self.guarded(|| {
            let folders = self.values(self.fields.cwd)?;
            let folders = folders.iter().filter(|folder| is_wanted(folder)).map(|folder| term(self.fields.cwd, folder));
            let since = Condition { test: Test::Since(since), negated: false, span: None };
            let mut clauses = self.clauses(&Filter { conditions: vec![since], ..Filter::default() })?;
            clauses.push((Occur::Must, any(folders.collect())));
            clauses.push((Occur::Must, term(self.fields.kind, kind.name())));
            clauses.extend(tool.map(|tool| (Occur::Must, term(self.fields.tool, tool))));
            Ok(BooleanQuery::new(clauses))
        })?;
        self.fetch_matches(&query)
    }

    /// Returns all documents whose text contains these terms one after the other.
    pub fn mentioning(&self, terms: &[String], kinds: &[Kind], filter: &Filter) -> Result<Vec<(FileKey, Document)>> {
        let body = self.fields.body;
        let words: Box<dyn TantivyQuery> = match terms {
            [] => return Ok(Vec::new()),
            [single] => term(body, single),
            several => {
                Box::new(PhraseQuery::new(several.iter().map(|text| Term::from_field_text(body, text)).collect()))
            }
        };
        let kinds = self.any_name(self.fields.kind, kinds.iter().map(|kind| kind.name()));
        let filter_clause = self.guarded(|| self.filter_clause(Some(filter)))?;
        let clauses = [(Occur::Must, words), (Occur::Must, kinds)].into_iter().chain(filter_clause);
        self.fetch_matches(&BooleanQuery::new(clauses.collect()))
    }

    /// Returns the prompts in a transcript, from a person or a program, sorted by time.
    pub fn prompts_of(&self, file: FileKey) -> Result<Vec<PromptPlace>> {
        let kinds = [Kind::Prompt, Kind::Command, Kind::Queued];
        let of_kind = self.any_name(self.fields.kind, kinds.iter().map(|kind| kind.name()));
        let of_file = term(self.fields.source, &file.text());
        let query = BooleanQuery::new(vec![(Occur::Must, of_file), (Occur::Must, of_kind)]);
        self.guarded(|| {
            let mut prompts = Vec::new();
            for address in self.searcher.search(&query, &DocSetCollector)? {
                let columns = self.searcher.segment_reader(address.segment_ord).fast_fields();
                let class = columns.u64("class")?.first(address.doc_id).unwrap_or_default();
                let (role, kind, is_duplicate) = from_class(class);
                let time = columns.i64("time")?.first(address.doc_id);
                let is_prompt =
                    matches!(role, Role::Human | Role::Programmatic) && !(is_duplicate && kind != Kind::Queued);
                prompts.extend(time.filter(|_| is_prompt).map(|time| PromptPlace { time, address }));
            }
            prompts.sort_unstable_by_key(|prompt| (prompt.time, prompt.address));
            Ok(prompts)
        })
    }

    /// Returns the last prompt at or before `time` that is part of the conversation and above `line`.
    pub fn prompt_before(&self, prompts: &[PromptPlace], time: i64, line: u64) -> Result<Option<Document>> {
        let end = prompts.partition_point(|prompt| prompt.time <= time);
        for prompt in prompts[..end].iter().rev() {
            let (_, document) = self.fetch_at(prompt.address)?;
            // A prompt in the queue has not been submitted yet.
            if document.uuid.is_some() && document.line < line {
                return Ok(Some(document));
            }
        }
        Ok(None)
    }

    /// Returns the documents of a transcript around a line, in order: up to `most` before and after it.
    pub fn near(&self, file: FileKey, line: u64, most: usize) -> Result<Vec<Document>> {
        let all = self.in_order(file)?;
        let lines = self.guarded(|| {
            let mut lines = Vec::with_capacity(all.len());
            for address in &all {
                let column = self.searcher.segment_reader(address.segment_ord).fast_fields().u64("line")?;
                lines.push(column.first(address.doc_id).unwrap_or_default());
            }
            Ok(lines)
        })?;
        let at = lines.partition_point(|other| *other <= line);
        let near = &all[at.saturating_sub(most)..all.len().min(at + most)];
        near.iter().map(|address| self.fetch_at(*address).map(|(_, document)| document)).collect()
    }

    /// Returns a clause for everything that passes the filter, and all tool results.
    fn filter_clause(&self, filter: Option<&Filter>) -> tantivy::Result<Option<(Occur, Box<dyn TantivyQuery>)>> {
        let Some(filter) = filter.filter(|filter| !filter.is_empty()) else { return Ok(None) };
        let mut clauses = self.clauses(filter)?;
        // A query with only negative clauses matches nothing.
        clauses.push((Occur::Must, Box::new(AllQuery)));
        let passes: Box<dyn TantivyQuery> = Box::new(BooleanQuery::new(clauses));
        let tool_result = term(self.fields.kind, Kind::ToolResult.name());
        Ok(Some((Occur::Must, any(vec![passes, tool_result]))))
    }

    fn fetch_matches(&self, query: &dyn TantivyQuery) -> Result<Vec<(FileKey, Document)>> {
        let mut found: Vec<DocAddress> =
            self.guarded(|| Ok(self.searcher.search(query, &DocSetCollector)?.into_iter().collect()))?;
        found.sort_unstable();
        found.into_iter().map(|address| self.fetch_at(address)).collect()
    }

    fn spelling_query(&self, spelling: &Spelling) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let file = self.fields.file;
        match spelling {
            Spelling::Exact(path) => Ok(term(file, path)),
            Spelling::Below(folder) => self.fitting(file, &beginning(&format!("{folder}/"))),
            Spelling::Pattern(pattern) => self.fitting(file, pattern),
        }
    }

    fn any_name<'n>(&self, field: Field, names: impl Iterator<Item = &'n str>) -> Box<dyn TantivyQuery> {
        any(names.map(|name| term(field, name)).collect())
    }
}

fn any(queries: Vec<Box<dyn TantivyQuery>>) -> Box<dyn TantivyQuery> {
    Box::new(BooleanQuery::new(queries.into_iter().map(|query| (Occur::Should, query)).collect()))
}

fn term(field: Field, text: &str) -> Box<dyn TantivyQuery> {
    Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::Basic))
}
