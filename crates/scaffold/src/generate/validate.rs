//! Validates the CustomResourceDefinitions of an operator as the server does, and names the place in the source.

use kubewright_builtins::rules;
use kubewright_machinery::field::FieldError;
use kubewright_operator::Model;
use serde_json::Value;

use super::model::text;
use crate::Error;

/// Checks that a server would accept the CustomResourceDefinitions of an operator.
///
/// # Errors
///
/// Fails for the first mistake: a CEL rule that does not compile, a default that is not valid, and everything else that the
/// server would reject. The error begins with the position in the source if it is known.
///
/// ```
/// use kubewright_scaffold::generate::{read_model, validate};
///
/// let model = read_model(
///     r#"{"model": 2, "name": "crew", "crds": [{
///         "metadata": {"name": "captains.crew.example.com"},
///         "spec": {
///             "group": "crew.example.com", "scope": "Namespaced",
///             "names": {"kind": "Captain", "listKind": "CaptainList", "plural": "captains", "singular": "captain"},
///             "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
///                 "type": "object",
///                 "properties": {"spec": {"type": "object", "properties": {"mates": {
///                     "type": "integer", "x-kubernetes-validations": [{"rule": "self >"}]
///                 }}}}
///             }}}]
///         }
///     }]}"#,
/// )?;
/// let error = validate(&model).unwrap_err().to_string();
/// assert!(error.contains("the rule \"self >\" of .spec.mates is not valid: compilation failed"), "{error}");
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
pub fn validate(model: &Model) -> Result<(), Error> {
    let kind = rules("apiextensions.k8s.io", "CustomResourceDefinition");
    for crd in model.definitions() {
        let mut stored = crd.clone();
        (kind.prepare_create)(&mut stored);
        (kind.default)(&mut stored);
        let errors = (kind.validate_create)(&stored);
        if let Some(error) = errors.first() {
            return Err(sentence(model, crd, error, errors.len()));
        }
    }
    Ok(())
}

/// The place of an error in a schema.
struct Place<'a> {
    version: &'a str,
    /// The path from the root of the schema.
    path: &'a str,
    /// The schema of the field.
    schema: &'a Value,
    /// The path of the field: `.spec.mates`.
    field: String,
    /// The keyword and the position in it: `x-kubernetes-validations[0].rule`.
    keyword: &'a str,
}

fn sentence(model: &Model, crd: &Value, error: &FieldError, count: usize) -> Error {
    let name = text(&crd["metadata"]["name"]);
    let more = match count {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let Some(place) = Place::of(crd, &error.field) else {
        return Error::new(
            format_args!("{name} is not a valid CustomResourceDefinition: {error}{more}"),
            "correct #[kube(...)] and #[crd(...)] of the kind",
        );
    };
    let of = match place.field.as_str() {
        "" => "the whole object",
        field => field,
    };
    let detail = one_line(&error.detail);
    let problem = match place.rule() {
        Some(rule) => format!("the rule {rule:?} of {of} is not valid: {detail}"),
        None if place.keyword.starts_with("default") => {
            let value = &place.schema["default"];
            format!("the default {value} of {of} is not valid: {detail}")
        }
        None => format!("{} of {of} is not valid: {detail}", place.keyword),
    };
    let (kind, version) = (text(&crd["spec"]["names"]["kind"]), place.version);
    match position(model, name, &place) {
        Some(position) => Error::new(
            format_args!("{position}: {problem}{more}"),
            format_args!("correct {kind} {version}"),
        ),
        None => Error::new(
            format_args!("{kind} {version}: {problem}{more}"),
            "correct its #[schema(...)]",
        ),
    }
}

/// Returns the position in the source: that of the rule or default, or of the field around it.
fn position<'a>(model: &'a Model, crd: &str, place: &Place<'_>) -> Option<&'a str> {
    let known = model.sources.get(&format!("{crd}/{}", place.version))?;
    let around = |path: &str| {
        let rest = place.path.strip_prefix(path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let nearest = known.iter().filter(|(path, _)| around(path));
    let nearest = nearest.max_by_key(|(path, _)| path.len());
    nearest.map(|(_, position)| position.as_str())
}

impl<'a> Place<'a> {
    /// Finds the place of an error of the server, unless it is outside of the schemas.
    fn of(crd: &'a Value, path: &'a str) -> Option<Self> {
        let (before, path) = path.split_once("openAPIV3Schema")?;
        let path = path.strip_prefix('.').unwrap_or(path);
        let versions = crd["spec"]["versions"].as_array()?;
        // A schema that all versions share is reported once, without a version.
        let index = before.strip_prefix("spec.versions[");
        let index = index.and_then(|rest| rest.split_once(']')?.0.parse::<usize>().ok());
        let version = versions.get(index.unwrap_or(0))?;
        let mut schema = &version["schema"]["openAPIV3Schema"];
        let (mut field, mut keyword) = (String::new(), path);
        loop {
            let (inner, rest) = if let Some(rest) = keyword.strip_prefix("properties[") {
                let (name, rest) = rest.split_once(']')?;
                field += &format!(".{name}");
                (&schema["properties"][name], rest)
            } else if let Some(rest) = step(keyword, "items") {
                field += "[]";
                (&schema["items"], rest)
            } else if let Some(rest) = step(keyword, "additionalProperties") {
                field += "{}";
                (&schema["additionalProperties"], rest)
            } else {
                break;
            };
            schema = inner;
            keyword = rest.strip_prefix('.').unwrap_or(rest);
        }
        Some(Self {
            version: text(&version["name"]),
            path,
            schema,
            field,
            keyword,
        })
    }

    /// Returns the text of the rule that is wrong.
    fn rule(&self) -> Option<&str> {
        let index = self.keyword.strip_prefix("x-kubernetes-validations[")?;
        let (index, rest) = index.split_once(']')?;
        let index: usize = index.parse().ok()?;
        let rule = &self.schema["x-kubernetes-validations"][index];
        match rest {
            ".messageExpression" => rule["messageExpression"].as_str(),
            _ => rule["rule"].as_str(),
        }
    }
}

/// Returns the rest of a path after one of its names.
fn step<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(name)?;
    (rest.is_empty() || rest.starts_with('.')).then_some(rest)
}

/// Joins the lines of a message, without the lines in which CEL points into the rule.
fn one_line(detail: &str) -> String {
    let lines = detail.lines().map(str::trim);
    let kept: Vec<&str> = lines.filter(|line| !line.starts_with('|')).collect();
    kept.join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn model(spec: &Value, sources: &[(&str, &str)]) -> Model {
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        let crd = json!({
            "metadata": {"name": "captains.crew.example.com"},
            "spec": {
                "group": "crew.example.com",
                "scope": "Namespaced",
                "names": {"kind": "Captain", "listKind": "CaptainList", "plural": "captains", "singular": "captain"},
                "versions": [
                    {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
                    {"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": schema}},
                ],
            },
        });
        let sources = sources
            .iter()
            .map(|(path, at)| ((*path).to_owned(), (*at).to_owned()));
        Model {
            crds: vec![crd],
            sources: BTreeMap::from([(
                "captains.crew.example.com/v2".to_owned(),
                sources.collect(),
            )]),
            ..Model::new("crew")
        }
    }

    fn error(spec: &Value, sources: &[(&str, &str)]) -> String {
        validate(&model(spec, sources)).unwrap_err().to_string()
    }

    #[test]
    fn a_broken_rule_is_named_with_its_position() {
        let spec = json!({"type": "object", "properties": {"mates": {
            "type": "integer",
            "x-kubernetes-validations": [{"rule": "self > 0"}, {"rule": "self > crew"}],
        }}});
        let at = [
            ("properties[spec].properties[mates]", "src/captain.rs:7:5"),
            (
                "properties[spec].properties[mates].x-kubernetes-validations[1]",
                "src/captain.rs:9:12",
            ),
        ];
        assert_eq!(
            error(&spec, &at),
            "src/captain.rs:9:12: the rule \"self > crew\" of .spec.mates is not valid: compilation failed: ERROR: \
             <input>:1:8: undeclared reference to 'crew' (in container ''); correct Captain v2"
        );
        let unknown = error(&spec, &[]);
        assert!(
            unknown.starts_with("Captain v2: the rule \"self > crew\" of .spec.mates"),
            "{unknown}"
        );
    }

    #[test]
    fn a_default_that_is_not_valid_is_named_with_its_position() {
        let spec = json!({"type": "object", "properties": {"ships": {"type": "array", "items": {
            "type": "object", "properties": {"masts": {"type": "integer", "minimum": 1, "default": 0}},
        }}}});
        let path = "properties[spec].properties[ships].items.properties[masts].default";
        let error = error(&spec, &[(path, "src/ship.rs:3:14")]);
        assert!(
            error.starts_with(
                "src/ship.rs:3:14: the default 0 of .spec.ships[].masts is not valid: "
            ),
            "{error}"
        );
    }

    #[test]
    fn a_mistake_in_another_attribute_is_named_with_the_field_around_it() {
        let spec =
            json!({"type": "object", "properties": {"name": {"type": "string", "pattern": "("}}});
        let error = error(
            &spec,
            &[("properties[spec].properties[name]", "src/captain.rs:4:14")],
        );
        assert!(
            error.starts_with("src/captain.rs:4:14: pattern of .spec.name is not valid: "),
            "{error}"
        );
    }

    #[test]
    fn errors_outside_the_schemas_are_reported_too() {
        let mut model = model(&json!({"type": "object"}), &[]);
        model.crds[0]["spec"]["names"]["plural"] = json!("Captains");
        let error = validate(&model).unwrap_err().to_string();
        assert!(
            error
                .starts_with("captains.crew.example.com is not a valid CustomResourceDefinition: "),
            "{error}"
        );
    }
}
