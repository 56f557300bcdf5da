//! `kubewright deploy` and `kubewright undeploy`: all that an operator needs in a cluster, from a manifest, and the operator.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use kube::core::DynamicObject;
use kubewright_scaffold::{
    Refusal,
    generate::{Settings, Target, render},
};
use serde_json::Value;

use super::{
    apply::{Applier, Report},
    cluster::Cluster,
    conversion::note,
    manifest,
    operator::duration,
    planned::{Output, here, project},
    program::{Said, build},
};

/// What `kubewright generate yaml` writes.
const INSTALLER: &str = "dist/install.yaml";

#[derive(Args)]
pub(crate) struct Deploy {
    /// The image of the operator, instead of that of the manifest.
    #[arg(long, visible_alias = "img", value_name = "IMAGE")]
    image: Option<String>,

    #[command(flatten)]
    manifest: Manifest,
}

#[derive(Args)]
pub(crate) struct Undeploy {
    /// Leaves the definitions in the cluster, and so the objects of these kinds.
    #[arg(long)]
    keep_crds: bool,

    #[command(flatten)]
    manifest: Manifest,
}

#[derive(Args)]
struct Manifest {
    /// The manifest: a file of YAML documents. By default dist/install.yaml of the project, or what `kubewright generate yaml`
    /// would write there.
    #[arg(short, long, visible_alias = "filename", value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    cluster: Cluster,

    /// How long each object may take to be ready, or gone.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    timeout: Duration,

    #[command(flatten)]
    output: Output,
}

impl Deploy {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let (report, client) = self.manifest.begin().await?;
        let (mut objects, manager) = self.manifest.objects()?;
        if let Some(image) = &self.image {
            set_image(&mut objects, image)?;
        }
        let mut applier = Applier::new(client, &manager, self.manifest.timeout, &report);
        let outcomes = applier.apply(objects).await?;
        match self.manifest.output.is_json() {
            true => self.manifest.output.value(&Report::value(&outcomes)),
            false => Ok(()),
        }
    }
}

impl Undeploy {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let (report, client) = self.manifest.begin().await?;
        let (mut objects, manager) = self.manifest.objects()?;
        if self.keep_crds {
            objects.retain(|object| !is(object, "CustomResourceDefinition"));
        }
        let mut applier = Applier::new(client, &manager, self.manifest.timeout, &report);
        let outcomes = applier.delete(objects).await?;
        match self.manifest.output.is_json() {
            true => self.manifest.output.value(&Report::value(&outcomes)),
            false => Ok(()),
        }
    }
}

impl Manifest {
    /// The objects, and who applies them.
    fn objects(&self) -> anyhow::Result<(Vec<DynamicObject>, String)> {
        if let Some(file) = &self.file {
            let manager = project().map_or_else(|_| "kubewright".to_owned(), |it| it.name);
            return Ok((manifest::read(&here()?.join(file))?, manager));
        }
        let project = project()?;
        let path = project.root().join(INSTALLER);
        if path.is_file() {
            return Ok((manifest::read(&path)?, project.name));
        }
        // What `generate yaml` would write.
        let said = match self.output.is_json() {
            true => Said::Kept,
            false => Said::Shown,
        };
        let model = build(&project, said).map_err(Refusal::from)?.describe()?;
        if let Some(note) = note(&model) {
            eprintln!("{note}");
        }
        let files = render(&model, &Settings::of(&project, &model), &[Target::Yaml])?;
        let mut objects = Vec::new();
        for file in files {
            objects.extend(manifest::parsed(&file.text, &file.path)?);
        }
        Ok((objects, project.name))
    }

    async fn begin(&self) -> anyhow::Result<(Report, kube::Client)> {
        let client = self.cluster.client().await?;
        Ok((Report::new(self.output.is_json()), client))
    }
}

fn is(object: &DynamicObject, kind: &str) -> bool {
    let types = object.types.as_ref();
    types.is_some_and(|types| types.kind == kind)
}

/// Gives the operator another image: the first container of each Deployment.
fn set_image(objects: &mut [DynamicObject], image: &str) -> Result<(), Refusal> {
    let mut found = false;
    for object in objects.iter_mut().filter(|it| is(it, "Deployment")) {
        let at = "/spec/template/spec/containers/0/image";
        if let Some(place) = object.data.pointer_mut(at) {
            *place = Value::from(image);
            found = true;
        }
    }
    match found {
        true => Ok(()),
        false => Err(Refusal::new(
            "the manifest has no Deployment with an image",
            "leave out --image, or name the manifest of an operator with --file",
        )),
    }
}
