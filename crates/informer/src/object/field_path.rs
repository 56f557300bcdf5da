//! [`FieldPath`]: the value of a field, straight from an object's JSON: `spec.nodeName`.
//!
//! A path consists of field names only. At an array it continues in every element, so `spec.volumes.configMap.name`
//! yields the names of all config maps. A dot within a field name is written `\.`.

use std::borrow::Cow;
use std::ops::Range;

use kubewright_client::stream::DecodeError;
use kubewright_client::stream::scan::{ObjectReader, skip_space, text, value_end};

/// The path of a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FieldPath(Vec<String>);

/// Deeper than any object.
const MAX_STEPS: usize = 64;

impl FieldPath {
    /// Parses `spec.nodeName` or `.metadata.labels.app\.kubernetes\.io/name`. Steps beyond the sixty-fourth are
    /// dropped.
    pub(crate) fn new(path: &str) -> Self {
        let mut steps = vec![String::new()];
        let mut characters = path.trim_start_matches('.').chars();
        while let Some(character) = characters.next() {
            match character {
                '.' => steps.push(String::new()),
                '\\' => steps
                    .last_mut()
                    .into_iter()
                    .for_each(|s| s.extend(characters.next())),
                other => steps.last_mut().into_iter().for_each(|s| s.push(other)),
            }
        }
        steps.truncate(MAX_STEPS);
        Self(steps)
    }

    /// Returns the values at the path: strings (also the elements of an array of strings), numbers and booleans as
    /// written.
    pub(crate) fn values<'a>(&self, json: &'a [u8]) -> Vec<Cow<'a, str>> {
        let mut values = Vec::new();
        self.visit(json, &mut |_, value| {
            let raw = &json[value];
            match raw.first() {
                Some(b'"') => values.extend(text(raw)),
                Some(b'[') => {
                    let elements = serde_json::from_slice::<Vec<String>>(raw);
                    values.extend(elements.into_iter().flatten().map(Cow::Owned));
                }
                Some(b'{') | None => {}
                Some(_) if raw == b"null" => {}
                Some(_) => values.extend(std::str::from_utf8(raw).ok().map(Cow::Borrowed)),
            }
        });
        values
    }

    /// Returns the JSON without the fields at this path.
    pub(crate) fn remove_from(&self, json: &[u8]) -> Vec<u8> {
        let mut cuts = Vec::new();
        self.visit(json, &mut |field, value| cuts.push(field.start..value.end));
        let mut kept = Vec::with_capacity(json.len());
        let mut at = 0;
        for cut in cuts {
            let Some(before) = json.get(at..cut.start) else {
                continue;
            };
            kept.extend_from_slice(before);
            at = cut.end;
            if json.get(cut.start) != Some(&b',') {
                // The first field of its object takes the comma behind it along.
                let next = skip_space(json, at);
                if json.get(next) == Some(&b',') {
                    at = next + 1;
                }
            }
        }
        kept.extend_from_slice(json.get(at..).unwrap_or_default());
        kept
    }

    /// Calls `found` for each field at the path, with the range of the field, including its comma, and that of its
    /// value.
    fn visit(&self, json: &[u8], found: &mut dyn FnMut(Range<usize>, Range<usize>)) {
        let _ = visit(json, 0, &self.0, found);
    }
}

/// Recursion is at most twice as deep as the path has steps: arrays of arrays are not entered.
fn visit(
    json: &[u8],
    start: usize,
    steps: &[String],
    found: &mut dyn FnMut(Range<usize>, Range<usize>),
) -> Result<(), DecodeError> {
    let Some((step, rest)) = steps.split_first() else {
        return Ok(());
    };
    let mut reader = ObjectReader::new(json, start)?;
    loop {
        let before = reader.position();
        let Some(key) = reader.next_key()? else {
            return Ok(());
        };
        let value = reader.skip()?;
        if key != step.as_bytes() {
            continue;
        }
        match json.get(value.start) {
            _ if rest.is_empty() => found(before..value.start, value),
            Some(b'{') => visit(json, value.start, rest, found)?,
            Some(b'[') => {
                let mut at = skip_space(json, value.start + 1);
                while at < value.end && json.get(at) != Some(&b']') {
                    let end = value_end(json, at)?;
                    if json.get(at) == Some(&b'{') {
                        visit(json, at, rest, found)?;
                    }
                    at = skip_space(json, end);
                    if json.get(at) == Some(&b',') {
                        at = skip_space(json, at + 1);
                    }
                }
            }
            _ => {}
        }
        return Ok(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &[u8] = br#"{"metadata":{"labels":{"a.b/c":"x"}},"spec":{ "nodeName" : "n\u00e91","n":3,"volumes":[{"configMap":{"name":"one"}},{"secret":{}},{"configMap":{"name":"two"}}]}}"#;

    #[test]
    fn values_are_found_through_objects_and_arrays() {
        let values = |path| FieldPath::new(path).values(POD);
        assert_eq!(values("spec.nodeName"), ["né1"]);
        assert_eq!(values(".spec.n"), ["3"]);
        assert_eq!(values("spec.volumes.configMap.name"), ["one", "two"]);
        assert_eq!(values(r"metadata.labels.a\.b/c"), ["x"]);
        assert!(values("spec.missing").is_empty());
        assert!(values("spec").is_empty());
    }

    #[test]
    fn a_field_is_removed_with_its_comma() {
        let remove = |path| String::from_utf8(FieldPath::new(path).remove_from(POD)).unwrap();
        for path in [
            "metadata",
            "spec",
            "spec.nodeName",
            "spec.n",
            "spec.volumes.configMap",
            "none",
        ] {
            let expected = {
                let mut value: serde_json::Value = serde_json::from_slice(POD).unwrap();
                match path {
                    "metadata" | "spec" => {
                        value.as_object_mut().unwrap().remove(path);
                    }
                    "spec.nodeName" | "spec.n" => {
                        value["spec"].as_object_mut().unwrap().remove(&path[5..]);
                    }
                    "spec.volumes.configMap" => {
                        for volume in value["spec"]["volumes"].as_array_mut().unwrap() {
                            volume.as_object_mut().unwrap().remove("configMap");
                        }
                    }
                    _ => {}
                }
                value
            };
            let removed: serde_json::Value = serde_json::from_str(&remove(path)).expect(path);
            assert_eq!(removed, expected, "{path}");
        }
    }

    #[test]
    fn no_bytes_trip_a_path() {
        for end in 0..POD.len() {
            FieldPath::new("spec.volumes.configMap.name").values(&POD[..end]);
            FieldPath::new("spec.volumes").remove_from(&POD[..end]);
        }
    }
}
