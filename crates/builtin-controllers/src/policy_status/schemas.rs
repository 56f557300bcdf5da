//! [`Schemas`]: the types of kinds, from the OpenAPI documents of the server.

use std::{collections::HashMap, sync::Arc};

use kubewright_cel::{DeclType, Extent, Schema, SchemaKind};
use kubewright_client::DiscoveryClient;
use kubewright_machinery::{
    gvk::{GroupVersion, GroupVersionKind},
    json::Read,
    limits::DOCUMENT_DEPTH,
};
use serde_json::Value;

/// The number of schemas that a kind may consist of. The largest built-in kinds have a few thousand.
const MAX_SCHEMAS: usize = 200_000;

const REFERENCE: &str = "#/components/schemas/";

/// The OpenAPI documents of the server, read when they are needed.
pub(super) struct Schemas {
    client: DiscoveryClient,
    documents: HashMap<GroupVersion, Option<Value>>,
}

impl Schemas {
    pub(super) fn new(client: kube::Client) -> Self {
        Self {
            client: DiscoveryClient::new(client),
            documents: HashMap::new(),
        }
    }

    /// Returns the type of a kind; `Some(None)` if its objects may be anything, and `None` if there is no schema.
    pub(super) async fn find(&mut self, kind: &GroupVersionKind) -> Option<Option<Arc<DeclType>>> {
        let version = kind.group_version();
        if !self.documents.contains_key(&version) {
            let document = match self.client.openapi_v3(&version).await {
                Ok(document) => Some(document),
                Err(error) if error.is_not_found() => None,
                Err(error) => {
                    tracing::warn!(%version, %error, "cannot read the schemas of a group version");
                    None
                }
            };
            self.documents.insert(version.clone(), document);
        }
        let document = self.documents.get(&version)?.as_ref()?;
        let schema = resolve(document, kind)?;
        Some(DeclType::of(&schema, Extent::Resource))
    }
}

/// Returns the schema of a kind without references; `None` if there is none or it is too large.
fn resolve(document: &Value, kind: &GroupVersionKind) -> Option<Schema> {
    let schemas = &document["components"]["schemas"];
    let is_kind = |schema: &Value| {
        let kinds = schema["x-kubernetes-group-version-kind"].items();
        kinds.iter().any(|known| {
            known["group"].text() == kind.group
                && known["version"].text() == kind.version
                && known["kind"].text() == kind.kind
        })
    };
    let mut named = schemas.as_object()?.iter();
    let (name, schema) = named.find(|(_, schema)| is_kind(schema))?;
    let mut resolver = Resolver {
        schemas,
        visited: vec![name],
        left: MAX_SCHEMAS,
    };
    let resolved = resolver.read(schema, DOCUMENT_DEPTH);
    if resolved.is_none() {
        tracing::warn!(%kind, "the schema of a kind is too large, or refers to one that is missing");
    }
    resolved
}

/// Replaces references by the schemas that they are to.
struct Resolver<'a> {
    schemas: &'a Value,
    /// The schemas that the present one is part of.
    visited: Vec<&'a str>,
    /// The number of schemas that may still be read.
    left: usize,
}

impl<'a> Resolver<'a> {
    fn read(&mut self, schema: &'a Value, depth: usize) -> Option<Schema> {
        let depth = depth.checked_sub(1)?;
        let Some(name) = reference(schema) else {
            return self.read_resolved(schema, depth);
        };
        if self.visited.contains(&name) {
            return Some(Schema::of_kind(SchemaKind::Object));
        }
        let schema = self.schemas.get(name)?;
        self.visited.push(name);
        let resolved = self.read_resolved(schema, depth);
        self.visited.pop();
        resolved
    }

    fn read_resolved(&mut self, schema: &'a Value, depth: usize) -> Option<Schema> {
        self.left = self.left.checked_sub(1)?;
        let format = schema["format"].text();
        let flag = |name: &str| schema[name] == true;
        let mut resolved = Schema {
            kind: SchemaKind::from_name(schema["type"].text()),
            format: format.to_owned(),
            // Built-in types have the format, custom ones the extension.
            int_or_string: format == "int-or-string" || flag("x-kubernetes-int-or-string"),
            embedded_resource: flag("x-kubernetes-embedded-resource"),
            ..Schema::default()
        };
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let property = self.read(property, depth)?;
            resolved.properties.insert(name.clone(), property);
        }
        for (name, part) in [
            ("additionalProperties", &mut resolved.additional_properties),
            ("items", &mut resolved.items),
        ] {
            if schema[name].is_object() {
                *part = Some(Box::new(self.read(&schema[name], depth)?));
            }
        }
        Some(match resolved.embedded_resource {
            true => resolved.with_object_meta(),
            false => resolved,
        })
    }
}

/// Returns the name of the schema that another one refers to. A reference may be wrapped in `allOf`.
fn reference(schema: &Value) -> Option<&str> {
    let direct = schema["$ref"].as_str();
    let direct = direct.map(|to| to.strip_prefix(REFERENCE).unwrap_or(to));
    direct.or_else(|| schema["allOf"].items().iter().find_map(reference))
}

#[cfg(test)]
mod tests {
    use kubewright_cel::TypeChecker;
    use serde_json::json;

    use super::*;

    fn widget(schema: Value, others: Value) -> Option<Schema> {
        let mut schemas = others;
        schemas["widget"] = schema;
        schemas["widget"]["x-kubernetes-group-version-kind"] =
            json!([{"group": "shop", "version": "v1", "kind": "Widget"}]);
        let document = json!({"components": {"schemas": schemas}});
        resolve(&document, &GroupVersionKind::new("shop", "v1", "Widget"))
    }

    fn refer(name: &str) -> Value {
        json!({"$ref": format!("{REFERENCE}{name}")})
    }

    #[test]
    fn references_are_followed_until_they_repeat() {
        let node = json!({"type": "object", "properties": {
            "name": {"type": "string"}, "next": {"allOf": [refer("node")], "default": {}},
        }});
        let schema = json!({"type": "object", "properties": {
            "first": refer("node"),
            "all": {"type": "array", "items": refer("node")},
            "port": refer("port"),
        }});
        let port =
            json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]});
        let schema = widget(schema, json!({"node": node, "port": port})).unwrap();
        let of = DeclType::of(&schema, Extent::Resource).unwrap();
        let checker = TypeChecker::new().object("Widget", &of);
        for right in [
            "object.first.name",
            "object.all[0].next",
            "object.port == 1",
            "object.metadata.name",
        ] {
            assert!(checker.check(right).is_ok(), "{right}");
        }
        for wrong in [
            "object.first.next.name",
            "object.all.name",
            "object.metadata.labels",
        ] {
            assert!(checker.check(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn schemas_that_are_missing_or_too_large_are_not_resolved() {
        let missing = json!({"type": "object", "properties": {"a": refer("nothing")}});
        assert!(widget(missing, json!({})).is_none());
        // Every schema refers to the next one ten times.
        let mut others = json!({});
        for level in 0..20 {
            let properties: serde_json::Map<String, Value> = (0..10)
                .map(|i| (format!("p{i}"), refer(&format!("level{}", level + 1))))
                .collect();
            others[format!("level{level}")] = json!({"type": "object", "properties": properties});
        }
        others["level20"] = json!({"type": "string"});
        let bomb = json!({"type": "object", "properties": {"a": refer("level0")}});
        assert!(widget(bomb, others).is_none());
        let mut chain = json!({});
        for level in 0..1000 {
            let next = refer(&format!("level{}", level + 1));
            chain[format!("level{level}")] = json!({"type": "object", "properties": {"a": next}});
        }
        let deep = json!({"type": "object", "properties": {"a": refer("level0")}});
        assert!(widget(deep, chain).is_none());
    }
}
