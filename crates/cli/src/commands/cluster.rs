//! Which cluster a command is about, and what is wrong if it does not answer.

use std::{ffi::OsString, fmt::Display, path::PathBuf, time::Duration};

use clap::Args;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_scaffold::Refusal;

/// How long a cluster may take to say its version.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// The flags that name a cluster.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Cluster {
    /// A kubeconfig file. By default the environment's.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// A context of the kubeconfig. By default its current one.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl Cluster {
    /// Whether the flags name one.
    pub(crate) fn is_named(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }

    /// The flags, as an operator takes them.
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

    /// A client of the cluster, which has answered.
    pub(crate) async fn client(&self) -> Result<Client, Refusal> {
        let client = Client::try_from(self.config().await?).map_err(|e| none(&e))?;
        let asked = tokio::time::timeout(ANSWERS_WITHIN, client.apiserver_version()).await;
        match asked {
            Ok(Ok(_)) => Ok(client),
            Ok(Err(error)) => Err(refused("ask the cluster for its version", &error)),
            Err(_) => Err(unreachable("it did not answer within 10 s")),
        }
    }

    /// Whether the cluster is on this machine, by its address.
    pub(crate) async fn is_here(&self) -> Result<bool, Refusal> {
        let url = self.config().await?.cluster_url;
        let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
        let address = host.parse::<std::net::IpAddr>();
        Ok(host == "localhost" || address.is_ok_and(|address| address.is_loopback()))
    }

    async fn config(&self) -> Result<Config, Refusal> {
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

/// There is no cluster to ask.
fn none(error: &dyn Display) -> Refusal {
    Refusal::new(
        format_args!("no cluster was found: {}", one_line(error)),
        "name a kubeconfig with --kubeconfig, a context with --context, or start a cluster with `kubewright up`",
    )
}

fn unreachable(error: impl Display) -> Refusal {
    Refusal::new(
        format_args!("the cluster cannot be reached: {}", one_line(&error)),
        "check that it runs, or choose another with --kubeconfig or --context",
    )
}

/// What a cluster refused to do, or could not be asked to do.
pub(crate) fn refused(doing: impl Display, error: &kube::Error) -> Refusal {
    let kube::Error::Api(status) = error else {
        return unreachable(cause(error));
    };
    let wrong = format!("cannot {doing}: {}", one_line(&status.message));
    let advice = match status.code {
        401 => "log in again, or choose another context with --context",
        403 => "ask for the permission, or choose another user with --context",
        404 => "check that the cluster has the kind",
        409 => "look at who else manages the object, and try again",
        400 | 422 => "correct it",
        _ => "try again, or look at the log of the server",
    };
    Refusal::new(wrong, advice)
}

/// The innermost cause says most.
fn cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(next) = inner.source() {
        inner = next;
    }
    inner.to_string()
}

/// A sentence has no line breaks.
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
            "cannot apply captain/first: captains is forbidden; ask for the permission, or choose another user with --context"
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
