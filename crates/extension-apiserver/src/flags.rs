//! [`ServerFlags`]: the flags that extension servers conventionally have.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
};

/// The conventional flags of an extension server, by the names of `k8s.io/apiserver`.
///
/// | flag | default |
/// |---|---|
/// | `--bind-address` | `0.0.0.0` |
/// | `--secure-port` | 443 |
/// | `--kubeconfig`, or `--authentication-kubeconfig` and `--authorization-kubeconfig`, which must be the same | none |
/// | `--tls-cert-file`, `--tls-private-key-file` | none: certificates are issued |
/// | `--authorization-always-allow-paths` | `/healthz,/readyz,/livez` |
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
    /// The address to listen at.
    pub bind_address: IpAddr,
    /// The port to listen at.
    pub secure_port: u16,
    /// The kubeconfig of the cluster; without one, the account of the pod is used.
    pub kubeconfig: Option<PathBuf>,
    /// The file of the serving certificate.
    pub tls_cert_file: Option<PathBuf>,
    /// The file of its key.
    pub tls_private_key_file: Option<PathBuf>,
    /// The paths that need no authorization, besides those of probes.
    pub always_allow_paths: Vec<String>,
}

/// A flag that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// There is no such flag.
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
        }
    }
}

impl ServerFlags {
    /// Parses flags in the forms `--flag value` and `--flag=value`.
    ///
    /// # Errors
    ///
    /// Fails if a flag is unknown, has an invalid value, or contradicts another.
    pub fn parse<A: AsRef<str>>(args: impl IntoIterator<Item = A>) -> Result<Self, FlagError> {
        let mut flags = Self::default();
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let arg = arg.as_ref();
            let (flag, value) = match arg.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), value.to_owned()),
                None => {
                    let value = args.next();
                    let value = value.ok_or_else(|| FlagError::Missing(arg.to_owned()))?;
                    (arg.to_owned(), value.as_ref().to_owned())
                }
            };
            flags.set(flag, value)?;
        }
        if flags.tls_cert_file.is_some() != flags.tls_private_key_file.is_some() {
            let (certificate, key) = ("--tls-cert-file", "--tls-private-key-file");
            return Err(FlagError::Contradiction(certificate, key));
        }
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
                let paths = value.split(',').filter(|path| !path.is_empty());
                self.always_allow_paths.extend(paths.map(str::to_owned));
            }
            _ => return Err(FlagError::Unknown(flag)),
        }
        Ok(())
    }

    /// Returns the address and port to listen at.
    pub fn address(&self) -> SocketAddr {
        (self.bind_address, self.secure_port).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_errors() {
        for args in [
            &["--tls-cert-file=a"][..],
            &[
                "--authentication-kubeconfig=a",
                "--authorization-kubeconfig=b",
            ],
            &["--secure-port"],
            &["--secure-port=70000"],
            &["--what=1"],
        ] {
            assert!(ServerFlags::parse(args).is_err(), "{args:?}");
        }
        let same = [
            "--authentication-kubeconfig=a",
            "--authorization-kubeconfig=a",
        ];
        assert!(ServerFlags::parse(same).is_ok());
        assert_eq!(ServerFlags::parse::<&str>([]), Ok(ServerFlags::default()));
    }
}
