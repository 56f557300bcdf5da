//! The audit log of a local cluster: the policy file, and the file or stream that events are written to.

use std::{fs, io, path::Path, sync::Arc};

use kubewright_apiserver::audit::{JsonLines, Policy};
use kubewright_kube_apiserver::KubeApiServerBuilder;
use kubewright_scaffold::Error;

/// The largest policy file.
const MAX_POLICY_BYTES: u64 = 1 << 20;

/// A policy and the log for its events.
pub(crate) struct AuditLog {
    policy: Policy,
    log: Arc<JsonLines>,
}

impl AuditLog {
    /// Reads the policy and opens the log, to which events are appended. `-` is standard output.
    pub(crate) fn open(policy: &Path, log: &Path) -> Result<Self, Error> {
        let policy = read_policy(policy)?;
        let failed = |e: io::Error| Error::io("write the audit log", log, &e);
        let out: Box<dyn io::Write + Send> = match log.as_os_str() == "-" {
            true => Box::new(io::stdout()),
            false => Box::new(append(log).map_err(failed)?),
        };
        Ok(Self {
            policy,
            log: Arc::new(JsonLines::new(out).map_err(failed)?),
        })
    }

    /// Records the requests of a server.
    pub(crate) fn record(&self, server: KubeApiServerBuilder) -> KubeApiServerBuilder {
        server.audit(self.policy.clone(), self.log.clone())
    }

    /// Waits until all events are written.
    pub(crate) fn flush(&self) {
        self.log.flush();
    }
}

fn read_policy(path: &Path) -> Result<Policy, Error> {
    let read = || -> io::Result<Vec<u8>> {
        if fs::metadata(path)?.len() > MAX_POLICY_BYTES {
            let problem = format!("larger than {MAX_POLICY_BYTES} bytes");
            return Err(io::Error::other(problem));
        }
        fs::read(path)
    };
    let text = read().map_err(|e| Error::io("read the audit policy", path, &e))?;
    Policy::parse(text).map_err(|e| {
        let file = path.display();
        Error::new(
            format_args!("loading audit policy file: {e}: from file {file}"),
            "correct the file: it is a Policy of audit.k8s.io/v1",
        )
    })
}

/// Opens a log that only its owner may read: it may contain secrets.
fn append(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
