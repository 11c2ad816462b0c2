//! The title of a session, as far as one file gives it, in Claude Code's own order of preference.

use crate::document::FileState;

impl FileState {
    /// Returns the best title that the file gives its session.
    pub fn title(&self) -> Option<&str> {
        let titles = [&self.custom_title, &self.description, &self.ai_title, &self.agent_name];
        titles.into_iter().flatten().map(String::as_str).find(|title| !title.trim().is_empty())
    }

    /// Returns what Claude Code shows as the name of the session: the title, or else the last prompt.
    pub fn name(&self) -> Option<&str> {
        self.title().or(self.last_prompt.as_deref())
    }

    /// Returns the name of a session without a title in any file: the first prompt, the first command, or the summary.
    pub fn fallback_name(&self) -> Option<&str> {
        [&self.first_prompt, &self.first_command, &self.summary].into_iter().flatten().next().map(String::as_str)
    }
}
