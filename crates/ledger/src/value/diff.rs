//! Differences between two states of an object.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::path::{Path, Step, name_of, naming_field};

/// The maximum number of entries of a difference.
const MAX_CHANGES: usize = 200;

/// The maximum size of a value in a difference.
const MAX_VALUE: usize = 4 << 10;

/// The number of changes that a summary names.
const NAMED: usize = 3;

/// The number of characters of a value in a summary.
const SHORT: usize = 40;

/// The fields of the metadata that change with every write.
const VOLATILE: [&str; 3] = ["resourceVersion", "generation", "managedFields"];

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldChange {
    /// The path.
    pub path: String,
    /// The kind of the difference.
    pub op: Op,
    /// The value before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// It was added.
    Add,
    /// It was removed.
    Remove,
    /// Its value changed.
    Replace,
}

/// Returns the fields that differ, and whether the result is truncated.
///
/// `metadata.resourceVersion`, `metadata.generation` and `metadata.managedFields` are ignored. List items are matched by their
/// names; a list of scalars counts as one value.
///
/// ```
/// use kubewright_ledger::diff;
/// use serde_json::json;
///
/// let (changes, _) = diff(&json!({"spec": {"replicas": 1}}), &json!({"spec": {"replicas": 3}}));
/// assert_eq!(changes[0].path, "spec.replicas");
/// ```
pub fn diff(before: &Value, after: &Value) -> (Vec<FieldChange>, bool) {
    let mut out = Differences::default();
    match (before, after) {
        (Value::Null, after) => out.add(&Path::root(), Op::Add, None, Some(&stable(after))),
        _ => out.compare(&Path::root(), before, after),
    }
    (out.changes, out.truncated)
}

/// Returns a short description of a difference.
pub(crate) fn summary(changes: &[FieldChange]) -> String {
    if changes.is_empty() {
        return "no field".to_owned();
    }
    let mut words: Vec<String> = changes.iter().take(NAMED).map(FieldChange::words).collect();
    let rest = changes.len().saturating_sub(NAMED);
    if rest > 0 {
        words.push(format!("and {rest} more"));
    }
    words.join(", ")
}

#[derive(Default)]
struct Differences {
    changes: Vec<FieldChange>,
    truncated: bool,
}

impl Differences {
    fn compare(&mut self, path: &Path, before: &Value, after: &Value) {
        if before == after || self.changes.len() > MAX_CHANGES {
            return;
        }
        match (before, after) {
            (Value::Object(old), Value::Object(new)) => {
                let metadata = matches!(path.steps(), [Step::Key(key)] if key == "metadata");
                let shown = |key: &str| !(metadata && VOLATILE.contains(&key));
                for (key, old) in old.iter().filter(|(key, _)| shown(key)) {
                    let path = path.key(key);
                    match new.get(key) {
                        Some(new) => self.compare(&path, old, new),
                        None => self.add(&path, Op::Remove, Some(old), None),
                    }
                }
                let added = new
                    .iter()
                    .filter(|(key, _)| shown(key) && !old.contains_key(*key));
                for (key, new) in added {
                    self.add(&path.key(key), Op::Add, None, Some(new));
                }
            }
            (Value::Array(old), Value::Array(new)) => {
                self.compare_lists(path, old, new, (before, after))
            }
            _ => self.add(path, Op::Replace, Some(before), Some(after)),
        }
    }

    fn compare_lists(
        &mut self,
        path: &Path,
        old: &[Value],
        new: &[Value],
        (before, after): (&Value, &Value),
    ) {
        let field = match (naming_field(old), naming_field(new)) {
            (Some(a), Some(b)) if a == b => Some(a),
            (Some(field), None) if new.is_empty() => Some(field),
            (None, Some(field)) if old.is_empty() => Some(field),
            _ => None,
        };
        let Some(field) = field else {
            let is_scalar = |value: &Value| !value.is_object() && !value.is_array();
            if old.len() != new.len() || old.iter().chain(new).all(is_scalar) {
                return self.add(path, Op::Replace, Some(before), Some(after));
            }
            for (at, (old, new)) in old.iter().zip(new).enumerate() {
                self.compare(&path.step(Step::Index(at)), old, new);
            }
            return;
        };
        let find = |list: &'_ [Value], name: &str| {
            let found = list
                .iter()
                .position(|it| name_of(it, field).as_deref() == Some(name));
            found.unwrap_or(usize::MAX)
        };
        for old in old {
            let name = name_of(old, field).unwrap_or_default();
            let path = path.step(Step::Named(field, name.clone()));
            match new.get(find(new, &name)) {
                Some(new) => self.compare(&path, old, new),
                None => self.add(&path, Op::Remove, Some(old), None),
            }
        }
        for new in new {
            let name = name_of(new, field).unwrap_or_default();
            if old.get(find(old, &name)).is_none() {
                let path = path.step(Step::Named(field, name));
                self.add(&path, Op::Add, None, Some(new));
            }
        }
    }

    fn add(&mut self, path: &Path, op: Op, before: Option<&Value>, after: Option<&Value>) {
        if self.changes.len() >= MAX_CHANGES {
            self.truncated = true;
            return;
        }
        let change = FieldChange {
            path: path.to_string(),
            op,
            before: before.map(|value| self.cut(value)),
            after: after.map(|value| self.cut(value)),
        };
        self.changes.push(change);
    }

    /// Replaces a large value by its size. The object of a creation is kept as a whole.
    fn cut(&mut self, value: &Value) -> Value {
        let text = value.to_string();
        match text.len() > MAX_VALUE {
            true => {
                self.truncated = true;
                format!("({} bytes)", text.len()).into()
            }
            false => value.clone(),
        }
    }
}

impl FieldChange {
    fn words(&self) -> String {
        let path = &self.path;
        let short = |value: &Option<Value>| short(value.as_ref().unwrap_or(&Value::Null));
        match self.op {
            Op::Replace => format!("{path} {} -> {}", short(&self.before), short(&self.after)),
            Op::Add => format!("{path} set to {}", short(&self.after)),
            Op::Remove => format!("{path} removed"),
        }
    }
}

/// Returns a value on one line, truncated to a few characters.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHORT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Returns an object without the fields that change with every write.
fn stable(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in VOLATILE {
            metadata.remove(field);
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(before: Value, after: Value) -> Vec<String> {
        let (changes, truncated) = diff(&before, &after);
        assert!(!truncated);
        changes.iter().map(FieldChange::words).collect()
    }

    #[test]
    fn fields_are_named_by_their_paths() {
        let object = |replicas: u32, image: &str, label: Option<&str>| {
            json!({
                "metadata": {"generation": replicas, "resourceVersion": image, "labels": {"a/b": label}},
                "spec": {"replicas": replicas, "containers": [{"name": "log"}, {"name": "web", "image": image}]},
            })
        };
        assert_eq!(
            words(object(1, "a", None), object(3, "b", Some("x"))),
            [
                "metadata.labels[\"a/b\"] null -> \"x\"",
                "spec.containers[name=web].image \"a\" -> \"b\"",
                "spec.replicas 1 -> 3",
            ]
        );
    }

    #[test]
    fn elements_of_lists_are_matched_by_name_and_scalars_as_a_whole() {
        assert_eq!(
            words(
                json!({"c": [{"name": "a"}, {"name": "b"}], "f": ["x"], "p": [{"port": 1}]}),
                json!({"c": [{"name": "b"}, {"name": "c"}], "f": ["x", "y"], "p": [{"port": 2}]}),
            ),
            [
                "c[name=a] removed",
                "c[name=c] set to {\"name\":\"c\"}",
                "f [\"x\"] -> [\"x\",\"y\"]",
                "p[0].port 1 -> 2",
            ]
        );
    }

    #[test]
    fn a_large_difference_is_cut() {
        let many = |value: u32| {
            let fields = (0..1000).map(|at| (format!("f{at}"), Value::from(value)));
            Value::Object(fields.collect())
        };
        let (changes, truncated) = diff(&many(1), &many(2));
        assert_eq!((changes.len(), truncated), (MAX_CHANGES, true));
        let (changes, truncated) = diff(&json!({"a": 1}), &json!({"a": "x".repeat(MAX_VALUE)}));
        assert_eq!(changes[0].after, Some(json!("(4098 bytes)")));
        assert!(truncated);
    }
}
