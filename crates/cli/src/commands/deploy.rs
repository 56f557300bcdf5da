//! `kubewright deploy` and `kubewright undeploy`: an operator with everything it needs in a cluster.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use kube::core::DynamicObject;
use kubewright_scaffold::{
    Error,
    generate::{Settings, Target, render},
};
use serde_json::Value;

use crate::{
    cluster::{
        Cluster,
        apply::{Applier, Report},
        manifest,
    },
    operator::{
        duration,
        program::{CargoOutput, build},
    },
    output::Output,
    project::{here, project},
};

/// The file that `kubewright generate yaml` writes.
const INSTALLER: &str = "dist/install.yaml";

#[derive(Args)]
pub(crate) struct Deploy {
    /// Image of the operator, overriding the manifest's
    #[arg(long, visible_alias = "img", value_name = "IMAGE")]
    image: Option<String>,

    #[command(flatten)]
    manifest: Manifest,
}

#[derive(Args)]
pub(crate) struct Undeploy {
    /// Keep the CRDs, and with them all objects of their kinds
    #[arg(long)]
    keep_crds: bool,

    #[command(flatten)]
    manifest: Manifest,
}

#[derive(Args)]
struct Manifest {
    /// Manifest to use [default: dist/install.yaml, or the output of `kubewright generate yaml`]
    #[arg(short, long, visible_alias = "filename", value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    cluster: Cluster,

    /// Time limit for each object to become ready or disappear
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
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
    /// Returns the objects and the field manager.
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
        // This is what `generate yaml` would write.
        let said = match self.output.is_json() {
            true => CargoOutput::Captured,
            false => CargoOutput::Shown,
        };
        let model = build(&project, said).map_err(Error::from)?.describe()?;
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

/// Sets the image of the first container of each Deployment.
fn set_image(objects: &mut [DynamicObject], image: &str) -> Result<(), Error> {
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
        false => Err(Error::new(
            "the manifest has no Deployment with an image",
            "omit --image, or select the manifest of an operator with --file",
        )),
    }
}
