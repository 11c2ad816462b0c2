//! Claude Code's `settings.json`: how long sessions are kept, and hooks of ours in it. The only code that knows the
//! keys of that file and of the events handed to hooks.
//!
//! The file is somebody else's. An edit changes the few lines that are ours and no other byte: order, unknown keys
//! and spacing stay as they are. A file that cannot be understood is not touched.

mod spans;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use spans::Style;

/// After how many days Claude Code deletes a session, unless told otherwise.
pub const DEFAULT_DAYS: u64 = 30;

/// The events we want to hear of.
const EVENTS: [Event; 2] = [
    Event { name: "SessionEnd", runs_beside: false, timeout: 5 },
    // At the end of each answer nobody should wait for us at all.
    Event { name: "Stop", runs_beside: true, timeout: 60 },
];

struct Event {
    name: &'static str,
    runs_beside: bool,
    timeout: u32,
}

/// A program to be called by Claude Code, without a shell in between.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Hook {
    /// The program.
    pub program: String,
    /// Its arguments; the last is `hook`.
    pub args: Vec<String>,
}

/// A hook of ours that is in the file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Installed {
    /// The event it is called for.
    pub event: String,
    /// What is called.
    pub hook: Hook,
}

/// What a settings file says that matters here.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// After how many days a session is deleted.
    #[serde(default, deserialize_with = "lenient")]
    pub cleanup_period_days: Option<u64>,
    /// Whether no hook is called at all.
    #[serde(default, deserialize_with = "lenient")]
    pub disable_all_hooks: Option<bool>,
}

/// Takes what is of the right type and leaves the rest: a stranger's value is no reason to read nothing.
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
        serde_json::from_str(text).map_err(|error| not_understood(&error.to_string()))
    }
}

/// The transcript that an event handed to a hook is about; none if it does not say.
pub fn transcript_of(event: &[u8]) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Told {
        transcript_path: PathBuf,
    }
    let mut values = serde_json::Deserializer::from_slice(event).into_iter::<Told>();
    values.next()?.ok().map(|told| told.transcript_path)
}

/// Whether an event has been handed over to its last bracket; whoever writes it may never close the pipe.
pub fn is_whole(event: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(event).into_iter::<serde::de::IgnoredAny>();
    matches!(values.next(), Some(Ok(_)))
}

/// The hooks of ours in a settings file.
pub fn installed(text: &str) -> Result<Vec<Installed>> {
    Ok(find_all(text)?.into_iter().map(|found| found.what).collect())
}

/// A settings file with our hooks in it, and none of ours that differs from them. An empty text is a new file.
pub fn with_hook(text: &str, hook: &Hook) -> Result<String> {
    let mut text = if text.trim().is_empty() { "{\n}\n".to_string() } else { text.to_string() };
    for event in &EVENTS {
        let found: Vec<_> = find_all(&text)?.into_iter().filter(|found| found.what.event == event.name).collect();
        let wanted = Called::new(hook, event);
        if let [only] = found.as_slice()
            && only.called == wanted
        {
            continue;
        }
        text = without(&text, |found| found.what.event == event.name)?;
        text = add(&text, event.name, &Group { hooks: [wanted] })?;
    }
    Ok(text)
}

/// A settings file without hooks of ours.
pub fn without_hook(text: &str) -> Result<String> {
    without(text, |_| true)
}

/// What Claude Code calls, as it stands in the file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Called {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    args: Option<Vec<String>>,
    #[serde(default, rename = "async", skip_serializing_if = "Option::is_none")]
    runs_beside: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<u32>,
}

#[derive(Debug, Serialize)]
struct Group {
    hooks: [Called; 1],
}

impl Called {
    fn new(hook: &Hook, event: &Event) -> Self {
        Self {
            kind: "command".to_string(),
            command: hook.program.clone(),
            args: Some(hook.args.clone()),
            runs_beside: event.runs_beside.then_some(true),
            timeout: Some(event.timeout),
        }
    }

    /// Recognises a call of ours, also one written by hand for a shell.
    fn hook(&self) -> Option<Hook> {
        let (program, args) = match &self.args {
            Some(args) => (self.command.clone(), args.clone()),
            None => {
                let mut words = self.command.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_string());
                (words.next()?, words.collect())
            }
        };
        let name = program.rsplit(['/', '\\']).next()?;
        // Options with their values may come before it; a word may not: that would be another command.
        let (last, options) = args.split_last()?;
        let only_options = options.chunks(2).all(|pair| pair.len() == 2 && pair[0].starts_with("--"));
        let is_ours = name.trim_end_matches(".exe") == "unspool" && last == "hook" && only_options;
        is_ours.then_some(Hook { program, args })
    }
}

/// A hook of ours and the way to it: the event, the group, the place in the group.
struct Found {
    what: Installed,
    called: Called,
    group: usize,
    place: usize,
}

/// Finds all hooks of ours.
fn find_all(text: &str) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let Some(hooks) = member(text, whole(text)?, "hooks")? else { return Ok(found) };
    for (event, groups) in spans::members(text, hooks).ok_or_else(odd_hooks)? {
        for (group, range) in spans::elements(text, groups).ok_or_else(odd_hooks)?.into_iter().enumerate() {
            let Some(calls) = member(text, range, "hooks")? else { continue };
            for (place, range) in spans::elements(text, calls).ok_or_else(odd_hooks)?.into_iter().enumerate() {
                let called = serde_json::from_str::<Called>(&text[range]).ok();
                if let Some((called, hook)) = called.and_then(|called| called.hook().map(|hook| (called, hook))) {
                    let what = Installed { event: event.clone(), hook };
                    found.push(Found { what, called, group, place });
                }
            }
        }
    }
    Ok(found)
}

/// Takes out the hooks of ours that are meant, and what is left empty by that.
fn without(text: &str, is_meant: impl Fn(&Found) -> bool) -> Result<String> {
    let mut text = text.to_string();
    while let Some(found) = find_all(&text)?.into_iter().rfind(|found| is_meant(found)) {
        let event = found.what.event.as_str();
        // Innermost first: what has become empty goes with its name.
        let hooks = need(member(&text, whole(&text)?, "hooks")?)?;
        let groups = need(member(&text, hooks.clone(), event)?)?;
        let group = need(spans::elements(&text, groups.clone()).and_then(|groups| groups.get(found.group).cloned()))?;
        let calls = need(member(&text, group, "hooks")?)?;
        let alone = |range: &Range<usize>| spans::elements(&text, range.clone()).is_some_and(|list| list.len() == 1);
        let only_event = spans::members(&text, hooks.clone()).is_some_and(|events| events.len() == 1);
        text = match (alone(&calls), alone(&groups), only_event) {
            (false, ..) => need(spans::without_element(&text, calls, found.place))?,
            (true, false, _) => need(spans::without_element(&text, groups, found.group))?,
            (true, true, false) => need(spans::without_member(&text, hooks, event))?,
            (true, true, true) => need(spans::without_member(&text, whole(&text)?, "hooks"))?,
        };
    }
    Ok(text)
}

/// Adds a group to an event, making what is missing on the way.
fn add(text: &str, event: &str, group: &Group) -> Result<String> {
    let style = Style::of(text);
    let root = whole(text)?;
    let Some(hooks) = member(text, root.clone(), "hooks")? else {
        let value = BTreeMap::from([(event, [group])]);
        return need(spans::with_member(text, root, "hooks", &value_text(&style, &value, 1)?, &style, 0));
    };
    match member(text, hooks.clone(), event)? {
        Some(groups) => need(spans::with_element(text, groups, &value_text(&style, group, 3)?, &style, 2)),
        None => need(spans::with_member(text, hooks, event, &value_text(&style, &[group], 2)?, &style, 1)),
    }
}

fn value_text(style: &Style, value: &impl Serialize, level: usize) -> Result<String> {
    style.write(value, level).ok_or_else(|| Error::new(ErrorKind::Other, "cannot write the hook as JSON"))
}

/// The one object that a settings file is.
fn whole(text: &str) -> Result<Range<usize>> {
    spans::whole(text).map_err(|error| not_understood(&error))
}

fn member(text: &str, object: Range<usize>, name: &str) -> Result<Option<Range<usize>>> {
    let members = spans::members(text, object).ok_or_else(odd_hooks)?;
    // Of two members of one name the last counts, as in JavaScript.
    Ok(members.into_iter().rfind(|(key, _)| key == name).map(|(_, range)| range))
}

fn need<T>(found: Option<T>) -> Result<T> {
    found.ok_or_else(odd_hooks)
}

fn not_understood(why: &str) -> Error {
    Error::new(ErrorKind::Other, format!("the settings are not understood: {why}"))
        .hint("put the file right; nothing was changed")
}

fn odd_hooks() -> Error {
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
    fn a_new_file_holds_only_the_hooks() {
        assert_eq!(with_hook("", &hook()).expect("edited"), NEW);
        assert_eq!(without_hook(NEW).expect("edited"), "{\n}\n");
    }

    /// Files as people have them. Each must come back byte for byte when the hooks go again.
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
            let with = with_hook(text, &hook()).expect("edited");
            let parsed: serde_json::Value = serde_json::from_str(&with).expect("JSON");
            for event in ["SessionEnd", "Stop"] {
                let groups = parsed["hooks"][event].as_array().expect("a list");
                assert_eq!(groups.last().expect("ours")["hooks"][0]["command"], "/home/u/.cargo/bin/unspool");
            }
            assert_eq!(installed(&with).expect("read").len(), 2, "{with}");
            assert_eq!(with_hook(&with, &hook()).expect("edited"), with, "a second time changes nothing");
            assert_eq!(without_hook(&with).expect("edited"), text);
            // What was there is still there, in the same order.
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
    fn another_program_replaces_the_old_one() {
        let old = with_hook(FILES[7], &Hook { program: "/old/unspool".into(), args: vec!["hook".into()] });
        let new = with_hook(&old.expect("edited"), &hook()).expect("edited");
        assert_eq!(new, with_hook(FILES[7], &hook()).expect("edited"));
    }

    #[test]
    fn hooks_written_by_hand_are_ours_too() {
        for (command, ours) in [
            ("unspool hook", true),
            ("\\\"/opt/x y/unspool\\\" hook", false),
            ("/usr/bin/unspool --root /x hook", true),
            ("unspool index", false),
            ("echo unspool hook", false),
            ("myunspool hook", false),
        ] {
            let text = format!(r#"{{"hooks":{{"Stop":[{{"hooks":[{{"type":"command","command":"{command}"}}]}}]}}}}"#);
            assert_eq!(installed(&text).expect("read").len(), usize::from(ours), "{command}");
        }
    }

    #[test]
    fn what_is_not_understood_is_not_touched() {
        for text in
            ["{", "[]", "{} {}", "\u{feff}{}", "// comment\n{}", "{\"hooks\": 1}", "{\"hooks\": {\"Stop\": {}}}"]
        {
            assert!(with_hook(text, &hook()).is_err(), "{text}");
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

    #[test]
    fn events_are_read_as_they_come() {
        let event = br#"{"session_id":"a","transcript_path":"/x/a.jsonl","hook_event_name":"Stop"}"#;
        assert_eq!(transcript_of(event), Some(PathBuf::from("/x/a.jsonl")));
        assert!(is_whole(event) && is_whole(&[event.as_slice(), b"\n"].concat()));
        for cut in 0..event.len() {
            assert!(!is_whole(&event[..cut]));
        }
        for bad in [&b""[..], b"{}", b"[1]", b"\xff\xfe", b"{\"transcript_path\":1}"] {
            assert_eq!(transcript_of(bad), None);
        }
    }
}
