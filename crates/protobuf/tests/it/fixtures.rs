//! Pairs of files, `x.json` and `x.pb`, written by Go from the same object.
//!
//! The directory is named by `KUBEWRIGHT_API_TESTDATA`; `k8s.io/api/testdata/HEAD` is one. Without it there is
//! nothing to compare, and the test says so.

use std::{collections::BTreeMap, env, fs, path::Path};

use kubewright_catalog::kind_type;
use kubewright_protobuf::{EncodeError, decode, encode};
use kubewright_schema::normalize_typed;
use serde_json::Value;

#[test]
fn fixtures_of_go_match_in_both_directions() {
    let Some(directory) = env::var_os("KUBEWRIGHT_API_TESTDATA") else {
        eprintln!("skipped: KUBEWRIGHT_API_TESTDATA names no directory of fixtures");
        return;
    };
    let mut outcomes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut files: Vec<_> = fs::read_dir(directory)
        .expect("the directory can be read")
        .map(|entry| entry.expect("the entry can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pb"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no fixtures");
    for file in files {
        let (outcome, detail) = compare(&file);
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        outcomes
            .entry(outcome)
            .or_default()
            .push(format!("{name} {detail}"));
    }
    for (outcome, names) in &outcomes {
        eprintln!("{outcome}: {}", names.len());
        if !outcome.starts_with("match") {
            eprintln!("  {}", names.join("\n  "));
        }
    }
    outcomes.retain(|outcome, _| !outcome.starts_with("match") && *outcome != "no such kind");
    assert!(outcomes.is_empty(), "fixtures differ");
}

fn compare(file: &Path) -> (&'static str, String) {
    let bytes = fs::read(file).expect("the fixture can be read");
    let text = fs::read(file.with_extension("json")).expect("the fixture has a JSON side");
    let value: Value = serde_json::from_slice(&text).expect("the fixture is JSON");
    let api_version = value["apiVersion"].as_str().unwrap_or_default();
    let kind = value["kind"].as_str().unwrap_or_default();
    match encode(&value) {
        Err(EncodeError::NoType { .. }) => return ("no such kind", String::new()),
        Err(error) => return ("not encoded", error.to_string()),
        Ok(encoded) if encoded != bytes => {
            let at = encoded
                .iter()
                .zip(&bytes)
                .take_while(|(a, b)| a == b)
                .count();
            let near = |bytes: &[u8]| {
                let from = at.saturating_sub(12).min(bytes.len());
                let to = (at + 24).min(bytes.len());
                bytes[from..to].escape_ascii().to_string()
            };
            return (
                "encoded otherwise",
                format!("at {at}: {} | {}", near(&encoded), near(&bytes)),
            );
        }
        Ok(_) => {}
    }
    let default = if api_version.is_empty() {
        "v1"
    } else {
        api_version
    };
    let mut decoded = match decode(&bytes, (default, kind)) {
        Ok(decoded) => decoded,
        Err(error) => return ("not decoded", error.to_string()),
    };
    if api_version.is_empty() {
        // The default stands in for a version that the document does not have.
        decoded
            .value
            .as_object_mut()
            .expect("an object")
            .remove("apiVersion");
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let ty = kind_type(group, version, kind)
        .or_else(|| kind_type("", "v1", kind))
        .or_else(|| kind_type("meta.k8s.io", "v1", kind))
        .expect("it was encoded");
    let normal = match normalize_typed(decoded.value, ty) {
        Ok(normal) => normal,
        Err(error) => return ("decoded to another type", error.to_string()),
    };
    if normal == value {
        return ("match", String::new());
    }
    let difference = difference("", &carried(&normal), &carried(&value));
    if difference.is_empty() {
        ("match but for what protobuf does not carry", String::new())
    } else {
        ("decoded otherwise", difference)
    }
}

/// Returns the part of a value that protobuf carries: not whether an empty list is null, nor the kinds of nested
/// objects.
pub(crate) fn carried(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(carried).collect(),
        Value::Object(entries) => entries
            .iter()
            .filter(|(key, value)| {
                let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
                !(empty || ["apiVersion", "kind"].contains(&key.as_str()))
            })
            .map(|(key, value)| (key.clone(), carried(value)))
            .collect(),
        other => other.clone(),
    }
}

/// The first difference of two values.
fn difference(path: &str, ours: &Value, theirs: &Value) -> String {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<_> = a.keys().chain(b.keys()).collect();
            keys.sort();
            for key in keys {
                let (a, b) = (a.get(key), b.get(key));
                if a != b {
                    let null = Value::Null;
                    let path = format!("{path}.{key}");
                    return difference(&path, a.unwrap_or(&null), b.unwrap_or(&null));
                }
            }
            String::new()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            match a.iter().zip(b).enumerate().find(|(_, (a, b))| a != b) {
                Some((at, (a, b))) => difference(&format!("{path}[{at}]"), a, b),
                None => String::new(),
            }
        }
        (ours, theirs) => format!("{path}: {ours} | {theirs}"),
    }
}
