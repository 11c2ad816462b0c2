//! Checks the arguments of a call, and says in our own words what is wrong with them.

use serde_json::{Map, Value};
use unspool::untrusted::one_line;

use crate::mcp::tools::{Parameter, Takes, Tool};

/// Characters of a wrong value that are repeated.
const SHOWN: usize = 60;

/// The arguments of a call, checked.
#[derive(Debug)]
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    /// Checks arguments. An argument that is null or blank counts as missing.
    pub(super) fn check(tool: &Tool, mut given: Map<String, Value>) -> Result<Self, String> {
        given.retain(|_, value| !value.is_null() && value.as_str().is_none_or(|text| !text.trim().is_empty()));
        let mut problems = Vec::new();
        for (name, value) in &given {
            match tool.parameters.iter().find(|parameter| parameter.name == name) {
                None => problems.push(unknown(tool, name)),
                Some(parameter) => problems.extend(parameter.problem(value)),
            }
        }
        for parameter in tool.parameters.iter().filter(|one| one.is_required && !given.contains_key(one.name)) {
            problems.push(format!("{:?} is missing", parameter.name));
        }
        if problems.is_empty() { Ok(Self(given)) } else { Err(with_example(tool, &problems.join("; "))) }
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.0.get(name)?.as_str().map(str::to_string)
    }

    /// Returns a filter as a list of no or one value.
    pub(super) fn list(&self, name: &str) -> Vec<String> {
        self.text(name).into_iter().collect()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        whole(self.0.get(name)?)
    }

    pub(super) fn size(&self, name: &str) -> Option<usize> {
        self.number(name).and_then(|number| usize::try_from(number).ok())
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns the arguments without some.
    pub(super) fn without(&self, names: &[&str]) -> Map<String, Value> {
        let mut rest = self.0.clone();
        rest.retain(|name, _| !names.contains(&name.as_str()));
        rest
    }
}

/// Adds a correct call to a message.
pub(super) fn with_example(tool: &Tool, message: &str) -> String {
    format!("{message}\nA correct call: {} {}", tool.name, tool.example)
}

impl Parameter {
    /// Returns what is wrong with a value.
    fn problem(&self, value: &Value) -> Option<String> {
        let is_right = match &self.takes {
            Takes::Text => value.is_string(),
            Takes::Flag => value.is_boolean(),
            Takes::Number(least, most) => whole(value).is_some_and(|number| (*least..=*most).contains(&number)),
            Takes::Choice(values) => value.as_str().is_some_and(|text| values.contains(&text)),
        };
        if is_right {
            return None;
        }
        let wanted = match &self.takes {
            Takes::Text => "a text".to_string(),
            Takes::Flag => "true or false".to_string(),
            Takes::Number(least, most) if *most > 1 << 30 => format!("a whole number of at least {least}"),
            Takes::Number(least, most) => format!("a whole number from {least} to {most}"),
            Takes::Choice(values) => format!("one of {}", values.join(", ")),
        };
        Some(format!("{:?} must be {wanted}, not {}", self.name, shown(&value.to_string())))
    }
}

/// Returns a whole number, even if it was written as `5.0`.
fn whole(value: &Value) -> Option<u64> {
    let exact = |number: f64| (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(exact))
}

fn unknown(tool: &Tool, name: &str) -> String {
    let names: Vec<&str> = tool.parameters.iter().map(|one| one.name).collect();
    let near = names.iter().map(|known| (strsim::osa_distance(known, name), *known)).min();
    let hint = match near {
        Some((distance, known)) if distance <= 2 => format!("did you mean {known:?}?"),
        _ => format!("it takes {}", names.join(", ")),
    };
    format!("there is no argument {}; {hint}", shown(&format!("{name:?}")))
}

fn shown(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tools::TOOLS;

    #[test]
    fn wrong_arguments_are_named() {
        for (tool, given, expected) in [
            (0, r#"{"query": 5}"#, r#""query" must be a text, not 5"#),
            (0, r#"{"limit": "many"}"#, r#""limit" must be a whole number from 1 to 20, not "many""#),
            (0, r#"{"limit": 21}"#, r#""limit" must be a whole number from 1 to 20, not 21"#),
            (0, r#"{"kind": "talk"}"#, r#""kind" must be one of said, command, output, code, thinking, not "talk""#),
            (0, r#"{"include_current": "yes"}"#, r#""include_current" must be true or false, not "yes""#),
            (0, r#"{"qurey": "x"}"#, r#"there is no argument "qurey"; did you mean "query"?"#),
            (1, r#"{}"#, r#""id" is missing"#),
            (1, r#"{"id": " "}"#, r#""id" is missing"#),
            (1, r#"{"id": "x", "from": -1}"#, r#""from" must be a whole number of at least 0, not -1"#),
            (2, r#"{"text": "x"}"#, r#"there is no argument "text"; it takes id, from, max_chars; "id" is missing"#),
        ] {
            let given = serde_json::from_str(given).expect("an object");
            let message = Arguments::check(&TOOLS[tool], given).expect_err("wrong");
            assert_eq!(message, with_example(&TOOLS[tool], expected));
        }
    }

    #[test]
    fn examples_are_correct() {
        for tool in &TOOLS {
            let example = serde_json::from_str(tool.example).expect("an object");
            Arguments::check(tool, example).expect(tool.name);
        }
    }

    #[test]
    fn lenient_values_are_accepted() {
        let given = serde_json::from_str(r#"{"query": "x", "limit": 5.0, "since": null}"#).expect("an object");
        let arguments = Arguments::check(&TOOLS[0], given).expect("correct");
        assert_eq!((arguments.size("limit"), arguments.text("since")), (Some(5), None));
    }

    #[test]
    fn the_list_of_tools_is_small() {
        let tools: Vec<_> = TOOLS.iter().map(Tool::described).collect();
        let size = serde_json::to_string(&tools).expect("JSON").len();
        assert!(size <= 8000, "{size}");
    }
}
