//! [`ServerFlags`]: the conventional flags of extension servers.

mod audit;
mod delegation;
mod refused;
#[cfg(feature = "runtime")]
mod runtime;
mod store;
#[cfg(test)]
mod tests;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use kubewright_machinery::time::parse_duration;

use crate::server::ExtensionServerBuilder;
pub use audit::{AuditError, AuditFlags};
pub use delegation::{DelegationOptions, Lookup, ProxyOptions};
pub use store::StoreFlags;

/// The flags that need no value: without one, they are true.
const BOOLEANS: [&str; 2] = [
    "--authentication-skip-lookup",
    "--authentication-tolerate-lookup-failure",
];

/// The conventional flags of an extension server, with the names of `k8s.io/apiserver`.
///
/// | flag | default |
/// |---|---|
/// | `--bind-address` | `0.0.0.0` |
/// | `--secure-port` | 443 |
/// | `--kubeconfig`, or `--authentication-kubeconfig` and `--authorization-kubeconfig`, which must be the same | none |
/// | `--tls-cert-file`, `--tls-private-key-file` | none: certificates are issued |
/// | `--authorization-always-allow-paths` | `/healthz,/readyz,/livez` |
/// | `--etcd-servers`, `--etcd-prefix`, `--etcd-cafile`, `--etcd-certfile`, `--etcd-keyfile` | none: objects are in memory |
/// | `--data-dir`, which `k8s.io/apiserver` does not have | none |
/// | `--audit-policy-file`, `--audit-log-path` | none: nothing is recorded |
/// | `--audit-log-maxsize` (megabytes), `--audit-log-maxbackup`, `--audit-log-maxage` (days) | 0: the log is one file |
/// | `--client-ca-file` | none: that of the cluster |
/// | `--requestheader-client-ca-file`, and with it `--requestheader-allowed-names`, `--requestheader-username-headers`, `--requestheader-uid-headers`, `--requestheader-group-headers` and `--requestheader-extra-headers-prefix` | none: those of the cluster |
/// | `--authentication-skip-lookup`, `--authentication-tolerate-lookup-failure` | false |
/// | `--authentication-token-webhook-cache-ttl` | `10s` |
/// | `--authorization-webhook-cache-authorized-ttl`, `--authorization-webhook-cache-unauthorized-ttl` | `10s` |
/// | `--request-timeout` | `1m` |
/// | `--shutdown-delay-duration` | `0s` |
///
/// Other flags of `k8s.io/apiserver` are errors that say why they cannot have their effect.
///
/// The methods put the flags into effect: [`store`](Self::store) and [`audit`](Self::audit) on their own,
/// [`configure`](Self::configure) for the builder of the server, and `delegation` and `certificates` for a server behind a
/// cluster.
///
/// ```
/// use kubewright_extension_apiserver::ServerFlags;
///
/// let flags = ServerFlags::parse(["--secure-port=8443", "--kubeconfig", "/etc/sky/kubeconfig"])?;
/// assert_eq!(flags.address().port(), 8443);
/// assert!(ServerFlags::parse(["--secure-port=many"]).is_err());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFlags {
    /// The address to listen on.
    pub bind_address: IpAddr,
    /// The port to listen on.
    pub secure_port: u16,
    /// The kubeconfig of the cluster. Without it, the service account of the pod is used.
    pub kubeconfig: Option<PathBuf>,
    /// The file of the serving certificate.
    pub tls_cert_file: Option<PathBuf>,
    /// The file of its key.
    pub tls_private_key_file: Option<PathBuf>,
    /// The paths that need no authorization, in addition to those of probes.
    pub always_allow_paths: Vec<String>,
    /// The store of the kinds.
    pub store: StoreFlags,
    /// Audit events.
    pub audit: AuditFlags,
    /// Authentication and authorization.
    pub delegation: DelegationOptions,
    /// The longest that a request may take, unless it is a watch or a stream.
    pub request_timeout: Duration,
    /// The time between the failure of `/readyz` and the end of the listener at shutdown.
    pub shutdown_delay: Duration,
}

/// An invalid flag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// The flag is unknown.
    #[error("unknown flag: {0}")]
    Unknown(String),
    /// The flag has no value.
    #[error("flag needs an argument: {0}")]
    Missing(String),
    /// The value of the flag is invalid.
    #[error("invalid argument {value:?} for {flag}")]
    Invalid {
        /// The flag.
        flag: String,
        /// The value.
        value: String,
    },
    /// Two flags contradict each other.
    #[error("{0} and {1} must be given together, or be the same")]
    Contradiction(&'static str, &'static str),
    /// The flag is one of `k8s.io/apiserver` that cannot have its effect.
    #[error("{flag} is not supported: {reason}")]
    Unsupported {
        /// The flag.
        flag: String,
        /// The reason.
        reason: &'static str,
    },
    /// The flag has no effect without another.
    #[error("{0} has no effect without {1}")]
    NoEffect(String, &'static str),
    /// Two flags exclude each other.
    #[error("{0} and {1} cannot be given together")]
    Exclusive(&'static str, &'static str),
}

impl Default for ServerFlags {
    fn default() -> Self {
        Self {
            bind_address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            secure_port: 443,
            kubeconfig: None,
            tls_cert_file: None,
            tls_private_key_file: None,
            always_allow_paths: Vec::new(),
            store: StoreFlags::default(),
            audit: AuditFlags::default(),
            delegation: DelegationOptions::default(),
            request_timeout: Duration::from_secs(60),
            shutdown_delay: Duration::ZERO,
        }
    }
}

impl ServerFlags {
    /// Parses flags in the forms `--flag value` and `--flag=value`. A boolean flag is true without a value, and takes one only
    /// in the second form.
    ///
    /// # Errors
    ///
    /// Fails if a flag is unknown or unsupported, has an invalid value, or contradicts another.
    pub fn parse<A: AsRef<str>>(args: impl IntoIterator<Item = A>) -> Result<Self, FlagError> {
        let mut flags = Self::default();
        let mut delegation = delegation::Parsed::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let arg = arg.as_ref();
            let (flag, value) = match arg.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), value.to_owned()),
                None if BOOLEANS.contains(&arg) => (arg.to_owned(), "true".to_owned()),
                None if refused::reason(arg).is_some() => (arg.to_owned(), String::new()),
                None => {
                    let value = args.next();
                    let value = value.ok_or_else(|| FlagError::Missing(arg.to_owned()))?;
                    (arg.to_owned(), value.as_ref().to_owned())
                }
            };
            if let Some(reason) = refused::reason(&flag) {
                return Err(FlagError::Unsupported { flag, reason });
            }
            if !delegation.set(&flag, &value)? && !flags.audit.set(&flag, &value)? {
                flags.set(flag, value)?;
            }
        }
        flags.delegation = delegation.finish()?;
        if flags.tls_cert_file.is_some() != flags.tls_private_key_file.is_some() {
            let (certificate, key) = ("--tls-cert-file", "--tls-private-key-file");
            return Err(FlagError::Contradiction(certificate, key));
        }
        if flags.store.data_dir.is_some() && !flags.store.etcd_servers.is_empty() {
            return Err(FlagError::Exclusive("--data-dir", "--etcd-servers"));
        }
        flags.audit.check()?;
        Ok(flags)
    }

    fn set(&mut self, flag: String, value: String) -> Result<(), FlagError> {
        match flag.as_str() {
            "--bind-address" => match value.parse() {
                Ok(address) => self.bind_address = address,
                Err(_) => return Err(FlagError::Invalid { flag, value }),
            },
            "--secure-port" => match value.parse() {
                Ok(port) => self.secure_port = port,
                Err(_) => return Err(FlagError::Invalid { flag, value }),
            },
            "--kubeconfig" | "--authentication-kubeconfig" | "--authorization-kubeconfig" => {
                let value = Some(PathBuf::from(value));
                if self.kubeconfig.is_some() && self.kubeconfig != value {
                    let (one, other) =
                        ("--authentication-kubeconfig", "--authorization-kubeconfig");
                    return Err(FlagError::Contradiction(one, other));
                }
                self.kubeconfig = value;
            }
            "--tls-cert-file" => self.tls_cert_file = Some(value.into()),
            "--tls-private-key-file" => self.tls_private_key_file = Some(value.into()),
            "--authorization-always-allow-paths" => {
                self.always_allow_paths.extend(list(&value));
            }
            "--request-timeout" => self.request_timeout = duration(&flag, &value)?,
            "--shutdown-delay-duration" => self.shutdown_delay = duration(&flag, &value)?,
            _ if self.store.set(&flag, &value) => {}
            _ => return Err(FlagError::Unknown(flag)),
        }
        Ok(())
    }

    /// Returns the address and port to listen on.
    pub fn address(&self) -> SocketAddr {
        (self.bind_address, self.secure_port).into()
    }

    /// Sets what the flags say about the server itself: audit, and its times.
    ///
    /// ```
    /// use kubewright_extension_apiserver::{ExtensionServer, ServerFlags};
    ///
    /// let flags = ServerFlags::parse(["--shutdown-delay-duration=5s"])?;
    /// let server = flags.configure(ExtensionServer::builder())?.build()?;
    /// # let _ = server;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if a file of audit events cannot be used, or if the policy is invalid.
    pub fn configure(
        &self,
        server: ExtensionServerBuilder,
    ) -> Result<ExtensionServerBuilder, AuditError> {
        let timeout = self.request_timeout;
        let server = server
            .shutdown_delay(self.shutdown_delay)
            .configure(move |server| server.request_timeout(timeout));
        Ok(match self.audit.open()? {
            Some((policy, log)) => server.audit(policy, log),
            None => server,
        })
    }
}

/// Returns the values of a list.
fn list(value: &str) -> Vec<String> {
    let values = value.split(',').map(str::trim);
    values
        .filter(|value| !value.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Reads a boolean as Go does.
fn boolean(flag: &str, value: &str) -> Result<bool, FlagError> {
    match value {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(invalid(flag, value)),
    }
}

/// Reads a duration as Go does, which must not be negative.
fn duration(flag: &str, value: &str) -> Result<Duration, FlagError> {
    let nanoseconds = parse_duration(value).ok();
    let nanoseconds = nanoseconds.and_then(|n| u64::try_from(n).ok());
    nanoseconds
        .map(Duration::from_nanos)
        .ok_or_else(|| invalid(flag, value))
}

fn invalid(flag: &str, value: &str) -> FlagError {
    FlagError::Invalid {
        flag: flag.to_owned(),
        value: value.to_owned(),
    }
}
