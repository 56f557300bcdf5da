//! A version's module: the root type by kube's derive, and every type below it.

use std::{collections::BTreeMap, fmt::Write};

use serde_json::{Map, Value};

use super::{
    Module,
    definition::{Column, Spec, Version},
    naming, render,
    settle::settle,
    types::{Body, Types},
};

/// What every object has, whatever its schema says.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Lints that foreign names and foreign prose do not keep.
const ALLOWED: &str = "#![allow(missing_docs, rustdoc::all, clippy::doc_lazy_continuation, clippy::doc_markdown, clippy::duplicated_attributes, \
clippy::doc_overindented_list_items, clippy::enum_variant_names, clippy::struct_excessive_bools, clippy::tabs_in_doc_comments)]";

/// The types of one version.
pub(super) fn module(spec: &Spec, version: &Version) -> Module {
    let mut notes = Vec::new();
    let mut schema = version
        .schema
        .as_ref()
        .map(|schema| schema.root.clone())
        .unwrap_or_default();
    let kind = &spec.names.kind;
    settle(&mut schema, kind, &mut notes);
    let mut own = match schema.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    own.retain(|name, _| !OF_EVERY_OBJECT.contains(&name.as_str()));
    let status = own.remove("status").map(into_object);
    let only_spec = own.len() == 1 && own.contains_key("spec");
    let body = match only_spec {
        true => own.remove("spec").map(into_object).unwrap_or_default(),
        false => flattened(&schema, own),
    };
    let whole = into_object(serde_json::json!({
        "properties": {"spec": body, "status": status.clone().unwrap_or_default()}
    }));
    let mut types = Types::of(&whole);
    let spec_id = types.root(&body, &["spec".to_owned()]);
    let mut given = BTreeMap::from([(spec_id, format!("{kind}Spec"))]);
    let status_id = status.map(|status| types.root(&status, &["status".to_owned()]));
    if let Some(id) = status_id {
        given.entry(id).or_insert_with(|| format!("{kind}Status"));
    }
    let names = naming::names(kind, &types, &given);
    let renderer = render::Renderer {
        types: &types,
        names: &names,
    };
    if version.subresources.status.is_none() && status_id.is_some() {
        notes.push(format!(
            "{kind}: the status has its subresource, which the definition does not have"
        ));
    }
    let rules = root_rules(&schema, &mut notes, kind);
    let derives_default = match &types.items[spec_id].body {
        Body::Struct(body) => renderer.has_default(body, 0),
        Body::Enum(_) => false,
    };
    let kube = Attributes {
        spec,
        version,
        status: status_id.map(|id| names[id].as_str()),
        no_spec: !only_spec,
        doc: schema.get("description").and_then(Value::as_str),
        rules: &rules,
        default: derives_default,
    };
    let mut source = header(spec, version, &notes);
    for (id, item) in types.items.iter().enumerate() {
        source.push('\n');
        let derive = match rules.is_empty() {
            true => "JsonSchema",
            false => "KubeSchema",
        };
        source.push_str(&match id == spec_id {
            true => renderer.item(id, item, &["CustomResource"], &kube.written(), derive),
            false => renderer.item(id, item, &[], "", "JsonSchema"),
        });
    }
    if !rules.is_empty() {
        source = source.replacen(
            "use kube::CustomResource;",
            "use kube::{CustomResource, KubeSchema};",
            1,
        );
        if !source.contains(", JsonSchema)]") {
            source = source.replacen("use schemars::JsonSchema;\n", "", 1);
        }
    }
    Module {
        group: spec.group.clone(),
        version: version.name.clone(),
        kind: kind.clone(),
        plural: spec.names.plural.clone(),
        namespaced: spec.scope != "Cluster",
        storage: version.storage,
        source,
        notes,
    }
}

/// What `#[kube(…)]` says.
struct Attributes<'a> {
    spec: &'a Spec,
    version: &'a Version,
    status: Option<&'a str>,
    no_spec: bool,
    doc: Option<&'a str>,
    rules: &'a [String],
    default: bool,
}

impl Attributes<'_> {
    fn written(&self) -> String {
        let (names, version) = (&self.spec.names, self.version);
        let mut lines = vec![
            format!("group = {:?}", self.spec.group),
            format!("version = {:?}", version.name),
            format!("kind = {:?}", names.kind),
            format!("plural = {:?}", names.plural),
        ];
        lines.extend(
            names
                .singular
                .as_ref()
                .map(|name| format!("singular = {name:?}")),
        );
        if self.spec.scope != "Cluster" {
            lines.push("namespaced".to_owned());
        }
        if self.no_spec {
            lines.push("no_spec".to_owned());
        }
        lines.extend(self.status.map(|name| format!("status = {name:?}")));
        lines.push("derive = \"PartialEq\"".to_owned());
        if self.default {
            lines.push("derive = \"Default\"".to_owned());
        }
        lines.extend(self.doc.map(|doc| format!("doc = {doc:?}")));
        lines.extend(
            names
                .short_names
                .iter()
                .map(|name| format!("shortname = {name:?}")),
        );
        lines.extend(
            names
                .categories
                .iter()
                .map(|name| format!("category = {name:?}")),
        );
        lines.extend(version.additional_printer_columns.iter().map(column));
        lines.extend(
            version
                .selectable_fields
                .iter()
                .map(|field| format!("selectable = {:?}", field.json_path)),
        );
        if let Some(scale) = &version.subresources.scale {
            let mut paths = format!(
                "spec_replicas_path = {:?}, status_replicas_path = {:?}",
                scale.spec_replicas_path, scale.status_replicas_path
            );
            if let Some(path) = &scale.label_selector_path {
                _ = write!(paths, ", label_selector_path = {path:?}");
            }
            lines.push(format!("scale({paths})"));
        }
        if !version.storage {
            lines.push("storage = false".to_owned());
        }
        if !version.served {
            lines.push("served = false".to_owned());
        }
        match (&version.deprecation_warning, version.deprecated) {
            (Some(warning), true) => lines.push(format!("deprecated = {warning:?}")),
            (None, true) => lines.push("deprecated".to_owned()),
            _ => {}
        }
        lines.extend(self.rules.iter().map(|rule| format!("validation = {rule}")));
        format!("#[kube(\n    {},\n)]\n", lines.join(",\n    "))
    }
}

fn column(column: &Column) -> String {
    let mut parts = vec![
        format!("name = {:?}", column.name),
        format!("type_ = {:?}", column.kind),
        format!("json_path = {:?}", column.json_path),
    ];
    parts.extend(
        column
            .description
            .as_ref()
            .map(|text| format!("description = {text:?}")),
    );
    parts.extend(
        column
            .format
            .as_ref()
            .map(|text| format!("format = {text:?}")),
    );
    parts.extend(
        column
            .priority
            .map(|priority| format!("priority = {priority}")),
    );
    format!("printcolumn({})", parts.join(", "))
}

/// The rules of the whole object, as kube writes them.
fn root_rules(schema: &Map<String, Value>, notes: &mut Vec<String>, kind: &str) -> Vec<String> {
    let rules = schema
        .get("x-kubernetes-validations")
        .and_then(Value::as_array);
    let mut written = Vec::new();
    for rule in rules.into_iter().flatten() {
        let text = |key: &str| rule.get(key).and_then(Value::as_str);
        let Some(expression) = text("rule") else {
            continue;
        };
        let mut made = format!("::kube::core::Rule::new({expression:?})");
        if let Some(message) = text("messageExpression") {
            _ = write!(
                made,
                ".message(::kube::core::Message::Expression({message:?}.to_string()))"
            );
            if text("message").is_some() {
                notes.push(format!(
                    "{kind}: of a rule with two messages only the expression is kept"
                ));
            }
        } else if let Some(message) = text("message") {
            _ = write!(made, ".message({message:?})");
        }
        if let Some(reason) =
            text("reason").filter(|reason| reason.chars().all(char::is_alphanumeric))
        {
            _ = write!(made, ".reason(::kube::core::Reason::{reason})");
        }
        if let Some(path) = text("fieldPath") {
            _ = write!(made, ".field_path({path:?})");
        }
        if rule.get("optionalOldSelf") == Some(&Value::Bool(true)) {
            made.push_str(".optional_old_self(true)");
        }
        written.push(made);
    }
    written
}

/// An object without a spec: what stands beside the metadata is one struct.
fn flattened(root: &Map<String, Value>, own: Map<String, Value>) -> Map<String, Value> {
    let required: Vec<Value> = root
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|name| name.as_str().is_some_and(|name| own.contains_key(name)))
        .cloned()
        .collect();
    let mut body = Map::from_iter([
        ("type".to_owned(), Value::from("object")),
        ("properties".to_owned(), Value::Object(own)),
    ]);
    if !required.is_empty() {
        body.insert("required".to_owned(), Value::Array(required));
    }
    if let Some(open) = root.get("x-kubernetes-preserve-unknown-fields") {
        body.insert(
            "x-kubernetes-preserve-unknown-fields".to_owned(),
            open.clone(),
        );
    }
    body
}

fn header(spec: &Spec, version: &Version, notes: &[String]) -> String {
    let mut out = String::new();
    _ = writeln!(
        out,
        "//! `{}` of {}/{}, made by `kubewright import crd`.",
        spec.names.kind, spec.group, version.name
    );
    if !notes.is_empty() {
        out.push_str("//!\n//! Not as in the definition:\n");
        for note in notes {
            let note: String = note
                .chars()
                .filter(|c| !render::is_odd(*c) && *c != '\n')
                .collect();
            _ = writeln!(out, "//! - {note}");
        }
    }
    _ = writeln!(
        out,
        "\n{ALLOWED}\n\nuse kube::CustomResource;\nuse schemars::JsonSchema;\nuse serde::{{Deserialize, Serialize}};"
    );
    out
}

fn into_object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
