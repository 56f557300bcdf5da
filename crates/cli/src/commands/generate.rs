//! `kubewright generate`: generates files from the operator's description of itself.

use clap::{Args, ValueEnum};
use kubewright_operator::Model;
use kubewright_scaffold::{
    Edits, Error, Plan, Project,
    generate::{Settings, Target, plan, render},
};
use serde_json::{Value, json};

use crate::{
    exit::Exit,
    operator::program::{CargoOutput, build},
    output::{Output, report, say},
    project::project,
};

#[derive(Args)]
pub(crate) struct Generate {
    /// Targets to generate [default: those under `generate` in operator.toml, or all]
    #[arg(value_enum, value_name = "TARGET")]
    what: Vec<What>,

    /// Change nothing, list the files that differ, and exit with code 1 if there are any
    #[arg(long, conflicts_with_all = ["stdout", "force"])]
    check: bool,

    /// Print the files instead of writing them
    #[arg(long)]
    stdout: bool,

    /// Print the changes as a diff without writing them
    #[arg(long)]
    dry_run: bool,

    /// Overwrite generated files that were edited
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// CRDs: config/crd/bases
    Crd,
    /// RBAC roles: config/rbac
    Rbac,
    /// Webhook configurations and their Service: config/webhook
    Webhook,
    /// APIServices of kinds that the program serves itself, and their Service: config/apiserver
    Apiserver,
    /// The complete kustomize tree: config
    Kustomize,
    /// One file with everything to install: dist/install.yaml
    Yaml,
    /// A Helm chart: dist/chart
    Helm,
    /// A sample object of each kind: config/samples
    Samples,
    /// API reference: docs/api.md
    Docs,
    /// JSON schemas for editors: config/schema
    Schema,
    /// Dashboards for Grafana, alert rules and a ServiceMonitor: config/observability
    Dashboards,
    /// All targets
    All,
}

impl What {
    fn target(self) -> Option<Target> {
        match self {
            What::Crd => Some(Target::Crd),
            What::Rbac => Some(Target::Rbac),
            What::Webhook => Some(Target::Webhook),
            What::Apiserver => Some(Target::ApiServer),
            What::Kustomize => Some(Target::Kustomize),
            What::Yaml => Some(Target::Yaml),
            What::Helm => Some(Target::Helm),
            What::Samples => Some(Target::Samples),
            What::Docs => Some(Target::Docs),
            What::Schema => Some(Target::Schema),
            What::Dashboards => Some(Target::Dashboards),
            What::All => None,
        }
    }
}

impl Generate {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let project = project()?;
        let targets = self.targets(&project)?;
        let program = build(&project, CargoOutput::Captured).map_err(Error::from)?;
        let model = program.describe()?;
        if self.stdout {
            return self.print(&project, &model, &targets);
        }
        // With --check, an edited file counts as different.
        let edits = match self.force || self.check {
            true => Edits::Discard,
            false => Edits::Keep,
        };
        let plan = plan(&project, &model, &targets, edits)?;
        match self.check {
            true => self.check(&plan),
            false => report(&self.output, self.dry_run, &plan, ""),
        }
    }

    fn targets(&self, project: &Project) -> Result<Vec<Target>, Error> {
        let named: Vec<Target> = self.what.iter().filter_map(|what| what.target()).collect();
        if !named.is_empty() && named.len() == self.what.len() {
            return Ok(named);
        }
        match (&project.generate, self.what.is_empty()) {
            (Some(names), true) => names.iter().map(|name| target(name)).collect(),
            _ => Ok(Target::ALL.to_vec()),
        }
    }

    fn check(&self, plan: &Plan) -> anyhow::Result<()> {
        let changes = plan.changes();
        if self.output.is_json() {
            let differs: Vec<&str> = changes.iter().map(|it| it.path.as_str()).collect();
            self.output
                .value(&json!({"current": differs.is_empty(), "differs": differs}))?;
        } else if changes.is_empty() {
            say("everything is up to date\n")?;
        } else {
            let mut text = String::new();
            for change in changes {
                let how = match (&change.before, &change.after) {
                    (None, _) => "missing  ",
                    (_, None) => "left over",
                    _ => "differs  ",
                };
                text += &format!("{how} {}\n", change.path);
            }
            say(&(text + "next: kubewright generate\n"))?;
        }
        match changes.is_empty() {
            true => Ok(()),
            false => Err(Exit(1).into()),
        }
    }

    fn print(&self, project: &Project, model: &Model, targets: &[Target]) -> anyhow::Result<()> {
        let files = render(model, &Settings::of(project, model), targets)?;
        if self.output.is_json() {
            let files: Vec<Value> = files
                .iter()
                .map(|file| json!({"path": file.path, "text": file.text}))
                .collect();
            return self.output.value(&json!({"files": files}));
        }
        let mut text = String::new();
        for file in &files {
            // All files form one YAML stream.
            let begins = file.text.lines().nth(1) == Some("---");
            if !begins && file.path.ends_with(".yaml") {
                text += "---\n";
            }
            text += &file.text;
        }
        say(&text)
    }
}

fn target(name: &str) -> Result<Target, Error> {
    let found = Target::ALL.into_iter().find(|target| target.name() == name);
    found.ok_or_else(|| {
        let names = Target::ALL.map(Target::name).join(", ");
        Error::new(
            format_args!("{name:?} under \"generate\" in operator.toml is not a target"),
            format_args!("use any of {names}"),
        )
    })
}
