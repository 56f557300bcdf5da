//! Errors of opening a store, and failures of calls to etcd.

use kubewright_store::{Failure, FailureKind};

use crate::{
    TlsFilesError,
    grpc::{CallError, Code},
};

/// A store in etcd could not be opened. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The address of a member is not a URL.
    #[error(
        "{0:?} is not the URL of an etcd member; write http:// or https://, a host and a port, such as https://10.0.0.1:2379"
    )]
    Endpoint(String),
    /// No members were given.
    #[error("no etcd members are given; name at least one, such as https://10.0.0.1:2379")]
    NoEndpoint,
    /// The prefix is invalid.
    #[error("{0:?} is not a prefix of keys; write a path such as /registry")]
    Prefix(String),
    /// A TLS file is invalid.
    #[error(transparent)]
    Tls(#[from] TlsFilesError),
    /// A certificate was given without its key, or a key without its certificate.
    #[error("a client certificate for etcd needs both files: the certificate and its key")]
    HalfCertificate,
    /// TLS is required, but not configured.
    #[error("{0} needs the certificate authority of etcd; name its PEM file")]
    NoAuthority(String),
    /// No member can be reached.
    #[error(
        "no etcd member can be reached: {0}; check the addresses, the certificates, and that etcd runs"
    )]
    Unreachable(String),
    /// etcd rejects the user, the password or the certificate.
    #[error(
        "etcd rejects the credentials: {0}; use a user that may read and write the prefix, or a certificate of one"
    )]
    Credentials(String),
    /// The members belong to different clusters.
    #[error("{0} and {1} belong to different etcd clusters; name the members of one")]
    Clusters(String, String),
    /// A member is too old.
    #[error(
        "{endpoint} runs etcd {version}, whose watches may report progress ahead of changes; use 3.4.31, 3.5.13, 3.6 or newer"
    )]
    Version {
        /// The member.
        endpoint: String,
        /// Its version.
        version: String,
    },
    /// A member has raised an alarm.
    #[error(
        "{endpoint} has the alarm {alarm} and accepts no writes; see \"etcdctl alarm list\", make room by compaction and \"etcdctl defrag\", then run \"etcdctl alarm disarm\""
    )]
    Alarm {
        /// The member.
        endpoint: String,
        /// The alarm, as reported by etcd.
        alarm: String,
    },
    /// Another program uses the prefix.
    #[error(
        "{key} shows that another API server uses the prefix; stop it, choose another prefix, or allow sharing it"
    )]
    Occupied {
        /// The key that the other program keeps alive.
        key: String,
    },
    /// The objects cannot be read.
    #[error("etcd cannot be read: {0}")]
    Read(String),
}

impl OpenError {
    /// Returns the error of a call.
    pub(crate) fn of(error: CallError) -> Self {
        if is_about_credentials(&error) {
            return Self::Credentials(error.message);
        }
        match error.is_transient() {
            true => Self::Unreachable(error.message),
            false => Self::Read(error.message),
        }
    }
}

/// Returns the failure of a call that certainly wrote nothing, or whose outcome is known.
pub(crate) fn failure(error: CallError) -> Failure {
    let text = &error.message;
    let (kind, message) = if is_about_credentials(&error) {
        let refused = format!("etcd rejects the credentials of the server: {text}");
        (FailureKind::Internal, refused)
    } else if error.code == Code::RESOURCE_EXHAUSTED && text.contains("space exceeded") {
        let full = format!(
            "etcd's database is full: {text}; see \"etcdctl alarm list\", make room by compaction and \"etcdctl defrag\""
        );
        (FailureKind::Internal, full)
    } else if error.code == Code::RESOURCE_EXHAUSTED {
        (FailureKind::Busy, text.clone())
    } else if error.code == Code::INVALID_ARGUMENT && text.contains("too large") {
        (FailureKind::TooLarge, text.clone())
    } else if error.is_transient() {
        (
            FailureKind::Unavailable,
            format!("etcd does not respond: {text}"),
        )
    } else {
        (FailureKind::Internal, text.clone())
    };
    Failure::new(kind, message)
}

/// Returns the failure of a write with an unknown outcome.
pub(crate) fn outcome_unknown(reason: &str) -> Failure {
    let text = format!("the outcome of the write is unknown: {reason}");
    Failure::new(FailureKind::OutcomeUnknown, text)
}

fn is_about_credentials(error: &CallError) -> bool {
    let refused = [Code::PERMISSION_DENIED, Code::UNAUTHENTICATED];
    let texts = [
        "user name is empty",
        "authentication failed",
        "user name not found",
        "authentication is not enabled",
    ];
    refused.contains(&error.code) || texts.iter().any(|text| error.message.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_state_what_the_caller_can_do() {
        use FailureKind::{Busy, Internal, OutcomeUnknown, TooLarge, Unavailable};
        let texts = [
            (
                Code::RESOURCE_EXHAUSTED,
                "etcdserver: too many requests",
                Busy,
            ),
            (
                Code::RESOURCE_EXHAUSTED,
                "etcdserver: mvcc: database space exceeded",
                Internal,
            ),
            (
                Code::INVALID_ARGUMENT,
                "etcdserver: request is too large",
                TooLarge,
            ),
            (Code::UNAVAILABLE, "etcdserver: no leader", Unavailable),
            (
                Code::DEADLINE_EXCEEDED,
                "context deadline exceeded",
                Unavailable,
            ),
            (
                Code::PERMISSION_DENIED,
                "etcdserver: permission denied",
                Internal,
            ),
            (
                Code::UNAUTHENTICATED,
                "etcdserver: invalid auth token",
                Internal,
            ),
            (
                Code::NOT_FOUND,
                "etcdserver: requested lease not found",
                Internal,
            ),
        ];
        for (code, text, kind) in texts {
            let failure = failure(CallError::answered(code, text.to_owned()));
            assert_eq!(failure.kind, kind, "{text}");
            assert!(failure.message.contains(text), "{}", failure.message);
        }
        assert_eq!(outcome_unknown("no answer").kind, OutcomeUnknown);
    }
}
