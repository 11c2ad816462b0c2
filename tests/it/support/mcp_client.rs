//! A client that speaks JSON-RPC over pipes to the real server, and what agents do with its answers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::env::Env;

/// The revisions with a handshake.
pub(crate) const WITH_HANDSHAKE: [&str; 2] = ["2025-06-18", "2025-11-25"];
/// The revision without one.
pub(crate) const WITHOUT_HANDSHAKE: &str = "2026-07-28";

/// A running server and the pipes to it.
pub(crate) struct Client {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    next_id: u64,
    revision: String,
}

/// The answer to a call of a tool.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

impl Client {
    /// Starts a server and speaks this revision of the protocol.
    pub(crate) fn start(env: &Env, revision: &str) -> Self {
        Self::start_with(env.command(), revision)
    }

    /// Starts a server with this command.
    pub(crate) fn start_with(mut command: Command, revision: &str) -> Self {
        command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut client = Self { child, to, from, next_id: 0, revision: revision.to_string() };
        if revision != WITHOUT_HANDSHAKE {
            let about = json!({"name": "test", "version": "1"});
            let given = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": about});
            let answer = client.request("initialize", given);
            assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
            client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        client
    }

    /// Sends a request and returns the message that answers it. Every line of the server must be JSON-RPC.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.next_id += 1;
        if self.revision == WITHOUT_HANDSHAKE {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.send(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).expect("read") > 0, "the server left");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
            if message["id"] == self.next_id {
                return message;
            }
        }
    }

    /// Sends a message without waiting.
    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.to.as_mut().expect("open"), "{message}").expect("sent");
    }

    /// Calls a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Answer {
        let message = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let text = message["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("no text: {message}")).to_string();
        Answer { text, is_error: message["result"]["isError"] == true }
    }

    /// Closes the pipe to the server, and returns its exit code and what it printed on stderr.
    pub(crate) fn leave(mut self) -> (Option<i32>, String) {
        drop(self.to.take());
        let output = self.child.wait_with_output().expect("ended");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Closes both pipes at once.
    pub(crate) fn vanish(mut self) -> Option<i32> {
        drop(self.to.take());
        drop(self.from);
        self.child.wait().expect("ended").code()
    }
}

impl Answer {
    /// Returns the quoted history, without its frame.
    pub(crate) fn quoted(&self) -> Vec<&str> {
        self.text.lines().filter_map(|line| line.strip_prefix("| ").or(line.strip_prefix("|"))).collect()
    }

    /// Returns the lines that the server itself wrote.
    pub(crate) fn own(&self) -> Vec<&str> {
        self.text.lines().filter(|line| !line.starts_with('|')).collect()
    }

    /// Returns the call that reads on, as tool and arguments.
    pub(crate) fn next(&self) -> Option<(String, Value)> {
        let call = self.own().into_iter().find_map(|line| line.strip_prefix("continue: "))?;
        let (tool, arguments) = call.split_once(' ')?;
        Some((tool.to_string(), serde_json::from_str(arguments).expect("JSON")))
    }

    /// Returns the ids that the server wrote.
    pub(crate) fn ids(&self) -> Vec<String> {
        let is_id = |word: &&str| word.len() == 36 && word.matches('-').count() == 4;
        let own = self.own().into_iter().filter(|line| !line.starts_with("continue"));
        own.flat_map(str::split_whitespace)
            .map(|word| word.trim_matches([':', ',']))
            .filter(is_id)
            .map(str::to_string)
            .collect()
    }
}
