//! An object as lines of YAML, with the owners of each line.

use std::collections::HashMap;

use kubewright_schema::yaml::{YamlPart, YamlStep, YamlWriteError, to_yaml_with};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    owners::{FieldOwner, Owner},
    path::{Path, Step, steps_of},
};

/// A line of YAML.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BlamedLine {
    /// The line, without the line feed.
    pub text: String,
    /// The field that starts on the line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The owners of the field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub managers: Vec<Owner>,
    /// The last revision that changed the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// The user who wrote it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// The run that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// Returns an object as lines of YAML, with the owners and the path of each line. Managed fields are omitted.
///
/// ```
/// use kubewright_ledger::yaml_lines;
/// use serde_json::json;
///
/// let lines = yaml_lines(&json!({"spec": {"ports": [{"port": 80, "name": "a b"}]}}), &[])?;
/// let text: Vec<_> = lines.iter().map(|(line, _)| line.text.as_str()).collect();
/// assert_eq!(text, ["spec:", "  ports:", "  - name: a b", "    port: 80"]);
/// # Ok::<(), kubewright_schema::yaml::YamlWriteError>(())
/// ```
///
/// # Errors
///
/// Fails for objects that an API server cannot print as YAML.
pub fn yaml_lines(
    object: &Value,
    owned: &[FieldOwner],
) -> Result<Vec<(BlamedLine, Path)>, YamlWriteError> {
    let mut owners: HashMap<&[Step], Vec<&Owner>> = HashMap::new();
    for field in owned {
        let of = owners.entry(field.path.steps()).or_default();
        of.push(&field.owner);
    }
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    let mut walk = Walk::of(&object);
    let text = to_yaml_with(&object, |part| walk.begin(part))?;
    let mut begun = walk.begun.into_iter().peekable();
    let (mut path, mut end) = (Path::root(), 0);
    let mut lines = Vec::new();
    for text in text.split_inclusive('\n') {
        end += text.len();
        // The line of an item is that of its first entry. A line of a long text belongs to the field before it.
        while let Some((_, begun)) = begun.next_if(|(at, _)| *at < end) {
            path = begun;
        }
        let owners = path.prefixes().rev().find_map(|steps| owners.get(steps));
        let managers = owners.into_iter().flatten().map(|owner| (*owner).clone());
        let line = BlamedLine {
            text: text.trim_end_matches('\n').to_owned(),
            path: path.to_string(),
            managers: managers.collect(),
            ..BlamedLine::default()
        };
        lines.push((line, path.clone()));
    }
    Ok(lines)
}

/// Follows the text of an object from field to field.
struct Walk<'a> {
    /// The collections around the next field, from the object itself.
    around: Vec<Around<'a>>,
    /// The offsets of the fields in the text.
    begun: Vec<(usize, Path)>,
}

struct Around<'a> {
    value: &'a Value,
    path: Path,
    /// The steps to the items of a list, once one has begun.
    items: Vec<Step>,
}

impl<'a> Walk<'a> {
    fn of(object: &'a Value) -> Self {
        let root = Around {
            value: object,
            path: Path::root(),
            items: Vec::new(),
        };
        Self {
            around: vec![root],
            begun: Vec::new(),
        }
    }

    fn begin(&mut self, part: YamlPart<'_>) {
        self.around.truncate(part.depth + 1);
        let Some(around) = self.around.last_mut() else {
            return;
        };
        let (value, step) = match part.step {
            YamlStep::Key(key) => (around.value.get(key), Step::Key(key.to_owned())),
            YamlStep::Item(index) => {
                if around.items.is_empty() {
                    around.items = around
                        .value
                        .as_array()
                        .map_or_else(Vec::new, |l| steps_of(l));
                }
                let step = around.items.get(index).cloned();
                (around.value.get(index), step.unwrap_or(Step::Index(index)))
            }
        };
        let path = around.path.step(step);
        self.begun.push((part.at, path.clone()));
        self.around.push(Around {
            value: value.unwrap_or(&Value::Null),
            path,
            items: Vec::new(),
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::owners::owners;
    use super::*;

    #[test]
    fn each_line_has_the_owner_of_its_field() {
        let object = json!({
            "kind": "ConfigMap",
            "data": {"a": "1", "b": "x: y"},
            "list": [{"name": "n", "inner": {"deep": []}}, {"name": "m"}],
            "metadata": {"managedFields": [
                {"manager": "one", "operation": "Update", "fieldsV1": {"f:data": {".": {}, "f:a": {}}}},
                {"manager": "two", "operation": "Apply", "fieldsV1": {
                    "f:data": {"f:a": {}}, "f:list": {"k:{\"name\":\"n\"}": {".": {}, "f:inner": {}}},
                }},
            ], "name": "x"},
        });
        let lines = yaml_lines(&object, &owners(&object)).unwrap();
        let shown: Vec<String> = lines
            .iter()
            .map(|(line, _)| {
                let managers: Vec<&str> =
                    line.managers.iter().map(|it| it.manager.as_str()).collect();
                format!("{}|{}", line.text, managers.join(","))
            })
            .collect();
        assert_eq!(
            shown,
            [
                "data:|",
                "  a: \"1\"|one,two",
                "  b: 'x: y'|",
                "kind: ConfigMap|",
                "list:|",
                "- inner:|two",
                "    deep: []|two",
                "  name: \"n\"|",
                "- name: m|",
                "metadata:|",
                "  name: x|",
            ]
        );
    }

    #[test]
    fn a_text_of_several_lines_belongs_to_its_field() {
        let object = json!({"data": {"a": "one\ntwo\n", "b": "true"}, "z": "\u{7f}"});
        assert!(yaml_lines(&object, &[]).is_err());
        let object = json!({"data": {"a": "one\ntwo\n", "b": "true"}});
        let lines = yaml_lines(&object, &[]).unwrap();
        let shown = lines
            .iter()
            .map(|(line, _)| (line.text.as_str(), line.path.as_str()));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                ("data:", "data"),
                ("  a: |", "data.a"),
                ("    one", "data.a"),
                ("    two", "data.a"),
                ("  b: \"true\"", "data.b"),
            ]
        );
    }
}
