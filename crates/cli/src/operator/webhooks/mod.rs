//! [`LocalWebhooks`]: the webhooks of an operator on this machine, called by a cluster.
//!
//! The operator serves them on a loopback address, with a generated certificate; webhook configurations and CRDs hold the URL
//! and the CA. Admission webhooks are registered while the operator runs: registered without it, they would block writes.
//! Conversion points to the operator until the end of the command even while it is down, since objects that are not converted
//! lose fields. A cluster elsewhere cannot call this machine.
//!
//! | module | contents |
//! |---|---|
//! | `endpoint` | the address and its certificate |
//! | `apis` | kinds that the operator serves itself |
//! | `registration` | the webhook configurations |
//! | `conversion` | the conversion of CRDs |
//! | `probe` | whether the cluster can call this machine |

mod apis;
mod conversion;
mod endpoint;
mod probe;
mod registration;

use std::{ffi::OsString, path::Path};

use kube::Client;
use kubewright_operator::Model;
use kubewright_scaffold::Error;

use apis::LocalApis;
pub(crate) use apis::names as api_service_names;
use conversion::Conversions;
pub(crate) use conversion::{keep_deployed, reset_conversion};
pub(crate) use endpoint::Endpoint;
use registration::{Registration, prefix};

use crate::cluster::{apply::Outcome, refused};

/// The webhooks of an operator on this machine, and the kinds that it serves itself.
pub(crate) struct LocalWebhooks {
    client: Client,
    apis: LocalApis,
    reach: Reach,
    conversions: Conversions,
    registration: Option<Registration>,
}

/// The location of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    /// In this process.
    ThisProcess,
    /// Perhaps on this machine: its address is.
    Here,
    Elsewhere,
}

/// Whether the cluster can call this machine.
enum Reach {
    /// It can.
    Yes(Endpoint),
    /// It has to be asked.
    Unknown(Endpoint),
    /// It cannot, and why.
    No(String),
}

impl LocalWebhooks {
    /// Chooses an address and writes a certificate to a directory. Nothing is registered yet.
    pub(crate) async fn prepare(
        client: Client,
        cluster: Whereabouts,
        directory: &Path,
    ) -> anyhow::Result<Self> {
        let reach = match cluster {
            Whereabouts::ThisProcess => Reach::Yes(Endpoint::prepare(directory, None).await?),
            Whereabouts::Here => Reach::Unknown(Endpoint::prepare(directory, None).await?),
            Whereabouts::Elsewhere => Reach::No("it is not on this machine".to_owned()),
        };
        Ok(Self {
            apis: LocalApis::new(client.clone(), directory.join("apiserver")),
            client,
            reach,
            conversions: Conversions::default(),
            registration: None,
        })
    }

    /// Points the CRDs of an operator to this machine, if it converts their objects, and returns the flags that make it serve
    /// its webhooks and its own kinds. They are none if the cluster cannot call it.
    pub(crate) async fn configure(&mut self, model: &mut Model) -> Result<Vec<OsString>, Error> {
        if !model.is_called() {
            return Ok(Vec::new());
        }
        self.find_out().await;
        let Reach::Yes(endpoint) = &self.reach else {
            let kept = keep_deployed(&self.client, model).await;
            kept.map_err(|e| refused("read the CRDs of the operator", &e))?;
            return Ok(Vec::new());
        };
        let pointed = self.conversions.point(&self.client, model, endpoint).await;
        pointed.map_err(|e| refused("read the CRDs of the operator", &e))?;
        let mut flags = match model.serves_webhooks() {
            true => endpoint.flags("webhook"),
            false => Vec::new(),
        };
        flags.extend(self.apis.configure(model).await?);
        Ok(flags)
    }

    /// Returns the endpoint of the kinds that the operator serves itself, if the cluster can call it.
    pub(crate) fn apis_endpoint(&self) -> Option<&Endpoint> {
        self.apis.endpoint()
    }

    /// Registers the kinds that an operator serves itself with the cluster, and returns the changes. The operator need
    /// not be ready: its controllers may wait for these kinds.
    pub(crate) async fn register_apis(&mut self, model: &Model) -> Result<Vec<Outcome>, Error> {
        self.apis.register(model).await
    }

    /// Returns why the cluster cannot call this machine, if so.
    pub(crate) fn why_not(&self) -> Option<&str> {
        match &self.reach {
            Reach::No(why) => Some(why),
            Reach::Yes(_) | Reach::Unknown(_) => None,
        }
    }

    /// Returns the endpoint, if the cluster can call it.
    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        match &self.reach {
            Reach::Yes(endpoint) => Some(endpoint),
            Reach::Unknown(_) | Reach::No(_) => None,
        }
    }

    /// Registers the admission webhooks of an operator that runs. Returns whether they are called.
    pub(crate) async fn register(&mut self, model: &Model) -> Result<bool, Error> {
        let Reach::Yes(endpoint) = &self.reach else {
            return Ok(false);
        };
        let new = || Registration::new(self.client.clone(), &model.name);
        let registration = self.registration.get_or_insert_with(new);
        registration.register(model, endpoint).await?;
        Ok(!model.webhooks.is_empty())
    }

    /// Removes the registration of admission webhooks, as long as the operator is down.
    pub(crate) async fn pause(&mut self) -> Result<(), Error> {
        match &mut self.registration {
            Some(registration) => registration.remove().await,
            None => Ok(()),
        }
    }

    /// Removes everything from the cluster that points to this machine. Returns what could not be removed.
    pub(crate) async fn end(&mut self) -> Vec<Error> {
        let mut failed: Vec<Error> = self.pause().await.err().into_iter().collect();
        if let Reach::Unknown(endpoint) = &self.reach {
            probe::remove(&self.client, endpoint).await;
        }
        failed.extend(self.apis.end().await);
        let restored = self.conversions.restore(&self.client).await;
        failed.extend(
            restored.into_iter().map(|(name, error)| {
                refused(format_args!("reset the conversion of {name}"), &error)
            }),
        );
        failed
    }

    /// Asks the cluster to call this machine, the first time.
    async fn find_out(&mut self) {
        if let Reach::Unknown(endpoint) = &self.reach {
            let found = probe::unreachable(&self.client, endpoint).await;
            let unknown = std::mem::replace(&mut self.reach, Reach::No(String::new()));
            self.reach = match (unknown, found) {
                (Reach::Unknown(endpoint), None) => Reach::Yes(endpoint),
                (_, found) => Reach::No(found.unwrap_or_default()),
            };
        }
    }
}

/// Removes the registration that a program on this machine may have left, because it was killed.
pub(crate) async fn remove_stale(client: &Client, operator: &str) -> Result<(), Error> {
    Registration::new(client.clone(), operator)
        .remove_all()
        .await
}

/// Returns the names of an operator's webhooks: `mcaptain-v1.kb.io, conversion of captains.crew.example.com`.
pub(crate) fn names(model: &Model) -> String {
    let admission = model
        .webhooks
        .iter()
        .filter_map(|it| it.webhook["name"].as_str());
    let mut names: Vec<String> = admission.map(str::to_owned).collect();
    let crds = model.conversions.iter();
    names.extend(crds.map(|crd| format!("conversion of {crd}")));
    names.join(", ")
}

/// Returns the group versions that an operator serves itself, by the names of their APIServices.
pub(crate) fn api_names(model: &Model) -> String {
    apis::names(model).join(", ")
}

/// Returns a note about kinds that are not served yet; `None` if the operator serves no kinds itself.
pub(crate) fn not_yet_served(model: &Model) -> Option<String> {
    model.serves_aggregated_apis().then(|| {
        format!(
            "note: {} are served by the operator itself, once `kubewright deploy` has deployed it, and while `kubewright dev` or `run` \
             runs it on the machine of the cluster",
            api_names(model)
        )
    })
}

/// Returns a note about kinds that are not served, with the reason; `None` if the operator serves no kinds itself.
pub(crate) fn not_served(model: &Model, why: &str) -> Option<String> {
    model.serves_aggregated_apis().then(|| {
        format!(
            "note: the cluster does not serve {}: {why}",
            api_names(model)
        )
    })
}

/// Returns a note about webhooks that are not called yet; `None` if there are no webhooks.
pub(crate) fn not_yet_called(model: &Model) -> Option<String> {
    model.serves_webhooks().then(|| {
        format!(
            "note: only CRDs are installed; the webhooks of the operator ({}) are called once `kubewright deploy` has deployed it, \
             and while `kubewright dev` or `run` runs it on the machine of the cluster",
            names(model)
        )
    })
}

/// Returns a note about webhooks that a cluster does not call, with the reason; `None` if there are no webhooks.
pub(crate) fn not_called(model: &Model, why: &str) -> Option<String> {
    model.serves_webhooks().then(|| {
        let lost = match model.conversions.is_empty() {
            true => "",
            false => ", and fields that versions do not share are dropped",
        };
        format!(
            "note: the cluster does not call the webhooks of the operator ({}): {why}; objects are stored without \
             review{lost}",
            names(model)
        )
    })
}
