//! Checks that fields named by conditions at the root are specified outside of them too.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use super::invariants::{entries, schema_at, schemas};

/// Reports fields that conditions at the root of a schema name without their being specified.
pub(super) fn check(schema: &Value, path: &Path, errors: &mut ErrorList) {
    conditions(schema, schema, path, path, errors);
}

fn conditions(v: &Value, s: &Value, s_path: &Path, v_path: &Path, errors: &mut ErrorList) {
    if let Some(not) = schema_at(v, "not") {
        nested(not, Some(s), s_path, &v_path.child("not"), errors);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for (i, schema) in schemas(v, key).iter().enumerate() {
            nested(schema, Some(s), s_path, &v_path.child(key).index(i), errors);
        }
    }
}

fn nested(v: &Value, s: Option<&Value>, s_path: &Path, v_path: &Path, errors: &mut ErrorList) {
    let missing =
        |at: &Path, by: &Path| field::required(at, format!("because it is defined in {by}"));
    let Some(s) = s else {
        errors.push(missing(s_path, v_path));
        return;
    };
    conditions(v, s, s_path, v_path, errors);
    if let Some(items) = schema_at(v, "items") {
        let (s_path, v_path) = (s_path.child("items"), v_path.child("items"));
        nested(items, schema_at(s, "items"), &s_path, &v_path, errors);
    }
    for (name, property) in entries(&v["properties"]) {
        let s_path = s_path.child("properties").key(name);
        let v_path = v_path.child("properties").key(name);
        match s["properties"].get(name) {
            Some(specified) => nested(property, Some(specified), &s_path, &v_path, errors),
            None => errors.push(missing(&s_path, &v_path)),
        }
    }
}
