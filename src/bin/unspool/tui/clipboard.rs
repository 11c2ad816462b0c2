//! Copies text to the clipboard: through the terminal over SSH and in tmux, otherwise with the system's own program.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::config;
use crate::tui::terminal::Tty;

/// Longest text that terminals accept, in bytes.
const LONGEST: usize = 74_000;
/// Programs that take the clipboard's text on their standard input, and the variable that each needs.
const PROGRAMS: [(&str, &[&str], Option<&str>); 5] = [
    ("wl-copy", &[], Some("WAYLAND_DISPLAY")),
    ("xclip", &["-selection", "clipboard"], Some("DISPLAY")),
    ("xsel", &["--clipboard", "--input"], Some("DISPLAY")),
    ("pbcopy", &[], None),
    ("clip.exe", &[], None),
];

/// Copies a text. Returns the sentence to show.
pub(crate) fn copy(tty: &mut Tty, what: &str, text: &str) -> String {
    let is_remote = ["SSH_TTY", "SSH_CONNECTION", "TMUX"].into_iter().any(|name| config::var(name).is_some());
    if !is_remote && let Some(program) = PROGRAMS.iter().find(|(program, ..)| run_with(program, text)) {
        return format!("copied {what} with {}", program.0);
    }
    if text.len() > LONGEST {
        return format!("{what} is too long for the terminal's clipboard; e exports the session");
    }
    let sequence = format!("\x1b]52;c;{}\x07", base64(text.as_bytes()));
    match tty.send(sequence.as_bytes()) {
        Ok(()) => format!("copied {what} (sent to the terminal's clipboard)"),
        Err(error) => format!("cannot copy {what}: {error}"),
    }
}

fn run_with(program: &str, text: &str) -> bool {
    let Some((_, args, needs)) = PROGRAMS.iter().find(|(name, ..)| *name == program) else { return false };
    if needs.is_some_and(|name| config::var(name).is_none()) {
        return false;
    }
    let is_there = config::path_folders().iter().any(|folder| folder.join(program).is_file());
    if !is_there {
        return false;
    }
    let mut command = Command::new(program);
    command.args(*args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let is_written = child.stdin.take().is_some_and(|mut input| input.write_all(text.as_bytes()).is_ok());
    is_written && child.wait().is_ok_and(|status| status.success())
}

/// Encodes bytes for a terminal.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = three.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_encoded() {
        for (text, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("é\n", "w6kK")] {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
    }
}
