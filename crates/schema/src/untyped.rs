//! Decodes without a type, as for custom resources: everything is kept, repeated keys are reported.

use serde_json::{Map, Number, Value};

use crate::{
    document::{Node, integral, untyped_number},
    position::Position,
    problems::{Problem, Problems},
    typed::TypeError,
};

/// Decodes a document into a plain object. Numbers that are written as integers of 64 bits are integers, others are floats:
/// `2.0` is one until it is stored ([`normalize_untyped`]). Of repeated keys the last wins, and each is reported as a
/// duplicate.
///
/// # Errors
///
/// Returns an error if a number does not fit a float.
///
/// ```
/// use kubewright_schema::{decode_untyped, parse_json};
/// use serde_json::json;
///
/// let node = parse_json(br#"{"a": 1.0, "b": 1, "b": 2}"#)?;
/// let (value, problems) = decode_untyped(node)?;
/// assert_eq!(value["b"], json!(2));
/// assert_eq!(problems.duplicate().collect::<Vec<_>>(), ["b"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decode_untyped(node: Node<'_>) -> Result<(Value, Problems), TypeError> {
    let mut decoder = Decoder::default();
    let value = match node {
        Node::Null => Value::Object(Map::new()),
        Node::Object(_) => decoder.value(node, &Position::Root),
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

/// Gives the numbers of a value that was not decoded here, but put together by a patch say, the types that
/// [`decode_untyped`] gives them.
///
/// ```
/// use kubewright_schema::retype_numbers;
/// use serde_json::json;
///
/// let mut value = json!(u64::MAX);
/// retype_numbers(&mut value);
/// assert!(value.is_f64());
/// ```
pub fn retype_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_i64() => {}
        Value::Number(number) => match number.as_f64() {
            // `-0`, which other decoders take for a float.
            Some(float) if float == 0.0 && float.is_sign_negative() => *number = 0.into(),
            Some(float) if number.is_u64() => {
                *number = Number::from_f64(float).unwrap_or_else(|| number.clone());
            }
            _ => {}
        },
        Value::Array(items) => items.iter_mut().for_each(retype_numbers),
        Value::Object(fields) => fields.values_mut().for_each(retype_numbers),
        _ => {}
    }
}

/// Brings a value into the form in which it is read back after it was stored: Go prints a float without a fraction as an
/// integer, so it is one from then on. Equal to printing the value as Go does and decoding the text.
///
/// ```
/// use kubewright_schema::normalize_untyped;
/// use serde_json::json;
///
/// let mut value = json!({"size": 2.0});
/// normalize_untyped(&mut value);
/// assert_eq!(value, json!({"size": 2}));
/// ```
pub fn normalize_untyped(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_i64() => {}
        Value::Number(number) => {
            let Some(float) = number.as_f64() else {
                return;
            };
            match (integral(float), Number::from_f64(float)) {
                (Some(int), _) => *number = int.into(),
                (None, Some(float)) => *number = float,
                (None, None) => {}
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize_untyped),
        Value::Object(fields) => fields.values_mut().for_each(normalize_untyped),
        _ => {}
    }
}

#[derive(Default)]
struct Decoder {
    problems: Problems,
    mismatch: Option<TypeError>,
}

impl Decoder {
    fn value(&mut self, node: Node<'_>, at: &Position<'_>) -> Value {
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
                let items = nodes.into_iter().enumerate();
                items
                    .map(|(i, node)| self.value(node, &Position::Index(at, i)))
                    .collect()
            }
            Node::Object(entries) => {
                let mut map = Map::new();
                for (key, node) in entries {
                    let at = Position::Key(at, &key);
                    if map.contains_key(key.as_ref()) {
                        self.problems.push(Problem::Duplicate(at.path()));
                    }
                    let value = self.value(node, &at);
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
        assert!(decode(r#"{"a":9223372036854775808}"#).unwrap().0["a"].is_f64());
    }

    #[test]
    fn a_float_without_a_fraction_is_an_integer_once_it_was_stored() {
        let (mut value, _) =
            decode(r#"{"a":[2.0,1e3,-0.0,-0,2.5,1e19,9007199254740993]}"#).unwrap();
        let floats = |value: &Value| -> Vec<bool> {
            let items = value["a"].as_array().into_iter().flatten();
            items.map(Value::is_f64).collect()
        };
        assert_eq!(floats(&value), [true, true, true, false, true, true, false]);
        normalize_untyped(&mut value);
        assert_eq!(
            floats(&value),
            [false, false, false, false, true, true, false]
        );
        assert_eq!(
            crate::encode(&value),
            br#"{"a":[2,1000,0,0,2.5,10000000000000000000,9007199254740993]}"#
        );
    }

    #[test]
    fn only_objects_are_objects() {
        assert_eq!(
            decode("[1]").unwrap_err().to_string(),
            "json: cannot unmarshal array into Go value of type map[string]interface {}"
        );
    }
}
