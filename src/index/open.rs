//! Opens or creates a tantivy index, and checks that unspool made it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tantivy::IndexSettings;
use tantivy::directory::{Directory as _, OwnedBytes, RamDirectory};
use tantivy::store::{Compressor, StoreWriter, ZstdCompressor};

use crate::error::{Error, ErrorKind, Result};
use crate::index::checkpoint::PARSER_VERSION;
use crate::index::disk::directory::{META, SafeDirectory};
use crate::index::disk::fs::is_index_folder;
use crate::index::errors::{damage, damaged, tantivy_error};
use crate::index::schema::{self, FORMAT_VERSION};
use crate::index::tokenizer::{WORDS, WordTokenizer};

/// Compression level of stored text.
const ZSTD_LEVEL: i32 = 3;
/// Bytes of stored text that are compressed together. Each hit decompresses one block: blocks of 160 KB would make the
/// index 4 % smaller and searches 15 % slower.
const STORE_BLOCK: usize = 64 << 10;

/// Metadata that each commit carries.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(in crate::index) struct Header {
    pub(in crate::index) format: u32,
    pub(in crate::index) schema: String,
    pub(in crate::index) parser: u32,
    pub(in crate::index) program: String,
    /// Set if the run that made the commit finished.
    pub(in crate::index) clean: bool,
    /// Set if deleted text is still in the files and must be erased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::index) erasing: bool,
}

impl Header {
    pub(in crate::index) fn new(clean: bool) -> Self {
        Self {
            format: FORMAT_VERSION,
            schema: format!("{:016x}", schema::fingerprint()),
            parser: PARSER_VERSION,
            program: env!("CARGO_PKG_VERSION").to_string(),
            clean,
            erasing: false,
        }
    }
}

/// Opens the index in a folder, or creates an empty one.
pub(in crate::index) fn create_or_open(path: &Path, directory: SafeDirectory) -> Result<tantivy::Index> {
    let exists = tantivy::Index::exists(&directory).map_err(|error| damage(path, &error.into()))?;
    if exists {
        return open_checked(path, directory);
    }
    if is_index_folder(path)? {
        return Err(damaged(path, "meta.json is missing"));
    }
    let (schema, _) = schema::schema();
    let settings = IndexSettings {
        docstore_compression: Compressor::Zstd(ZstdCompressor { compression_level: Some(ZSTD_LEVEL) }),
        docstore_blocksize: STORE_BLOCK,
        // A thread per segment costs more in context switches and memory than it saves: all cores are busy already.
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    };
    let mut index = tantivy::Index::create(directory, schema, settings).map_err(|error| tantivy_error(path, &error))?;
    register(&mut index);
    Ok(index)
}

/// Opens an index, and checks that unspool made it and that it has the current format.
pub(in crate::index) fn open_checked(path: &Path, directory: SafeDirectory) -> Result<tantivy::Index> {
    let foreign = || {
        let what = format!("{} contains an index that unspool did not create", path.display());
        Error::new(ErrorKind::Unusable, what).hint("move it away, or choose another folder with --index-dir")
    };
    let open_error = |error| if is_foreign(path) { foreign() } else { damage(path, &error) };
    let mut index = tantivy::Index::open(directory).map_err(open_error)?;
    let metas = index.load_metas().map_err(|error| damage(path, &error))?;
    let header: Option<Header> = metas.payload.as_deref().and_then(|payload| serde_json::from_str(payload).ok());
    let unusable = |what: String, hint: &str| Err(Error::new(ErrorKind::Unusable, what).hint(hint));
    match header {
        Some(header) if header.format > FORMAT_VERSION => {
            let what = format!(
                "the index in {} was created by a newer version of unspool ({})",
                path.display(),
                header.program
            );
            return unusable(what, "upgrade unspool, or choose another folder with --index-dir");
        }
        // Created, but killed before the first commit.
        None if metas.segments.is_empty() && index.schema() == schema::schema().0 => {}
        Some(_) if index.schema() == schema::schema().0 => {}
        // The folder has our name. It also has either our header or our fields, but not both.
        Some(_) => return Err(damaged(path, "its list of fields is wrong")),
        None if index.schema() == schema::schema().0 => return Err(damaged(path, "its header cannot be read")),
        None => return Err(foreign()),
    }
    register(&mut index);
    Ok(index)
}

/// Reports whether an index that cannot be opened was made by another program, for example with another compression.
/// Its `meta.json` can be read, but contains neither our header nor our fields.
fn is_foreign(path: &Path) -> bool {
    let text = std::fs::read(path.join(META)).unwrap_or_default();
    let Ok(meta) = serde_json::from_slice::<serde_json::Value>(&text) else { return false };
    let has_header = meta["payload"].as_str().is_some_and(|payload| serde_json::from_str::<Header>(payload).is_ok());
    let is_ours = |field: &serde_json::Value| field["name"] == "checkpoint";
    let has_foreign_fields = |fields: &Vec<serde_json::Value>| !fields.is_empty() && !fields.iter().any(is_ours);
    !has_header && meta["segments"].is_array() && meta["schema"].as_array().is_some_and(has_foreign_fields)
}

/// Returns the bytes of a store file without documents.
pub(in crate::index) fn empty_store() -> tantivy::Result<OwnedBytes> {
    let (memory, name) = (RamDirectory::create(), Path::new("empty.store"));
    let index = tantivy::Index::create(memory.clone(), schema::schema().0, IndexSettings::default())?;
    let compressor = Compressor::Zstd(ZstdCompressor::default());
    StoreWriter::new(index.directory().open_write(name)?, compressor, STORE_BLOCK, false)?.close()?;
    Ok(memory.open_read(name)?.read_bytes()?)
}

/// Registers our tokenizer.
pub(in crate::index) fn register(index: &mut tantivy::Index) {
    index.tokenizers().register(WORDS, WordTokenizer::default());
}

/// Compares every file of the index with its checksum.
pub(in crate::index) fn check_sums(path: &Path, index: &tantivy::Index) -> Result<()> {
    let wrong = index.validate_checksum().map_err(|error| damage(path, &error))?;
    match wrong.into_iter().min() {
        Some(file) => Err(damaged(path, &format!("{} has a wrong checksum", file.display()))),
        None => Ok(()),
    }
}
