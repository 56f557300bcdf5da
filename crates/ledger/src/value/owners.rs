//! The owners of fields, according to managed fields.

use kubewright_machinery::limits::DOCUMENT_DEPTH;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::path::{Path, Step, steps_of};

/// The maximum number of owned fields of one object.
const MAX_FIELDS: usize = 20_000;

/// An owner of a field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Owner {
    /// The field manager.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// The subresource, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subresource: String,
    /// The time of its last write.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub time: String,
}

/// A field and one of its owners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldOwner {
    /// The field.
    pub path: Path,
    /// The owner.
    pub owner: Owner,
}

/// Returns the owned fields of an object, according to its managed fields.
///
/// ```
/// use kubewright_ledger::owners;
/// use serde_json::json;
///
/// let object = json!({
///     "metadata": {"managedFields": [{
///         "manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}},
///     }]},
///     "spec": {"replicas": 3},
/// });
/// let owned = owners(&object);
/// assert_eq!((owned[0].path.to_string().as_str(), owned[0].owner.manager.as_str()), ("spec.replicas", "kubectl"));
/// ```
pub fn owners(object: &Value) -> Vec<FieldOwner> {
    let managed = object.pointer("/metadata/managedFields");
    let mut out = Vec::new();
    for entry in managed.and_then(Value::as_array).into_iter().flatten() {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let owner = Owner {
            manager: text("manager"),
            operation: text("operation"),
            subresource: text("subresource"),
            time: text("time"),
        };
        if let Some(fields) = entry["fieldsV1"].as_object() {
            walk(fields, object, &Path::root(), &owner, &mut out);
        }
    }
    out.sort_by(|a, b| a.path.cmp(&b.path));
    out
}

fn walk(
    fields: &Map<String, Value>,
    value: &Value,
    path: &Path,
    owner: &Owner,
    out: &mut Vec<FieldOwner>,
) {
    let mut own = |path: &Path| {
        if out.len() < MAX_FIELDS {
            out.push(FieldOwner {
                path: path.clone(),
                owner: owner.clone(),
            });
        }
    };
    let mut below: Vec<(Path, &Value, &Value)> = Vec::new();
    for (name, fields) in fields {
        if name == "." {
            continue;
        }
        let Some((step, child)) = find(name, value) else {
            continue;
        };
        let path = path.step(step);
        let is_leaf = fields
            .as_object()
            .is_none_or(|fields| fields.keys().all(|key| key == "."));
        match is_leaf || path.steps().len() > DOCUMENT_DEPTH {
            true => own(&path),
            false => below.push((path, fields, child)),
        }
    }
    for (path, fields, child) in below {
        if let Some(fields) = fields.as_object() {
            walk(fields, child, &path, owner, out);
        }
    }
}

/// Finds the child for a path element of managed fields.
fn find<'a>(element: &str, value: &'a Value) -> Option<(Step, &'a Value)> {
    let (kind, rest) = element.split_once(':')?;
    if kind == "f" {
        return Some((Step::Key(rest.to_owned()), value.get(rest)?));
    }
    let list = value.as_array()?;
    let at = match kind {
        "k" => {
            let keys: Map<String, Value> = serde_json::from_str(rest).ok()?;
            let fits = |it: &Value| keys.iter().all(|(key, value)| it.get(key) == Some(value));
            list.iter().position(fits)?
        }
        "v" => {
            let wanted: Value = serde_json::from_str(rest).ok()?;
            list.iter().position(|it| *it == wanted)?
        }
        "i" => rest.parse().ok()?,
        _ => return None,
    };
    let child = list.get(at)?;
    Some((steps_of(list).swap_remove(at), child))
}
