//! Lines of transcripts and of the prompt history, with ids made from numbers.

/// The line of a prompt, with a uuid and a time made from a number.
pub(crate) fn user_line(session: &str, number: u32, text: &str) -> String {
    let text = serde_json::to_string(text).expect("JSON");
    let uuid = uuid(number);
    let minute = number / 60 % 60;
    let second = number % 60;
    format!(
        r#"{{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/home/u/x","sessionId":"{session}","version":"2.1.200","gitBranch":"main","type":"user","message":{{"role":"user","content":{text}}},"uuid":"{uuid}","timestamp":"2026-10-01T10:{minute:02}:{second:02}.000Z"}}"#
    ) + "\n"
}

/// A long text of which a few lines differ from number to number, like a file that is read again after edits.
pub(crate) fn long_text(number: u32) -> String {
    let line = |at: u32| {
        let varied = if at % 13 == number % 13 { at + number * 100 } else { at };
        format!(
            "{at:4} fn part_{varied}(given: u32) -> u32 {{ given * {} }}\n",
            varied.wrapping_mul(2_654_435_761) >> 7
        )
    };
    (0..40).map(line).collect()
}

/// A well-formed uuid made from a number.
pub(crate) fn uuid(number: u32) -> String {
    format!("{number:08x}-0000-4000-8000-{number:012x}")
}

/// A session id made from a number.
pub(crate) fn session(number: u32) -> String {
    format!("5e550000-0000-4000-8000-{number:012x}")
}

/// A line of the prompt history, `history.jsonl`.
pub(crate) fn prompt_history_line(session: &str, text: &str) -> String {
    format!(r#"{{"display":"{text}","timestamp":1760000000000,"project":"/home/u/x","sessionId":"{session}"}}"#) + "\n"
}
