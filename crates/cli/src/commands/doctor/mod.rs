//! `kubewright doctor`: checks the toolchain, project, cluster, permissions and ports.

mod aggregated;
mod cluster;
mod finding;
mod machine;
mod registered;
mod running;
pub(super) mod webhooks;

use std::io::{IsTerminal, stdout};

use clap::Args;
use serde_json::json;

pub(super) use finding::{Finding, Verdict};

use crate::{
    cluster::Cluster,
    exit::Exit,
    operator::program::Program,
    output::{Output, say},
    project::{project, session::or_session},
    terminal::style::Style,
};

#[derive(Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    cluster: Cluster,

    #[command(flatten)]
    output: Output,
}

impl Doctor {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let mut findings = machine::findings();
        let project = project();
        let program = match &project {
            Ok(project) => {
                let kinds = project.resources.len();
                let found = format!("{}, {kinds} kinds", project.name);
                findings.push(Finding::good("project", found));
                machine::built(project)
            }
            Err(error) => {
                let found = error.to_string();
                findings.push(Finding::new("project", Verdict::Warning, found, ""));
                None
            }
        };
        let described = match program.as_deref().map(|path| Program::at(path).describe()) {
            Some(Ok(described)) => Some(described),
            Some(Err(refusal)) => {
                findings.push(Finding::bad("operator", refusal.to_string(), ""));
                None
            }
            None if project.is_ok() => {
                let advice = "run `cargo build` to check its permissions";
                findings.push(Finding::warning("operator", "not built", advice));
                None
            }
            None => None,
        };
        if let Some(described) = &described {
            let name = project.as_ref().map_or(&described.name, |it| &it.name);
            findings.extend(webhooks::findings(described, name));
        }
        let flags = or_session(&self.cluster);
        findings.extend(cluster::findings(&flags, described.as_ref()).await);
        let bad = findings.iter().any(|it| it.verdict == Verdict::Bad);
        match self.output.is_json() {
            true => self
                .output
                .value(&json!({"good": !bad, "findings": findings}))?,
            false => {
                let style = Style::of(stdout().is_terminal());
                let lines: String = findings.iter().map(|it| it.line(style)).collect();
                say(&lines)?;
            }
        }
        match bad {
            true => Err(Exit(1).into()),
            false => Ok(()),
        }
    }
}
