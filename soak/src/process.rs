//! The server as a process: its memory and file descriptors.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, ensure};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::time::sleep;

/// A running `kubewright up`. It is killed when this is dropped.
pub(crate) struct ServerProcess {
    child: Child,
    directory: PathBuf,
    config: Config,
}

/// The state of the server at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Duration,
    /// Resident memory in kilobytes.
    pub(crate) memory: u64,
    /// Open file descriptors.
    pub(crate) descriptors: usize,
}

impl ServerProcess {
    /// Starts a server on a free port, and waits for its kubeconfig.
    pub(crate) async fn start(program: &Path) -> anyhow::Result<Self> {
        let directory =
            std::env::temp_dir().join(format!("kubewright-soak-{}", std::process::id()));
        fs::create_dir_all(&directory)?;
        let path = directory.join("kubeconfig");
        let child = Command::new(program)
            .args([
                "up",
                "--profile",
                "bare",
                "--listen",
                "127.0.0.1:0",
                "--kubeconfig",
            ])
            .arg(&path)
            .stdout(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot run {}", program.display()))?;
        for _ in 0..100 {
            if path.is_file() {
                break;
            }
            sleep(Duration::from_millis(50)).await;
        }
        let kubeconfig = Kubeconfig::read_from(&path)?;
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        Ok(Self {
            child,
            directory,
            config,
        })
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns a client with connections of its own.
    pub(crate) async fn client(&self) -> anyhow::Result<Client> {
        Ok(Client::try_from(self.config.clone())?)
    }

    /// Measures the server.
    pub(crate) fn sample(&self, at: Duration) -> anyhow::Result<Sample> {
        let process = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(process.join("status")).context("the server has ended")?;
        let memory = status.lines().find_map(|line| {
            let rest = line.strip_prefix("VmRSS:")?.trim();
            rest.strip_suffix(" kB")?.parse().ok()
        });
        ensure!(memory.is_some(), "the server has ended");
        Ok(Sample {
            at,
            memory: memory.unwrap_or_default(),
            descriptors: fs::read_dir(process.join("fd"))?.count(),
        })
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = self.memory as f64 / 1024.0;
        write!(f, "{megabytes:.1} MB, {} descriptors", self.descriptors)
    }
}
