//! `kubewright lint`: checks a project without a cluster.

use std::io::{IsTerminal, stdout};

use clap::Args;
use kubewright_operator::Model;
use kubewright_scaffold::{
    Edits, Project,
    generate::{Target, plan},
};
use serde_json::json;

use super::doctor::{Finding, webhooks};
use crate::{
    exit::Exit,
    operator::OperatorFlags,
    output::{Output, say},
    project::project,
    terminal::style::Style,
};

/// The verbs by which a user can obtain permissions that no rule names.
const OF_OTHERS: [&str; 3] = ["bind", "escalate", "impersonate"];

#[derive(Args)]
pub(crate) struct Lint {
    #[command(flatten)]
    operator: OperatorFlags,

    #[command(flatten)]
    output: Output,
}

impl Lint {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let project = project()?;
        let model = self.operator.described(self.output.is_json())?;
        let mut findings = webhooks::findings(&model, &project.name);
        findings.extend(permissions(&model));
        findings.extend(outdated(&project, &model)?);
        let good = findings.is_empty();
        match self.output.is_json() {
            true => self
                .output
                .value(&json!({"good": good, "findings": findings}))?,
            false if good => say("nothing to complain about\n")?,
            false => {
                let style = Style::of(stdout().is_terminal());
                let lines: String = findings.iter().map(|it| it.line(style)).collect();
                say(&lines)?;
            }
        }
        match good {
            true => Ok(()),
            false => Err(Exit(1).into()),
        }
    }
}

/// Returns findings about rules that grant more than an operator can mean.
fn permissions(model: &Model) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in &model.rules {
        let about = match rule.resources.is_empty() {
            true => rule.urls.join(", "),
            false => rule.resources.join(", "),
        };
        let mut warn = |found: String, advice: &str| {
            findings.push(Finding::warning("permissions", found, advice));
        };
        let is_any = |list: &[String]| list.iter().any(|item| item == "*");
        if is_any(&rule.verbs) {
            warn(
                format!("a rule allows every verb on {about}"),
                "name the verbs that the operator needs",
            );
        }
        if is_any(&rule.resources) || is_any(&rule.api_groups) {
            let groups = rule.api_groups.join(", ");
            warn(
                format!("a rule is about {about} of the API groups {groups:?}"),
                "name the resources that the operator needs",
            );
        }
        let others = rule
            .verbs
            .iter()
            .filter(|verb| OF_OTHERS.contains(&verb.as_str()));
        let others: Vec<&str> = others.map(String::as_str).collect();
        if !others.is_empty() && rule.resource_names.is_empty() {
            warn(
                format!(
                    "a rule allows the operator to {} any {about}",
                    others.join(" and ")
                ),
                "name the objects with PolicyRule::resource_names",
            );
        }
    }
    findings
}

/// Returns a finding about generated files that differ from the code.
fn outdated(project: &Project, model: &Model) -> anyhow::Result<Option<Finding>> {
    let targets: Vec<Target> = match &project.generate {
        Some(names) => Target::ALL
            .into_iter()
            .filter(|target| names.iter().any(|name| name == target.name()))
            .collect(),
        None => Target::ALL.to_vec(),
    };
    let plan = plan(project, model, &targets, Edits::Discard)?;
    // Files that were never generated are not outdated.
    let changes = plan.changes().iter();
    let changed: Vec<&str> = changes
        .filter(|change| change.before.is_some())
        .map(|change| change.path.as_str())
        .collect();
    Ok((!changed.is_empty()).then(|| {
        let found = format!(
            "the code generates something else than {}",
            changed.join(", ")
        );
        Finding::warning("generated", found, "run `kubewright generate`")
    }))
}

#[cfg(test)]
mod tests {
    use kubewright_operator::PolicyRule;

    use super::*;

    fn found(rule: PolicyRule) -> Vec<String> {
        let mut model = Model::new("crew");
        model.rules = vec![rule];
        let findings = permissions(&model).into_iter();
        findings.map(|it| it.line(Style::of(false))).collect()
    }

    #[test]
    fn rules_that_grant_more_than_is_meant_are_found() {
        let any = found(PolicyRule::new("*", &["*"], &["*"]));
        assert_eq!(any.len(), 2, "{any:?}");
        let bind = |names: &[&str]| {
            let rule = PolicyRule::new("rbac.authorization.k8s.io", &["clusterroles"], &["bind"]);
            found(rule.resource_names(names))
        };
        let expected = "warning  permissions  a rule allows the operator to bind any clusterroles; name the objects with PolicyRule::resource_names\n";
        assert_eq!(bind(&[]), [expected]);
        assert!(bind(&["view"]).is_empty());
        assert!(found(PolicyRule::new("", &["pods"], &["get", "list"])).is_empty());
    }
}
