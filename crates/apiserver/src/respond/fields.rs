//! Decodes the fields of an object that the columns of a table need.

use kubewright_machinery::scan::value_end;
use serde_json::{Map, Value};

use super::scan;

/// A set of fields, which a [`Table`](crate::registry::Table) reads.
///
/// A path is dotted and selects everything below it; through a list it selects in each element. A path that ends in `#`
/// selects the keys of an object, with null values.
///
/// ```
/// use kubewright_apiserver::registry::Fields;
/// use serde_json::json;
///
/// let fields = Fields::new(["metadata.name", "spec.containers.image", "data.#"]);
/// let object = br#"{"metadata":{"name":"a","uid":"b"},"spec":{"containers":[{"name":"c","image":"d"}]},"data":{"k":"v"}}"#;
/// assert_eq!(
///     fields.decode(object),
///     json!({"metadata": {"name": "a"}, "spec": {"containers": [{"image": "d"}]}, "data": {"k": null}})
/// );
/// ```
#[derive(Clone, Debug, Default)]
pub struct Fields {
    all: bool,
    children: Vec<(Box<str>, Selected)>,
}

#[derive(Clone, Debug)]
enum Selected {
    Whole,
    Keys,
    Some(Fields),
}

impl Fields {
    /// Returns a set of paths.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut fields = Self::default();
        for path in paths {
            fields.add(path);
        }
        fields
    }

    /// Returns the set of all fields.
    pub fn all() -> Self {
        Self {
            all: true,
            ..Self::default()
        }
    }

    fn add(&mut self, path: &str) {
        let (name, rest) = path.split_once('.').unwrap_or((path, ""));
        let index = match self.children.iter().position(|(n, _)| &**n == name) {
            Some(index) => index,
            None => {
                self.children
                    .push((name.into(), Selected::Some(Self::default())));
                self.children.len() - 1
            }
        };
        let child = &mut self.children[index].1;
        match (rest, child) {
            ("", child) => *child = Selected::Whole,
            (_, Selected::Whole) | ("#", Selected::Keys) => {}
            ("#", child @ Selected::Some(_)) if child.is_nothing() => *child = Selected::Keys,
            // The keys and some of the values: there is no smaller set that has both.
            ("#", child) | (_, child @ Selected::Keys) => *child = Selected::Whole,
            (rest, Selected::Some(fields)) => fields.add(rest),
        }
    }

    /// Decodes these fields of an encoded object and skips all others.
    pub fn decode(&self, object: &[u8]) -> Value {
        self.decode_with_metadata(object).0
    }

    /// Decodes these fields of an encoded object, and returns its encoded metadata too.
    pub(super) fn decode_with_metadata<'a>(&self, object: &'a [u8]) -> (Value, Option<&'a [u8]>) {
        if self.all {
            return (whole(object), scan::member(object, "metadata"));
        }
        let mut metadata = None;
        let (value, _) = self.read(object, 0, |key, value| {
            if key == b"metadata" {
                metadata = Some(value);
            }
        });
        (value, metadata)
    }

    /// Decodes the object at a position, and returns its end. Calls `note` with each member.
    fn read<'a>(
        &self,
        json: &'a [u8],
        at: usize,
        mut note: impl FnMut(&'a [u8], &'a [u8]),
    ) -> (Value, usize) {
        let mut out = Map::new();
        let mut members = scan::members_at(json, at);
        while let Some(key) = members.next_key() {
            // The fields of types have no characters that JSON escapes.
            let selected = self.children.iter().find(|(n, _)| n.as_bytes() == key);
            let value = match selected {
                Some((name, selected)) => {
                    let (decoded, value) = members.descend(|json, at| selected.read(json, at));
                    out.insert(name.to_string(), decoded);
                    value
                }
                None => members.value().unwrap_or_default(),
            };
            note(key, value);
        }
        (Value::Object(out), members.end())
    }

    fn decode_each(&self, value: &[u8]) -> Value {
        match value.first() {
            Some(b'{') => self.read(value, 0, |_, _| {}).0,
            Some(b'[') => scan::elements(value)
                .map(|element| self.decode_each(element))
                .collect(),
            _ => whole(value),
        }
    }
}

impl Selected {
    fn is_nothing(&self) -> bool {
        matches!(self, Self::Some(fields) if fields.children.is_empty())
    }

    /// Decodes the value at a position, and returns its end.
    fn read(&self, json: &[u8], at: usize) -> (Value, usize) {
        match (self, json.get(at)) {
            (Self::Some(fields), Some(b'{')) => fields.read(json, at, |_, _| {}),
            (Self::Keys, Some(b'{')) => {
                let mut members = scan::members_at(json, at);
                let keys = members.by_ref().map(|(key, _)| (text(key), Value::Null));
                let keys = Value::Object(keys.collect());
                (keys, members.end())
            }
            _ => {
                let end = value_end(json, at);
                let value = end.and_then(|end| json.get(at..end)).unwrap_or_default();
                let decoded = match self {
                    Self::Whole => whole(value),
                    Self::Some(fields) => fields.decode_each(value),
                    Self::Keys => Value::Object(Map::new()),
                };
                (decoded, end.unwrap_or(json.len()))
            }
        }
    }
}

/// Decodes an object without its managed fields, which no column shows.
pub(super) fn decode_all(object: &[u8]) -> Value {
    let mut out = Map::new();
    for (key, value) in scan::members(object) {
        let value = match key {
            b"metadata" => decode_metadata(value),
            _ => whole(value),
        };
        out.insert(text(key), value);
    }
    Value::Object(out)
}

fn decode_metadata(metadata: &[u8]) -> Value {
    if metadata.first() != Some(&b'{') {
        return whole(metadata);
    }
    let members = scan::members(metadata).filter(|(key, _)| *key != b"managedFields");
    Value::Object(
        members
            .map(|(key, value)| (text(key), whole(value)))
            .collect(),
    )
}

fn whole(value: &[u8]) -> Value {
    // Most values are short strings.
    if let [b'"', plain @ .., b'"'] = value
        && !plain.iter().any(|byte| *byte == b'\\' || *byte < b' ')
        && let Ok(text) = std::str::from_utf8(plain)
    {
        return Value::from(text);
    }
    serde_json::from_slice(value).unwrap_or_default()
}

/// Decodes a key, which may have escapes.
fn text(key: &[u8]) -> String {
    if !key.contains(&b'\\') {
        return String::from_utf8_lossy(key).into_owned();
    }
    let quoted = [b"\"", key, b"\""].concat();
    serde_json::from_slice(&quoted).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_but_managed_fields_is_decoded() {
        let object = json!({
            "kind": "K", "a\n": {"b": [1]},
            "metadata": {"name": "n", "managedFields": [{"manager": "m"}], "labels": {"x": "y"}},
        });
        let mut wanted = object.clone();
        wanted["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("managedFields");
        assert_eq!(decode_all(object.to_string().as_bytes()), wanted);
        assert_eq!(
            decode_all(b"{\"metadata\":null}"),
            json!({"metadata": null})
        );
    }

    #[test]
    fn overlapping_paths_select_the_larger() {
        let object = br#"{"a":{"b":1,"c":2},"d":"text","e":null}"#;
        let decode = |paths: &[&str]| Fields::new(paths.iter().copied()).decode(object);
        assert_eq!(decode(&["a.b", "a"]), json!({"a": {"b": 1, "c": 2}}));
        assert_eq!(decode(&["a", "a.b"]), json!({"a": {"b": 1, "c": 2}}));
        assert_eq!(decode(&["a.#"]), json!({"a": {"b": null, "c": null}}));
        assert_eq!(decode(&["a.#", "a.b"]), json!({"a": {"b": 1, "c": 2}}));
        assert_eq!(decode(&["a.b", "a.#"]), json!({"a": {"b": 1, "c": 2}}));
        assert_eq!(decode(&["d.x", "e.x"]), json!({"d": "text", "e": null}));
        assert_eq!(decode(&[]), json!({}));
    }
}
