//! [`AuditFlags`]: the flags for audit events.

use std::{fs, io, path::PathBuf, sync::Arc};

use kubewright_apiserver::audit::{JsonLines, LogFile, Policy, PolicyError, Rotation, Sink};

use super::FlagError;
use crate::server::ExtensionServer;

const MEGABYTE: u64 = 1 << 20;

/// The flags for audit events, which are written to a file. Nothing is recorded without a policy and a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFlags {
    /// The file of the audit policy, of `audit.k8s.io/v1`.
    pub policy_file: Option<PathBuf>,
    /// The file that events are appended to.
    pub log_path: Option<PathBuf>,
    /// The size at which the file is replaced, in megabytes; 0 for no limit.
    pub max_size: u64,
    /// The number of replaced files that are kept; 0 for all.
    pub max_backups: usize,
    /// The number of days that replaced files are kept; 0 for no limit.
    pub max_age: u32,
}

/// A policy and the log for the events that it asks for.
type AuditLog = (Policy, Arc<dyn Sink>);

/// Audit events that cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// A file cannot be used.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The policy is invalid.
    #[error("{}: {source}", path.display())]
    Policy {
        /// The file of the policy.
        path: PathBuf,
        /// The cause.
        source: PolicyError,
    },
}

impl AuditFlags {
    /// Sets a flag. Returns false if it is not about audit events.
    pub(super) fn set(&mut self, flag: &str, value: &str) -> Result<bool, FlagError> {
        let invalid = || super::invalid(flag, value);
        match flag {
            "--audit-policy-file" => self.policy_file = Some(value.into()),
            "--audit-log-path" => self.log_path = Some(value.into()),
            "--audit-log-maxsize" => self.max_size = value.parse().map_err(|_| invalid())?,
            "--audit-log-maxbackup" => self.max_backups = value.parse().map_err(|_| invalid())?,
            "--audit-log-maxage" => self.max_age = value.parse().map_err(|_| invalid())?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Checks that the flags have an effect together.
    pub(super) fn check(&self) -> Result<(), FlagError> {
        let (policy, log) = ("--audit-policy-file", "--audit-log-path");
        if self.policy_file.is_some() != self.log_path.is_some() {
            return Err(FlagError::Contradiction(policy, log));
        }
        let size = "--audit-log-maxsize";
        for (flag, is_set, needed, is_needed_set) in [
            (size, self.max_size > 0, log, self.log_path.is_some()),
            (
                "--audit-log-maxbackup",
                self.max_backups > 0,
                size,
                self.max_size > 0,
            ),
            (
                "--audit-log-maxage",
                self.max_age > 0,
                size,
                self.max_size > 0,
            ),
        ] {
            if is_set && !is_needed_set {
                return Err(FlagError::NoEffect(flag.to_owned(), needed));
            }
        }
        Ok(())
    }

    /// Opens the policy and the log, if both flags are given.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be used, or if the policy is invalid.
    pub fn open(&self) -> Result<Option<AuditLog>, AuditError> {
        let (Some(policy_file), Some(log_path)) = (&self.policy_file, &self.log_path) else {
            return Ok(None);
        };
        let unusable = |path: &PathBuf, source| AuditError::File {
            path: path.clone(),
            source,
        };
        let text = fs::read(policy_file).map_err(|e| unusable(policy_file, e))?;
        let policy = Policy::parse(text).map_err(|source| AuditError::Policy {
            path: policy_file.clone(),
            source,
        })?;
        let rotation = Rotation {
            max_bytes: self.max_size.saturating_mul(MEGABYTE),
            max_backups: self.max_backups,
            max_days: self.max_age,
        };
        let log = LogFile::open(log_path, rotation).and_then(JsonLines::new);
        let log = log.map_err(|e| unusable(log_path, e))?;
        Ok(Some((policy, Arc::new(log))))
    }

    /// Records audit events of a server from now on, if both flags are given.
    ///
    /// # Errors
    ///
    /// Fails as [`open`](Self::open) does.
    pub fn start(&self, server: &ExtensionServer) -> Result<(), AuditError> {
        if let Some((policy, log)) = self.open()? {
            server.api().audit(policy, log);
        }
        Ok(())
    }
}
