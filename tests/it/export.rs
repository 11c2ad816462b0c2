//! `export`: files that can be shared, and nothing in them that should not be.

use serde_json::Value;

use crate::util::{Env, session, uuid};

fn secret() -> String {
    format!("ghp_{}", "a1B2c3D4e5F6".repeat(3))
}

/// A session with a secret, a home path and hostile markup.
fn env() -> Env {
    let env = Env::new();
    let id = session(1);
    let line = |number: u32, role: &str, content: Value| {
        let line = serde_json::json!({
            "parentUuid": null, "isSidechain": false, "cwd": "/home/dana/code/x", "sessionId": id, "type": role,
            "message": {"id": format!("m{number}"), "role": role, "content": content}, "uuid": uuid(number),
            "timestamp": format!("2026-10-01T10:{number:02}:00.000Z"),
        });
        line.to_string() + "\n"
    };
    let lines = [
        line(1, "user", format!("look at /home/dana/code/x/a.rs with {} <script>alert(1)</script>", secret()).into()),
        line(2, "assistant", serde_json::json!([{"type": "text", "text": "**Done** [x](javascript:alert(1)) <b>"}])),
        line(
            3,
            "assistant",
            serde_json::json!([{"type": "tool_use", "id": "t1", "name": "Write",
            "input": {"file_path": "/home/dana/code/x/b.md", "content": format!("```\n{}\n```", secret())}}]),
        ),
        line(4, "user", serde_json::json!([{"type": "tool_result", "tool_use_id": "t1", "content": "File created"}])),
        line(
            5,
            "assistant",
            serde_json::json!([{"type": "tool_use", "id": "t2", "name": "Bash",
            "input": {"command": "ls /home/dana"}}]),
        ),
        line(
            6,
            "user",
            serde_json::json!([{"type": "tool_result", "tool_use_id": "t2", "content": "/home/dana/code"}]),
        ),
    ];
    env.write(format!("-home-dana-code-x/{id}.jsonl"), lines.concat());
    env.index();
    env
}

fn exported(env: &Env, args: &[&str]) -> String {
    let ran = env.run(&[&["export", "--no-refresh", "-o", "-"], args, &[&session(1)]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.stdout
}

#[test]
fn no_secret_and_no_home_gets_out() {
    let env = env();
    for format in ["md", "html", "json"] {
        let text = exported(&env, &["-f", format]);
        assert!(!text.contains(&secret()) && !text.contains("/home/dana"), "{text}");
        assert!(text.contains("[redacted: github token]") && text.contains("~/code/x"), "{text}");
        let open = exported(&env, &["-f", format, "--reveal"]);
        assert!(open.contains(&secret()) && open.contains("/home/dana"), "{open}");
    }
}

#[test]
fn the_page_is_one_file_without_scripts() {
    let html = exported(&env(), &["-f", "html"]);
    let small = html.to_lowercase();
    for banned in ["<script", "javascript:", "<link", "<img", "<iframe", "src=", "@import", "url("] {
        assert!(!small.contains(banned), "{banned} in {html}");
    }
    assert!(html.contains("default-src 'none'"));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "what was said is shown");
    assert!(html.contains("prefers-color-scheme: dark"));
}

#[test]
fn markdown_holds_what_was_said() {
    let text = exported(&env(), &["-f", "md"]);
    let body = text.split_once("\n# ").expect("a heading").1;
    let expected = "\n## You · Thu 2026-10-01 10:01\n\n> look at ~/code/x/a.rs with [redacted: github token] <script>alert(1)</script>\n\n## Claude · Thu 2026-10-01 10:02\n\n**Done** [x](javascript:alert(1)) <b>\n\n<details><summary>Write b.md</summary>\n\n````diff\n+```\n+[redacted: github token]\n+```\n````\n\n```\nFile created\n```\n\n</details>\n\n<details><summary>Bash ls ~</summary>\n\n```\nls ~\n```\n\n```\n~/code\n```\n\n</details>\n";
    assert_eq!(body.split_once('\n').expect("a title").1, expected);
}

#[test]
fn json_is_one_document() {
    let json: Value = serde_json::from_str(&exported(&env(), &["-f", "json"])).expect("JSON");
    assert_eq!((json["schema"].as_u64(), json["type"].as_str()), (Some(1), Some("export")));
    let kinds: Vec<&str> =
        json["messages"].as_array().expect("messages").iter().filter_map(|one| one["type"].as_str()).collect();
    assert_eq!(kinds, ["message", "message", "call", "call"]);
    assert_eq!(json["messages"][3]["result"], "~/code");
}

#[test]
fn files_are_not_replaced_unasked() {
    let env = env();
    let file = format!("session-{}.md", &session(1)[..8]);
    let ran = env.run(&["export", "--no-refresh", &session(1)]);
    assert_eq!((ran.code, ran.stdout), (0, format!("{file}\n")));
    assert!(env.path().join(&file).is_file());
    let ran = env.run(&["export", "--no-refresh", &session(1)]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("is there already") && ran.stderr.contains("--force"), "{}", ran.stderr);
    assert_eq!(env.run(&["export", "--no-refresh", "--force", &session(1)]).code, 0);
}
