//! The permissions of a Go project, as a Rust module.

use kubewright_schema::yaml::parse_yaml;
use serde_json::Value;

use crate::{Refusal, generate::model::Rule};

/// The file of the permissions.
pub(super) const PATH: &str = "src/permissions.rs";

/// The rules of the roles in a YAML text: what controller-gen wrote.
pub(super) fn of_roles(path: &str, text: &str) -> Result<Vec<Rule>, Refusal> {
    let wrong = |e: &dyn std::fmt::Display| {
        Refusal::new(format_args!("{path} cannot be read: {e}"), "correct it")
    };
    let mut rules = Vec::new();
    for part in text.split("\n---") {
        let part = part.strip_prefix("---").unwrap_or(part);
        let yaml = parse_yaml(part.as_bytes()).map_err(|e| wrong(&e))?;
        let role = yaml.node.into_value().map_err(|e| wrong(&e))?;
        let own = |name: &str| match name {
            "" | "manager-role" => None,
            other => Some(other.to_owned()),
        };
        let metadata = &role["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for rule in role["rules"].as_array().into_iter().flatten() {
            let mut rule: Rule = serde_json::from_value(rule.clone()).map_err(|e| wrong(&e))?;
            rule.role = own(&text(&metadata["name"]));
            rule.namespace = metadata["namespace"].as_str().map(str::to_owned);
            rules.push(rule);
        }
    }
    Ok(rules)
}

/// The module: a line for each rule.
pub(super) fn module(rules: &[Rule]) -> String {
    let mut out = String::from(
        "//! What the operator may do. It began as the permissions of a Go project.\n\n\
         use kubewright::operator::{Operator, RuleModel};\n\n\
         /// Registers what does not follow from what the controllers watch and own, and what does.\n\
         pub fn register(operator: &mut Operator) {\n",
    );
    for rule in rules {
        for line in lines(rule) {
            out += &format!("    operator.permit({line});\n");
        }
    }
    out + "}\n"
}

/// The rule, once for each group; rules that differ in the group only become one again when roles are made.
fn lines(rule: &Rule) -> Vec<String> {
    let list = |texts: &[String]| {
        let quoted: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
        format!("&[{}]", quoted.join(", "))
    };
    let mut tail = String::new();
    if !rule.resource_names.is_empty() {
        tail += &format!(".named({})", list(&rule.resource_names));
    }
    if let Some(namespace) = &rule.namespace {
        tail += &format!(".within({namespace:?})");
    }
    if let Some(role) = &rule.role {
        tail += &format!(".in_role({role:?})");
    }
    let verbs = list(&rule.verbs);
    let mut lines = Vec::new();
    if !rule.urls.is_empty() {
        let urls = list(&rule.urls);
        lines.push(format!("RuleModel::urls({urls}, {verbs}){tail}"));
    }
    for group in &rule.api_groups {
        let group = if group == "core" { "" } else { group };
        let resources = list(&rule.resources);
        lines.push(format!(
            "RuleModel::new({group:?}, {resources}, {verbs}){tail}"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_roles_are_lines_of_rust() {
        let text = "---\nkind: ClusterRole\nmetadata:\n  name: manager-role\nrules:\n- apiGroups: [\"\", apps]\n  resources: [a]\n  verbs: [get]\n---\nkind: Role\nmetadata:\n  name: reader\n  namespace: vault\nrules:\n- nonResourceURLs: [/x]\n  verbs: [get]\n";
        let rules = of_roles("role.yaml", text).unwrap();
        let source = module(&rules);
        let wanted = [
            "    operator.permit(RuleModel::new(\"\", &[\"a\"], &[\"get\"]));\n",
            "    operator.permit(RuleModel::new(\"apps\", &[\"a\"], &[\"get\"]));\n",
            "    operator.permit(RuleModel::urls(&[\"/x\"], &[\"get\"]).within(\"vault\").in_role(\"reader\"));\n",
        ];
        assert!(source.contains(&wanted.concat()), "{source}");
    }
}
