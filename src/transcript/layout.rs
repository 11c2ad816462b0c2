//! The layout of Claude Code's folders: the name of a project's folder, and the root of a transcript.

use std::path::{Path, PathBuf};

/// Returns the name of the folder in which Claude Code keeps the transcripts of the project `folder`.
pub fn encoded_folder(folder: &str) -> String {
    folder
        .encode_utf16()
        .map(|unit| u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric).map_or('-', char::from))
        .collect()
}

/// Returns the root of a transcript: the folder that contains its `projects` folder.
pub fn root_of(transcript: &Path) -> Option<PathBuf> {
    let projects = transcript.ancestors().find(|dir| dir.file_name().is_some_and(|name| name == "projects"))?;
    projects.parent().map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_names_match_claude_code() {
        assert_eq!(encoded_folder("/home/u/.claude"), "-home-u--claude");
        assert_eq!(encoded_folder("D:\\ab한글이름"), "D--ab----");
    }
}
