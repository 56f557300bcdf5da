//! Validates a CustomResourceDefinition, except for its schemas.

use std::collections::HashSet;

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    go,
    validation::names,
};
use kubewright_schema::structural::{PathSyntax, Structural, find_field};
use serde_json::Value;

use super::{
    conversion,
    hoisted::{Hoisted, Part},
    print,
    schema::{self, Options},
};
use crate::json::Read;

/// The maximum number of selectable fields.
const MOST_SELECTABLE: usize = 8;

/// Validates a spec. `old` is the stored one, which may break newer rules.
pub(super) fn validate(spec: &Hoisted<'_>, old: Option<&Value>) -> ErrorList {
    let path = Path::new("spec");
    let mut errors = ErrorList::new();
    let options = Options::for_update(old);
    let raw = spec.spec;
    validate_group(raw["group"].text(), &path.child("group"), &mut errors);
    enumerated(
        raw["scope"].text(),
        &["Cluster", "Namespaced"],
        &path.child("scope"),
        &mut errors,
    );
    validate_presence(spec, old, &path, &mut errors);
    if raw["preserveUnknownFields"].flag() && has_defaults(spec) {
        let message = "must be false in order to use defaults in the schema";
        let path = path.child("preserveUnknownFields");
        errors.push(field::invalid(&path, &Value::Bool(true), message));
    }
    let versions = path.child("versions");
    for (i, version) in spec.versions().iter().enumerate() {
        let path = versions.index(i);
        label(version["name"].text(), &path.child("name"), &mut errors);
        validate_version(spec, version, &options, &path, &mut errors);
    }
    validate_version_set(spec, &path, &mut errors);
    let names_path = path.child("names");
    for key in ["plural", "singular", "kind", "listKind"] {
        if raw["names"][key].text().is_empty() {
            errors.push(field::required(&names_path.child(key), ""));
        }
    }
    validate_names(&raw["names"], &names_path, &mut errors);
    let has_status = spec
        .versions()
        .iter()
        .any(|v| v["subresources"]["status"].is_set());
    let shared = spec.shared(Part::Schema);
    schema::validate(
        shared,
        has_status,
        &options,
        &path.child("validation"),
        &mut errors,
    );
    validate_scale(
        &spec.shared(Part::Subresources)["scale"],
        &path.child("subresources"),
        &mut errors,
    );
    validate_columns(spec.shared(Part::Columns), &path, &mut errors);
    let selectable = spec.shared(Part::SelectableFields);
    if !selectable.items().is_empty() {
        if shared.is_set() {
            validate_selectable(
                selectable,
                shared,
                &path.child("selectableFields"),
                &mut errors,
            );
        } else {
            let message = "may only be set when validations.schema is included";
            errors.push(field::invalid_str(
                &path.child("selectableFields"),
                "",
                message,
            ));
        }
    }
    let preserves = raw["preserveUnknownFields"].flag();
    conversion::validate(
        &raw["conversion"],
        preserves,
        old,
        &path.child("conversion"),
        &mut errors,
    );
    errors
}

/// Validates an update of a CustomResourceDefinition.
pub(super) fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = validate(&Hoisted::of(&new["spec"]), Some(old));
    let (new, before, path) = (&new["spec"], &old["spec"], Path::new("spec"));
    let mut immutable = |new: &Value, old: &Value, path: Path| {
        if new != old {
            errors.push(field::invalid(&path, new, "field is immutable"));
        }
    };
    if is_established(old) {
        immutable(&new["scope"], &before["scope"], path.child("scope"));
        immutable(
            &new["names"]["kind"],
            &before["names"]["kind"],
            path.child("names").child("kind"),
        );
    }
    immutable(&new["group"], &before["group"], path.child("group"));
    immutable(
        &new["names"]["plural"],
        &before["names"]["plural"],
        path.child("names").child("plural"),
    );
    errors
}

/// Validates names, of the spec or of the status.
pub(super) fn validate_names(all: &Value, path: &Path, errors: &mut ErrorList) {
    for key in ["plural", "singular"] {
        if !all[key].text().is_empty() {
            label(all[key].text(), &path.child(key), errors);
        }
    }
    for key in ["kind", "listKind"] {
        let name = all[key].text();
        let found = names::is_dns1035_label(&name.to_lowercase());
        if !name.is_empty() && !found.is_empty() {
            let message = format!(
                "may have mixed case, but should otherwise match: {}",
                found.join(",")
            );
            errors.push(field::invalid_str(&path.child(key), name, message));
        }
    }
    for (i, name) in all["shortNames"].items().iter().enumerate() {
        label(name.text(), &path.child("shortNames").index(i), errors);
    }
    let (kind, list_kind) = (all["kind"].text(), all["listKind"].text());
    if !kind.is_empty() && kind == list_kind {
        let message = "kind and listKind may not be the same";
        errors.push(field::invalid_str(
            &path.child("listKind"),
            list_kind,
            message,
        ));
    }
    for (i, name) in all["categories"].items().iter().enumerate() {
        label(name.text(), &path.child("categories").index(i), errors);
    }
}

/// Reports whether the CustomResourceDefinition was ever established.
pub(super) fn is_established(crd: &Value) -> bool {
    let conditions = crd["status"]["conditions"].items().iter();
    let mut established = conditions.filter(|c| c["type"] == "Established");
    established.any(|c| c["status"] == "True")
}

pub(super) fn enumerated(value: &str, accepted: &[&str], path: &Path, errors: &mut ErrorList) {
    if value.is_empty() {
        errors.push(field::required(path, ""));
    } else if !accepted.contains(&value) {
        errors.push(field::not_supported(path, value, accepted));
    }
}

fn label(name: &str, path: &Path, errors: &mut ErrorList) {
    let found = names::is_dns1035_label(name);
    if !found.is_empty() {
        errors.push(field::invalid_str(path, name, found.join(",")));
    }
}

fn validate_group(group: &str, path: &Path, errors: &mut ErrorList) {
    let found = names::is_dns1123_subdomain(group);
    if group.is_empty() {
        errors.push(field::required(path, ""));
    } else if !found.is_empty() {
        errors.push(field::invalid_str(path, group, found.join(",")));
    } else if !group.contains('.') {
        let message = "should be a domain with at least one dot";
        errors.push(field::invalid_str(path, group, message));
    }
}

fn has_defaults(spec: &Hoisted<'_>) -> bool {
    spec.versions().iter().any(|version| {
        schema::any_schema(&version["schema"]["openAPIV3Schema"], &mut |s| {
            !s["default"].is_null()
        })
    })
}

/// Validates that every version has a schema, unless the stored object has none.
fn validate_presence(spec: &Hoisted<'_>, old: Option<&Value>, path: &Path, errors: &mut ErrorList) {
    let has_schema = |version: &Value| version["schema"]["openAPIV3Schema"].is_set();
    let lax = old.is_some_and(|old| !old["spec"]["versions"].items().iter().all(has_schema));
    if lax && spec.spec["preserveUnknownFields"].flag() {
        return;
    }
    for (i, version) in spec.versions().iter().enumerate() {
        if has_schema(version) || (lax && !version["served"].flag()) {
            continue;
        }
        let path = path
            .child("versions")
            .index(i)
            .child("schema")
            .child("openAPIV3Schema");
        let message = if lax {
            "because otherwise all fields are pruned"
        } else {
            ""
        };
        errors.push(field::required(&path, message));
    }
}

fn validate_version(
    spec: &Hoisted<'_>,
    version: &Value,
    options: &Options<'_>,
    path: &Path,
    errors: &mut ErrorList,
) {
    validate_deprecation(version, &path.child("deprecationWarning"), errors);
    let options = options.of_version(version);
    let schema = spec.own(version, Part::Schema);
    let has_status = version["subresources"]["status"].is_set();
    schema::validate(schema, has_status, &options, &path.child("schema"), errors);
    let subresources = spec.own(version, Part::Subresources);
    validate_scale(&subresources["scale"], &path.child("subresources"), errors);
    validate_columns(spec.own(version, Part::Columns), path, errors);
    let selectable = spec.own(version, Part::SelectableFields);
    if !selectable.items().is_empty() {
        // A schema that all versions share is not checked here.
        if schema["openAPIV3Schema"].is_set() {
            validate_selectable(selectable, schema, &path.child("selectableFields"), errors);
        } else {
            let message = "may only be set when `version.schema.openAPIV3Schema` is not included";
            errors.push(field::invalid_str(
                &path.child("selectableFields"),
                "",
                message,
            ));
        }
    }
}

fn validate_deprecation(version: &Value, path: &Path, errors: &mut ErrorList) {
    let Some(warning) = version["deprecationWarning"].as_str() else {
        return;
    };
    let mut found = Vec::new();
    if !version["deprecated"].flag() {
        found.push("can only be set for deprecated versions".to_owned());
    } else {
        if warning.len() > 256 {
            found.push("must be <= 256 characters long".to_owned());
        }
        if warning.is_empty() {
            found.push("must not be an empty string".to_owned());
        }
        if let Some((i, _)) = warning.char_indices().find(|(_, c)| !go::is_print(*c)) {
            found.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {i}"
            ));
        }
    }
    // The value is printed as JSON, not as Go quotes it.
    for message in found {
        let value = go::json(&version["deprecationWarning"]);
        errors.push(field::invalid_raw(path, value, message));
    }
}

fn validate_version_set(spec: &Hoisted<'_>, path: &Path, errors: &mut ErrorList) {
    let versions = spec.versions();
    let at = path.child("versions");
    let mut names = HashSet::new();
    if !versions.iter().all(|v| names.insert(v["name"].text())) {
        let message = "must contain unique version names";
        errors.push(field::invalid_raw(&at, print::versions(spec), message));
    }
    if versions.iter().filter(|v| v["storage"].flag()).count() != 1 {
        let message = "must have exactly one version marked as storage version";
        errors.push(field::invalid_raw(&at, print::versions(spec), message));
    }
    if let Some(first) = versions.first().filter(|v| !v["name"].text().is_empty()) {
        label(first["name"].text(), &path.child("version"), errors);
    }
}

fn validate_scale(scale: &Value, path: &Path, errors: &mut ErrorList) {
    if !scale.is_set() {
        return;
    }
    let paths = [
        ("specReplicasPath", true, &[".spec."][..], ".spec"),
        ("statusReplicasPath", true, &[".status."], ".status"),
        (
            "labelSelectorPath",
            false,
            &[".spec.", ".status."],
            "either .spec or .status",
        ),
    ];
    for (key, required, prefixes, under) in paths {
        let (text, path) = (scale[key].text(), path.child(&format!("scale.{key}")));
        if text.is_empty() {
            if required {
                errors.push(field::required(&path, ""));
            }
        } else if !text.starts_with('.') {
            let message = "must be a simple json path starting with .";
            errors.push(field::invalid_str(&path, text, message));
        } else if !prefixes.iter().any(|prefix| text.starts_with(prefix)) {
            let message = format!("should be a json path under {under}");
            errors.push(field::invalid_str(&path, text, message));
        }
    }
}

fn validate_columns(columns: &Value, path: &Path, errors: &mut ErrorList) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = [
        "byte",
        "date",
        "date-time",
        "double",
        "float",
        "int32",
        "int64",
        "password",
    ];
    for (i, column) in columns.items().iter().enumerate() {
        let path = path.child("additionalPrinterColumns").index(i);
        if column["name"].text().is_empty() {
            errors.push(field::required(&path.child("name"), ""));
        }
        let (ty, format) = (column["type"].text(), column["format"].text());
        let message = format!("must be one of {}", TYPES.join(","));
        if ty.is_empty() {
            errors.push(field::required(&path.child("type"), message));
        } else if !TYPES.contains(&ty) {
            errors.push(field::invalid_str(&path.child("type"), ty, message));
        }
        if !format.is_empty() && !FORMATS.contains(&format) {
            let message = format!("must be one of {}", FORMATS.join(","));
            errors.push(field::invalid_str(&path.child("format"), format, message));
        }
        let (text, path) = (column["jsonPath"].text(), path.child("JSONPath"));
        if text.is_empty() {
            errors.push(field::required(&path, ""));
        } else if !text.starts_with('.') {
            let message = "must be a simple json path starting with .";
            errors.push(field::invalid_str(&path, text, message));
        }
    }
}

fn validate_selectable(fields: &Value, schema: &Value, path: &Path, errors: &mut ErrorList) {
    let compiled = match Structural::compile(&schema["openAPIV3Schema"]) {
        Ok(compiled) => compiled,
        Err(e) => {
            let parent = path.as_str().trim_end_matches(".selectableFields");
            let path = Path::new(&format!("{parent}.schema.openAPIV3Schema"));
            errors.push(field::invalid_str(&path, "", e.to_string()));
            return;
        }
    };
    let mut known: HashSet<String> = HashSet::new();
    for (i, selectable) in fields.items().iter().enumerate() {
        let path = path.index(i).child("jsonPath");
        let text = selectable["jsonPath"].text();
        if text.is_empty() {
            errors.push(field::required(&path, ""));
            continue;
        }
        let (found, node) = match find_field(text, &compiled, PathSyntax::Dots) {
            Ok(found) => found,
            Err(e) => {
                errors.push(field::invalid_str(
                    &path,
                    text,
                    format!("is an invalid path: {e}"),
                ));
                continue;
            }
        };
        if found == "metadata" || found.starts_with("metadata.") {
            let message = "must not point to fields in metadata";
            errors.push(field::invalid_str(&path, text, message));
        }
        if !matches!(node.kind.name(), "string" | "boolean" | "integer") {
            let message = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            errors.push(field::invalid_str(&path, text, message));
        }
        if !known.insert(found) {
            errors.push(field::duplicate(&path, &text.into()));
        }
    }
    if known.len() > MOST_SELECTABLE {
        errors.push(field::too_many(path, known.len(), MOST_SELECTABLE));
    }
}
