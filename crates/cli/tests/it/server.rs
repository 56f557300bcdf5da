//! A running `kubewright up`, on a port of its own, with its files in a folder of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::process::{PATIENCE, Process};

/// A folder that goes away with its owner.
pub(crate) struct Folder(PathBuf);

/// The server. It is killed when this is dropped.
pub(crate) struct Server {
    process: Process,
    ready: String,
    folder: Folder,
}

/// The `kubewright` tool.
pub(crate) fn kubewright() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kubewright"))
}

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Server {
    /// A server alone: what it holds is what it was given.
    pub(crate) fn start() -> Self {
        Self::start_with(&["--controllers", "none"])
    }

    /// Starts `kubewright up` with further arguments, and waits for its first line.
    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        let folder = Folder::new();
        let mut command = kubewright();
        command.args(["up", "--listen", "127.0.0.1:0", "--kubeconfig"]);
        command
            .arg(folder.path().join("kubeconfig"))
            .args(arguments);
        let mut process = Process::start(command, None);
        let output = process.output_until(PATIENCE, |text| text.contains('\n'));
        let ready = output.lines().next().unwrap_or_default().to_owned();
        assert!(ready.starts_with("kubewright is ready"), "{output}");
        Self {
            process,
            ready,
            folder,
        }
    }

    /// The line that says the server is ready.
    pub(crate) fn ready_line(&self) -> &str {
        &self.ready
    }

    /// Waits for the first lines, and returns them.
    pub(crate) fn printed(&mut self, lines: usize) -> String {
        let enough = |text: &str| text.matches('\n').count() >= lines;
        let text = self.process.output_until(PATIENCE, enough);
        text.lines()
            .take(lines)
            .fold(String::new(), |all, line| all + line + "\n")
    }

    /// `host:port`, from that line.
    pub(crate) fn address(&self) -> &str {
        let (_, rest) = self.ready.split_once("https://").expect("an address");
        rest.split(' ').next().unwrap_or_default()
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// The value of a line `key: value` of the kubeconfig.
    pub(crate) fn kubeconfig_value(&self, key: &str) -> String {
        let text = fs::read_to_string(self.kubeconfig()).expect("a kubeconfig");
        let value = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(':'));
        value.expect(key).trim().trim_matches('"').to_owned()
    }

    /// Sends a signal, by name, and waits for the process to end.
    pub(crate) fn signal(self, name: &str) -> (String, ExitStatus) {
        self.process.signal(name)
    }
}
