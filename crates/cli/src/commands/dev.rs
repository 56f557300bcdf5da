//! `kubewright dev`: a cluster, the operator of the project on it, and both kept in step with the files of the project.
//!
//! The cluster is a control plane in this process, or with `--context` a real one. The operator is a child process. When a file
//! is saved it is built again; if that succeeds, the definitions that changed are applied and the operator is replaced, while
//! the cluster keeps its state. If it fails, what the compiler says is shown and the old operator keeps running.
//!
//! | module | what it holds |
//! |---|---|
//! | `files` | which files have changed |
//! | `cycle` | from changed files to a running operator |
//! | `child` | the operator's process |
//! | `samples` | objects to try |
//! | `observed` | what the operator does |
//! | `happening`, `screen`, `frame` | how it is shown |

mod child;
mod cycle;
mod files;
mod frame;
mod happening;
mod observed;
mod samples;
mod screen;

use std::{
    ffi::OsString,
    io::{IsTerminal, stdout},
    path::{Path, PathBuf},
};

use clap::Args;
use kube::Client;
use kubewright_builtin_controllers::Controllers;
use kubewright_scaffold::project::Project;
use tokio::sync::watch;

use super::{
    cluster::Cluster,
    conversion::Endpoint,
    plane::Plane,
    planned::{Output, project},
    session::{Alive, Session},
    style::Style,
    up::interrupted,
};
use cycle::Cycle;
use happening::Happening;
use screen::{Screen, View};

#[derive(Args)]
pub(crate) struct Dev {
    #[command(flatten)]
    cluster: Cluster,

    /// The port on this machine to serve the cluster on. 0 lets the system choose.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,

    /// Where to write the kubeconfig of the cluster. By default target/kubewright/kubeconfig; it is removed at the end.
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,

    /// Built-in controllers of the cluster, as for `kubewright up`.
    #[arg(
        long,
        value_name = "LIST",
        default_value = "default",
        allow_hyphen_values = true
    )]
    controllers: Controllers,

    /// Applies the objects of config/samples. By default so, unless the cluster is a real one.
    #[arg(long, num_args = 0..=1, default_missing_value = "true", value_name = "BOOL", require_equals = true)]
    samples: Option<bool>,

    /// Writes lines on a terminal too, instead of drawing a picture.
    #[arg(long)]
    plain: bool,

    #[command(flatten)]
    output: Output,

    /// Arguments for the operator.
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

/// The cluster that is developed on.
struct Place {
    client: Client,
    /// Ends with this.
    _plane: Option<Plane>,
    /// How others reach it.
    cluster: Cluster,
    server: String,
}

impl Dev {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let stop = interrupted()?;
        let project = project()?;
        let terminal = stdout().is_terminal();
        let view = match (self.output.is_json(), terminal && !self.plain) {
            (true, _) => View::Json,
            (false, true) => View::Picture,
            (false, false) => View::Lines,
        };
        let _alive = Alive::begin(project.root())?;
        let screen = Screen::new(view, Style::of(terminal), &project.name);
        let place = self.place(&project).await?;
        screen.tell(Happening::Cluster {
            server: place.server.clone(),
            flags: flags(&place.cluster),
        });
        let endpoint = match place.cluster.is_here().await? {
            true => Some(Endpoint::prepare(&Session::directory(project.root()).join("dev")).await?),
            false => None,
        };
        let (address, of) = watch::channel(None);
        let mut arguments = place.cluster.flags();
        arguments.extend(self.arguments);
        let mut cycle = Cycle {
            project: &project,
            client: place.client.clone(),
            cluster: &place.cluster,
            screen: screen.clone(),
            arguments,
            samples: self.samples.unwrap_or(!self.cluster.is_named()),
            address,
            child: None,
            definitions: Vec::new(),
            building: cycle::Building::default(),
            endpoint,
        };
        let groups = project.own_groups();
        let ended = tokio::select! {
            ended = cycle.run() => ended,
            () = observed::reconciles(of, screen.clone()) => Ok(()),
            () = observed::events(place.client.clone(), groups, screen.clone()) => Ok(()),
            () = screen.draw() => Ok(()),
            () = stop => Ok(()),
        };
        cycle.end().await;
        ended
    }

    /// A control plane in this process, or the cluster that the flags name.
    async fn place(&self, project: &Project) -> anyhow::Result<Place> {
        if self.cluster.is_named() {
            let context = self.cluster.context.clone();
            return Ok(Place {
                client: self.cluster.client().await?,
                _plane: None,
                cluster: self.cluster.clone(),
                server: context.unwrap_or_else(|| "the cluster of the kubeconfig".to_owned()),
            });
        }
        let mut plane = Plane::start(self.controllers.clone()).await?;
        let kubeconfig = match &self.write_kubeconfig {
            Some(path) => super::planned::here()?.join(path),
            None => Session::directory(project.root()).join("kubeconfig"),
        };
        let server = plane
            .listen("kubewright-dev", self.port, &kubeconfig)
            .await?;
        Ok(Place {
            client: plane.client(),
            _plane: Some(plane),
            cluster: Cluster {
                kubeconfig: Some(kubeconfig),
                context: None,
            },
            server,
        })
    }
}

/// The flags that name the cluster, paths as short as they can be said from here.
fn flags(cluster: &Cluster) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let shown = |flag: &OsString| {
        let path = Path::new(flag);
        let path = path.strip_prefix(&here).unwrap_or(path);
        path.display().to_string()
    };
    let flags: Vec<String> = cluster.flags().iter().map(shown).collect();
    flags.join(" ")
}
