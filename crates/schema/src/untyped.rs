//! Decoding without a type, as custom resources are: everything is kept, repeated keys are reported.

use serde_json::{Map, Value};

use crate::{
    document::{Node, untyped_number},
    problems::{Problem, Problems},
    typed::TypeError,
};

/// Decodes a document into a plain object. Numbers that Go prints as integers of 64 bits are integers (`1.0` is `1`),
/// others are floats; of repeated keys the last wins, and each is reported as a duplicate.
pub fn decode_untyped(node: Node<'_>) -> Result<(Value, Problems), TypeError> {
    let mut decoder = Decoder::default();
    let value = match node {
        Node::Null => Value::Object(Map::new()),
        Node::Object(_) => decoder.value(node),
        other => {
            return Err(TypeError::new(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                other.kind()
            )));
        }
    };
    match decoder.mismatch {
        Some(error) => Err(error),
        None => Ok((value, decoder.problems)),
    }
}

/// Decodes a value that was changed in memory, by a patch say. Equal to printing it and decoding the text.
pub fn normalize_untyped(value: Value) -> Result<Value, TypeError> {
    decode_untyped(Node::from_value(value)?).map(|(value, _)| value)
}

#[derive(Default)]
struct Decoder {
    path: String,
    problems: Problems,
    mismatch: Option<TypeError>,
}

impl Decoder {
    fn value(&mut self, node: Node<'_>) -> Value {
        let length = self.path.len();
        match node {
            Node::Null => Value::Null,
            Node::Bool(b) => Value::Bool(b),
            Node::String(text) => Value::String(text.into_owned()),
            Node::Number(text) => match untyped_number(&text) {
                Ok(number) => Value::Number(number),
                Err(error) => {
                    self.mismatch.get_or_insert(error);
                    Value::Null
                }
            },
            Node::Array(nodes) => {
                let mut items = Vec::with_capacity(nodes.len());
                for (index, node) in nodes.into_iter().enumerate() {
                    if !matches!(node, Node::Array(_) | Node::Object(_)) {
                        items.push(self.value(node));
                        continue;
                    }
                    self.path.push_str(&format!("[{index}]"));
                    items.push(self.value(node));
                    self.path.truncate(length);
                }
                Value::Array(items)
            }
            Node::Object(entries) => {
                let mut map = Map::new();
                for (key, node) in entries {
                    let twice = map.contains_key(key.as_ref());
                    if twice || matches!(node, Node::Array(_) | Node::Object(_)) {
                        if length > 0 {
                            self.path.push('.');
                        }
                        self.path.push_str(&key);
                    }
                    if twice {
                        self.problems.push(Problem::Duplicate(self.path.clone()));
                    }
                    let value = self.value(node);
                    self.path.truncate(length);
                    map.insert(key.into_owned(), value);
                }
                Value::Object(map)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse_json;

    fn decode(text: &str) -> Result<(Value, Problems), TypeError> {
        decode_untyped(parse_json(text.as_bytes()).unwrap())
    }

    #[test]
    fn everything_is_kept_and_repeated_keys_are_reported() {
        let (value, problems) =
            decode(r#"{"a":1,"a":2.5,"l":[{"x":1,"x":2}],"o":{"p":{"q":1,"q":null}}}"#).unwrap();
        assert_eq!(
            value,
            serde_json::json!({"a":2.5,"l":[{"x":2}],"o":{"p":{"q":null}}})
        );
        let paths: Vec<_> = problems.duplicate().collect();
        assert_eq!(paths, ["a", "l[0].x", "o.p.q"]);
    }

    #[test]
    fn a_number_too_large_for_a_float_is_refused() {
        assert_eq!(
            decode(r#"{"a":1e999}"#).unwrap_err().to_string(),
            "json: cannot unmarshal number 1e999 into Go value of type float64"
        );
        assert!(decode(r#"{"a":9223372036854775807}"#).unwrap().0["a"].is_i64());
        assert_eq!(decode(r#"{"a":1e3}"#).unwrap().0["a"], 1000);
        assert!(decode(r#"{"a":9223372036854775808}"#).unwrap().0["a"].is_f64());
    }

    #[test]
    fn only_objects_are_objects() {
        assert_eq!(
            decode("[1]").unwrap_err().to_string(),
            "json: cannot unmarshal array into Go value of type map[string]interface {}"
        );
    }
}
