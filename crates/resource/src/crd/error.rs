//! [`CrdError`], and the search for the keyword that is not valid.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, ValidationRule,
};
use kubewright_machinery::limits::VALUE_DEPTH;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A CustomResourceDefinition that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CrdError {
    /// A keyword of the schema has a value it cannot have.
    #[error(
        "the schema of {kind} is not valid: {keyword} of {field}: {reason}; correct its #[schema(...)]"
    )]
    Keyword {
        /// The kind.
        kind: String,
        /// The path of the field, such as `.spec.mates`.
        field: String,
        /// The keyword, such as `maximum` or `x-kubernetes-validations[1]`.
        keyword: String,
        /// The error of the parser.
        reason: String,
    },
    /// The CustomResourceDefinition as a whole cannot be read.
    #[error(
        "the CustomResourceDefinition of {kind} is not valid: {reason}; correct its #[kube(...)] and #[crd(...)]"
    )]
    Malformed {
        /// The kind.
        kind: String,
        /// The error of the parser.
        reason: String,
    },
}

/// Checks that a schema has the types of a CustomResourceDefinition.
pub(super) fn check(kind: &str, schema: &Value) -> Result<(), CrdError> {
    match invalid_keyword(schema, "", 0) {
        None => Ok(()),
        Some((field, keyword, reason)) => Err(CrdError::Keyword {
            kind: kind.to_owned(),
            field: match field.as_str() {
                "" => "the whole object".to_owned(),
                _ => field,
            },
            keyword,
            reason,
        }),
    }
}

/// Returns field, keyword and reason of the innermost keyword that is not valid.
fn invalid_keyword(schema: &Value, path: &str, depth: usize) -> Option<(String, String, String)> {
    let reason = parse_error::<JSONSchemaProps>(schema)?;
    let fields = schema.as_object().filter(|_| depth < VALUE_DEPTH);
    for (keyword, value) in fields.into_iter().flatten() {
        let inner = |schema: &Value, path: String| invalid_keyword(schema, &path, depth + 1);
        let found = match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => properties
                .iter()
                .find_map(|(name, schema)| inner(schema, format!("{path}.{name}"))),
            ("items", Value::Object(_)) => inner(value, format!("{path}[]")),
            ("additionalProperties", Value::Object(_)) => inner(value, format!("{path}{{}}")),
            ("not", Value::Object(_)) => inner(value, path.to_owned()),
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => branches
                .iter()
                .find_map(|branch| inner(branch, path.to_owned())),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
        let Some(reason) = parse_error::<JSONSchemaProps>(&json!({ keyword: value })) else {
            continue;
        };
        let rule = value.as_array().and_then(|rules| {
            let errors = rules.iter().map(parse_error::<ValidationRule>).enumerate();
            errors.filter_map(|(n, reason)| Some((n, reason?))).next()
        });
        return Some(
            match rule.filter(|_| keyword == "x-kubernetes-validations") {
                Some((n, reason)) => (path.to_owned(), format!("{keyword}[{n}]"), reason),
                None => (path.to_owned(), keyword.clone(), reason),
            },
        );
    }
    Some((path.to_owned(), "schema".to_owned(), reason))
}

fn parse_error<T: DeserializeOwned>(value: &Value) -> Option<String> {
    let parsed = serde_json::from_value::<T>(value.clone());
    parsed.err().map(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_keyword_is_named() {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "ships": {"type": "array", "items": {"type": "integer", "maximum": "many"}},
        }}}});
        let error = check("Captain", &schema).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the schema of Captain is not valid: maximum of .spec.ships[]: invalid type: string \"many\", \
             expected f64; correct its #[schema(...)]"
        );
    }

    #[test]
    fn a_rule_is_named_by_its_number() {
        let schema = json!({"x-kubernetes-validations": [{"rule": "true"}, {"rule": 1}]});
        let error = check("Captain", &schema).unwrap_err().to_string();
        assert!(
            error.contains("x-kubernetes-validations[1] of the whole object: invalid type"),
            "{error}"
        );
    }
}
