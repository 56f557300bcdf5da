//! Lines of the operator's log, which it writes as JSON: the message first, then the fields.

use serde_json::{Map, Value};

use super::event::DevEvent;

/// The flag that selects the format of the log.
pub(super) const FORMAT: &str = "--log-format";

/// Keys of a line that the view shows elsewhere or not at all.
const LEFT_OUT: [&str; 4] = ["level", "ts", "logger", "msg"];

/// Returns the event for a line. A line that is not JSON is one that the operator printed itself.
pub(super) fn event(line: &str) -> DevEvent {
    let parsed: Option<Map<String, Value>> = serde_json::from_str(line).ok();
    let Some((fields, level)) = parsed.and_then(|fields| {
        let level = fields.get("level")?.as_str()?.to_ascii_uppercase();
        fields.get("msg").or(fields.get("logger"))?;
        Some((fields, level))
    }) else {
        return DevEvent::Log {
            level: String::new(),
            target: String::new(),
            line: line.to_owned(),
        };
    };
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut said = text("msg").to_owned();
    for (key, value) in &fields {
        let shown = match value {
            Value::Null => continue,
            Value::String(text) if text.is_empty() => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if !LEFT_OUT.contains(&key.as_str()) && !key.starts_with("otel.") {
            said.push_str(&format!(" {key}={shown}"));
        }
    }
    DevEvent::Log {
        target: text("logger").to_owned(),
        line: said.trim().to_owned(),
        level,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_comes_first_and_its_circumstances_after_it() {
        let line = r#"{"level":"warn","ts":"2026-01-01T00:00:00Z","logger":"crew::controller","msg":"no room","controller":"captain","name":"ahab","error":"disk full","attempt":2}"#;
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
        assert_eq!(
            line,
            "no room attempt=2 controller=captain error=disk full name=ahab"
        );
    }

    #[test]
    fn lines_that_are_not_json_are_shown_unchanged() {
        for text in ["hello", "{}", "[1]", "{\"level\": 1}"] {
            let DevEvent::Log { level, line, .. } = event(text) else {
                panic!("not a line of the log");
            };
            assert_eq!((level.as_str(), line.as_str()), ("", text));
        }
    }
}
