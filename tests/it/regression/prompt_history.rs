//! Prompts that only `history.jsonl` contains.

use crate::support::env::Env;
use crate::support::transcript::{prompt_history_line, session, user_line};

/// The prompt history was taken for the transcript of the first session it names. That session's prompts were not
/// found, and forgetting it removed all the others.
#[test]
fn the_prompt_history_belongs_to_no_session() {
    let env = Env::new();
    let [first, second, known] = [1, 2, 3].map(session);
    env.write(format!("-home-u-x/{known}.jsonl"), user_line(&known, 1, "stays"));
    let history = prompt_history_line(&first, "a pangolin") + &prompt_history_line(&second, "an aardvark");
    std::fs::write(env.claude().join("history.jsonl"), history).expect("written");
    env.index();
    assert_eq!((env.count("pangolin"), env.count("aardvark")), (1, 1));
    assert_eq!(env.run(&["forget", &first, "--yes"]).code, 0);
    for again in [&["index"][..], &["index", "--rebuild"]] {
        assert_eq!((env.count("pangolin"), env.count("aardvark")), (0, 1), "before {again:?}");
        assert_eq!(env.run(again).code, 0);
    }
    assert_eq!((env.count("pangolin"), env.count("aardvark")), (0, 1));
    env.verify();
}

/// For a session with a transcript, prompts that only the history contains, such as withdrawn ones, were not found.
#[test]
fn a_prompt_only_in_the_history_is_found_although_its_session_has_a_transcript() {
    let env = Env::new();
    let id = session(1);
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, "feed the numbat and 20 lines of its diet"));
    let history = prompt_history_line(&id, "feed the numbat [Pasted text #1 +20 lines]")
        + &prompt_history_line(&id, "a bilby instead");
    std::fs::write(env.claude().join("history.jsonl"), history).expect("written");
    env.index();
    let found = env.hits("numbat");
    assert_eq!(
        found.iter().map(|hit| hit["kind"].as_str()).collect::<Vec<_>>(),
        [Some("prompt")],
        "the transcript has it"
    );
    let weaker = env.hits("numbat bilby instead");
    assert!(weaker.iter().any(|hit| hit["kind"] == "history"), "hidden by a hit with one word of three: {weaker:?}");
    let [only] = &env.hits("bilby")[..] else { panic!("expected one hit") };
    assert_eq!((only["kind"].as_str(), only["session_id"].as_str()), (Some("history"), Some(id.as_str())));
}

/// In an exact search, a prompt from the history was hidden by messages of its session that have its words but not its
/// characters.
#[test]
fn exact_search_finds_what_only_the_history_contains() {
    let env = Env::new();
    let id = session(1);
    let prompt = "then we record the backup without a word; record the backup without serials";
    env.write(format!("-home-u-x/{id}.jsonl"), user_line(&id, 1, prompt));
    let history = prompt_history_line(&id, "can we record the backup without serde?");
    std::fs::write(env.claude().join("history.jsonl"), history).expect("written");
    env.index();
    for (args, kinds) in [
        (&["-F", "backup without serd"][..], &["history"][..]),
        (&["/backup.without.ser[d]/"], &["history"]),
        (&["-F", "we record the b"], &["prompt"]),
        (&["-F", "can we record the b"], &["history"]),
    ] {
        let found = env.hits_with(args);
        let found: Vec<_> = found.iter().filter_map(|hit| hit["kind"].as_str()).collect();
        assert_eq!(found, kinds, "{args:?}");
    }
}

/// The title of a session that only the history knows depended on how the index was built up.
#[test]
fn a_session_known_from_the_history_is_named_after_its_first_prompt() {
    let env = Env::new();
    let id = session(1);
    let history = env.claude().join("history.jsonl");
    let mut lines = String::new();
    for number in 0..9 {
        lines += &prompt_history_line(&id, &format!("prompt {number}"))
            .replace("1760000000000", &format!("176000000000{number}"));
        std::fs::write(&history, &lines).expect("written");
        env.index();
        let listed = env.run(&["sessions", "--json"]).stdout;
        assert!(listed.contains(r#""title":"prompt 0""#), "{number}: {listed}");
    }
}
