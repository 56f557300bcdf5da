//! Validation of the reply of a webhook: the same objects, in the same order, in another version.

use kubewright_machinery::{
    field::{self, Path},
    go,
    validation::{validate_annotations, validate_labels},
};
use serde_json::{Map, Value};

use crate::outgoing::{check_registered, excerpt, quoted_excerpt};

/// Returns the objects of a successful review.
pub(super) fn converted_objects(
    mut review: Value,
    version: &str,
    uid: &str,
) -> Result<Vec<Value>, String> {
    // The type of the older review is not checked.
    let strict = version == "v1";
    check_review(&review, version)?;
    let response = review.get_mut("response").map(Value::take);
    let Some(response) = response.filter(|response| !response.is_null()) else {
        return Err("no response provided".into());
    };
    let given = response["uid"].as_str().unwrap_or_default();
    if strict && given != uid {
        return Err(format!(
            "expected response.uid={}, got {}",
            go::quote(uid),
            quoted_excerpt(given)
        ));
    }
    let result = &response["result"];
    if result["status"] != "Success" {
        return Err(match result["message"].as_str().unwrap_or_default() {
            "" => format!(
                "response.result.status was '{}', not 'Success'",
                excerpt(result["status"].as_str().unwrap_or_default())
            ),
            message => excerpt(message),
        });
    }
    match response.get("convertedObjects") {
        Some(Value::Array(objects)) => Ok(objects.clone()),
        _ => Ok(Vec::new()),
    }
}

/// Checks the type of a review.
fn check_review(review: &Value, version: &str) -> Result<(), String> {
    check_registered(review, "apiextensions.k8s.io", "ConversionReview", version)?;
    let text = |key: &str| review[key].as_str().unwrap_or_default();
    let (api_version, kind) = (excerpt(text("apiVersion")), excerpt(text("kind")));
    if version == "v1" && (api_version.is_empty() || kind.is_empty()) {
        let (group, given) = api_version.split_once('/').unwrap_or(("", &api_version));
        return Err(format!(
            "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got {group}/{given}, Kind={kind}"
        ));
    }
    Ok(())
}

/// Returns the error for something that is not a Kubernetes object.
fn check_object(object: &Value) -> Result<(), String> {
    let kind = match object {
        Value::Object(_) if object["kind"].as_str().is_some_and(|kind| !kind.is_empty()) => {
            return Ok(());
        }
        Value::Object(_) => {
            let object = excerpt(&object.to_string());
            return Err(format!("Object 'Kind' is missing in '{object}'"));
        }
        Value::Null => return Err("unexpected end of JSON input".into()),
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    };
    Err(format!(
        "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    ))
}

/// Checks converted objects against those that were sent.
pub(super) fn check(
    kind: &str,
    sent: &[Value],
    converted: Vec<Value>,
    api_version: &str,
) -> Result<Vec<Value>, String> {
    if converted.len() != sent.len() {
        return Err(format!(
            "conversion webhook for {kind} returned {} objects, expected {}",
            converted.len(),
            sent.len()
        ));
    }
    let one = sent.len() == 1;
    let mut out = Vec::with_capacity(sent.len());
    for (i, (before, mut after)) in sent.iter().zip(converted).enumerate() {
        let (of, metadata_of) = if one {
            ("object".to_owned(), "metadata".to_owned())
        } else {
            (
                format!("converted object at index {i}"),
                format!("metadata in object at index {i}"),
            )
        };
        let at = if one {
            format!("object at index {i}")
        } else {
            of.clone()
        };
        check_object(&after)?;
        check_type(before, &after, api_version)
            .map_err(|e| format!("conversion webhook for {kind} returned invalid {at}: {e}"))?;
        check_identity(before, &after)
            .map_err(|e| format!("conversion webhook for {kind} returned invalid {of}: {e}"))?;
        restore_metadata(before, &mut after).map_err(|e| {
            format!("conversion webhook for {kind} returned invalid {metadata_of}: {e}")
        })?;
        out.push(after);
    }
    Ok(out)
}

fn check_type(before: &Value, after: &Value, api_version: &str) -> Result<(), String> {
    let text = |object: &Value, key: &str| object[key].as_str().unwrap_or_default().to_owned();
    let given = text(after, "apiVersion");
    if given != api_version {
        return Err(format!(
            "invalid groupVersion (expected {api_version}, received {})",
            excerpt(&given)
        ));
    }
    let (expected, given) = (text(before, "kind"), text(after, "kind"));
    if expected != given {
        return Err(format!(
            "invalid kind (expected {expected}, received {})",
            excerpt(&given)
        ));
    }
    Ok(())
}

fn check_identity(before: &Value, after: &Value) -> Result<(), String> {
    for (what, key) in [("name", "name"), ("namespace", "namespace"), ("UID", "uid")] {
        let text = |object: &Value| {
            object["metadata"][key]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let (expected, given) = (text(before), text(after));
        if expected != given {
            let given = excerpt(&given);
            return Err(format!("must have the same {what}: {expected} != {given}"));
        }
    }
    Ok(())
}

/// Restores the metadata, except for labels and annotations, which may change.
fn restore_metadata(before: &Value, after: &mut Value) -> Result<(), String> {
    let answered = match after.get("metadata") {
        None => return Err("missing metadata in converted object".into()),
        Some(Value::Object(metadata)) => metadata.clone(),
        Some(other) => {
            return Err(format!(
                "invalid metadata of type {} in converted object",
                go::type_name(other)
            ));
        }
    };
    let mut metadata = before["metadata"].as_object().cloned().unwrap_or_default();
    for key in ["labels", "annotations"] {
        match answered.get(key) {
            None | Some(Value::Null) => {
                metadata.remove(key);
            }
            Some(Value::Object(entries)) => {
                check_entries(key, entries, metadata.get(key))?;
                metadata.insert(key.to_owned(), Value::Object(entries.clone()));
            }
            Some(other) => {
                let ty = go::type_name(other);
                return Err(format!(
                    "invalid metadata.{key} of type {ty} in converted object"
                ));
            }
        }
    }
    after["metadata"] = Value::Object(metadata);
    Ok(())
}

fn check_entries(
    key: &str,
    entries: &Map<String, Value>,
    before: Option<&Value>,
) -> Result<(), String> {
    if let Some((name, other)) = entries.iter().find(|(_, value)| !value.is_string()) {
        let (ty, name) = (go::type_name(other), excerpt(name));
        return Err(format!(
            "metadata.{key}[{name}] must be a string, but is {ty} in converted object"
        ));
    }
    if before.and_then(Value::as_object) == Some(entries) {
        return Ok(());
    }
    let value = Value::Object(entries.clone());
    let errors = match key {
        "labels" => validate_labels(&value, &Path::new("metadata").child("labels")),
        _ => validate_annotations(&value, &Path::new("metadata").child("annotation")),
    };
    if errors.is_empty() {
        Ok(())
    } else {
        Err(excerpt(&field::aggregate(&errors)))
    }
}
