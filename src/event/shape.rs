//! Claude Code's JSON as `serde` sees it: every key optional, every key of any type, unknown keys passed over.
//!
//! Derived `Deserialize` refuses a line when one key has an odd type or stands twice. Here a value of the wrong
//! type counts as absent and the last of two equal keys wins, so one odd key never costs a message.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::Block;
use super::body::{block_of, words_of};
use super::known::is_known;

/// A string, or nothing where the value is something else.
#[derive(Clone, Debug, Default)]
pub(super) struct Str<'a>(pub(super) Option<Cow<'a, str>>);

/// `true`, or `false` for anything else.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flag(pub(super) bool);

/// A count, or 0 for anything else.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count(pub(super) u64);

/// A value left as it stands in the line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Raw<'a>(pub(super) Option<&'a str>);

/// The name of a member.
struct Key<'a>(Cow<'a, str>);

/// `message.content`: a string, a block, or a list of these.
#[derive(Debug, Default)]
pub(super) enum RawContent<'a> {
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

/// One item of such a list: a block; words that stand there by themselves are one too.
struct RawItem<'a>(Option<Block<'a>>);

/// `message`: an object as a rule; anything else is its content.
#[derive(Debug, Default)]
pub(super) struct RawMessage<'a>(pub(super) Message<'a>);

/// Visitor methods for the types of value that count as absent.
macro_rules! others_are_absent {
    ($absent:expr; $($rest:tt)*) => {
        others_are_absent!(@ $absent; $($rest)*);
    };
    (@ $absent:expr; bool $($rest:tt)*) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($absent) }
        others_are_absent!(@ $absent; $($rest)*);
    };
    (@ $absent:expr; number $($rest:tt)*) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($absent) }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($absent) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($absent) }
        others_are_absent!(@ $absent; $($rest)*);
    };
    (@ $absent:expr; text $($rest:tt)*) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($absent) }
        others_are_absent!(@ $absent; $($rest)*);
    };
    (@ $absent:expr; null $($rest:tt)*) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($absent) }
        others_are_absent!(@ $absent; $($rest)*);
    };
    (@ $absent:expr; list $($rest:tt)*) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok($absent)
        }
        others_are_absent!(@ $absent; $($rest)*);
    };
    (@ $absent:expr; object $($rest:tt)*) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($absent)
        }
        others_are_absent!(@ $absent; $($rest)*);
    };
    (@ $absent:expr;) => {};
}

/// Visitor boilerplate that says what was wished for, for error messages nobody should ever see.
macro_rules! expecting {
    ($what:literal) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str($what)
        }
    };
}

impl<'de> Deserialize<'de> for Str<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Str<'de>;
            expecting!("anything");
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Str(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Str(Some(Cow::Owned(text.to_owned()))))
            }
            others_are_absent!(Str(None); bool number null list object);
        }
        from.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Flag;
            expecting!("anything");
            fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
                Ok(Flag(flag))
            }
            others_are_absent!(Flag(false); number text null list object);
        }
        from.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Count;
            expecting!("anything");
            fn visit_u64<E>(self, count: u64) -> Result<Self::Value, E> {
                Ok(Count(count))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Count(0))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Count(0))
            }
            others_are_absent!(Count(0); bool text null list object);
        }
        from.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for Raw<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(from)?.get();
        Ok(Self((raw != "null").then_some(raw)))
    }
}

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Key<'de>;
            expecting!("a key");
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_str(V)
    }
}

impl<'de> Deserialize<'de> for RawContent<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = RawContent<'de>;
            expecting!("anything");
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(RawContent::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(RawContent::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(RawItem(block)) = seq.next_element()? {
                    blocks.extend(block);
                }
                Ok(RawContent::Blocks(blocks))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let block = block_of(RawBlock::deserialize(MapAccessDeserializer::new(map))?);
                Ok(RawContent::Blocks(vec![block]))
            }
            others_are_absent!(RawContent::Nothing; bool number null);
        }
        from.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for RawItem<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = RawItem<'de>;
            expecting!("anything");
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(RawItem(Some(Block::Text(Cow::Borrowed(text)))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(RawItem(Some(Block::Text(Cow::Owned(text.to_owned())))))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                // At once: a raw block takes four times the room.
                Ok(RawItem(Some(block_of(RawBlock::deserialize(MapAccessDeserializer::new(map))?))))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                // Raw, and not as blocks again: a list may be of any depth.
                let mut words = Vec::new();
                while let Some(raw) = seq.next_element::<Raw<'de>>()? {
                    words.extend(raw.0.map(|raw| words_of(raw, &["type"])).filter(|words| !words.is_empty()));
                }
                Ok(RawItem((!words.is_empty()).then(|| Block::Text(Cow::Owned(words.join("\n"))))))
            }
            others_are_absent!(RawItem(None); bool number null);
        }
        from.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for RawMessage<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = RawMessage<'de>;
            expecting!("anything");
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(RawMessage::of(RawContent::Text(Cow::Borrowed(text))))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(RawMessage::of(RawContent::Text(Cow::Owned(text.to_owned()))))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                RawContent::deserialize(SeqAccessDeserializer::new(seq)).map(RawMessage::of)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Message::deserialize(MapAccessDeserializer::new(map)).map(RawMessage)
            }
            others_are_absent!(RawMessage::default(); bool number null);
        }
        from.deserialize_any(V)
    }
}

impl<'a> RawMessage<'a> {
    fn of(content: RawContent<'a>) -> Self {
        Self(Message { content, ..Message::default() })
    }
}

/// Declares an object: which key goes to which field.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident { $($key:literal => $field:ident : $ty:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub(super) struct $name<'a> {
            $(pub(super) $field: $ty,)*
            /// The values of keys nobody knew when this was written.
            pub(super) extra: Vec<&'a str>,
        }

        impl<'a> Deserialize<'a> for $name<'a> {
            fn deserialize<D: Deserializer<'a>>(from: D) -> Result<Self, D::Error> {
                struct V;
                impl<'a> Visitor<'a> for V {
                    type Value = $name<'a>;
                    expecting!("anything");
                    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        let mut object = $name::default();
                        while let Some(key) = map.next_key::<Key<'a>>()? {
                            match key.0.as_ref() {
                                $($key => object.$field = map.next_value()?,)*
                                key if is_known(key) => { map.next_value::<IgnoredAny>()?; }
                                _ => object.extra.extend(map.next_value::<Raw<'a>>()?.0),
                            }
                        }
                        Ok(object)
                    }
                    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($name::default()) }
                    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($name::default()) }
                    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($name::default()) }
                    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($name::default()) }
                    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($name::default()) }
                    fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($name::default()) }
                    fn visit_seq<A: SeqAccess<'a>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                        while seq.next_element::<IgnoredAny>()?.is_some() {}
                        Ok($name::default())
                    }
                }
                from.deserialize_any(V)
            }
        }
    };
}

object! {
    /// One line of a transcript.
    Entry {
        "type" => kind: Str<'a>,
        "subtype" => subtype: Str<'a>,
        "operation" => operation: Str<'a>,
        "uuid" => uuid: Str<'a>,
        "parentUuid" => parent: Str<'a>,
        "logicalParentUuid" => logical_parent: Str<'a>,
        "sessionKind" => session_kind: Str<'a>,
        "sessionId" => session: Str<'a>,
        "agentId" => agent: Str<'a>,
        "timestamp" => timestamp: Str<'a>,
        "cwd" => cwd: Str<'a>,
        "gitBranch" => branch: Str<'a>,
        "version" => version: Str<'a>,
        "entrypoint" => entrypoint: Str<'a>,
        "isSidechain" => sidechain: Flag,
        "isMeta" => meta: Flag,
        "isCompactSummary" => compact: Flag,
        "isApiErrorMessage" => api_error: Flag,
        "origin" => origin: Origin<'a>,
        "forkedFrom" => forked_from: Fork<'a>,
        "message" => message: RawMessage<'a>,
        "content" => content: Raw<'a>,
        "error" => error: Raw<'a>,
        "result" => result: Raw<'a>,
        "attachment" => attachment: Raw<'a>,
        "data" => data: Raw<'a>,
        "snapshot" => snapshot: Raw<'a>,
        "backup" => backup: Raw<'a>,
        "toolUseResult" => record: RawRecord<'a>,
        "blocks" => blocks: Raw<'a>,
        "trackingPath" => tracking_path: Str<'a>,
        "customTitle" => custom_title: Str<'a>,
        "aiTitle" => ai_title: Str<'a>,
        "agentName" => agent_name: Str<'a>,
        "lastPrompt" => last_prompt: Str<'a>,
        "summary" => summary: Str<'a>,
        "leafUuid" => leaf: Str<'a>,
        "prUrl" => pr_url: Str<'a>,
        "prNumber" => pr_number: Count,
        "prRepository" => pr_repository: Str<'a>,
        "continuedInSessionId" => continued_in: Str<'a>,
        "relocatedCwd" => relocated_cwd: Str<'a>,
        "title" => title: Str<'a>,
        "path" => path: Str<'a>,
        "artifactUrl" => artifact_url: Str<'a>,
        "url" => url: Str<'a>,
    }
}

object! {
    /// What a tool recorded beside its answer; only what concerns files.
    RawRecord {
        "type" => kind: Str<'a>,
        "filePath" => path: Str<'a>,
        "notebook_path" => notebook: Str<'a>,
        "originalFile" => original: Raw<'a>,
        "originalFileContents" => original_contents: Raw<'a>,
        "original_file" => original_file: Raw<'a>,
        "updated_file" => updated_file: Raw<'a>,
        "content" => content: Raw<'a>,
        "oldString" => old: Raw<'a>,
        "newString" => new: Raw<'a>,
        "structuredPatch" => patch: Raw<'a>,
        "userModified" => modified: Flag,
        "file" => file: RawFile<'a>,
    }
}

object! {
    /// A file that was read.
    RawFile {
        "filePath" => path: Str<'a>,
        "content" => content: Raw<'a>,
        "startLine" => start: Count,
        "numLines" => lines: Count,
        "totalLines" => total: Count,
    }
}

object! {
    /// Who a user line really comes from.
    Origin { "kind" => kind: Str<'a> }
}

object! {
    /// The message an SDK fork was copied from.
    Fork { "sessionId" => session: Str<'a>, "messageUuid" => message: Str<'a> }
}

object! {
    /// The API message of a user or assistant line.
    Message {
        "id" => id: Str<'a>,
        "model" => model: Str<'a>,
        "content" => content: RawContent<'a>,
        "usage" => usage: RawUsage<'a>,
    }
}

object! {
    /// What an API message cost; repeated on each of its lines.
    RawUsage {
        "input_tokens" => input: Count,
        "cache_creation_input_tokens" => cache_write: Count,
        "cache_read_input_tokens" => cache_read: Count,
        "output_tokens" => output: Count,
        "cache_creation" => cache_creation: RawCacheCreation<'a>,
        "service_tier" => _tier: Str<'a>,
    }
}

object! {
    /// How long what was written to the cache is kept there.
    RawCacheCreation { "ephemeral_1h_input_tokens" => hour: Count }
}

object! {
    /// One block of a message.
    RawBlock {
        "type" => kind: Str<'a>,
        "text" => text: Str<'a>,
        "thinking" => thinking: Str<'a>,
        "id" => id: Str<'a>,
        "name" => name: Str<'a>,
        "tool_name" => tool_name: Str<'a>,
        "input" => input: Raw<'a>,
        "tool_use_id" => tool_use_id: Str<'a>,
        "content" => content: Raw<'a>,
        "is_error" => is_error: Flag,
        "source" => source: Raw<'a>,
        "from" => from: Raw<'a>,
        "to" => to: Raw<'a>,
    }
}

object! {
    /// The part of an attachment that tells what to do with it.
    Attachment {
        "type" => kind: Str<'a>,
        "prompt" => prompt: Raw<'a>,
        "commandMode" => mode: Str<'a>,
        "origin" => origin: Origin<'a>,
        "filename" => filename: Str<'a>,
        "path" => path: Str<'a>,
    }
}

object! {
    /// The payload of a progress line.
    Progress {
        "type" => kind: Str<'a>,
        "agentId" => agent: Str<'a>,
        "message" => message: Raw<'a>,
    }
}

object! {
    /// One line of the prompt history.
    HistoryEntry {
        "display" => display: Str<'a>,
        "pastedContents" => pasted: Raw<'a>,
        "timestamp" => timestamp: Count,
        "project" => project: Str<'a>,
        "sessionId" => session: Str<'a>,
    }
}

object! {
    /// The description beside a subagent's transcript.
    AgentMeta {
        "agentType" => kind: Str<'a>,
        "description" => description: Str<'a>,
        "name" => name: Str<'a>,
        "toolUseId" => tool_use: Str<'a>,
        "model" => model: Str<'a>,
        "worktreePath" => worktree: Str<'a>,
        "parentAgentId" => parent_agent: Str<'a>,
    }
}
