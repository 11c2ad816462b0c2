//! `serde` structs for Claude Code's JSON: maps the keys of each object to fields.
//!
//! Every key is optional and may have any type; see [`Lenient`].

use std::borrow::Cow;

use serde::de::SeqAccess;

use crate::transcript::event::Block;
use crate::transcript::lenient::{Lenient, Raw, Text, object};

object! {
    /// One line of a transcript.
    Entry {
        "type" => kind: Text<'a>,
        "subtype" => subtype: Text<'a>,
        "operation" => operation: Text<'a>,
        "uuid" => uuid: Text<'a>,
        "parentUuid" => parent: Text<'a>,
        "logicalParentUuid" => logical_parent: Text<'a>,
        "sessionKind" => session_kind: Text<'a>,
        "sessionId" => session: Text<'a>,
        "agentId" => agent: Text<'a>,
        "timestamp" => timestamp: Text<'a>,
        "cwd" => cwd: Text<'a>,
        "gitBranch" => branch: Text<'a>,
        "version" => version: Text<'a>,
        "entrypoint" => entrypoint: Text<'a>,
        "isSidechain" => sidechain: bool,
        "isMeta" => meta: bool,
        "isCompactSummary" => compact: bool,
        "isApiErrorMessage" => api_error: bool,
        "origin" => origin: Origin<'a>,
        "forkedFrom" => forked_from: Fork<'a>,
        "message" => message: Message<'a>,
        "content" => content: Raw<'a>,
        "error" => error: Raw<'a>,
        "result" => result: Raw<'a>,
        "attachment" => attachment: Raw<'a>,
        "data" => data: Raw<'a>,
        "snapshot" => snapshot: Raw<'a>,
        "backup" => backup: Raw<'a>,
        "toolUseResult" => record: RawRecord<'a>,
        "blocks" => blocks: Raw<'a>,
        "trackingPath" => tracking_path: Text<'a>,
        "customTitle" => custom_title: Text<'a>,
        "aiTitle" => ai_title: Text<'a>,
        "agentName" => agent_name: Text<'a>,
        "lastPrompt" => last_prompt: Text<'a>,
        "summary" => summary: Text<'a>,
        "leafUuid" => leaf: Text<'a>,
        "prUrl" => pr_url: Text<'a>,
        "prNumber" => pr_number: u64,
        "prRepository" => pr_repository: Text<'a>,
        "continuedInSessionId" => continued_in: Text<'a>,
        "relocatedCwd" => relocated_cwd: Text<'a>,
        "title" => title: Text<'a>,
        "path" => path: Text<'a>,
        "artifactUrl" => artifact_url: Text<'a>,
        "url" => url: Text<'a>,
    }
}

object! {
    /// The record stored next to a tool result; only the keys about files.
    RawRecord {
        "type" => kind: Text<'a>,
        "filePath" => path: Text<'a>,
        "notebook_path" => notebook: Text<'a>,
        "originalFile" => original: Raw<'a>,
        "originalFileContents" => original_contents: Raw<'a>,
        "original_file" => original_file: Raw<'a>,
        "updated_file" => updated_file: Raw<'a>,
        "content" => content: Raw<'a>,
        "oldString" => old: Raw<'a>,
        "newString" => new: Raw<'a>,
        "structuredPatch" => patch: Raw<'a>,
        "userModified" => modified: bool,
        "file" => file: RawFile<'a>,
    }
}

object! {
    /// A file that was read.
    RawFile {
        "filePath" => path: Text<'a>,
        "content" => content: Raw<'a>,
        "startLine" => start: u64,
        "numLines" => lines: u64,
        "totalLines" => total: u64,
    }
}

object! {
    /// The actual sender of a user line.
    Origin { "kind" => kind: Text<'a> }
}

object! {
    /// The message an SDK fork was copied from.
    Fork { "sessionId" => session: Text<'a>, "messageUuid" => message: Text<'a> }
}

object! {
    /// The API message of a user or assistant line. A value that is not an object is taken as its content.
    Message {
        "id" => id: Text<'a>,
        "model" => model: Text<'a>,
        "content" => content: Vec<Block<'a>>,
        "usage" => usage: RawUsage<'a>,
    }

    fn from_text(text: Cow<'a, str>) -> Self {
        Self { content: Vec::from_text(text), ..Self::default() }
    }

    fn from_list<A: SeqAccess<'a>>(list: A) -> Result<Self, A::Error> {
        Ok(Self { content: Vec::from_list(list)?, ..Self::default() })
    }
}

object! {
    /// The tokens used by an API message; repeated on each of its lines.
    RawUsage {
        "input_tokens" => input: u64,
        "cache_creation_input_tokens" => cache_write: u64,
        "cache_read_input_tokens" => cache_read: u64,
        "output_tokens" => output: u64,
        "cache_creation" => cache_creation: RawCacheCreation<'a>,
        "service_tier" => _tier: Text<'a>,
    }
}

object! {
    /// Tokens written to the cache, by how long they are cached.
    RawCacheCreation { "ephemeral_1h_input_tokens" => hour: u64 }
}

object! {
    /// The keys of an attachment that decide how it is handled.
    Attachment {
        "type" => kind: Text<'a>,
        "prompt" => prompt: Raw<'a>,
        "commandMode" => mode: Text<'a>,
        "origin" => origin: Origin<'a>,
        "filename" => filename: Text<'a>,
        "path" => path: Text<'a>,
        "snippet" => snippet: Text<'a>,
    }
}

object! {
    /// The payload of a progress line.
    Progress {
        "type" => kind: Text<'a>,
        "agentId" => agent: Text<'a>,
        "message" => message: Raw<'a>,
    }
}

object! {
    /// One line of the prompt history.
    HistoryEntry {
        "display" => display: Text<'a>,
        "pastedContents" => pasted: Raw<'a>,
        "timestamp" => timestamp: u64,
        "project" => project: Text<'a>,
        "sessionId" => session: Text<'a>,
    }
}

object! {
    /// The description file next to a subagent's transcript.
    AgentMeta {
        "agentType" => kind: Text<'a>,
        "description" => description: Text<'a>,
        "name" => name: Text<'a>,
        "toolUseId" => tool_use: Text<'a>,
        "model" => model: Text<'a>,
        "worktreePath" => worktree: Text<'a>,
        "parentAgentId" => parent_agent: Text<'a>,
    }
}
