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

/// Opens a log that only its owner may read: it may contain secrets. One that exists loses the permissions of others. A link to
/// a file is not followed; one to a device or a pipe is, such as `/dev/stderr`.
fn append(path: &Path) -> io::Result<fs::File> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|link| link.file_type().is_symlink());
    let leads_to_file = || fs::metadata(path).map_or(true, |target| target.is_file());
    if is_link && leads_to_file() {
        let problem = "it is a symbolic link; name the file that it leads to";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    let mut options = fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    if file.metadata()?.is_file() {
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        io::Write,
        os::unix::fs::{PermissionsExt, symlink},
        path::PathBuf,
    };

    use super::*;

    /// A directory that is removed at the end of a test.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let name = format!("kubewright-audit-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).expect("a directory");
            Self(path)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            // What is left is in the directory for temporary files.
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn mode(path: &Path) -> u32 {
        let metadata = fs::metadata(path).expect("a file");
        metadata.permissions().mode() & 0o777
    }

    #[test]
    fn an_audit_log_that_exists_becomes_readable_by_its_owner_only() {
        let directory = Directory::new("mode");
        let path = directory.0.join("audit.log");
        fs::write(&path, "before\n").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode");
        let mut log = append(&path).expect("a log");
        log.write_all(b"after\n").expect("a line");
        assert_eq!(mode(&path), 0o600);
        assert_eq!(fs::read_to_string(&path).expect("text"), "before\nafter\n");
        append(&directory.0.join("new.log")).expect("a new log");
        assert_eq!(mode(&directory.0.join("new.log")), 0o600);
    }

    #[test]
    fn an_audit_log_does_not_follow_links_to_files() {
        let directory = Directory::new("links");
        let (target, link) = (directory.0.join("target"), directory.0.join("link"));
        symlink(&target, &link).expect("a link");
        // A link to nothing would create its target.
        let error = append(&link).expect_err("a dangling link");
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert!(!target.exists());
        fs::write(&target, "kept").expect("a file");
        append(&link).expect_err("a link to a file");
        assert_eq!(fs::read_to_string(&target).expect("text"), "kept");
        // Containers log to such links.
        let device = directory.0.join("device");
        symlink("/dev/null", &device).expect("a link");
        append(&device).expect("a device");
    }
}
