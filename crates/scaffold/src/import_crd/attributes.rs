//! Writes `#[kube(...)]` and `#[crd(...)]`: the attributes of a whole kind.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{
    definition::{Column, Definition, Version},
    keywords::strings,
    literal::literal,
    root::Outline,
    schema_attrs::{extend, rule},
};

/// Annotations about the origin of the CRD, which are not imported.
const OF_THE_MAKER: [&str; 2] = [
    "controller-gen.kubebuilder.io/version",
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// The content of `#[kube(…)]`.
pub(super) struct Attributes<'a> {
    pub(super) definition: &'a Definition,
    pub(super) version: &'a Version,
    pub(super) outline: &'a Outline,
    /// The name of the status type.
    pub(super) status: Option<&'a str>,
    /// Set if the spec has a default.
    pub(super) default: bool,
    /// Set if the spec has a description.
    pub(super) described: bool,
}

impl Attributes<'_> {
    /// Returns the attributes of the type that defines the kind.
    pub(super) fn written(&self) -> String {
        let mut out = format!("#[kube(\n    {},\n)]\n", self.kube().join(",\n    "));
        let crd = self.crd();
        if !crd.is_empty() {
            _ = writeln!(out, "#[crd(\n    {},\n)]", crd.join(",\n    "));
        }
        out
    }

    fn kube(&self) -> Vec<String> {
        let (spec, version) = (&self.definition.spec, self.version);
        let names = &spec.names;
        let mut lines = vec![
            format!("group = {:?}", spec.group),
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
        if spec.scope != "Cluster" {
            lines.push("namespaced".to_owned());
        }
        if self.outline.flat {
            lines.push("no_spec".to_owned());
        }
        lines.extend(self.status.map(|name| format!("status = {name:?}")));
        lines.push("derive = \"PartialEq\"".to_owned());
        if self.default {
            lines.push("derive = \"Default\"".to_owned());
        }
        let doc = self.outline.root.get("description").and_then(Value::as_str);
        lines.extend(doc.map(|doc| format!("doc = {doc:?}")));
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
        // kube's derive does not support it without a status.
        if let Some(scale) = version
            .subresources
            .scale
            .as_ref()
            .filter(|_| self.status.is_some())
        {
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
        lines
    }

    /// Returns the content of `#[crd(...)]`, which kube's derive does not support.
    fn crd(&self) -> Vec<String> {
        let Outline {
            root,
            metadata,
            flat,
            ..
        } = self.outline;
        let names = &self.definition.spec.names;
        let mut lines = Vec::new();
        let usual = format!("{}List", names.kind);
        let list_kind = names.list_kind.as_ref().filter(|name| **name != usual);
        lines.extend(list_kind.map(|name| format!("list_kind = {name:?}")));
        for (word, pairs) in [
            ("annotation", &self.definition.metadata.annotations),
            ("label", &self.definition.metadata.labels),
        ] {
            let pairs = pairs.iter().flatten();
            let kept = pairs.filter(|(key, _)| !OF_THE_MAKER.contains(&key.as_str()));
            lines.extend(kept.map(|(key, value)| format!("{word}({key:?}, {value:?})")));
        }
        let wanted = self.version.subresources.status.is_some();
        match (wanted, self.status.is_some()) {
            (true, false) => lines.push("status_subresource".to_owned()),
            (false, true) => lines.push("status_subresource = false".to_owned()),
            _ => {}
        }
        let metadata = metadata
            .as_ref()
            .filter(|schema| **schema != json!({"type": "object"}));
        lines.extend(metadata.map(|schema| format!("metadata = {}", literal(schema))));
        if *flat {
            return lines;
        }
        let mut raw = Vec::new();
        if self.described && !root.contains_key("description") {
            raw.push(("description".to_owned(), Value::Null));
        }
        for (key, value) in root {
            let rules = || {
                value
                    .as_array()?
                    .iter()
                    .map(rule)
                    .collect::<Option<Vec<_>>>()
            };
            match key.as_str() {
                "type" | "description" => {}
                "required" if strings(Some(value)).eq(["spec"]) => {}
                "x-kubernetes-preserve-unknown-fields" if *value == json!(true) => {
                    lines.push("preserve_unknown_fields".to_owned());
                }
                "x-kubernetes-validations" if rules().is_some() => {
                    lines.extend(rules().into_iter().flatten());
                }
                _ => raw.push((key.clone(), value.clone())),
            }
        }
        extend(&mut lines, &raw);
        lines
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
