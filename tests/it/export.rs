//! `export`: files that can be shared, without secrets, scripts or home paths. Also F7 of the fault catalogue.

use serde_json::Value;

use crate::support::env::Env;
use crate::support::transcript::{session, user_line, uuid};

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
fn secrets_and_home_paths_are_not_exported() {
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
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "the text is shown");
    assert!(html.contains("prefers-color-scheme: dark"));
}

#[test]
fn markdown_contains_the_conversation() {
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
fn existing_files_are_not_overwritten_without_force() {
    let env = env();
    let file = format!("session-{}.md", &session(1)[..8]);
    let ran = env.run(&["export", "--no-refresh", &session(1)]);
    assert_eq!((ran.code, ran.stdout), (0, format!("{file}\n")));
    assert!(env.path().join(&file).is_file());
    let ran = env.run(&["export", "--no-refresh", &session(1)]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("already exists") && ran.stderr.contains("--force"), "{}", ran.stderr);
    assert_eq!(env.run(&["export", "--no-refresh", "--force", &session(1)]).code, 0);
}

/// Two sessions with the same beginning of their ids were written to the same file, and only the second was left.
#[test]
fn sessions_with_similar_ids_get_separate_files() {
    let env = Env::new();
    for number in [1, 2] {
        let id = session(number);
        env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, number, &format!("number {number}")));
    }
    env.index();
    for _ in 0..2 {
        let ran = env.run(&["export", "--no-refresh", "--force", "-o", "out", &session(1), &session(2), &session(1)]);
        let (short, full) = (format!("out/session-{}.md", &session(1)[..8]), format!("out/session-{}.md", session(2)));
        assert_eq!((ran.code, ran.stdout), (0, format!("{short}\n{full}\n{short}\n")));
        for (file, text) in [(short, "number 1"), (full, "number 2")] {
            assert!(std::fs::read_to_string(env.path().join(&file)).expect("written").contains(text), "{file}");
        }
    }
}

/// Text that must not become part of the markup of a page.
const PAYLOADS: [&str; 12] = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "![a](https://evil.example/x.png)",
    "</pre></details><b onclick=alert(1)>",
    "<base href=https://evil.example/>",
    "<meta http-equiv=refresh content=0>",
    "<svg/onload=alert(1)>",
    "{{constructor.constructor('alert(1)')()}}",
    "\"><a href=javascript:alert(1)>",
    "' onmouseover='alert(1)",
    "]]><!-- <style>*{background:url(//evil.example)}</style>",
];

/// The tags of a page, with their attributes.
fn tags(html: &str) -> Vec<&str> {
    let after_style = html.split_once("</style>").expect("a style").1;
    after_style.split('<').skip(1).map(|tag| tag.split_once('>').expect("a tag ends").0).collect()
}

/// Checks that every tag is one of ours, and that no attribute has an effect.
fn is_inert(html: &str) {
    const TAGS: &str = "!doctype a article b blockquote body br code dd del details div dl dt em footer g h1 h2 h3 h4 h5 h6 \
        head header hr html i ins li line main nav ol p path pre rect s section small span strong summary svg table \
        tbody td text th thead time title tr ul";
    const ATTRIBUTES: &str = "class id open href rel lang title datetime start colspan d x y x1 x2 y1 y2 rx width height viewBox fill \
        role aria-label aria-hidden text-anchor preserveAspectRatio style";
    for tag in tags(html) {
        let mut words = tag.trim_start_matches('/').trim_end_matches('/').splitn(2, char::is_whitespace);
        let name = words.next().unwrap_or_default();
        assert!(TAGS.split_whitespace().any(|known| known == name), "unexpected tag <{tag}>");
        let mut rest = words.next().unwrap_or_default().trim();
        while !rest.is_empty() {
            let (attribute, behind) = rest.split_once('=').unwrap_or((rest, "\"\""));
            assert!(
                ATTRIBUTES.split_whitespace().any(|known| known == attribute.trim()),
                "unexpected attribute in <{tag}>"
            );
            let (value, behind) = behind.strip_prefix('"').and_then(|rest| rest.split_once('"')).expect("in quotes");
            // A link has an effect only when it is clicked.
            let leads_out = ["#", "https://", "http://"].iter().any(|start| value.starts_with(start));
            assert!(attribute.trim() != "href" || leads_out, "unexpected link in <{tag}>");
            assert!(!value.contains("url("), "an external load in <{tag}>");
            rest = behind.trim();
        }
    }
}

#[test]
fn f7_text_is_inert_in_a_page() {
    let env = Env::new();
    let id = session(1);
    let mut lines = Vec::new();
    for (number, payload) in (1..).zip(PAYLOADS) {
        let line = |part: u32, role: &str, content: Value| {
            serde_json::json!({
                "parentUuid": null, "cwd": format!("/home/dana/{payload}"), "gitBranch": payload, "sessionId": id,
                "type": role, "uuid": uuid(number * 10 + part), "timestamp": format!("2026-10-01T10:{number:02}:0{part}.000Z"),
                "message": {"id": format!("m{number}{part}"), "role": role, "model": payload, "content": content,
                    "usage": {"input_tokens": 1, "output_tokens": 1}},
            })
            .to_string()
        };
        let call = serde_json::json!([{"type": "tool_use", "id": format!("t{number}"), "name": payload,
            "input": {"file_path": format!("/x/{payload}"), "command": payload, "content": payload}}]);
        let edit = serde_json::json!([{"type": "tool_use", "id": format!("e{number}"), "name": "Edit",
            "input": {"file_path": format!("/x/{payload}"), "old_string": "a", "new_string": payload}}]);
        let result = |id: &str| serde_json::json!([{"type": "tool_result", "tool_use_id": format!("{id}{number}"), "content": payload}]);
        lines.extend([
            line(1, "user", payload.into()),
            line(2, "assistant", serde_json::json!([{"type": "text", "text": format!("# {payload}\n\n- {payload}\n\n```{payload}\n{payload}\n```\n\n|a|b|\n|-|-|\n|{payload}|{payload}|\n")}])),
            line(3, "assistant", serde_json::json!([{"type": "thinking", "thinking": payload}])),
            line(4, "assistant", call),
            line(5, "user", result("t")),
            line(6, "assistant", edit),
            line(7, "user", result("e")),
            serde_json::json!({"type": "custom-title", "customTitle": payload, "sessionId": id}).to_string(),
            serde_json::json!({"type": "pr-link", "prUrl": payload, "prNumber": 1, "prRepository": payload, "sessionId": id}).to_string(),
        ]);
    }
    env.write(format!("-home-dana-x/{id}.jsonl"), lines.join("\n") + "\n");
    assert!(matches!(env.run(&["index"]).code, 0 | 3));
    for tools in ["full", "calls", "none"] {
        let page = exported(&env, &["-f", "html", "--tools", tools, "--reveal"]);
        is_inert(&page);
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "the text is shown");
    }
    let page = env.path().join("page.html");
    let ran = env.run(&["stats", "--no-refresh", "--html", "-o", page.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    is_inert(&std::fs::read_to_string(page).expect("written"));
}

/// The check itself can fail.
#[test]
fn f7_the_check_notices_an_active_page() {
    for payload in ["<script>", "<b onclick=\"x\">", "<a href=\"javascript:x\">", "<p style=\"background:url(x)\">"] {
        let page = format!("<style></style><p>{payload}</p>");
        assert!(std::panic::catch_unwind(|| is_inert(&page)).is_err(), "{payload}");
    }
    is_inert("<style></style><p class=\"x\">&lt;script&gt;</p>");
}

#[test]
fn an_unknown_id_does_not_stop_the_export_of_the_others() {
    let env = env();
    let ran = env.run(&["export", "--no-refresh", "-o", "out", "feedfeed", &session(1)]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (1, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("begins with \"feedfeed\""), "{}", ran.stderr);
    assert!(env.path().join(ran.stdout.trim()).is_file(), "{}", ran.stdout);
}
