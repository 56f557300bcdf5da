//! `kubewright doctor`: checks the toolchain, project, cluster, permissions and ports.

mod cluster;
mod machine;
mod registered;
mod webhooks;

use std::io::{IsTerminal, stdout};

use clap::Args;
use serde::Serialize;
use serde_json::json;

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

/// The result of a check.
#[derive(Clone, Debug, Serialize)]
struct Finding {
    what: String,
    verdict: Verdict,
    /// The finding.
    found: String,
    /// The advice.
    #[serde(skip_serializing_if = "String::is_empty")]
    advice: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Verdict {
    Good,
    /// Something works less well without it.
    Warning,
    /// Something does not work without it.
    Bad,
}

impl Finding {
    fn good(what: &str, found: impl Into<String>) -> Self {
        Self::new(what, Verdict::Good, found, "")
    }

    fn warning(what: &str, found: impl Into<String>, advice: &str) -> Self {
        Self::new(what, Verdict::Warning, found, advice)
    }

    fn bad(what: &str, found: impl Into<String>, advice: &str) -> Self {
        Self::new(what, Verdict::Bad, found, advice)
    }

    fn new(what: &str, verdict: Verdict, found: impl Into<String>, advice: &str) -> Self {
        Self {
            what: what.to_owned(),
            verdict,
            found: found.into(),
            advice: advice.to_owned(),
        }
    }

    fn line(&self, style: Style) -> String {
        let mark = match self.verdict {
            Verdict::Good => style.green("ok     "),
            Verdict::Warning => style.yellow("warning"),
            Verdict::Bad => style.red("bad    "),
        };
        let advice = match self.advice.as_str() {
            "" => String::new(),
            advice => format!("; {advice}"),
        };
        format!("{mark}  {:<12} {}{advice}\n", self.what, self.found)
    }
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
