//! Words that must not be lost in parsing, whatever surrounds them: tags, numbers, odd shapes of a line.

use serde_json::{Value, json};

use crate::support::env::Env;
use crate::support::transcript::{session, user_line, uuid};

/// A line of a session, with an id and a time.
fn line(number: u32, members: &Value) -> String {
    let mut line = json!({
        "parentUuid": null, "isSidechain": false, "cwd": "/home/u/x", "sessionId": session(1), "uuid": uuid(number),
        "timestamp": format!("2026-10-01T10:00:{:02}.000Z", number % 60),
    });
    line.as_object_mut().expect("an object").extend(members.as_object().expect("an object").clone());
    line.to_string() + "\n"
}

/// A line of type user with this content.
fn user_message(number: u32, content: &Value) -> String {
    line(number, &json!({"type": "user", "message": {"role": "user", "content": content}}))
}

/// The call of a tool and its result.
fn call_and_result(number: u32, tool: &str, result: &Value) -> String {
    let call = json!([{"type": "tool_use", "id": format!("t{number}"), "name": tool, "input": {}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": format!("t{number}"), "content": result}]);
    line(number, &json!({"type": "assistant", "message": {"content": call}})) + &user_message(number + 1, &result)
}

/// An index over one session with these lines.
fn indexed(lines: &str) -> Env {
    let env = Env::new();
    env.write(format!("-home-u-x/{}.jsonl", session(1)), lines);
    env.index();
    env
}

/// Checks that each query has exactly one hit, with this role and kind.
fn finds(env: &Env, rows: &[(&str, &str, &str)]) {
    let found: Vec<(&str, Vec<String>)> = rows
        .iter()
        .map(|(query, ..)| {
            let hits = env.hits(&format!("\"{query}\""));
            (*query, hits.iter().map(|hit| format!("{} {}", hit["role"], hit["kind"]).replace('"', "")).collect())
        })
        .collect();
    let expected: Vec<(&str, Vec<String>)> =
        rows.iter().map(|(query, role, kind)| (*query, vec![format!("{role} {kind}")])).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_tag_in_a_text_removes_nothing() {
    let long = "later words\n".repeat(50);
    let env = indexed(
        &[
            user_message(1, &json!("I see <system-reminder> in my output, why? Please fix okapione")),
            user_message(2, &json!("what is <ide_selection> and <ide_opened_file> okapitwo")),
            user_message(
                3,
                &json!(format!("the <system-reminder> tag okapithree\n{long}</system-reminder> okapifour")),
            ),
            call_and_result(4, "Bash", &json!("grep: <system-reminder> okapifive\nokapisix")),
            call_and_result(
                6,
                "Bash",
                &json!("let tag = \"<system-reminder>\";\nokapiseven\nlet end = \"</system-reminder>\";"),
            ),
            user_message(8, &json!("okapieight\n<system-reminder>\nokapinine\n</system-reminder>")),
        ]
        .concat(),
    );
    finds(
        &env,
        &[
            ("okapione", "human", "prompt"),
            ("okapitwo", "human", "prompt"),
            ("okapithree", "human", "prompt"),
            ("okapifour", "human", "prompt"),
            ("okapifive", "tool", "tool_result"),
            ("okapisix", "tool", "tool_result"),
            ("okapiseven", "tool", "tool_result"),
            ("okapieight", "human", "prompt"),
            ("okapinine", "meta", "notice"),
        ],
    );
    env.heal();
}

#[test]
fn messages_of_the_editor_are_found_and_are_not_titles() {
    let selection = "<ide_selection>The user selected the lines 9 to 9 from /home/u/x/quollfile.md:\nquollselected\n\nThis may or may not be related to the current task.</ide_selection>";
    let blocks = json!([{"type": "text", "text": selection}, {"type": "text", "text": "quollprompt please"}]);
    let queued = json!({"type": "queue-operation", "operation": "enqueue", "content": blocks});
    let env = indexed(&(line(1, &queued) + &user_message(2, &blocks)));
    finds(&env, &[("quollselected", "meta", "attachment"), ("quollprompt", "human", "prompt")]);
    assert_eq!(env.hits("file:quollfile.md").len(), 1);
    let sessions = env.run(&["sessions", "--json"]).stdout;
    assert!(sessions.contains("quollprompt please") && !sessions.contains("The user selected"), "{sessions}");
}

#[test]
fn command_output_keeps_what_looks_like_a_tag() {
    let env = indexed(
        &[
            user_message(1, &json!("<bash-input>pytest lemurone</bash-input><bash-stdout>self = <test.lemurtwo object at 0x109fc18e0>\n<div class=\"lemurthree\"></bash-stdout><bash-stderr>lemurfour</bash-stderr>")),
            user_message(2, &json!("<command-name>/do</command-name><command-args>lemurfive</command-args>\nlemursix")),
            user_message(3, &json!([{"type": "text", "text": "<command-name>/do</command-name>"}, {"type": "text", "text": "lemurseven"}])),
            user_message(4, &json!("[Request interrupted by user]\nlemureight")),
        ]
        .concat(),
    );
    finds(
        &env,
        &[
            ("lemurone", "human", "command"),
            ("lemurtwo object", "tool", "output"),
            ("lemurthree", "tool", "output"),
            ("lemurfour", "tool", "output"),
            ("lemurfive", "human", "command"),
            ("lemursix", "human", "prompt"),
            ("lemurseven", "human", "prompt"),
            ("lemureight", "human", "prompt"),
        ],
    );
}

#[test]
fn numbers_in_a_table_are_not_line_numbers() {
    let env = indexed(
        &[
            call_and_result(1, "Bash", &json!("7310042\tAlice\n7310043\tBob")),
            call_and_result(3, "Read", &json!("8310042\tfn tapirone() {\n8310043\t}")),
        ]
        .concat(),
    );
    finds(
        &env,
        &[("7310042", "tool", "tool_result"), ("7310043", "tool", "tool_result"), ("tapirone", "tool", "tool_result")],
    );
    assert_eq!(env.count("8310042"), 0);
}

#[test]
fn no_shape_of_a_line_loses_words() {
    let items = json!([
        {"type": "resource", "resource": {"uri": "file:///gauruno", "text": "gaurone"}},
        {"type": "web_search_result", "title": "gaurtwo", "url": "https://gaurthree.example", "encrypted_content": "gaurnever"},
        {"type": "resource_link", "uri": "file:///gaurfour", "name": "gaurfive"},
        {"type": "search_result", "title": "gaursix", "source": "x", "content": [{"type": "text", "text": "gaurseven"}]},
    ]);
    let document =
        json!([{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "gaureight here"}}]);
    let env = indexed(
        &[
            call_and_result(1, "mcp__x__y", &items),
            user_message(3, &document),
            user_message(4, &json!(["gaurnine", ["gaurten"]])),
            user_message(5, &json!({"type": "text", "text": "gaureleven"})),
            line(6, &json!({"type": "user", "message": "gaurtwelve"})),
            line(7, &json!({"type": "user", "data": "gaurthirteen", "message": {"content": "x"}})),
            line(8, &json!({"type": "novelty", "data": "gaurfourteen"})),
            line(9, &json!({"type": "tag", "tag": "gaurfifteen"})),
            line(10, &json!({"type": "worktree-state", "worktreeSession": {"worktreePath": "/w/gaursixteen"}})),
            line(11, &json!({"type": "system", "subtype": "voice_call_talk", "content": "", "blocks": [{"type": "text", "text": "gaurseventeen"}]})),
        ]
        .concat(),
    );
    let result = ["gaurone", "gaurtwo", "gaurthree", "gaurfour", "gaurfive", "gaursix", "gaurseven"];
    finds(&env, &result.map(|word| (word, "tool", "tool_result")));
    finds(
        &env,
        &[
            ("gaureight", "meta", "attachment"),
            ("gaurnine", "human", "prompt"),
            ("gaurten", "human", "prompt"),
            ("gaureleven", "human", "prompt"),
            ("gaurtwelve", "human", "prompt"),
            ("gaurthirteen", "meta", "unknown"),
            ("gaurfourteen", "meta", "unknown"),
            ("gaurfifteen", "meta", "attachment"),
            ("gaursixteen", "meta", "attachment"),
            ("gaurseventeen", "human", "prompt"),
        ],
    );
    assert_eq!(env.count("gaurnever"), 0);
    env.heal();
}

#[test]
fn a_prompt_of_a_subagent_is_not_a_title() {
    let inner = json!({"type": "user", "uuid": uuid(9), "message": {"content": "bongoagent does this"}});
    let progress = json!({"type": "progress", "data": {"type": "agent_progress", "agentId": "a1", "message": inner}});
    let env = indexed(&(line(1, &progress) + &user_message(2, &json!("bongohuman asks that"))));
    finds(&env, &[("bongoagent", "subagent", "prompt"), ("bongohuman", "human", "prompt")]);
    let sessions = env.run(&["sessions", "--json"]).stdout;
    assert!(sessions.contains("bongohuman asks") && !sessions.contains("bongoagent"), "{sessions}");
}

#[test]
fn the_last_prompt_is_found_once() {
    let last =
        |text: &str| json!({"type": "last-prompt", "lastPrompt": text, "sessionId": session(1)}).to_string() + "\n";
    let long = format!("sableone first\nline and {}", "many words ".repeat(40));
    let cut: String = long.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect();
    let env = indexed(
        &[
            user_line(&session(1), 1, &long),
            last(&format!("{cut}…")),
            last("sabletwo only here"),
            last("sabletwo only here"),
            user_message(3, &json!("<command-name>/do</command-name><command-args>sablethree</command-args>")),
            last("/do sablethree"),
        ]
        .concat(),
    );
    let alone = json!({"type": "last-prompt", "lastPrompt": "sablefour alone", "sessionId": session(2)}).to_string();
    env.write(format!("-home-u-x/{}.jsonl", session(2)), alone + "\n");
    env.index();
    finds(
        &env,
        &[
            ("sableone", "human", "prompt"),
            ("sabletwo", "human", "queued"),
            ("sablethree", "human", "command"),
            ("sablefour", "human", "queued"),
        ],
    );
    assert!(env.run(&["sessions", "--json"]).stdout.contains("sablefour alone"));
    env.heal();
}
