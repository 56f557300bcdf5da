//! Converts the permissions of a Go project to a Rust module.

use serde_json::Value;

use kubewright_operator::PolicyRule;

use crate::{Error, manifests::parse_manifests};

/// The path of the permissions.
pub(super) const PATH: &str = "src/permissions.rs";

/// Reads the rules of the roles in a YAML file that controller-gen wrote.
pub(super) fn of_roles(path: &str, text: &str) -> Result<Vec<PolicyRule>, Error> {
    let wrong = |e: &dyn std::fmt::Display| {
        Error::new(format_args!("{path} cannot be read: {e}"), "correct it")
    };
    let mut rules = Vec::new();
    for role in parse_manifests(text).map_err(|e| wrong(&e))? {
        let own = |name: &str| match name {
            "" | "manager-role" => None,
            other => Some(other.to_owned()),
        };
        let metadata = &role["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for rule in role["rules"].as_array().into_iter().flatten() {
            let mut rule: PolicyRule =
                serde_json::from_value(rule.clone()).map_err(|e| wrong(&e))?;
            rule.role = own(&text(&metadata["name"]));
            rule.namespace = metadata["namespace"].as_str().map(str::to_owned);
            rules.push(rule);
        }
    }
    Ok(rules)
}

/// Returns the module, with a line for each rule.
pub(super) fn module(rules: &[PolicyRule]) -> String {
    let mut out = String::from(
        "//! The permissions of the operator, imported from a Go project.\n\n\
         use kubewright::operator::{Operator, PolicyRule};\n\n\
         /// Registers the permissions of the operator.\n\
         pub fn register(operator: &mut Operator) {\n",
    );
    for rule in rules {
        for line in lines(rule) {
            out += &format!("    operator.permit({line});\n");
        }
    }
    out + "}\n"
}

/// Returns a line for each group of the rule; `generate` merges rules that differ only in the group again.
fn lines(rule: &PolicyRule) -> Vec<String> {
    let list = |texts: &[String]| {
        let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
        format!("&[{}]", quoted.join(", "))
    };
    let mut tail = String::new();
    if !rule.resource_names.is_empty() {
        tail += &format!(".resource_names({})", list(&rule.resource_names));
    }
    if let Some(namespace) = &rule.namespace {
        tail += &format!(".namespace({namespace:?})");
    }
    if let Some(role) = &rule.role {
        tail += &format!(".role({role:?})");
    }
    let verbs = list(&rule.verbs);
    let mut lines = Vec::new();
    if !rule.urls.is_empty() {
        let urls = list(&rule.urls);
        lines.push(format!("PolicyRule::urls({urls}, {verbs}){tail}"));
    }
    for group in &rule.api_groups {
        let group = if group == "core" { "" } else { group };
        let resources = list(&rule.resources);
        lines.push(format!(
            "PolicyRule::new({group:?}, {resources}, {verbs}){tail}"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_roles_become_lines_of_rust() {
        let text = "---\nkind: ClusterRole\nmetadata:\n  name: manager-role\nrules:\n- apiGroups: [\"\", apps]\n  resources: [a]\n  verbs: [get]\n---\nkind: Role\nmetadata:\n  name: reader\n  namespace: vault\nrules:\n- nonResourceURLs: [/x]\n  verbs: [get]\n";
        let rules = of_roles("role.yaml", text).unwrap();
        let source = module(&rules);
        let wanted = [
            "    operator.permit(PolicyRule::new(\"\", &[\"a\"], &[\"get\"]));\n",
            "    operator.permit(PolicyRule::new(\"apps\", &[\"a\"], &[\"get\"]));\n",
            "    operator.permit(PolicyRule::urls(&[\"/x\"], &[\"get\"]).namespace(\"vault\").role(\"reader\"));\n",
        ];
        assert!(source.contains(&wanted.concat()), "{source}");
    }
}
