//! `kubewright console`: the console of the running session, or of any cluster.

use std::{fs, path::PathBuf};

use clap::{Args, Subcommand};
use kubewright_scaffold::Error;
use serde_json::json;

use crate::{
    cluster::{
        Cluster,
        console::{ConsoleArgs, Subject, Where, open},
    },
    output::{Output, say_line},
    project::{
        project,
        session::{Session, or_session},
    },
    signal::interrupted,
};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Console {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    cluster: Cluster,

    #[command(flatten)]
    console: ConsoleArgs,

    /// Open the browser at once
    #[arg(long)]
    open: bool,

    #[command(flatten)]
    output: Output,
}

#[derive(Subcommand)]
enum Action {
    /// Write the pages with the current data to one file, which needs no server. Values of Secrets are left out
    Export(Export),
}

#[derive(Args)]
struct Export {
    #[command(flatten)]
    cluster: Cluster,

    /// File to write
    #[arg(value_name = "FILE", default_value = "kubewright.html")]
    file: PathBuf,

    #[command(flatten)]
    output: Output,
}

impl Export {
    async fn run(self) -> anyhow::Result<()> {
        let cluster = or_session(&self.cluster);
        let title = cluster.context.clone();
        let title = title.unwrap_or_else(|| "kubewright console".to_owned());
        let html = kubewright_console::export(cluster.client().await?, &title).await;
        let html = html.map_err(|e| Error::new(e, "check --kubeconfig and --context"))?;
        let written = fs::write(&self.file, &html);
        written.map_err(|e| Error::io("write", &self.file, &e))?;
        let file = self.file.display();
        say_line(&match self.output.is_json() {
            true => {
                let file = file.to_string();
                json!({"what": "export", "file": file, "bytes": html.len()}).to_string()
            }
            false => format!("wrote {file} ({} KiB)", html.len() >> 10),
        })
    }
}

impl Console {
    pub(crate) async fn run(mut self) -> anyhow::Result<()> {
        if let Some(Action::Export(export)) = self.action.take() {
            return export.run().await;
        }
        let session = match self.cluster.is_named() {
            true => None,
            false => Session::find(),
        };
        // The session's own console knows all that the session knows.
        if let Some(url) = session.and_then(|session| session.console) {
            self.announce(&url)?;
            if self.open {
                let name = format!("kubewright-console-{}.html", std::process::id());
                open(&url, &std::env::temp_dir().join(name))?;
            }
            return Ok(());
        }
        let stop = interrupted()?;
        let cluster = or_session(&self.cluster);
        let client = cluster.client().await?;
        let project = project().ok();
        let title = cluster.context.as_deref().unwrap_or("kubewright console");
        let subject = Subject::new(title, Where::Elsewhere);
        let subject = match &project {
            Some(project) => subject.project(project.root()),
            None => subject,
        };
        let console = self.console.started(client, subject).await?;
        self.announce(console.url())?;
        if self.open {
            console.open();
        }
        tokio::select! {
            () = stop => Ok(()),
            () = console.open_on_key() => Ok(()),
        }
    }

    fn announce(&self, url: &str) -> anyhow::Result<()> {
        say_line(&match self.output.is_json() {
            true => json!({"what": "console", "url": url}).to_string(),
            false => format!("console  {url}"),
        })
    }
}
