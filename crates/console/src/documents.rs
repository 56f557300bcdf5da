//! Parses pasted documents: YAML or JSON.

use http::StatusCode;
use kubewright_schema::yaml::parse_yaml;
use serde::Deserialize;
use serde_json::{Value, json};

/// The maximum number of objects.
const MOST: usize = 100;

#[derive(Deserialize)]
struct Pasted {
    text: String,
}

/// Parses the documents of a text, separated as in kubectl's files.
pub(crate) fn parse(body: &[u8]) -> Result<Value, (StatusCode, String)> {
    let refused = |message: String| (StatusCode::BAD_REQUEST, message);
    let pasted: Pasted = serde_json::from_slice(body).map_err(|e| refused(e.to_string()))?;
    let mut objects = Vec::new();
    for (line, document) in documents(&pasted.text) {
        let located = |message: String| refused(format!("document from line {line}: {message}"));
        let yaml = parse_yaml(document.as_bytes()).map_err(|e| located(e.to_string()))?;
        let value = yaml.node.into_value().map_err(|e| located(e.to_string()))?;
        match value {
            Value::Null => {}
            Value::Object(mut map) if is_list(&map) => match map.remove("items") {
                Some(Value::Array(items)) => objects.extend(items),
                _ => return Err(located("the list has no items".to_owned())),
            },
            Value::Object(map) => objects.push(Value::Object(map)),
            _ => return Err(located("not an object".to_owned())),
        }
    }
    match objects.len() {
        0 => Err(refused("there is no object in this text".to_owned())),
        n if n > MOST => Err(refused(format!("{n} objects, at most {MOST} at once"))),
        _ => Ok(json!({ "objects": objects })),
    }
}

fn is_list(map: &serde_json::Map<String, Value>) -> bool {
    map.get("kind").and_then(Value::as_str) == Some("List")
}

/// Splits a text at `---` lines. Returns the number of the first line of each document.
fn documents(text: &str) -> Vec<(usize, String)> {
    let mut documents = vec![(1, String::new())];
    for (n, line) in text.lines().enumerate() {
        match line.trim_end() == "---" {
            true => documents.push((n + 2, String::new())),
            false => {
                if let Some((_, last)) = documents.last_mut() {
                    last.push_str(line);
                    last.push('\n');
                }
            }
        }
    }
    documents.retain(|(_, text)| !text.trim().is_empty());
    documents
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Value, String> {
        parse(json!({ "text": text }).to_string().as_bytes()).map_err(|(_, message)| message)
    }

    #[test]
    fn documents_and_lists_are_objects() {
        let text = "a: 1\n---\n# nothing\n---\nkind: List\nitems:\n- b: 2\n- c: 3\n";
        assert_eq!(
            parsed(text).unwrap(),
            json!({"objects": [{"a": 1}, {"b": 2}, {"c": 3}]})
        );
    }

    #[test]
    fn an_error_names_the_document() {
        let error = parsed("a: 1\n---\nb: [\n").unwrap_err();
        assert!(error.starts_with("document from line 3: "), "{error}");
        assert_eq!(parsed("").unwrap_err(), "there is no object in this text");
        assert!(parsed("- 1\n").unwrap_err().ends_with("not an object"));
    }
}
