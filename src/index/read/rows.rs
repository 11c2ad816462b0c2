//! Reads the columns of all documents as rows: everything that statistics need, without reading any text.

use std::collections::{HashMap, HashSet};

use tantivy::columnar::{Column, StrColumn};
use tantivy::query::{AllQuery, BooleanQuery, EnableScoring, Occur, Query as TantivyQuery};
use tantivy::{DocAddress, DocId, DocSet as _, SegmentOrdinal, SegmentReader, TERMINATED, Term};

use crate::document::{Document, Kind, Role};
use crate::error::Result;
use crate::index::checkpoint::Checkpoint;
use crate::index::file_key::FileKey;
use crate::index::read::{Reader, holding};
use crate::index::schema::{CONTINUED, FAILED, TOKENS, WORDLESS, from_class, session_key};
use crate::query::{Filter, Test};
use crate::transcript::discover::SourceKind;

/// The columns of one document.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The file it was read from.
    pub file: FileKey,
    /// The key of its session.
    pub session: u64,
    /// The folder its session was started in; see [`Names`].
    pub project: Option<u32>,
    /// Time in milliseconds since 1970.
    pub time: Option<i64>,
    /// The speaker.
    pub role: Role,
    /// The kind of document.
    pub kind: Kind,
    /// Set if another document with the same `text_hash` is the better copy.
    pub is_duplicate: bool,
    /// Set if it reports a failure.
    pub error: bool,
    /// Set if it continues the text of the document before it.
    pub continued: bool,
    /// The same in all copies of a line.
    pub group: u64,
    /// Of a prompt: the same in all documents of the session with the same text.
    pub text_hash: u64,
    /// Of a call or its result: the tool; see [`Names`].
    pub tool: Option<u32>,
    /// The model; see [`Names`].
    pub model: Option<u32>,
    /// Of a call or its result: the same in all documents that change the same file.
    pub edited: Option<u64>,
    /// The tokens of the API message it is part of.
    pub spent: Option<Spent>,
    /// The position of the document, to read it if needed.
    pub at: Option<RowAt>,
}

/// The tokens of an API message.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Spent {
    /// Identifies the API message; several lines and files may report the same message.
    pub message: u64,
    /// Tokens: input, cache write, cache read, output, and how many of those written are cached for an hour.
    pub tokens: [u64; TOKENS.len()],
}

/// The position of a document in an open index.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct RowAt(DocAddress);

/// Names of projects, tools and models. Each name is stored once, and rows refer to it by number.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    /// Returns the name with a number.
    pub fn get(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }

    /// Returns the number of a name, adding the name if it is new.
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_string());
        self.numbers.insert(name.to_string(), number);
        number
    }
}

impl Reader {
    /// Returns the rows of all documents that pass a filter.
    pub fn rows<'r>(&'r self, filter: &'r Filter) -> Result<Rows<'r>> {
        Ok(Rows { reader: self, filter, wordless: self.wordless()? })
    }

    /// Calls `each` for every message of a conversation itself, without subagents, in no particular order. A message has
    /// as many documents as it has parts. Reads only the columns that this needs.
    pub fn each_message_of(&self, session: &str, each: &mut dyn FnMut(MessageRow<'_>)) -> Result<()> {
        let term = Term::from_field_text(self.fields.session, session);
        self.guarded(|| {
            for reader in self.searcher.segment_readers() {
                let docs = holding(reader, &term)?;
                if !docs.is_empty() {
                    let columns = MessageColumns::open(reader)?;
                    docs.into_iter().filter_map(|doc| columns.row(doc)).for_each(&mut *each);
                }
            }
            Ok(())
        })
    }

    /// Calls `each` for every message whose group is wanted, as [`Self::each_message_of`] does.
    pub fn each_message_in(&self, is_wanted: &dyn Fn(u64) -> bool, each: &mut dyn FnMut(MessageRow<'_>)) -> Result<()> {
        self.guarded(|| {
            for reader in self.searcher.segment_readers() {
                let columns = MessageColumns::open(reader)?;
                let is_wanted = |doc: &DocId| columns.group.first(*doc).is_some_and(is_wanted);
                reader.doc_ids_alive().filter(is_wanted).filter_map(|doc| columns.row(doc)).for_each(&mut *each);
            }
            Ok(())
        })
    }

    /// Reads the document of a row.
    pub fn document_at(&self, at: RowAt) -> Result<Document> {
        self.document(at.0)
    }

    /// Returns the files with API messages that produced no document.
    fn wordless(&self) -> Result<Vec<Checkpoint>> {
        let flagged = self.with_term(&Term::from_field_text(self.fields.flag, WORDLESS))?;
        flagged.into_iter().map(|address| self.checkpoint_at(address)).collect()
    }
}

/// The rows of all documents that pass a filter.
#[derive(Debug)]
pub struct Rows<'r> {
    reader: &'r Reader,
    filter: &'r Filter,
    /// The files with API messages that produced no document.
    wordless: Vec<Checkpoint>,
}

impl Rows<'_> {
    /// Calls `each` for every row, in no particular order. Reads the tokens only if they are wanted.
    pub fn each(&self, with_tokens: bool, names: &mut Names, each: &mut dyn FnMut(&Row)) -> Result<()> {
        let Self { reader: index, filter, .. } = self;
        let without = filter.without_session.as_deref().map(session_key);
        let mut passed = Passed { asks_all: filter.conditions.is_empty() && without.is_none(), ..Passed::default() };
        index.guarded(|| {
            let mut clauses = index.clauses(filter)?;
            clauses.push((Occur::Must, Box::new(AllQuery)));
            let weight = BooleanQuery::new(clauses).weight(EnableScoring::disabled_from_searcher(&index.searcher))?;
            for (ordinal, reader) in (0..).zip(index.searcher.segment_readers()) {
                let mut segment = Segment::open(ordinal, reader, with_tokens)?;
                let mut docs = weight.scorer(reader, 1.0)?;
                while docs.doc() != TERMINATED {
                    let doc = docs.doc();
                    docs.advance();
                    if reader.is_deleted(doc) {
                        continue;
                    }
                    if let Some(row) = segment.row(doc, names)?.filter(|row| without != Some(row.session)) {
                        passed.record(&row);
                        each(&row);
                    }
                }
            }
            Ok(())
        })?;
        for file in &self.wordless {
            wordless_rows(file, names).iter().filter(|row| passed.fits(filter, row)).for_each(&mut *each);
        }
        Ok(())
    }
}

/// A message of a conversation.
#[derive(Clone, Copy)]
pub struct MessageRow<'c> {
    /// The key of its session.
    pub session: u64,
    /// The same in all copies of a line.
    pub group: u64,
    doc: DocId,
    columns: &'c MessageColumns,
}

impl MessageRow<'_> {
    /// Returns the tokens of the API message that it is part of.
    pub fn spent(&self) -> Option<Spent> {
        spent(&self.columns.message, &self.columns.tokens, self.doc)
    }
}

/// The columns of a segment that [`MessageRow`] needs.
struct MessageColumns {
    class: Column<u64>,
    group: Column<u64>,
    session: Column<u64>,
    message: Column<u64>,
    tokens: Vec<Column<u64>>,
}

impl MessageColumns {
    fn open(reader: &SegmentReader) -> tantivy::Result<Self> {
        let columns = reader.fast_fields();
        Ok(Self {
            class: columns.u64("class")?,
            group: columns.u64("group")?,
            session: columns.u64("session_key")?,
            message: columns.u64("message")?,
            tokens: TOKENS.iter().map(|name| columns.u64(name)).collect::<tantivy::Result<_>>()?,
        })
    }

    fn row(&self, doc: DocId) -> Option<MessageRow<'_>> {
        let (role, kind, is_duplicate) = from_class(self.class.first(doc)?);
        let is_message = matches!(kind, Kind::Prompt | Kind::Text | Kind::Thinking | Kind::ToolUse | Kind::ToolResult);
        if !is_message || is_duplicate || role == Role::Subagent {
            return None;
        }
        Some(MessageRow { session: self.session.first(doc)?, group: self.group.first(doc)?, doc, columns: self })
    }
}

/// Returns the tokens of the API message that a document is part of.
fn spent(message: &Column<u64>, columns: &[Column<u64>], doc: DocId) -> Option<Spent> {
    let message = message.first(doc)?;
    let mut tokens = [0; TOKENS.len()];
    for (slot, column) in tokens.iter_mut().zip(columns) {
        *slot = column.first(doc).unwrap_or(0);
    }
    Some(Spent { message, tokens })
}

/// The files and models of the rows that passed the filter. A message without a document passes if others of its file
/// do.
#[derive(Debug, Default)]
struct Passed {
    /// Set if the filter has no conditions, so that nothing needs recording.
    asks_all: bool,
    files: HashSet<FileKey>,
    models: HashSet<u32>,
}

impl Passed {
    fn record(&mut self, row: &Row) {
        if !self.asks_all {
            self.files.insert(row.file);
            self.models.extend(row.model);
        }
    }

    /// Reports whether a message without a document passes the filter.
    fn fits(&self, filter: &Filter, row: &Row) -> bool {
        let asks_model = filter.conditions.iter().any(|condition| matches!(condition.test, Test::Model(_)));
        let is_model = row.model.is_some_and(|model| self.models.contains(&model));
        self.asks_all || self.files.contains(&row.file) && (!asks_model || is_model)
    }
}

/// Returns a row for each API message of a file that produced no document.
fn wordless_rows(file: &Checkpoint, names: &mut Names) -> Vec<Row> {
    let project = file.state.project.as_deref().map(|project| names.number(project));
    let role = if file.source_kind() == SourceKind::Agent { Role::Subagent } else { Role::Assistant };
    let row = |message: &crate::document::Wordless| {
        let [input, write, read, output] = message.usage;
        let tokens = [input, write, read, output, message.cache_hour];
        Row {
            file: file.key(),
            session: session_key(file.session_id()),
            project,
            time: message.timestamp,
            role,
            kind: Kind::Thinking,
            is_duplicate: false,
            error: false,
            continued: false,
            group: 0,
            text_hash: 0,
            tool: None,
            model: message.model.as_deref().map(|model| names.number(model)),
            edited: None,
            spent: Some(Spent { message: message.message.number(), tokens }),
            at: None,
        }
    };
    file.state.wordless.iter().map(row).collect()
}

/// The columns of a segment.
struct Segment {
    ordinal: SegmentOrdinal,
    class: Column<u64>,
    group: Column<u64>,
    session: Column<u64>,
    text_hash: Column<u64>,
    time: Column<i64>,
    message: Column<u64>,
    tokens: Vec<Column<u64>>,
    with_tokens: bool,
    edited: Column<u64>,
    source: Texts<FileKey>,
    project: Texts<u32>,
    tool: Texts<u32>,
    model: Texts<u32>,
}

impl Segment {
    fn open(ordinal: SegmentOrdinal, reader: &SegmentReader, with_tokens: bool) -> tantivy::Result<Self> {
        let columns = reader.fast_fields();
        Ok(Self {
            ordinal,
            class: columns.u64("class")?,
            group: columns.u64("group")?,
            session: columns.u64("session_key")?,
            text_hash: columns.u64("text_hash")?,
            time: columns.i64("time")?,
            message: columns.u64("message")?,
            tokens: TOKENS.iter().map(|name| columns.u64(name)).collect::<tantivy::Result<_>>()?,
            with_tokens,
            edited: columns.u64("edited")?,
            source: Texts::new(columns.str("source")?),
            project: Texts::new(columns.str("project")?),
            tool: Texts::new(columns.str("tool")?),
            model: Texts::new(columns.str("model")?),
        })
    }

    /// Returns the row of an entry, or `None` if it has no class.
    fn row(&mut self, doc: DocId, names: &mut Names) -> tantivy::Result<Option<Row>> {
        let Some(class) = self.class.first(doc) else { return Ok(None) };
        let (role, kind, is_duplicate) = from_class(class);
        let file = self.source.get(doc, |text| FileKey::parse(text).unwrap_or(FileKey::from_number(0)))?;
        // Of most rows, most columns are empty. To look them up takes a third of the time of a row.
        let is_call = matches!(kind, Kind::ToolUse | Kind::ToolResult);
        let is_prompt = matches!(kind, Kind::Prompt | Kind::Command | Kind::Queued);
        let spent = self.with_tokens.then(|| spent(&self.message, &self.tokens, doc)).flatten();
        Ok(Some(Row {
            file: file.unwrap_or(FileKey::from_number(0)),
            session: self.session.first(doc).unwrap_or(0),
            project: self.project.get(doc, |name| names.number(name))?,
            time: self.time.first(doc),
            role,
            kind,
            is_duplicate,
            error: class & FAILED != 0,
            continued: class & CONTINUED != 0,
            group: self.group.first(doc).unwrap_or(0),
            text_hash: if is_prompt { self.text_hash.first(doc).unwrap_or(0) } else { 0 },
            tool: if is_call { self.tool.get(doc, |name| names.number(name))? } else { None },
            model: self.model.get(doc, |name| names.number(name))?,
            edited: if is_call { self.edited.first(doc) } else { None },
            spent,
            at: Some(RowAt(DocAddress::new(self.ordinal, doc))),
        }))
    }
}

/// A column of texts. Each distinct text is read and converted once.
struct Texts<T> {
    column: Option<StrColumn>,
    read: Vec<Option<T>>,
}

impl<T: Copy> Texts<T> {
    fn new(column: Option<StrColumn>) -> Self {
        let count = column.as_ref().map_or(0, |column| column.num_terms());
        Self { column, read: vec![None; count] }
    }

    fn get(&mut self, doc: DocId, make: impl FnOnce(&str) -> T) -> tantivy::Result<Option<T>> {
        let Some(column) = &self.column else { return Ok(None) };
        let Some(ord) = column.ords().first(doc) else { return Ok(None) };
        let Some(slot) = self.read.get_mut(ord as usize) else { return Ok(None) };
        if slot.is_none() {
            let mut text = String::new();
            column.ord_to_str(ord, &mut text)?;
            *slot = Some(make(&text));
        }
        Ok(*slot)
    }
}
