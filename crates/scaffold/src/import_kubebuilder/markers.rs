//! Parses `+kubebuilder:rbac` markers in Go source.

use kubewright_operator::PolicyRule;

use crate::Error;

const MARKER: &str = "+kubebuilder:rbac:";

/// Returns the permissions that the `+kubebuilder:rbac` markers of a Go file ask for. `path` is used in errors.
///
/// # Errors
///
/// Fails if a marker is not valid.
///
/// ```
/// let source = "// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list";
/// let rules = kubewright_scaffold::rbac_markers("controller.go", source)?;
/// assert_eq!(rules[0].verbs, ["get", "list"]);
/// # Ok::<(), kubewright_scaffold::Error>(())
/// ```
pub fn rbac_markers(path: &str, source: &str) -> Result<Vec<PolicyRule>, Error> {
    let mut rules = Vec::new();
    for (at, line) in source.lines().enumerate() {
        let comment = line.trim_start().strip_prefix("//").map(str::trim_start);
        let Some(fields) = comment.and_then(|text| text.strip_prefix(MARKER)) else {
            continue;
        };
        let wrong = |what: String| {
            Error::new(
                format_args!("{path}, line {}: {what}", at + 1),
                "correct the marker",
            )
        };
        rules.push(rule(fields.trim_end()).map_err(wrong)?);
    }
    Ok(rules)
}

fn rule(fields: &str) -> Result<PolicyRule, String> {
    let mut rule = PolicyRule::default();
    for field in split(fields, ',')? {
        let (key, value) = field
            .split_once('=')
            .ok_or_else(|| format!("{field:?} has no value"))?;
        let list = || -> Result<Vec<String>, String> {
            let value = value.trim();
            let braced = value.strip_prefix('{').and_then(|v| v.strip_suffix('}'));
            let parts = match braced {
                Some(inside) => split(inside, ',')?,
                None => split(value, ';')?,
            };
            Ok(parts.iter().map(|part| unquoted(part)).collect())
        };
        match key.trim() {
            "groups" => rule.api_groups = list()?,
            "resources" => rule.resources = list()?,
            "resourceNames" => rule.resource_names = list()?,
            "verbs" => rule.verbs = list()?,
            "urls" => rule.urls = list()?,
            "namespace" => rule.namespace = Some(unquoted(value)),
            "roleName" => rule.role = Some(unquoted(value)),
            other => return Err(format!("{other:?} is not part of the marker")),
        }
    }
    match rule.verbs.is_empty() {
        true => Err("the marker has no verbs".to_owned()),
        false => Ok(rule),
    }
}

/// Splits a text at separators that are not within quotes or braces.
fn split(text: &str, separator: char) -> Result<Vec<String>, String> {
    let mut parts = vec![String::new()];
    let (mut quote, mut depth) = (None, 0_u32);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '`') => quote = Some(c),
            (None, '{') => depth += 1,
            (None, '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        match c == separator && quote.is_none() && depth == 0 {
            true => parts.push(String::new()),
            false => parts.last_mut().into_iter().for_each(|part| part.push(c)),
        }
    }
    match quote {
        Some(_) => Err(format!("a quote in {text:?} is not closed")),
        None => Ok(parts),
    }
}

fn unquoted(text: &str) -> String {
    let text = text.trim();
    let within = |quote: char| {
        let rest = text.strip_prefix(quote)?;
        rest.strip_suffix(quote)
    };
    within('"')
        .or_else(|| within('`'))
        .unwrap_or(text)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_read_as_controller_gen_reads_them() {
        let source = "package x\n\n// +kubebuilder:rbac:groups=apps;\"\",resources=deployments,verbs=get;list\n\
                      \t//+kubebuilder:rbac:urls=/metrics,verbs={get,\"head\"},roleName=reader,namespace=`a`\n// other\n";
        let rules = rbac_markers("x.go", source).unwrap();
        assert_eq!(rules[0].api_groups, ["apps", ""]);
        assert_eq!(rules[0].verbs, ["get", "list"]);
        assert_eq!(rules[1].verbs, ["get", "head"]);
        assert_eq!(rules[1].role.as_deref(), Some("reader"));
        assert_eq!(rules[1].namespace.as_deref(), Some("a"));
    }

    #[test]
    fn a_wrong_marker_is_named_by_its_line() {
        for (fields, what) in [
            ("groups=apps", "the marker has no verbs"),
            ("verbs=get,kinds=x", "\"kinds\" is not part of the marker"),
            ("verbs=\"get", "a quote in \"verbs=\\\"get\" is not closed"),
            ("verbs", "\"verbs\" has no value"),
        ] {
            let error = rbac_markers("x.go", &format!("\n// {MARKER}{fields}\n")).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("x.go, line 2: {what}; correct the marker")
            );
        }
    }
}
