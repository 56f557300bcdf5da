//! OpenAPI v2 documents of other servers, merged into the one of this server.
//!
//! Only the paths of the group version that a server is asked for are taken, and the definitions and parameters that they refer
//! to. A definition that this server has under the same name is shared if it is equal; otherwise the other one gets a new name.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    io::Write,
};

use kubewright_machinery::limits::DOCUMENT_DEPTH;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::{OpenApi, json, kept::Kept, protobuf};
use crate::aggregation::GroupVersionInfo;

/// The part of an OpenAPI v2 document that is about one group version.
///
/// ```
/// use kubewright_apiserver::aggregation::OpenApiV2;
///
/// let document = br#"{"paths": {"/apis/sky.example.com/v1/planets": {}, "/version/": {}}}"#;
/// let part = OpenApiV2::read(document, "sky.example.com", "v1")?;
/// assert_eq!(part.paths(), ["/apis/sky.example.com/v1/planets"]);
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Debug)]
pub struct OpenApiV2 {
    digest: Vec<u8>,
    paths: Map<String, Value>,
    definitions: Map<String, Value>,
    parameters: Map<String, Value>,
}

impl PartialEq for OpenApiV2 {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

#[derive(Deserialize)]
struct Source {
    #[serde(default)]
    paths: Map<String, Value>,
    #[serde(default)]
    definitions: Map<String, Value>,
    #[serde(default)]
    parameters: Map<String, Value>,
}

impl OpenApiV2 {
    /// Reads the part about a group version.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not the JSON of such a document.
    pub fn read(document: &[u8], group: &str, version: &str) -> Result<Self, serde_json::Error> {
        // A struct could be read from a list, too.
        let source: Map<String, Value> = serde_json::from_slice(document)?;
        let source: Source = serde_json::from_value(Value::Object(source))?;
        let base = format!("/apis/{group}/{version}/");
        let own = |(path, _): &(String, Value)| path.starts_with(&base);
        let mut part = Self {
            digest: Vec::new(),
            paths: source.paths.into_iter().filter(own).collect(),
            definitions: Map::new(),
            parameters: Map::new(),
        };
        let mut open = Vec::new();
        part.paths
            .values()
            .for_each(|path| refers(path, &mut open, 0));
        let mut seen = BTreeSet::new();
        while let Some(reference) = open.pop() {
            if !seen.insert(reference.clone()) {
                continue;
            }
            let known = [
                ("#/definitions/", &source.definitions, &mut part.definitions),
                ("#/parameters/", &source.parameters, &mut part.parameters),
            ];
            for (prefix, from, to) in known {
                if let Some(name) = reference.strip_prefix(prefix)
                    && let Some(found) = from.get(name)
                {
                    refers(found, &mut open, 0);
                    to.insert(name.to_owned(), found.clone());
                }
            }
        }
        let content = json::encode(&(&part.paths, &part.definitions, &part.parameters));
        part.digest = digest(&SHA256, &content).as_ref().to_vec();
        Ok(part)
    }

    /// Returns the paths.
    pub fn paths(&self) -> Vec<&str> {
        self.paths.keys().map(String::as_str).collect()
    }
}

/// Collects the references in a value.
fn refers(value: &Value, found: &mut Vec<String>, depth: usize) {
    if depth > DOCUMENT_DEPTH {
        return;
    }
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.push(reference.clone());
            }
            fields.values().for_each(|it| refers(it, found, depth + 1));
        }
        Value::Array(items) => items.iter().for_each(|it| refers(it, found, depth + 1)),
        _ => {}
    }
}

/// Returns a value with other names in its references.
fn renamed(value: &Value, names: &BTreeMap<String, String>, depth: usize) -> Value {
    if depth > DOCUMENT_DEPTH {
        return value.clone();
    }
    match value {
        Value::Object(fields) => {
            let field = |(key, inner): (&String, &Value)| {
                let new = inner.as_str().and_then(|text| names.get(text));
                let inner = match new.filter(|_| key == "$ref") {
                    Some(new) => Value::from(new.as_str()),
                    None => renamed(inner, names, depth + 1),
                };
                (key.clone(), inner)
            };
            Value::Object(fields.iter().map(field).collect())
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| renamed(item, names, depth + 1));
            Value::Array(items.collect())
        }
        other => other.clone(),
    }
}

/// The document of a server with the parts of others. Its fields have the order of that document.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    #[serde(borrow)]
    swagger: &'a RawValue,
    #[serde(borrow)]
    info: &'a RawValue,
    #[serde(borrow)]
    paths: BTreeMap<Cow<'a, str>, Cow<'a, RawValue>>,
    #[serde(borrow)]
    definitions: BTreeMap<Cow<'a, str>, Cow<'a, RawValue>>,
    #[serde(borrow)]
    parameters: BTreeMap<Cow<'a, str>, Cow<'a, RawValue>>,
    #[serde(borrow)]
    security_definitions: &'a RawValue,
    #[serde(borrow)]
    security: &'a RawValue,
}

impl Document<'_> {
    /// Adds a part. Existing paths are kept.
    fn add(&mut self, part: &OpenApiV2) -> Result<(), serde_json::Error> {
        let mut names = BTreeMap::new();
        let sections = [
            ("#/definitions/", &part.definitions),
            ("#/parameters/", &part.parameters),
        ];
        for (at, (prefix, section)) in sections.into_iter().enumerate() {
            let own = match at {
                0 => &self.definitions,
                _ => &self.parameters,
            };
            for (name, value) in section {
                let same = |other: &str| match own.get(other) {
                    Some(there) => {
                        serde_json::from_str::<Value>(there.get()).is_ok_and(|it| it == *value)
                    }
                    None => true,
                };
                if same(name) {
                    continue;
                }
                let next = |n: &u32| same(&format!("{name}_v{n}"));
                if let Some(n) = (2..1000).find(next) {
                    names.insert(format!("{prefix}{name}"), format!("{prefix}{name}_v{n}"));
                }
            }
        }
        let raw = |value: &Value| {
            let value = renamed(value, &names, 0);
            serde_json::value::to_raw_value(&value).map(Cow::Owned)
        };
        for (prefix, section) in sections {
            for (name, value) in section {
                let new = names.get(&format!("{prefix}{name}"));
                let name = new.map_or(name.as_str(), |new| new.strip_prefix(prefix).unwrap_or(new));
                let own = match prefix {
                    "#/definitions/" => &mut self.definitions,
                    _ => &mut self.parameters,
                };
                own.entry(Cow::Owned(name.to_owned()))
                    .or_insert(raw(value)?);
            }
        }
        for (path, item) in &part.paths {
            self.paths
                .entry(Cow::Owned(path.clone()))
                .or_insert(raw(item)?);
        }
        Ok(())
    }
}

/// The v2 document of a server with those of others.
#[derive(Default)]
pub(crate) struct MergedV2 {
    pub(super) json: Kept,
    pub(super) protobuf: Kept,
}

impl OpenApi {
    /// Writes the v2 document with those of other servers, in the order of discovery.
    pub(super) fn write_merged(&self, infos: &[GroupVersionInfo], out: &mut dyn Write) {
        let own = self.all();
        let written = match merge(&own, infos) {
            Ok(merged) => out.write_all(&merged),
            Err(error) => {
                tracing::error!(%error, "the OpenAPI documents of other servers cannot be merged");
                out.write_all(&own)
            }
        };
        if let Err(error) = written {
            tracing::error!(%error, "a document could not be written");
        }
    }

    /// Writes the same as protobuf.
    pub(super) fn write_merged_protobuf(&self, infos: &[GroupVersionInfo], out: &mut dyn Write) {
        let merged = merge(&self.all(), infos).and_then(|merged| protobuf::encode(&merged));
        match merged.map(|bytes| out.write_all(&bytes)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "a document could not be written"),
            Err(error) => {
                tracing::error!(%error, "the OpenAPI documents of other servers cannot be merged")
            }
        }
    }
}

/// Returns a document with the parts of others.
fn merge(own: &[u8], infos: &[GroupVersionInfo]) -> Result<Vec<u8>, serde_json::Error> {
    let mut document: Document<'_> = serde_json::from_slice(own)?;
    for part in parts(infos) {
        document.add(part)?;
    }
    Ok(json::encode(&document))
}

/// Returns the parts that other servers have.
pub(crate) fn parts(infos: &[GroupVersionInfo]) -> impl Iterator<Item = &OpenApiV2> {
    let remotes = infos.iter().filter_map(|info| info.remote.as_ref());
    remotes.filter_map(|remote| remote.openapi_v2.as_deref())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_a_group_version_needs_is_taken() {
        let document = json!({
            "paths": {
                "/apis/sky/v1/comets": {"get": {"schema": {"$ref": "#/definitions/Comet"}, "parameters": [{"$ref": "#/parameters/p"}]}},
                "/apis/sky/v2/comets": {"get": {"schema": {"$ref": "#/definitions/Other"}}},
            },
            "definitions": {
                "Comet": {"properties": {"tail": {"$ref": "#/definitions/Tail"}}},
                "Tail": {"items": {"$ref": "#/definitions/Comet"}},
                "Other": {},
            },
            "parameters": {"p": {"name": "p"}, "q": {}},
        });
        let part = OpenApiV2::read(document.to_string().as_bytes(), "sky", "v1").unwrap();
        assert_eq!(part.paths(), ["/apis/sky/v1/comets"]);
        let names: Vec<&String> = part.definitions.keys().collect();
        assert_eq!(names, ["Comet", "Tail"]);
        assert_eq!(part.parameters.len(), 1);
        for garbage in ["[]", "{\"paths\": 5}", "<html>"] {
            assert!(OpenApiV2::read(garbage.as_bytes(), "sky", "v1").is_err());
        }
    }

    #[test]
    fn other_definitions_get_other_names() {
        let own = json!({
            "swagger": "2.0", "info": {}, "paths": {"/apis/sky/v1/mine": {"own": true}},
            "definitions": {"Meta": {"type": "object"}, "Same": {"type": "string"}},
            "parameters": {}, "securityDefinitions": {}, "security": [],
        });
        let theirs = json!({
            "paths": {
                "/apis/sky/v1/mine": {"own": false},
                "/apis/sky/v1/comets": {"a": {"$ref": "#/definitions/Meta"}, "b": {"$ref": "#/definitions/Same"}},
            },
            "definitions": {"Meta": {"type": "array"}, "Same": {"type": "string"}},
        });
        let own = own.to_string();
        let part = OpenApiV2::read(theirs.to_string().as_bytes(), "sky", "v1").unwrap();
        let mut document: Document<'_> = serde_json::from_str(&own).unwrap();
        document.add(&part).unwrap();
        let merged: Value = serde_json::from_slice(&json::encode(&document)).unwrap();
        assert_eq!(merged["paths"]["/apis/sky/v1/mine"]["own"], true);
        let comets = &merged["paths"]["/apis/sky/v1/comets"];
        assert_eq!(comets["a"]["$ref"], "#/definitions/Meta_v2");
        assert_eq!(comets["b"]["$ref"], "#/definitions/Same");
        assert_eq!(merged["definitions"]["Meta_v2"]["type"], "array");
        assert_eq!(merged["definitions"].as_object().unwrap().len(), 3);
    }
}
