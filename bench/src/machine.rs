//! The machine and the software of a run.

use std::{collections::BTreeMap, fmt, fs, process::Command};

use serde::{Deserialize, Serialize};

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: u64,
    pub(crate) kernel: String,
}

impl Machine {
    /// Describes this machine.
    pub(crate) fn this() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let value = |text: &str, name| {
            let line = text.lines().find_map(|line: &str| line.strip_prefix(name));
            line.map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned())
        };
        let memory = value(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
        let kib: u64 = memory
            .trim_end_matches(" kB")
            .trim()
            .parse()
            .unwrap_or_default();
        Self {
            processor: value(&read("/proc/cpuinfo"), "model name")
                .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_gib: (kib + (1 << 19)) >> 20,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {} cores, {} GiB, Linux {}",
            self.processor, self.cores, self.memory_gib, self.kernel
        )
    }
}

/// Returns the versions that every section depends on.
pub(crate) fn versions() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    found.insert(
        "kubewright".to_owned(),
        env!("CARGO_PKG_VERSION").to_owned(),
    );
    if let Some(text) = says("rustc", "--version") {
        let version = text.trim_start_matches("rustc ");
        found.insert("rustc".to_owned(), version.to_owned());
    }
    found
}

/// Returns the first line that a program prints with an argument.
pub(crate) fn says(program: impl AsRef<std::ffi::OsStr>, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(|line| line.trim().to_owned())
}
