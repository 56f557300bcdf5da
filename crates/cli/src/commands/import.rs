//! `kubewright import`: Rust types from CRDs in files or a cluster; projects from kubebuilder projects.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use clap::{Args, Subcommand};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kubewright_scaffold::{
    Error, ImportError, ImportProject, Plan, import_crds, import_crds_together,
};
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, refused},
    output::{PlanArgs, say, warn},
    project::{dependency, here},
};

#[derive(Args)]
pub(crate) struct Import {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Generate Rust types from a CustomResourceDefinition
    Crd(Crd),

    /// Create a Rust project from a kubebuilder project, with the same kinds and permissions and empty controllers
    Kubebuilder(Kubebuilder),
}

#[derive(Args)]
struct Kubebuilder {
    /// Directory of the Go project
    from: PathBuf,

    /// Directory of the new project
    #[arg(long, value_name = "DIRECTORY")]
    out: PathBuf,

    /// Name of the project [default: that of the Go project]
    #[arg(long, visible_alias = "name", value_name = "NAME")]
    project_name: Option<String>,

    /// Dependency on kubewright: a version, git+URL, or the path of a checkout
    #[arg(long, value_name = "PATH|VERSION")]
    kubewright: Option<String>,

    #[command(flatten)]
    plan: PlanArgs,
}

impl Kubebuilder {
    fn run(self) -> anyhow::Result<()> {
        let import = ImportProject {
            from: here()?.join(&self.from),
            name: self.project_name,
            kubewright: dependency(self.kubewright.as_deref())?,
        };
        let imported = import.plan(&here()?.join(&self.out), formatted)?;
        for note in &imported.notes {
            warn(format_args!("note: {note}"));
        }
        let next = format!("cd {} && cargo test", self.out.display());
        self.plan.carry_out(&imported.plan, &next)
    }
}

#[derive(Args)]
struct Crd {
    /// CRD files, "-" for standard input, or with --cluster names of CRDs, e.g. certificates.cert-manager.io
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<String>,

    /// Read the CRDs from the cluster of the kubeconfig
    #[arg(long)]
    cluster: bool,

    /// Kubeconfig context to use
    #[arg(long, value_name = "NAME", requires = "cluster")]
    context: Option<String>,

    /// Import only this version
    #[arg(long, visible_alias = "api-version", value_name = "VERSION")]
    version: Option<String>,

    /// Directory to write the types to, one file for each version and one for shared types; printed if omitted
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,

    /// Overwrite existing files
    #[arg(long, requires = "out")]
    force: bool,

    #[command(flatten)]
    plan: PlanArgs,
}

impl Import {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Crd(crd) => crd.run().await,
            What::Kubebuilder(kubebuilder) => kubebuilder.run(),
        }
    }
}

impl Crd {
    async fn run(self) -> anyhow::Result<()> {
        let mut texts = Vec::new();
        let mut modules = Vec::new();
        for source in &self.sources {
            let text = match self.cluster {
                true => from_cluster(source, self.context.clone()).await?,
                false => from_file(source)?,
            };
            modules.extend(import_crds(&text).map_err(|e| not_imported(source, &e))?);
            texts.push(text);
        }
        let wanted = |version: &str| self.version.as_ref().is_none_or(|it| it == version);
        modules.retain(|module| wanted(&module.version));
        if modules.is_empty() {
            let version = self.version.unwrap_or_default();
            let wrong = format!("{} has no version {version:?}", self.sources.join(", "));
            return Err(Error::new(wrong, "omit --version to import all versions").into());
        }
        let Some(out) = &self.out else {
            if let Some(output) = self.plan.json() {
                let modules: Vec<Value> = modules
                    .iter()
                    .map(|it| json!({"version": it.version, "source": formatted(&it.source)}))
                    .collect();
                return output.value(&json!({ "modules": modules }));
            }
            return modules
                .iter()
                .try_for_each(|module| say(&formatted(&module.source)));
        };
        let together = import_crds_together(&texts.join("\n---\n"), |_, version| wanted(version))
            .map_err(|e| not_imported(&self.sources.join(", "), &e))?;
        let mut plan = Plan::new(here()?.join(out));
        for module in &together.modules {
            let path = format!("{}_{}.rs", module.plural, module.version);
            self.add(&mut plan, &path, &module.source)?;
        }
        if !together.shared.is_empty() {
            self.add(&mut plan, "shared.rs", &together.shared)?;
        }
        self.plan
            .carry_out(&plan, "declare the files as sibling modules")
    }

    /// Adds a file to the plan, or replaces it with `--force`.
    fn add(&self, plan: &mut Plan, path: &str, source: &str) -> Result<(), Error> {
        match self.force {
            true => plan.set(path, Some(formatted(source))),
            false => plan.create(path, formatted(source)),
        }
    }
}

fn not_imported(source: &str, error: &ImportError) -> Error {
    match error.to_string().split_once("; ") {
        Some((wrong, advice)) => Error::new(format_args!("{source}: {wrong}"), advice),
        None => Error::new(format_args!("{source}: {error}"), "check the input"),
    }
}

fn from_file(source: &str) -> Result<String, Error> {
    let path = Path::new(source);
    let read = match source {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        }
        _ => fs::read_to_string(path),
    };
    read.map_err(|e| Error::io("read", path, &e))
}

async fn from_cluster(name: &str, context: Option<String>) -> Result<String, Error> {
    let cluster = Cluster {
        kubeconfig: None,
        context,
    };
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client().await?);
    let found = api.get_opt(name).await;
    let definition = found.map_err(|e| refused(format_args!("read {name}"), &e))?;
    let definition = definition.ok_or_else(|| {
        Error::new(
            format_args!("the cluster has no CRD {name:?}"),
            "use plural.group, as shown by `kubectl get crds`",
        )
    })?;
    serde_json::to_string(&definition).map_err(|e| Error::new(e, "import it from a file"))
}

/// Formats source code with rustfmt, or returns it unchanged if there is no rustfmt.
fn formatted(source: &str) -> String {
    let run = || {
        let mut child = Command::new("rustfmt")
            .args(["--edition", "2024", "--emit", "stdout"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut input = child.stdin.take()?;
        let source = source.to_owned();
        let writer =
            std::thread::spawn(move || std::io::Write::write_all(&mut input, source.as_bytes()));
        let output = child.wait_with_output().ok()?;
        writer.join().ok()?.ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    run().unwrap_or_else(|| source.to_owned())
}
