//! The end of an answer: the last sentences of a text, where Claude says what it did or decided. Pure.

/// Returns the last sentences of a text, on one line: as many as fit into a number of characters, at least the end of the
/// last one. Leaves out code blocks, unless there is nothing else.
pub(super) fn closing(text: &str, limit: usize) -> String {
    let prose = without_code(text);
    let line = if prose.is_empty() { fold(text.lines()) } else { prose };
    if line.chars().count() <= limit {
        return line;
    }
    let room = limit.saturating_sub(2);
    let from = line.char_indices().rev().nth(room.saturating_sub(1)).map_or(0, |(at, _)| at);
    let tail = &line[from..];
    let next_word = || tail.find(' ').filter(|_| !line[..from].ends_with(' ')).map(|at| at + 1);
    let start = if line[..from].ends_with(". ") { None } else { sentence_start(tail).or_else(next_word) };
    format!("… {}", &tail[start.unwrap_or(0)..])
}

/// Returns the first position in a text where a sentence begins.
fn sentence_start(text: &str) -> Option<usize> {
    let ends = text.match_indices([' ']).map(|(at, _)| at);
    ends.filter(|at| text[..*at].ends_with(['.', '!', '?', ':', '。', '！', '？'])).map(|at| at + 1).next()
}

/// Returns the lines of a text that are not in code blocks, as one line.
fn without_code(text: &str) -> String {
    let mut is_code = false;
    fold(text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    }))
}

fn fold<'t>(lines: impl Iterator<Item = &'t str>) -> String {
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_sentences_are_kept() {
        for (text, limit, expected) in [
            ("Done.", 20, "Done."),
            ("First part here. I chose B.\nIt is faster.", 32, "… I chose B. It is faster."),
            ("One sentence that is longer than there is room", 20, "… than there is room"),
            ("Use this:\n```sh\nrm -rf x\n```\nIt works.", 40, "Use this: It works."),
            ("```sh\nmake all\n```", 40, "```sh make all ```"),
            ("長い文です。次の文です。最後", 8, "… 文です。最後"),
            ("", 10, ""),
        ] {
            let shown = closing(text, limit);
            assert_eq!(shown, expected);
            assert!(shown.chars().count() <= limit, "{shown}");
        }
    }
}
