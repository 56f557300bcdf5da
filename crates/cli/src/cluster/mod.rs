//! The cluster that a command works on: the flags that select it, and errors of requests.

pub(crate) mod apply;
pub(crate) mod audit;
pub(crate) mod authorization;
pub(crate) mod clock;
pub(crate) mod console;
pub(crate) mod data;
pub(crate) mod etcd;
pub(crate) mod kinds;
pub(crate) mod ledger;
pub(crate) mod local;
pub(crate) mod manifest;
pub(crate) mod migrate;
pub(crate) mod object;
pub(crate) mod parts;

use std::{ffi::OsString, fmt::Display, path::PathBuf, time::Duration};

use clap::Args;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_scaffold::Error;

/// The time limit for the cluster to report its version.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// The flags that select a cluster.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Cluster {
    /// Path to the kubeconfig file [default: $KUBECONFIG or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// Kubeconfig context to use [default: the current context]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl Cluster {
    /// Returns whether the flags select a cluster.
    pub(crate) fn is_named(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }

    /// Returns the flags as an operator accepts them.
    pub(crate) fn flags(&self) -> Vec<OsString> {
        let mut flags = Vec::new();
        if let Some(file) = &self.kubeconfig {
            flags.extend(["--kubeconfig".into(), file.clone().into_os_string()]);
        }
        if let Some(context) = &self.context {
            flags.extend(["--context".into(), context.into()]);
        }
        flags
    }

    /// Returns a client, after checking that the cluster responds.
    pub(crate) async fn client(&self) -> Result<Client, Error> {
        let client = Client::try_from(self.config().await?).map_err(|e| none(&e))?;
        let asked = tokio::time::timeout(ANSWERS_WITHIN, client.apiserver_version()).await;
        match asked {
            Ok(Ok(_)) => Ok(client),
            Ok(Err(error)) => Err(refused("get the version of the cluster", &error)),
            Err(_) => Err(unreachable("no response within 10 s")),
        }
    }

    /// Returns whether the address of the cluster is on this machine.
    pub(crate) async fn is_here(&self) -> Result<bool, Error> {
        let url = self.config().await?.cluster_url;
        let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
        let address = host.parse::<std::net::IpAddr>();
        Ok(host == "localhost" || address.is_ok_and(|address| address.is_loopback()))
    }

    async fn config(&self) -> Result<Config, Error> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        match &self.kubeconfig {
            Some(path) => {
                let kubeconfig = Kubeconfig::read_from(path).map_err(|e| none(&e))?;
                let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
                config.map_err(|e| none(&e))
            }
            None if self.context.is_some() => {
                let config = Config::from_kubeconfig(&options).await;
                config.map_err(|e| none(&e))
            }
            None => Config::infer().await.map_err(|e| none(&e)),
        }
    }
}

/// Makes the error for a missing cluster.
fn none(error: &dyn Display) -> Error {
    Error::new(
        format_args!("no cluster found: {}", one_line(error)),
        "set --kubeconfig or --context, or start a cluster with `kubewright up`",
    )
}

fn unreachable(error: impl Display) -> Error {
    Error::new(
        format_args!("the cluster cannot be reached: {}", one_line(&error)),
        "check that it is running, or select another with --kubeconfig or --context",
    )
}

/// Makes the error for a request that the cluster rejected or that did not reach it.
pub(crate) fn refused(doing: impl Display, error: &kube::Error) -> Error {
    let kube::Error::Api(status) = error else {
        return unreachable(cause(error));
    };
    let wrong = format!("cannot {doing}: {}", one_line(&status.message));
    let advice = match status.code {
        401 => "log in again, or select another context with --context",
        403 => "request the permission, or select another user with --context",
        404 => "check that the cluster serves the kind",
        409 => "check which other field managers own the fields, and retry",
        400 | 422 => "fix it",
        _ => "retry, or check the log of the server",
    };
    Error::new(wrong, advice)
}

/// Returns the innermost cause, which is the most specific one.
fn cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}

/// Joins lines and removes a trailing full stop, to embed a message in a sentence.
pub(crate) fn one_line(text: &(impl Display + ?Sized)) -> String {
    let text = text.to_string();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches(['.', ';', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn a_forbidden_request_is_one_sentence_with_advice() {
        let status = Status::failure("captains is\nforbidden.", "Forbidden").with_code(403);
        let said = refused("apply captain/first", &kube::Error::Api(status.boxed())).to_string();
        assert_eq!(
            said,
            "cannot apply captain/first: captains is forbidden; request the permission, or select another user with --context"
        );
    }

    #[test]
    fn flags_are_handed_on() {
        let cluster = Cluster {
            kubeconfig: Some("k".into()),
            context: Some("c".into()),
        };
        assert_eq!(cluster.flags(), ["--kubeconfig", "k", "--context", "c"]);
        assert!(Cluster::default().flags().is_empty());
    }
}
