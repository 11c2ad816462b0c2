//! Finding documents by the files they are about, and the prompts that led to them.

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
use crate::query::Filter;

/// How a file is spelled; all in lower case, with forward slashes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Spelling {
    /// The whole path, or any tail of it.
    Exact(String),
    /// Everything below a folder.
    Below(String),
    /// Everything a regular expression matches from end to end.
    Pattern(String),
}

/// Which documents are wanted of those about a file.
#[derive(Clone, Debug, Default)]
pub struct About<'a> {
    /// The file, in any of these spellings.
    pub spellings: &'a [Spelling],
    /// Only of these kinds.
    pub kinds: &'a [Kind],
    /// Only of these tools; of any if empty.
    pub tools: &'a [&'a str],
    /// Not of these tools.
    pub without_tools: &'a [&'a str],
    /// What must hold; the answers of tools go with their calls, and are not looked at.
    pub filter: Option<&'a Filter>,
}

/// Somebody's words, by time.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    time: i64,
    address: DocAddress,
}

impl Reader {
    /// All documents about a file, with the transcripts they were read from.
    pub fn about(&self, about: &About<'_>) -> Result<Vec<(FileKey, Document)>> {
        let query = self.guarded(|| {
            let spellings: tantivy::Result<Vec<_>> =
                about.spellings.iter().map(|spelling| self.spelled(spelling)).collect();
            let mut clauses = vec![(Occur::Must, any(spellings?))];
            clauses.push((Occur::Must, self.one_of(self.fields.kind, about.kinds.iter().map(|kind| kind.name()))));
            if !about.tools.is_empty() {
                clauses.push((Occur::Must, self.one_of(self.fields.tool, about.tools.iter().copied())));
            }
            for tool in about.without_tools {
                clauses.push((Occur::MustNot, term(self.fields.tool, tool)));
            }
            clauses.extend(self.narrowed(about.filter)?);
            Ok(BooleanQuery::new(clauses))
        })?;
        self.fetched(&query)
    }

    /// All documents whose words hold these terms one after the other.
    pub fn mentioning(&self, terms: &[String], kinds: &[Kind], filter: &Filter) -> Result<Vec<(FileKey, Document)>> {
        let body = self.fields.body;
        let words: Box<dyn TantivyQuery> = match terms {
            [] => return Ok(Vec::new()),
            [one] => term(body, one),
            many => Box::new(PhraseQuery::new(many.iter().map(|text| Term::from_field_text(body, text)).collect())),
        };
        let kinds = self.one_of(self.fields.kind, kinds.iter().map(|kind| kind.name()));
        let narrowed = self.guarded(|| self.narrowed(Some(filter)))?;
        let clauses = [(Occur::Must, words), (Occur::Must, kinds)].into_iter().chain(narrowed);
        self.fetched(&BooleanQuery::new(clauses.collect()))
    }

    /// What a person or a program said in a transcript, by time.
    pub fn prompts_of(&self, file: FileKey) -> Result<Vec<Said>> {
        let kinds = [Kind::Prompt, Kind::Command, Kind::Queued];
        let of_kind = self.one_of(self.fields.kind, kinds.iter().map(|kind| kind.name()));
        let of_file = term(self.fields.source, &file.text());
        let query = BooleanQuery::new(vec![(Occur::Must, of_file), (Occur::Must, of_kind)]);
        self.guarded(|| {
            let mut said = Vec::new();
            for address in self.searcher.search(&query, &DocSetCollector)? {
                let columns = self.searcher.segment_reader(address.segment_ord).fast_fields();
                let class = columns.u64("class")?.first(address.doc_id).unwrap_or_default();
                let (role, kind, is_duplicate) = from_class(class);
                let time = columns.i64("time")?.first(address.doc_id);
                let is_prompt =
                    matches!(role, Role::Human | Role::Programmatic) && !(is_duplicate && kind != Kind::Queued);
                said.extend(time.filter(|_| is_prompt).map(|time| Said { time, address }));
            }
            said.sort_unstable_by_key(|said| (said.time, said.address));
            Ok(said)
        })
    }

    /// The last prompt at or before a time that stands in the conversation itself and above a line.
    pub fn prompt_before(&self, said: &[Said], time: i64, line: u64) -> Result<Option<Document>> {
        let end = said.partition_point(|said| said.time <= time);
        for said in said[..end].iter().rev() {
            let (_, document) = self.fetch_at(said.address)?;
            // What waits in the queue has not been heard yet.
            if document.uuid.is_some() && document.line < line {
                return Ok(Some(document));
            }
        }
        Ok(None)
    }

    /// The documents of a transcript around a line, in order.
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
        let at = lines.partition_point(|one| *one <= line);
        let near = &all[at.saturating_sub(most)..all.len().min(at + most)];
        near.iter().map(|address| self.fetch_at(*address).map(|(_, document)| document)).collect()
    }

    /// What a filter lets through, and the answers of tools.
    fn narrowed(&self, filter: Option<&Filter>) -> tantivy::Result<Option<(Occur, Box<dyn TantivyQuery>)>> {
        let Some(filter) = filter.filter(|filter| !filter.is_empty()) else { return Ok(None) };
        let mut clauses = self.clauses(filter)?;
        // What is only forbidden needs something to be taken from.
        clauses.push((Occur::Must, Box::new(AllQuery)));
        let admitted: Box<dyn TantivyQuery> = Box::new(BooleanQuery::new(clauses));
        let answer = term(self.fields.kind, Kind::ToolResult.name());
        Ok(Some((Occur::Must, any(vec![admitted, answer]))))
    }

    fn fetched(&self, query: &dyn TantivyQuery) -> Result<Vec<(FileKey, Document)>> {
        let mut found: Vec<DocAddress> =
            self.guarded(|| Ok(self.searcher.search(query, &DocSetCollector)?.into_iter().collect()))?;
        found.sort_unstable();
        found.into_iter().map(|address| self.fetch_at(address)).collect()
    }

    fn spelled(&self, spelling: &Spelling) -> tantivy::Result<Box<dyn TantivyQuery>> {
        let file = self.fields.file;
        match spelling {
            Spelling::Exact(path) => Ok(term(file, path)),
            Spelling::Below(folder) => self.fitting(file, &beginning(&format!("{folder}/"))),
            Spelling::Pattern(pattern) => self.fitting(file, pattern),
        }
    }

    fn one_of<'n>(&self, field: Field, names: impl Iterator<Item = &'n str>) -> Box<dyn TantivyQuery> {
        any(names.map(|name| term(field, name)).collect())
    }
}

fn any(queries: Vec<Box<dyn TantivyQuery>>) -> Box<dyn TantivyQuery> {
    Box::new(BooleanQuery::new(queries.into_iter().map(|query| (Occur::Should, query)).collect()))
}

fn term(field: Field, text: &str) -> Box<dyn TantivyQuery> {
    Box::new(TermQuery::new(Term::from_field_text(field, text), IndexRecordOption::Basic))
}
