//! Queries that once found nothing, or ranked the wrong message first.

use crate::support::env::Env;
use crate::support::transcript::{session, user_line, uuid};

/// An emoji followed by a variation selector left a gap in the positions of words.
#[test]
fn a_phrase_may_contain_an_emoji() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, "see: \u{26a0}\u{fe0f} Potential issue here"));
    env.index();
    for query in ["\"\u{26a0}\u{fe0f} Potential issue\"", "\"see \u{26a0} potential\"", "\"Potential issue\""] {
        assert_eq!(env.count(query), 1, "{query}");
    }
}

/// A pasted line with quotes in it found nothing when the quoted part is different today.
#[test]
fn quotes_in_a_pasted_line_are_not_required_phrases() {
    let env = Env::new();
    let id = session(1);
    let line = "expected selector 'old-badge' to return at most one element";
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, line));
    env.index();
    let pasted = "expected selector \"x-badge of today\" to return at most one element";
    assert_eq!(env.count(pasted), 1);
    // With few other words, the quotes are meant.
    assert_eq!(env.count("selector \"x-badge of today\""), 0);
}

/// Words that are joined, split or the end of an identifier were not found, nor were identifiers with a typo.
#[test]
fn words_are_found_when_joined_split_or_misspelt() {
    let env = Env::new();
    for (number, text) in
        (1..).zip(["the AppKitProvider fails", "ask the coderabbit model", "spawn a ChildProcess", "with haiku"])
    {
        let id = session(number);
        env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, number, text));
    }
    env.index();
    for (query, expected) in [("kitprovider", 1), ("codera bbit", 2), ("ChlidProcess", 3), ("withhaiku", 4)] {
        let first = env.hits_with(&[query]).first().and_then(|hit| hit["session_id"].as_str().map(str::to_string));
        assert_eq!(first, Some(session(expected)), "{query}");
    }
}

/// A query that names a file wants its edits first, but short reads of the file came before them.
#[test]
fn edits_of_a_named_file_come_first() {
    let env = Env::new();
    let call = |number: u32, tool: &str, path: &str, more: &str| {
        let id = session(number);
        let block =
            format!(r#"{{"type":"tool_use","id":"t{number}","name":"{tool}","input":{{"file_path":"{path}"{more}}}}}"#);
        let line = format!(
            r#"{{"type":"assistant","uuid":"{}","sessionId":"{id}","timestamp":"2026-01-02T03:04:05Z","cwd":"/home/u/x","message":{{"role":"assistant","content":[{block}]}}}}"#,
            uuid(number)
        );
        env.write(format!("-home-u-x/{id}.jsonl"), line + "\n");
    };
    let long = format!(r#","old_string":"a","new_string":"{}""#, "some words of a change ".repeat(40));
    call(1, "Read", "/home/u/x/Dockerfile", "");
    call(2, "Edit", "/home/u/x/Dockerfile", &long);
    call(3, "Read", "/home/u/x/src/index.ts", "");
    call(4, "Edit", "/home/u/x/src/index.ts", &long);
    call(5, "Edit", "/home/u/x/src/deck-index.ts", "");
    env.index();
    for (query, expected) in [("Dockerfile", 2), ("index.ts", 4), ("src/index.ts", 4)] {
        assert_eq!(env.hits_with(&[query])[0]["session_id"], session(expected), "{query}");
    }
}

/// An unknown last word was taken for the prefix of a word in a single text, although a typo of a word that occurs in
/// thousands is likelier.
#[test]
fn a_typo_of_a_common_word_is_not_a_prefix_of_a_rare_one() {
    let env = Env::new();
    let say = |number: u32, texts: &[String]| {
        let id = session(number);
        let lines = texts.iter().zip(number * 10_000..).map(|(text, line)| user_line(&id, line, text));
        env.write(format!("-home-u-x/{id}.jsonl"), lines.collect::<String>());
    };
    say(1, &(0..2_500).map(|number| format!("please write it {number}")).collect::<Vec<_>>());
    say(2, &["it pushes what others write".to_string()]);
    say(3, &["it pushes what the witel has".to_string()]);
    env.index();
    assert_eq!(env.hits_with(&["pushes wite"])[0]["session_id"], session(2));
    assert_eq!(env.hits_with(&["pushes witel"])[0]["session_id"], session(3));
}

/// A line of code ranked below a short text that contains its words more often.
#[test]
fn code_that_matches_verbatim_comes_first() {
    let env = Env::new();
    let code = "case load(path) do {:ok, data} -> parse(data) {:error, _} = error -> error end ";
    for (number, text) in (1..).zip([
        format!("{code}{}", "and then it goes on with something else entirely, line after line. ".repeat(60)),
        "error, error, error: an error of the error".to_string(),
        "error: _ error error".to_string(),
    ]) {
        let id = session(number);
        env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, number, &text));
    }
    env.index();
    assert_eq!(env.hits_with(&["{:error, _} = error -> error"])[0]["session_id"], session(1));
}

/// An exact search did not find a word next to a single character of a script without spaces: only pairs were looked
/// up, or both as one word.
#[test]
fn exact_search_finds_words_next_to_a_single_cjk_character() {
    let env = Env::new();
    for (number, text) in
        (1..).zip(["the telemetry墁 value", "in 日本語def alone", "a retry_after検索flag", "mix ก่าขx of"])
    {
        let id = session(number);
        env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, number, text));
    }
    env.index();
    for (number, literals) in (1..).zip([
        &["telemetry墁", "metry墁 v", "墁 val"][..],
        &["語def", "語de", "本語de", "n 日", "日本語def"],
        &["after検", "ter検索fl", "索fla", "y_after検"],
        &["ก่าขx", "่าข", "ขx of"],
    ]) {
        for literal in literals {
            let found = env.hits_with(&["-F", literal]);
            let found: Vec<_> = found.iter().filter_map(|hit| hit["session_id"].as_str()).collect();
            assert_eq!(found, [session(number)], "{literal}");
        }
    }
}
