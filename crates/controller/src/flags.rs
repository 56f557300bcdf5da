//! Command-line flags of an operator. Flatten [`ManagerFlags`] into your own parser.
//!
//! The flags are only parsed here; [`ManagerFlags::config`] loads the cluster's configuration.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use thiserror::Error;

/// The usual flags of an operator.
///
/// ```
/// use clap::Parser;
/// use kubewright_controller::flags::ManagerFlags;
///
/// #[derive(Parser)]
/// struct Args {
///     #[command(flatten)]
///     manager: ManagerFlags,
///     #[arg(long, default_value_t = 3)]
///     apples: u32,
/// }
///
/// let args = Args::parse_from(["shop", "--leader-elect", "--metrics-bind-address=0"]);
/// assert!(args.manager.leader_elect);
/// assert_eq!(args.manager.metrics_bind_address(), None);
/// assert_eq!(args.apples, 3);
/// ```
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ManagerFlags {
    /// The address of metrics and debug information. "0" turns it off.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub metrics_bind_address: String,
    /// Serve metrics over HTTPS, to users whom the cluster authenticates and authorizes. By default true, unless the address
    /// is a loopback address.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub metrics_secure: Option<bool>,
    /// The directory with tls.crt and tls.key for metrics. By default the program generates a certificate.
    #[arg(long, value_name = "DIRECTORY")]
    pub metrics_cert_path: Option<std::path::PathBuf>,
    /// The address of the health probes. "0" turns it off.
    #[arg(long, value_name = "ADDRESS", default_value = ":8081")]
    pub health_probe_bind_address: String,
    /// Elect a leader, so that only one of several replicas works.
    #[arg(long)]
    pub leader_elect: bool,
    /// The name of the Lease that the leader holds.
    #[arg(long, value_name = "NAME")]
    pub leader_election_id: Option<String>,
    /// The namespace of the Lease. By default the one the program runs in.
    #[arg(long, value_name = "NAMESPACE")]
    pub leader_election_namespace: Option<String>,
    /// A kubeconfig file. By default the environment's, or that of the cluster the program runs in.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<std::path::PathBuf>,
    /// The context of the kubeconfig file.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The namespace to work in. By default all.
    #[arg(long, short, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// The log level: error, warn, info, debug, trace, or directives by module.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: String,
    /// The log format.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Human-readable.
    #[default]
    Text,
    /// One JSON document per line.
    Json,
}

/// The configuration of the cluster could not be loaded.
#[derive(Debug, Error)]
pub enum FlagsError {
    /// The kubeconfig is invalid.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// There is no kubeconfig, and the program does not run in a cluster.
    #[error(transparent)]
    Infer(#[from] kube::config::InferConfigError),
}

impl ManagerFlags {
    /// Returns the address to serve metrics on; a missing host means all addresses, and `None` that they are not
    /// served.
    pub fn metrics_bind_address(&self) -> Option<String> {
        bind_address(&self.metrics_bind_address)
    }

    /// Reports whether metrics are served over HTTPS to authorized users only: as `--metrics-secure` says, and otherwise if
    /// the address can be reached from other machines.
    pub fn secures_metrics(&self) -> bool {
        self.metrics_secure
            .unwrap_or_else(|| !is_loopback(&self.metrics_bind_address))
    }

    /// Returns the address to serve health on; a missing host means all addresses, and `None` that it is not served.
    pub fn health_probe_bind_address(&self) -> Option<String> {
        bind_address(&self.health_probe_bind_address)
    }

    /// Loads the configuration of the cluster.
    ///
    /// # Errors
    ///
    /// Fails if the kubeconfig is invalid, or if there is none and the program does not run in a cluster.
    pub async fn config(&self) -> Result<Config, FlagsError> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        Ok(match &self.kubeconfig {
            Some(path) => {
                let kubeconfig = Kubeconfig::read_from(path)?;
                Config::from_custom_kubeconfig(kubeconfig, &options).await?
            }
            None if self.context.is_some() => Config::from_kubeconfig(&options).await?,
            None => Config::infer().await?,
        })
    }
}

/// Converts an address of a flag for binding: a missing host means all addresses, `"0"` means none.
pub fn bind_address(flag: &str) -> Option<String> {
    match flag {
        "0" | "" => None,
        _ if flag.starts_with(':') => Some(format!("[::]{flag}")),
        _ => Some(flag.to_owned()),
    }
}

/// Reports whether only this machine can reach an address.
fn is_loopback(address: &str) -> bool {
    match address.parse::<SocketAddr>() {
        Ok(address) => address.ip().is_loopback(),
        Err(_) => address
            .rsplit_once(':')
            .is_some_and(|(host, _)| host == "localhost"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        flags: ManagerFlags,
    }

    fn parsed(args: &[&str]) -> ManagerFlags {
        let args = ["shop"].iter().chain(args);
        Program::try_parse_from(args).unwrap().flags
    }

    #[test]
    fn probes_are_open_to_the_network_and_metrics_are_not() {
        let flags = parsed(&[]);
        assert_eq!(
            flags.metrics_bind_address().as_deref(),
            Some("127.0.0.1:8080")
        );
        assert_eq!(
            flags.health_probe_bind_address().as_deref(),
            Some("[::]:8081")
        );
        assert!(!flags.secures_metrics());
        assert!(!flags.leader_elect);
        assert_eq!(flags.log_level, "info");
        assert_eq!(flags.log_format, LogFormat::Text);
        assert_eq!(flags.namespace, None);
    }

    #[test]
    fn metrics_for_other_machines_are_secure_by_default() {
        let secures = |args: &[&str]| parsed(args).secures_metrics();
        for address in [
            ":8443",
            "0.0.0.0:8443",
            "[::]:8443",
            "10.0.0.1:8443",
            "shop:8443",
        ] {
            assert!(secures(&["--metrics-bind-address", address]), "{address}");
        }
        for address in ["127.0.0.1:8080", "[::1]:8080", "localhost:8080"] {
            assert!(!secures(&["--metrics-bind-address", address]), "{address}");
        }
        assert!(secures(&["--metrics-secure"]));
        assert!(!secures(&[
            "--metrics-bind-address=:8080",
            "--metrics-secure=false"
        ]));
    }

    #[test]
    fn every_flag_is_understood() {
        let flags = parsed(&[
            "--metrics-bind-address=127.0.0.1:1",
            "--metrics-secure=true",
            "--metrics-cert-path=/tls",
            "--health-probe-bind-address",
            "0",
            "--leader-elect",
            "--leader-election-id=shop.example.com",
            "--leader-election-namespace=shop",
            "--kubeconfig=k",
            "--context=c",
            "--namespace=n",
            "--log-level=debug",
            "--log-format=json",
        ]);
        assert_eq!(flags.metrics_bind_address().as_deref(), Some("127.0.0.1:1"));
        assert!(flags.secures_metrics());
        let directory = flags.metrics_cert_path.as_deref();
        assert_eq!(directory, Some(std::path::Path::new("/tls")));
        assert_eq!(flags.health_probe_bind_address(), None);
        assert!(flags.leader_elect);
        assert_eq!(
            flags.leader_election_id.as_deref(),
            Some("shop.example.com")
        );
        assert_eq!(flags.leader_election_namespace.as_deref(), Some("shop"));
        assert_eq!(flags.context.as_deref(), Some("c"));
        assert_eq!(flags.namespace.as_deref(), Some("n"));
        assert_eq!(flags.log_format, LogFormat::Json);
    }

    #[tokio::test]
    async fn a_kubeconfig_that_is_not_there_is_an_error() {
        let flags = parsed(&["--kubeconfig=/no/such/file"]);
        let error = flags.config().await.unwrap_err();
        assert!(matches!(error, FlagsError::Kubeconfig(_)), "{error}");
    }
}
