//! A `kubewright up` of our own, in its own process. Dropped, it is stopped.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};

use crate::endpoint::Endpoint;

/// A server that runs.
pub(crate) struct Server {
    child: Child,
    kubeconfig: PathBuf,
    /// How to call it.
    pub(crate) endpoint: Endpoint,
    /// From before the process was made until it said that it is ready.
    pub(crate) ready_after: Duration,
}

/// The `kubewright` that was built into the same directory as this program.
pub(crate) fn beside_this_program() -> anyhow::Result<PathBuf> {
    let path = env::current_exe()?.with_file_name("kubewright");
    ensure!(
        path.exists(),
        "there is no {}; build it with cargo build --release -p kubewright-cli, or name it with --server",
        path.display()
    );
    Ok(path)
}

impl Server {
    /// Starts the program and waits until it says that it is ready.
    pub(crate) fn start(program: &Path) -> anyhow::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let file = format!("kubewright-bench-{}-{count}.kubeconfig", std::process::id());
        let kubeconfig = env::temp_dir().join(file);
        let mut command = Command::new(program);
        command
            .args(["up", "--listen", "127.0.0.1:0", "--kubeconfig"])
            .arg(&kubeconfig);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let began = Instant::now();
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot run {}", program.display()))?;
        let out = child.stdout.take().context("the server has no output")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let ready_after = began.elapsed();
        ensure!(
            line.contains("is ready"),
            "the server did not become ready: {line:?}"
        );
        let mut endpoint = Endpoint::from_kubeconfig(&fs::read_to_string(&kubeconfig)?)?;
        endpoint.pid = Some(child.id());
        Ok(Self {
            child,
            kubeconfig,
            endpoint,
            ready_after,
        })
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already, and so may the file.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.kubeconfig);
    }
}
