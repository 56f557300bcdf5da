//! Lines of the operator's log, which it writes as JSON: the text is told from the circumstances.

use serde_json::{Map, Value};

use super::event::DevEvent;

/// The flag that selects the format of the log.
pub(super) const FORMAT: &str = "--log-format";

/// Fields of a line that the view shows elsewhere or not at all.
const LEFT_OUT: [&str; 1] = ["message"];

/// Returns the event for a line. A line that is not JSON is one that the operator printed itself.
pub(super) fn event(line: &str) -> DevEvent {
    let parsed: Option<Value> = serde_json::from_str(line).ok();
    let parsed = parsed.filter(|it| it["level"].is_string() && it["fields"].is_object());
    let Some(parsed) = parsed else {
        return DevEvent::Log {
            level: String::new(),
            target: String::new(),
            line: line.to_owned(),
        };
    };
    let text = |key: &str| parsed[key].as_str().unwrap_or_default().to_owned();
    let mut said = parsed["fields"]["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    for object in [&parsed["fields"], &parsed["span"]] {
        add_fields(&mut said, object.as_object());
    }
    DevEvent::Log {
        level: text("level"),
        target: text("target"),
        line: said.trim().to_owned(),
    }
}

fn add_fields(text: &mut String, fields: Option<&Map<String, Value>>) {
    for (key, value) in fields.into_iter().flatten() {
        if LEFT_OUT.contains(&key.as_str()) || value.is_null() || value == "" {
            continue;
        }
        // The name of a span is said by its fields.
        if key == "name" && value == "reconcile" {
            continue;
        }
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        text.push_str(&format!(" {key}={value}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_comes_first_and_its_circumstances_after_it() {
        let line = r#"{"timestamp":"2026-01-01T00:00:00Z","level":"WARN","fields":{"message":"no room","error":"disk full","attempt":2},"target":"crew::controller","span":{"controller":"captain","name":"reconcile"}}"#;
        let DevEvent::Log {
            level,
            target,
            line,
        } = event(line)
        else {
            panic!("not a line of the log");
        };
        assert_eq!(
            (level.as_str(), target.as_str()),
            ("WARN", "crew::controller")
        );
        assert_eq!(line, "no room attempt=2 error=disk full controller=captain");
    }

    #[test]
    fn what_is_not_json_is_shown_as_it_is() {
        for text in ["hello", "{}", "[1]", "{\"level\": 1}"] {
            let DevEvent::Log { level, line, .. } = event(text) else {
                panic!("not a line of the log");
            };
            assert_eq!((level.as_str(), line.as_str()), ("", text));
        }
    }
}
