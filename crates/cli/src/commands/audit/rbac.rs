//! `kubewright audit rbac`: permissions that are missing, and those that were never used.

use std::process::Stdio;

use clap::Args;
use kubewright_cluster::Permission;
use kubewright_rbac::Advice;
use kubewright_scaffold::{Error, Project};
use serde_json::json;

use super::compare::{Finding, compare};
use crate::{
    exit::Exit,
    operator::{
        OperatorFlags,
        program::{cargo, no_cargo},
    },
    output::{Output, say, table},
    project::{permissions, project},
};

/// The variable with the directory to which the tests of an operator write the permissions they used.
const DIRECTORY: &str = "KUBEWRIGHT_PERMISSIONS";

#[derive(Args)]
pub(crate) struct Rbac {
    /// Run the tests of the project first, and forget what earlier ones used
    #[arg(long)]
    test: bool,

    #[command(flatten)]
    operator: OperatorFlags,

    #[command(flatten)]
    output: Output,
}

impl Rbac {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let project = project()?;
        if self.test {
            self.run_tests(&project)?;
        }
        let used = permissions::read(project.root())?;
        if used.is_empty() {
            return Err(Error::new(
                "nothing is known about the permissions that the operator uses",
                "run `kubewright audit rbac --test`, or `kubewright dev` for a while",
            )
            .into());
        }
        let model = self.operator.described(self.output.is_json())?;
        let findings = compare(&model, &used);
        let missing: Vec<Permission> = findings
            .iter()
            .filter(|finding| finding.is_missing)
            .flat_map(Finding::permissions)
            .collect();
        let advice = Advice::new("the operator", missing).only_named();
        match self.output.is_json() {
            true => self.output.value(&json!({
                "missing": findings.iter().filter(|it| it.is_missing).collect::<Vec<_>>(),
                "neverUsed": findings.iter().filter(|it| !it.is_missing).collect::<Vec<_>>(),
                "rulesToAdd": advice.rules(),
            }))?,
            false => say(&page(&findings, &advice))?,
        }
        match findings.iter().any(|finding| finding.is_missing) {
            true => Err(Exit(1).into()),
            false => Ok(()),
        }
    }

    fn run_tests(&self, project: &Project) -> anyhow::Result<()> {
        permissions::forget_tests(project.root())?;
        let mut command = cargo(project);
        command
            .arg("test")
            .env(
                DIRECTORY,
                permissions::directory(project.root()).join("tests"),
            )
            .stdin(Stdio::null());
        if self.output.is_json() {
            command.stdout(Stdio::null());
        }
        let status = command.status().map_err(|e| no_cargo(&e))?;
        match status.success() {
            true => Ok(()),
            // Tests that fail for want of a permission are what the audit is for.
            false => {
                crate::output::warn("warning: tests failed; the audit covers what they did");
                Ok(())
            }
        }
    }
}

fn page(findings: &[Finding], advice: &Advice) -> String {
    if findings.is_empty() {
        return "every permission was used, and none is missing\n".to_owned();
    }
    let rows: Vec<Vec<String>> = findings.iter().map(Finding::cells).collect();
    let mut text = table(&["STATE", "RESOURCE", "VERBS", "FROM"], &rows);
    if findings.iter().any(|finding| finding.is_missing) {
        text += &format!("\n{advice}\n");
    }
    text
}
