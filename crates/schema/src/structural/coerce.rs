//! Coerces the metadata of an object and of objects embedded in it to its type, and conforms whole objects to their
//! schema when they are written and when they are read from storage.

use kubewright_catalog::generated::meta_v1::OBJECT_META;
use kubewright_cel::Extent;
use kubewright_machinery::field::{self, FieldError, Path};
use serde_json::{Map, Value};

use super::{
    default::{DefaultsTooLarge, apply_defaults, prune_nulls},
    model::Structural,
    prune::prune,
};
use crate::{Node, Problem, TypeError, decode_typed};

/// Options for conforming an object to its schema.
///
/// ```
/// use kubewright_schema::structural::{ConformOptions, Structural, conform};
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "object"}))?;
/// let stored = json!({"metadata": {"name": "w", "labels": 1}});
/// assert!(conform(&mut stored.clone(), &schema, ConformOptions::default()).is_err());
///
/// let mut object = stored;
/// let options = ConformOptions { drop_invalid: true, ..ConformOptions::default() };
/// conform(&mut object, &schema, options)?;
/// assert_eq!(object["metadata"], json!({"name": "w"}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ConformOptions {
    /// Collects the paths of unknown fields.
    pub track: bool,
    /// Drops metadata that does not fit its type, instead of rejecting the object.
    pub drop_invalid: bool,
}

/// Gives an object the shape of its schema: metadata decoded, unknown fields and useless nulls gone. Defaults are not
/// filled in. Returns the paths of unknown fields; the error is the message of the rejection.
///
/// # Errors
///
/// Returns the server's message if metadata does not fit its type.
///
/// ```
/// use kubewright_schema::structural::{ConformOptions, Structural, conform};
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "object", "properties": {
///     "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
/// }}))?;
/// let mut object = json!({"metadata": {"name": "w"}, "spec": {"size": 1, "typo": true}});
/// let options = ConformOptions { track: true, drop_invalid: false };
/// assert_eq!(conform(&mut object, &schema, options)?, ["spec.typo"]);
/// assert_eq!(object["spec"], json!({"size": 1}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn conform(
    object: &mut Value,
    schema: &Structural,
    options: ConformOptions,
) -> Result<Vec<String>, String> {
    let mut unknown = conform_metadata(object, options)?;
    let metadata = object.get_mut("metadata").map(Value::take);
    prune(object, schema, options.track.then_some(&mut unknown));
    prune_nulls(object, schema);
    if schema.has_embedded {
        let mut paths = Vec::new();
        coerce_embedded(object, schema, options, &Path::root(), &mut paths)
            .map_err(|e| e.to_string())?;
        paths.sort_unstable();
        unknown.append(&mut paths);
    }
    if let (Some(metadata), Some(fields)) = (metadata, object.as_object_mut()) {
        fields.insert("metadata".into(), metadata);
    }
    Ok(unknown)
}

/// Gives the metadata of an object its type, and leaves all else alone: what becomes of objects of another kind.
///
/// ```
/// use kubewright_schema::structural::{ConformOptions, conform_metadata};
/// use serde_json::json;
///
/// let mut object = json!({"metadata": {"name": "w", "typo": 1}, "spec": {"any": true}});
/// conform_metadata(&mut object, ConformOptions::default())?;
/// assert_eq!(object, json!({"metadata": {"name": "w"}, "spec": {"any": true}}));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// Returns the server's message if metadata does not fit its type.
pub fn conform_metadata(
    object: &mut Value,
    options: ConformOptions,
) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    if let Some(metadata) = object.get_mut("metadata") {
        let decoded = decode_metadata(metadata.take(), "metadata", options, &mut unknown);
        *metadata = decoded.map_err(|e| e.to_string())?;
    }
    Ok(unknown)
}

/// Gives an object from storage the shape and the defaults of the present schema, independent of the schema it was
/// stored under.
///
/// ```
/// use kubewright_schema::structural::{Structural, refresh};
/// use serde_json::json;
///
/// let schema = Structural::compile(&json!({"type": "object", "properties": {
///     "size": {"type": "integer", "default": 1},
/// }}))?;
/// let mut object = json!({"apiVersion": "a/v1", "kind": "W", "metadata": {"name": "w"}, "gone": 1});
/// refresh(&mut object, &schema)?;
/// assert_eq!(object["size"], 1);
/// assert_eq!(object.get("gone"), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if the defaults add too much, see [`apply_defaults`]. The object then has the shape of the schema and a
/// part of its defaults.
pub fn refresh(object: &mut Value, schema: &Structural) -> Result<(), DefaultsTooLarge> {
    let options = ConformOptions {
        track: false,
        drop_invalid: true,
    };
    // Dropping invalid metadata never fails.
    let _ = conform(object, schema, options);
    apply_defaults(object, schema)
}

/// Checks and decodes the metadata of embedded objects, and of the value itself if it is a resource.
///
/// # Errors
///
/// Returns an error if metadata does not fit its type.
pub fn coerce_value(
    value: &mut Value,
    schema: &Structural,
    extent: Extent,
    path: &Path,
) -> Result<(), FieldError> {
    let options = ConformOptions::default();
    let mut unknown = Vec::new();
    if extent == Extent::Resource && !schema.embedded {
        coerce_meta(value, options, path, &mut unknown)?;
    }
    coerce_embedded(value, schema, options, path, &mut unknown)
}

/// Decodes metadata into its type.
///
/// ```
/// use kubewright_schema::structural::decode_object_meta;
/// use serde_json::json;
///
/// let error = decode_object_meta(json!({"name": 1})).unwrap_err();
/// assert!(error.to_string().contains("name"));
/// ```
///
/// # Errors
///
/// Returns an error if the metadata does not fit its type.
pub fn decode_object_meta(metadata: Value) -> Result<Value, TypeError> {
    let node = Node::from_value(metadata)?;
    decode_typed(node, &OBJECT_META).map(|typed| typed.value)
}

fn decode_metadata(
    metadata: Value,
    prefix: &str,
    options: ConformOptions,
    unknown: &mut Vec<String>,
) -> Result<Value, TypeError> {
    let kept = options.drop_invalid.then(|| metadata.clone());
    let typed = decode_typed(Node::from_value(metadata)?, &OBJECT_META);
    let mut typed = match (typed, kept) {
        (Ok(typed), _) => typed,
        (Err(_), Some(metadata)) => return Ok(field_by_field(metadata)),
        (Err(error), None) => return Err(error),
    };
    if options.track {
        unknown.extend(typed.problems.iter().filter_map(|problem| match problem {
            Problem::Unknown(path) => Some(format!("{prefix}.{path}")),
            _ => None,
        }));
    }
    if typed.value["creationTimestamp"].is_null() {
        typed
            .value
            .as_object_mut()
            .map(|m| m.remove("creationTimestamp"));
    }
    Ok(typed.value)
}

/// Returns the part of the metadata that fits its type.
fn field_by_field(metadata: Value) -> Value {
    let Value::Object(fields) = metadata else {
        return Value::Object(Map::new());
    };
    let mut out = Map::new();
    for (key, field) in fields {
        let single = Value::Object(Map::from_iter([(key, field)]));
        if let Ok(Value::Object(decoded)) = decode_object_meta(single) {
            out.extend(decoded.into_iter().filter(|(_, v)| !v.is_null()));
        }
    }
    Value::Object(out)
}

fn coerce_embedded(
    value: &mut Value,
    schema: &Structural,
    options: ConformOptions,
    path: &Path,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    if !schema.has_embedded {
        return Ok(());
    }
    if schema.embedded {
        coerce_meta(value, options, path, unknown)?;
    }
    match value {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                if let Some(property) = schema.property(key) {
                    coerce_embedded(field, property, options, &path.child(key), unknown)?;
                } else if let Some(additional) = schema.additional_schema() {
                    coerce_embedded(field, additional, options, &path.key(key), unknown)?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.items.as_deref() {
                for (i, item) in items.iter_mut().enumerate() {
                    coerce_embedded(item, schema, options, &path.index(i), unknown)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Coerces the type and metadata of an embedded object.
fn coerce_meta(
    value: &mut Value,
    options: ConformOptions,
    path: &Path,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    let Value::Object(fields) = value else {
        return Ok(());
    };
    for key in ["apiVersion", "kind"] {
        match fields.get(key) {
            None | Some(Value::String(_)) => {}
            Some(_) if options.drop_invalid => {
                fields.remove(key);
            }
            Some(other) => {
                return Err(field::invalid(&path.child(key), other, "must be a string"));
            }
        }
    }
    let Some(metadata) = fields.get("metadata") else {
        return Ok(());
    };
    let at = path.child("metadata");
    let decoded = decode_metadata(metadata.clone(), at.as_str(), options, unknown)
        .map_err(|e| field::invalid(&at, metadata, e.to_string()))?;
    fields.insert("metadata".into(), decoded);
    Ok(())
}
