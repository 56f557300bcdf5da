//! The console of a command: its flags, its address, and the key that opens it.

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use clap::Args;
use kube::Client;
use kubewright_cluster::{Lab, write_secret_file};
use kubewright_console::{Console, ConsoleError, LocalOperator};
use kubewright_scaffold::Error;

use crate::output::warn;
#[cfg(unix)]
use crate::terminal::keys::Keys;

/// The key that opens the console.
#[cfg(unix)]
const OPEN: u8 = b'o';

/// The directory of a project in which tests save the results of perturbations.
const PERTURBATIONS: &str = "target/kubewright/perturbations";

/// The directory of a project in which `dev` saves its sessions.
pub(crate) const SESSIONS: &str = "target/kubewright/sessions";

/// The flags of the console.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ConsoleArgs {
    /// Loopback address of the console in the browser [default: a free port of 127.0.0.1]
    #[arg(long = "console", value_name = "ADDRESS")]
    console_address: Option<SocketAddr>,

    /// Start no console
    #[arg(long, conflicts_with = "console_address")]
    no_console: bool,

    /// Directory to read the pages of the console from, to change them without a build
    #[arg(long, value_name = "DIR", hide = true)]
    console_dir: Option<PathBuf>,
}

/// A running console.
pub(crate) struct RunningConsole {
    console: Console,
    /// The page that leads the browser to the console; it is removed at the end.
    page: PathBuf,
}

/// The subject of a console.
pub(crate) struct Subject<'a> {
    /// The title of the pages.
    title: &'a str,
    place: Where,
    project: Option<&'a Path>,
    operator: Option<Arc<dyn LocalOperator>>,
}

/// The place of the cluster: in this program, with which it ends, or elsewhere.
#[derive(Clone)]
pub(crate) enum Where {
    /// Here, with the experiments that are allowed.
    Here(Option<Lab>),
    Elsewhere,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(title: &'a str, place: Where) -> Self {
        Self {
            title,
            place,
            project: None,
            operator: None,
        }
    }

    /// Sets the root of the project whose test results and earlier sessions are shown.
    pub(crate) fn project(mut self, root: &'a Path) -> Self {
        self.project = Some(root);
        self
    }

    /// Sets the operator whose metrics are plotted and whose controllers can be paused.
    pub(crate) fn operator(mut self, operator: impl LocalOperator + 'static) -> Self {
        self.operator = Some(Arc::new(operator));
        self
    }
}

impl ConsoleArgs {
    /// Starts the console, unless the flags say otherwise.
    pub(crate) async fn start(
        &self,
        client: Client,
        subject: Subject<'_>,
    ) -> anyhow::Result<Option<RunningConsole>> {
        match self.no_console {
            true => Ok(None),
            false => self.started(client, subject).await.map(Some),
        }
    }

    /// Starts the console.
    pub(crate) async fn started(
        &self,
        client: Client,
        subject: Subject<'_>,
    ) -> anyhow::Result<RunningConsole> {
        let mut builder = Console::builder(client).title(subject.title);
        if let Where::Here(lab) = subject.place {
            builder = builder.local();
            if let Some(lab) = lab {
                builder = builder.lab(lab);
            }
        }
        if let Some(root) = subject.project {
            builder = builder
                .perturbations(root.join(PERTURBATIONS))
                .sessions(root.join(SESSIONS));
        }
        if let Some(operator) = subject.operator {
            builder = builder.operator(operator);
        }
        if let Some(directory) = &self.console_dir {
            builder = builder.directory(directory);
        }
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let started = builder.start(self.console_address.unwrap_or(any)).await;
        let console = started.map_err(|error| {
            let advice = match error {
                ConsoleError::NotLoopback(_) => {
                    "use an address such as 127.0.0.1:8090, and a tunnel from elsewhere"
                }
                ConsoleError::Listen { .. } => {
                    "choose another address with --console, or use --no-console"
                }
            };
            Error::new(error, advice)
        })?;
        let name = format!(
            "kubewright-console-{}-{}.html",
            std::process::id(),
            console.address().port()
        );
        let page = std::env::temp_dir().join(name);
        Ok(RunningConsole { console, page })
    }
}

impl RunningConsole {
    /// Returns the URL, with its token.
    pub(crate) fn url(&self) -> &str {
        self.console.url()
    }

    /// Opens the console in the browser.
    pub(crate) fn open(&self) {
        if let Err(error) = open(self.url(), &self.page) {
            warn(format_args!(
                "cannot open a browser: {error}; open {}",
                self.url()
            ));
        }
    }

    /// Opens the console whenever its key is pressed.
    #[cfg(unix)]
    pub(crate) async fn open_on_key(&self) {
        let Some(mut keys) = Keys::read() else {
            return std::future::pending().await;
        };
        loop {
            if keys.next().await == OPEN {
                self.open();
            }
        }
    }

    /// Keys are read on Unix only.
    #[cfg(not(unix))]
    pub(crate) async fn open_on_key(&self) {
        std::future::pending().await
    }
}

impl Drop for RunningConsole {
    fn drop(&mut self) {
        // It exists only if the console was opened.
        let _ = fs::remove_file(&self.page);
    }
}

/// Opens the console of a command that may have none whenever its key is pressed.
pub(crate) async fn open_on_key(console: Option<&RunningConsole>) {
    match console {
        Some(console) => console.open_on_key().await,
        None => std::future::pending().await,
    }
}

/// Opens a URL with a token in the browser. The token stays out of the list of processes: the browser is given a page that only
/// this user can read, which leads to the URL.
pub(crate) fn open(url: &str, page: &Path) -> std::io::Result<()> {
    let text = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={url}\"><title>Kubewright</title>\n"
    );
    write_secret_file(page, text)?;
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let mut child = Command::new(program)
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // It is waited for, so that it does not remain as a zombie.
    std::thread::spawn(move || child.wait());
    Ok(())
}
