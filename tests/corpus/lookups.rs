//! Tool calls that search, plan and ask: Grep, Glob, TodoWrite, tasks, the web, MCP.

use super::ink::standing;
use super::json::{self, object};
use super::phrases;
use super::session::{Call, Session, text_blocks};

impl Session<'_> {
    /// Returns a call of one of the less common tools.
    pub(crate) fn other_call(&mut self) -> Call {
        let old = self.log.era.inline();
        match self.ink.rng.weighted(&[37, 29, 24, 13, 16, 10, 12, 4, 12]) {
            0 => self.todo(),
            1 => self.glob(),
            2 if !old => self.task_list(),
            3 => self.web_search(),
            4 if !self.is_agent() => self.delegate(),
            5 => self.mcp(),
            6 => self.web_fetch(),
            7 if !old => self.question(),
            8 if !old => self.skill(),
            _ => self.glob(),
        }
    }

    pub(crate) fn grep(&mut self) -> Call {
        let names = self.ink.names;
        let pattern = self.ink.ident().snake.clone();
        let root = names.root.clone();
        let content = self.ink.rng.chance(0.6);
        let count = self.ink.rng.log_range(1, 60);
        let lines = self.found_lines(content, count);
        let text = lines.join("\n");
        let mode = if content { "content" } else { "files_with_matches" };
        let input = object(|o| o.str("pattern", &pattern).str("path", &root).str("output_mode", mode).end());
        let record = object(|o| {
            o.str("mode", mode).num("numFiles", if content { 0 } else { count });
            if content {
                o.strs::<&str>("filenames", &[]).str("content", &text).num("numLines", count);
            } else {
                o.strs("filenames", &lines);
            }
        });
        let shown = if content { text } else { format!("Found {count} files\n{text}") };
        Call::new("Grep", input, &shown, record)
    }

    /// Returns lines of project files, as grep prints them, or only the paths.
    fn found_lines(&mut self, content: bool, count: usize) -> Vec<String> {
        let mut found = Vec::with_capacity(count);
        while found.len() < count {
            let at = self.ink.rng.below(self.files.len());
            let (path, text) = (&self.ink.names.paths[at], &self.files[at]);
            if !content {
                found.push(path.clone());
                continue;
            }
            // Several lines of one file, in order.
            let first = text.floor_char_boundary(self.ink.rng.below(text.len()));
            let number = first / 31 + 1;
            let lines = text[first..].lines().enumerate().skip(1).step_by(self.ink.rng.range(1, 9));
            let lines = lines.take(self.ink.rng.log_range(1, 12)).filter(|(_, line)| !line.trim().is_empty());
            found.extend(lines.map(|(at, line)| format!("{path}:{}:{line}", number + at)));
        }
        found.truncate(count);
        found
    }

    fn glob(&mut self) -> Call {
        let names = self.ink.names;
        let count = self.ink.rng.log_range(1, 60).min(names.paths.len());
        let paths: Vec<String> = names.paths[..count].iter().map(|path| names.absolute(path)).collect();
        let pattern = format!("**/*{}*.{}", self.ink.rng.pick(&names.topic_words), names.code.extension());
        let millis = self.ink.rng.below(400);
        let input = object(|o| o.str("pattern", &pattern).end());
        let record = object(|o| {
            o.strs("filenames", &paths).num("durationMs", millis).num("numFiles", count).bool("truncated", false);
        });
        Call::new("Glob", input, &paths.join("\n"), record)
    }

    fn todo(&mut self) -> Call {
        let done = self.ink.rng.below(4);
        let items: Vec<String> = (0..self.ink.rng.range(3, 9)).map(|at| self.todo_item(at, done)).collect();
        let list = format!("[{}]", items.join(","));
        let input = object(|o| o.raw("todos", &list).end());
        let record = object(|o| o.raw("oldTodos", &list).raw("newTodos", &list).end());
        Call::new("TodoWrite", input, "Todos have been modified successfully. Continue with the current task.", record)
    }

    fn todo_item(&mut self, at: usize, done: usize) -> String {
        let content = self.ink.text_in(phrases::TASKS, |script, rng| script.sentence(rng));
        let status = ["completed", "in_progress", "pending"][usize::from(at >= done) + usize::from(at > done)];
        object(|o| o.str("content", &content).str("status", status).str("activeForm", &content).end())
    }

    fn task_list(&mut self) -> Call {
        let number = self.ink.rng.range(1, 14).to_string();
        if self.ink.rng.chance(0.35) {
            let subject = self.ink.text_in(phrases::TASKS, |script, rng| script.sentence(rng));
            let mut text = String::new();
            self.ink.paragraph(&mut text, 120);
            let input = object(|o| o.str("subject", &subject).str("description", &text).end());
            let record = object(|o| o.obj("task", |t| t.str("id", &number).str("subject", &subject).end()).end());
            return Call::new("TaskCreate", input, &format!("Task #{number} created successfully: {subject}"), record);
        }
        let input = object(|o| o.str("taskId", &number).str("status", "completed").end());
        let record = object(|o| {
            o.bool("success", true).str("taskId", &number).strs("updatedFields", &["status"]);
        });
        Call::new("TaskUpdate", input, &format!("Updated task #{number} status"), record)
    }

    fn web_search(&mut self) -> Call {
        let query = self.ink.text(&["%x %t %o %V", "%x %a %o", "how to %v %t %o with %x", "%e"]);
        let mut text = format!("Web search results for query: \"{query}\"\n\n");
        for _ in 0..8 {
            self.ink.fill(&mut text, "- [%w %t %o | %x](https://docs.%r.example/%k/%h): %S\n");
        }
        self.ink.paragraph(&mut text, 900);
        let input = object(|o| o.str("query", &query).end());
        let record = object(|o| o.str("query", &query).strs("results", &[&text]).end());
        Call::new("WebSearch", input, &text, record)
    }

    fn web_fetch(&mut self) -> Call {
        let url =
            self.ink.text(&["https://%r.example/%k/%k", "https://docs.%x.example/en/%k.html", "https://%r.example"]);
        // Some pages are fetched repeatedly.
        let text = standing(self.ink.names, &url, 14_000);
        let prompt = self.ink.text(&["What does it say about %t %o? %S"]);
        let input = object(|o| o.str("url", &url).str("prompt", &prompt).end());
        let record = object(|o| {
            o.num("bytes", text.len() * 9).num("code", 200).str("codeText", "OK").str("result", &text).str("url", &url);
        });
        Call::new("WebFetch", input, &text, record)
    }

    fn mcp(&mut self) -> Call {
        let name = self.ink.text(&["mcp__%x__%i", "mcp__tracker__get_issue", "mcp__browser__snapshot"]);
        let mut text = String::from("{\"items\":[");
        for _ in 0..self.ink.rng.log_range(2, 40) {
            self.ink.fill(&mut text, "{\"id\":\"%k-%n\",\"%c\":\"%l\",\"%i\":%N},");
        }
        text.push_str("{}]}");
        let input = object(|o| o.str("query", &self.ink.story.title).num("limit", 40).end());
        let blocks = text_blocks(&[&text]);
        Call { result: blocks.clone(), ..Call::new(&name, input, "", blocks) }
    }

    fn question(&mut self) -> Call {
        let ask = self.ink.text_in(&["Should I %v the %a %o or %v %c?"], |script, rng| script.sentence(rng));
        let (one, two) = (self.ink.text(phrases::TASKS), self.ink.text(phrases::TASKS));
        let questions = format!(
            "[{}]",
            object(|o| {
                o.str("question", &ask)
                    .str("header", "Approach")
                    .strs("options", &[&one, &two])
                    .bool("multiSelect", false);
            })
        );
        let input = object(|o| o.raw("questions", &questions).end());
        let mut answers = String::from("{");
        json::quote(&mut answers, &ask);
        answers.push(':');
        json::quote(&mut answers, &one);
        answers.push('}');
        let record = object(|o| o.raw("questions", &questions).raw("answers", &answers).end());
        Call::new("AskUserQuestion", input, &format!("User has answered your questions: \"{ask}\"=\"{one}\"."), record)
    }

    fn skill(&mut self) -> Call {
        let name = self.ink.rng.pick(&self.ink.names.skills).clone();
        let input = object(|o| o.str("skill", &name).end());
        let record = object(|o| o.bool("success", true).str("commandName", &name).end());
        Call::new("Skill", input, &format!("Launching skill: {name}"), record)
    }

    /// Writes the text of a skill after its call. The text is the same every time.
    pub(crate) fn skill_body(&mut self, call: &Call) {
        let names = self.ink.names;
        let Some(name) = names.skills.iter().find(|name| call.input.contains(name.as_str())) else { return };
        let mut text = format!("Base directory for this skill: {}/.claude/skills/{name}\n\n", names.home);
        text.push_str(&standing(names, name, 14_000));
        self.log.user(&text, |o| o.bool("isMeta", true).end());
    }
}
