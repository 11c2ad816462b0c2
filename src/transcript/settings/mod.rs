//! Reads Claude Code's `settings.json` (how long sessions are kept) and adds or removes unspool's hooks in it.
//!
//! This is the only code that knows the keys of that file and of the events passed to hooks. The file belongs to the
//! user. An edit changes only our own lines and no other byte: order, unknown keys and spacing stay the same. A file
//! that cannot be parsed is not changed.

pub mod event;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::json_edit::{self as spans, Style};

/// The number of days after which Claude Code deletes a session by default.
pub const DEFAULT_DAYS: u64 = 30;

/// A settings file without any settings.
pub const NEW_FILE: &str = "{\n}\n";

/// The option with which our hook answers an event instead of updating the index.
const RECALL: &str = "--recall";

/// The events for which our hook is called.
const EVENTS: [HookEvent; 4] = [
    HookEvent { name: "SessionEnd", is_async: false, timeout: 5, recall: None },
    // Sent after every answer, where the user must not wait for us at all.
    HookEvent { name: "Stop", is_async: true, timeout: 60, recall: None },
    // A resumed or compacted session knows its history already.
    HookEvent { name: "SessionStart", is_async: false, timeout: 5, recall: Some("startup|clear") },
    HookEvent { name: "PreToolUse", is_async: false, timeout: 5, recall: Some("Edit|Write|MultiEdit|NotebookEdit") },
];

struct HookEvent {
    name: &'static str,
    is_async: bool,
    timeout: u32,
    /// For events that are answered from the index, which users must ask for: the matcher that selects them.
    recall: Option<&'static str>,
}

/// A program that Claude Code calls directly, without a shell.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hook {
    /// The path of the program.
    pub program: String,
    /// Its arguments; the last is `hook`, or `hook --recall`.
    pub args: Vec<String>,
}

impl Hook {
    /// Reports whether it answers events from the index.
    pub fn is_recall(&self) -> bool {
        self.args.last().is_some_and(|last| last == RECALL)
    }

    /// Returns the hook that updates the index.
    fn plain(&self) -> Self {
        let args = self.args.iter().filter(|word| *word != RECALL).cloned().collect();
        Self { program: self.program.clone(), args }
    }

    /// Returns the hook for an event.
    fn of(&self, event: &HookEvent) -> Self {
        let mut hook = self.plain();
        hook.args.extend(event.recall.map(|_| RECALL.to_string()));
        hook
    }
}

/// One of our hooks, as found in a settings file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Installed {
    /// The event that triggers it.
    pub event: String,
    /// The program that is called.
    pub hook: Hook,
}

/// The settings that matter here.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// The number of days after which a session is deleted.
    #[serde(default, deserialize_with = "lenient")]
    pub cleanup_period_days: Option<u64>,
    /// True if all hooks are disabled.
    #[serde(default, deserialize_with = "lenient")]
    pub disable_all_hooks: Option<bool>,
}

/// Deserializes a value of the right type, and anything else as `None`. One wrong value must not make the file
/// unreadable.
fn lenient<'de, D, T>(deserializer: D) -> std::result::Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).ok())
}

impl Settings {
    /// Reads a settings file.
    pub fn parse(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| unreadable(&error.to_string()))
    }
}

/// Returns our hooks in a settings file.
pub fn installed(text: &str) -> Result<Vec<Installed>> {
    Ok(find_hooks(text)?.into_iter().map(|found| found.installed).collect())
}

/// Adds our hooks to a settings file, replacing our hooks that differ. An empty text counts as a new file. The hooks
/// that answer events are added only with `recall`, and else removed.
pub fn with_hook(text: &str, hook: &Hook, recall: bool) -> Result<String> {
    let mut text = if text.trim().is_empty() { NEW_FILE.to_string() } else { text.to_string() };
    for event in &EVENTS {
        let is_same = |found: &Found| {
            found.installed.event == event.name && found.installed.hook.is_recall() == event.recall.is_some()
        };
        let found: Vec<_> = find_hooks(&text)?.into_iter().filter(is_same).collect();
        let is_wanted = recall || event.recall.is_none();
        let wanted = HookEntry::new(&hook.of(event), event);
        if let [only] = found.as_slice()
            && is_wanted
            && only.entry == wanted
        {
            continue;
        }
        text = remove_hooks(&text, is_same)?;
        if is_wanted {
            text = add(&text, event.name, &HookGroup { matcher: event.recall, hooks: [wanted] })?;
        }
    }
    Ok(text)
}

/// Removes our hooks from a settings file.
pub fn without_hook(text: &str) -> Result<String> {
    remove_hooks(text, |_| true)
}

/// Reports whether `before` is what a settings file was before our hooks were added to it.
pub fn is_original(before: &str, text: &str) -> bool {
    let is_without = before.trim().is_empty() || installed(before).is_ok_and(|found| found.is_empty());
    let found = installed(text).unwrap_or_default();
    let recall = found.iter().any(|found| found.hook.is_recall());
    let hook = found.first().map(|found| found.hook.plain());
    is_without && hook.is_some_and(|hook| with_hook(before, &hook, recall).is_ok_and(|with| with == text))
}

/// A hook entry of the settings file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct HookEntry {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    args: Option<Vec<String>>,
    #[serde(default, rename = "async", skip_serializing_if = "Option::is_none")]
    is_async: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<u32>,
}

/// A group of hook entries, as Claude Code nests them under an event.
#[derive(Debug, Serialize)]
struct HookGroup {
    #[serde(skip_serializing_if = "Option::is_none")]
    matcher: Option<&'static str>,
    hooks: [HookEntry; 1],
}

impl HookEntry {
    fn new(hook: &Hook, event: &HookEvent) -> Self {
        Self {
            kind: "command".to_string(),
            command: hook.program.clone(),
            args: Some(hook.args.clone()),
            is_async: event.is_async.then_some(true),
            timeout: Some(event.timeout),
        }
    }

    /// Returns the hook if it is ours. Also recognizes a shell command written by hand.
    fn hook(&self) -> Option<Hook> {
        let (program, args) = match &self.args {
            Some(args) => (self.command.clone(), args.clone()),
            None => {
                let mut words = self.command.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_string());
                (words.next()?, words.collect())
            }
        };
        let name = program.rsplit(['/', '\\']).next()?;
        // Only options with values may precede `hook`. A plain word there would be another command.
        let words = args.strip_suffix(&[RECALL.to_string()]).unwrap_or(&args);
        let (last, options) = words.split_last()?;
        let only_options = options.chunks(2).all(|pair| pair.len() == 2 && pair[0].starts_with("--"));
        let is_ours = name.trim_end_matches(".exe") == "unspool" && last == "hook" && only_options;
        is_ours.then_some(Hook { program, args })
    }
}

/// One of our hooks and its position: the event, the index of the group, the index in the group.
struct Found {
    installed: Installed,
    entry: HookEntry,
    group: usize,
    index: usize,
}

/// Finds all our hooks.
fn find_hooks(text: &str) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let Some(hooks) = member(text, root_object(text)?, "hooks")? else { return Ok(found) };
    for (event, groups) in spans::members(text, hooks).ok_or_else(unknown_form)? {
        for (group, range) in spans::elements(text, groups).ok_or_else(unknown_form)?.into_iter().enumerate() {
            let Some(calls) = member(text, range, "hooks")? else { continue };
            for (index, range) in spans::elements(text, calls).ok_or_else(unknown_form)?.into_iter().enumerate() {
                let entry = serde_json::from_str::<HookEntry>(&text[range]).ok();
                if let Some((entry, hook)) = entry.and_then(|entry| entry.hook().map(|hook| (entry, hook))) {
                    let installed = Installed { event: event.clone(), hook };
                    found.push(Found { installed, entry, group, index });
                }
            }
        }
    }
    Ok(found)
}

/// Removes our hooks that `matches` selects, and the containers that become empty.
fn remove_hooks(text: &str, matches: impl Fn(&Found) -> bool) -> Result<String> {
    let mut text = text.to_string();
    while let Some(found) = find_hooks(&text)?.into_iter().rfind(|found| matches(found)) {
        let event = found.installed.event.as_str();
        // The outermost container that would become empty is removed together with its key.
        let hooks = require(member(&text, root_object(&text)?, "hooks")?)?;
        let groups = require(member(&text, hooks.clone(), event)?)?;
        let group =
            require(spans::elements(&text, groups.clone()).and_then(|groups| groups.get(found.group).cloned()))?;
        let calls = require(member(&text, group, "hooks")?)?;
        let has_one_element =
            |range: &Range<usize>| spans::elements(&text, range.clone()).is_some_and(|list| list.len() == 1);
        let is_only_event = spans::members(&text, hooks.clone()).is_some_and(|events| events.len() == 1);
        text = match (has_one_element(&calls), has_one_element(&groups), is_only_event) {
            (false, ..) => require(spans::without_element(&text, calls, found.index))?,
            (true, false, _) => require(spans::without_element(&text, groups, found.group))?,
            (true, true, false) => require(spans::without_member(&text, hooks, event))?,
            (true, true, true) => require(spans::without_member(&text, root_object(&text)?, "hooks"))?,
        };
    }
    Ok(text)
}

/// Adds a group to an event, creating missing containers.
fn add(text: &str, event: &str, group: &HookGroup) -> Result<String> {
    let style = Style::of(text);
    let root = root_object(text)?;
    let Some(hooks) = member(text, root.clone(), "hooks")? else {
        let value = BTreeMap::from([(event, [group])]);
        return require(spans::with_member(text, root, "hooks", &value_text(&style, &value, 1)?, &style, 0));
    };
    match member(text, hooks.clone(), event)? {
        Some(groups) => require(spans::with_element(text, groups, &value_text(&style, group, 3)?, &style, 2)),
        None => require(spans::with_member(text, hooks, event, &value_text(&style, &[group], 2)?, &style, 1)),
    }
}

/// Formats a value as JSON at an indentation level.
fn value_text(style: &Style, value: &impl Serialize, level: usize) -> Result<String> {
    style.write(value, level).ok_or_else(|| Error::new(ErrorKind::Other, "cannot write the hook as JSON"))
}

/// Returns the range of the top-level object of a settings file.
fn root_object(text: &str) -> Result<Range<usize>> {
    spans::whole(text).map_err(|error| unreadable(&error))
}

/// Returns the range of a member's value.
fn member(text: &str, object: Range<usize>, name: &str) -> Result<Option<Range<usize>>> {
    let members = spans::members(text, object).ok_or_else(unknown_form)?;
    // If a key appears twice, the last one counts, as in JavaScript.
    Ok(members.into_iter().rfind(|(key, _)| key == name).map(|(_, range)| range))
}

fn require<T>(found: Option<T>) -> Result<T> {
    found.ok_or_else(unknown_form)
}

fn unreadable(why: &str) -> Error {
    Error::new(ErrorKind::Other, format!("cannot parse the settings: {why}")).hint("fix the file; nothing was changed")
}

fn unknown_form() -> Error {
    Error::new(ErrorKind::Other, "the hooks in the settings have an unknown form")
        .hint("add the hook by hand (see README); nothing was changed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook() -> Hook {
        Hook { program: "/home/u/.cargo/bin/unspool".into(), args: vec!["hook".into()] }
    }

    const NEW: &str = r#"{
  "hooks": {
    "SessionEnd": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/home/u/.cargo/bin/unspool",
            "args": [
              "hook"
            ],
            "timeout": 5
          }
        ]
      }
    ],
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "/home/u/.cargo/bin/unspool",
            "args": [
              "hook"
            ],
            "async": true,
            "timeout": 60
          }
        ]
      }
    ]
  }
}
"#;

    #[test]
    fn a_new_file_contains_only_the_hooks() {
        assert_eq!(with_hook("", &hook(), false).expect("edited"), NEW);
        assert_eq!(without_hook(NEW).expect("edited"), "{\n}\n");
    }

    /// Realistic files. Removing the hooks again must restore each byte for byte.
    const FILES: [&str; 10] = [
        "{}",
        "{\n}\n",
        "{\"z\":1,\"a\":[1,2]}",
        "{\n  \"z\": 1,\n  \"a\": {\"b\": [ ]}\n}\n",
        "{\n\t\"permissions\": {\n\t\t\"allow\": [\"Bash(ls:*)\"]\n\t}\n}\n",
        "{\r\n    \"model\": \"opus\"\r\n}\r\n",
        "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}\n    ]\n  },\n  \"z\": \"ü \\u00e9\"\n}",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          {\"type\": \"command\", \"command\": \"say done\"}\n        ]\n      }\n    ]\n  }\n}\n",
        "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"a\"}]}],\"SessionEnd\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"unspool search hook\"}]}]}}",
        "{\n  \"a\": \"{ \\\"hooks\\\": [ ] }\",\n\n\n  \"b\"  :  2\n\n}\n\n",
    ];

    #[test]
    fn nothing_but_our_lines_changes() {
        for text in FILES {
            let with = with_hook(text, &hook(), false).expect("edited");
            let parsed: serde_json::Value = serde_json::from_str(&with).expect("JSON");
            for event in ["SessionEnd", "Stop"] {
                let groups = parsed["hooks"][event].as_array().expect("a list");
                assert_eq!(groups.last().expect("ours")["hooks"][0]["command"], "/home/u/.cargo/bin/unspool");
            }
            assert_eq!(installed(&with).expect("read").len(), 2, "{with}");
            assert_eq!(with_hook(&with, &hook(), false).expect("edited"), with, "a second time changes nothing");
            assert_eq!(without_hook(&with).expect("edited"), text);
            // The original lines are still there, in the same order.
            let lines =
                |text: &str| text.lines().map(|line| line.trim_end_matches(',').to_string()).collect::<Vec<_>>();
            if text.lines().count() > 3 {
                let all = lines(&with);
                let mut rest = all.iter();
                assert!(lines(text).iter().all(|line| rest.any(|other| other == line)), "{with}");
            }
        }
    }

    #[test]
    fn recall_is_added_and_removed_like_the_rest() {
        for text in FILES {
            let with = with_hook(text, &hook(), true).expect("edited");
            let parsed: serde_json::Value = serde_json::from_str(&with).expect("JSON");
            for (event, matcher) in
                [("SessionStart", "startup|clear"), ("PreToolUse", "Edit|Write|MultiEdit|NotebookEdit")]
            {
                let group = parsed["hooks"][event].as_array().expect("a list").last().expect("ours");
                assert_eq!(group["matcher"], matcher);
                assert_eq!(group["hooks"][0]["args"], serde_json::json!(["hook", "--recall"]));
            }
            assert_eq!(with_hook(&with, &hook(), true).expect("edited"), with, "a second time changes nothing");
            let left_out = with_hook(&with, &hook(), false).expect("edited");
            assert_eq!(left_out, with_hook(text, &hook(), false).expect("edited"));
            assert_eq!(without_hook(&with).expect("edited"), text);
            assert!(is_original(text, &with));
        }
    }

    #[test]
    fn another_program_replaces_the_old_one() {
        let old = with_hook(FILES[7], &Hook { program: "/old/unspool".into(), args: vec!["hook".into()] }, false);
        let new = with_hook(&old.expect("edited"), &hook(), false).expect("edited");
        assert_eq!(new, with_hook(FILES[7], &hook(), false).expect("edited"));
    }

    #[test]
    fn hooks_written_by_hand_are_ours_too() {
        for (command, ours) in [
            ("unspool hook", true),
            ("\\\"/opt/x y/unspool\\\" hook", false),
            ("/usr/bin/unspool --root /x hook", true),
            ("unspool hook --recall", true),
            ("unspool --recall", false),
            ("unspool index", false),
            ("echo unspool hook", false),
            ("myunspool hook", false),
        ] {
            let text = format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":"{command}"}}]}}]}}}}"#);
            assert_eq!(installed(&text).expect("read").len(), usize::from(ours), "{command}");
        }
    }

    #[test]
    fn unreadable_files_are_not_changed() {
        for text in
            ["{", "[]", "{} {}", "\u{feff}{}", "// comment\n{}", "{\"hooks\": 1}", "{\"hooks\": {\"Stop\": {}}}"]
        {
            assert!(with_hook(text, &hook(), false).is_err(), "{text}");
        }
    }

    #[test]
    fn settings_are_read_leniently() {
        for (text, days) in [
            ("{}", None),
            (r#"{"cleanupPeriodDays": 365}"#, Some(365)),
            (r#"{"cleanupPeriodDays": "x", "other": [1]}"#, None),
            (r#"{"cleanupPeriodDays": -1}"#, None),
        ] {
            assert_eq!(Settings::parse(text).expect("read").cleanup_period_days, days, "{text}");
        }
        assert!(Settings::parse("{").is_err());
    }
}
