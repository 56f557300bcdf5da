//! `ServiceAccount`: gives a pod its service account, with a token to call the API.

mod mountable;
mod token_volume;

use std::time::Duration;

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{
    Status, go,
    json::{Read, Write},
    status,
};
use serde_json::{Value, json};

use super::{
    forbidden::{forbidden, is_for, is_for_subresource},
    stored::Stored,
};
use crate::pod_references::{self, is_mirror};

const ACCOUNTS: &str = "serviceaccounts";
/// The account of pods that name none.
const DEFAULT: &str = "default";
/// The time that a pod waits for the account `default`, which a controller creates after the namespace.
const WAIT: Duration = Duration::from_millis(1500);

/// The `ServiceAccount` plugin.
pub(crate) struct ServiceAccount {
    store: Stored,
    wait: Duration,
}

impl ServiceAccount {
    /// Returns a plugin that reads the accounts of a store.
    pub(crate) fn new(store: Stored) -> Self {
        Self { store, wait: WAIT }
    }

    async fn account(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        pod: &Value,
    ) -> Result<Value, Status> {
        let (namespace, name) = (cx.namespace(), pod["spec"]["serviceAccountName"].text());
        let path = format!("{namespace}/{name}");
        let found = match name {
            DEFAULT => self.store.get_within(ACCOUNTS, &path, self.wait).await?,
            _ => self.store.get(ACCOUNTS, &path).await?,
        };
        found.ok_or_else(|| {
            let cause = format!(
                "error looking up service account {path}: serviceaccount {} not found",
                go::quote(name)
            );
            forbidden(cx, attributes, pod, cause)
        })
    }

    async fn check(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        pod: &Value,
    ) -> Result<(), Status> {
        let refuse = |cause: String| forbidden(cx, attributes, pod, cause);
        if is_mirror(pod) {
            return check_mirror(pod).map_err(|cause| refuse(cause.to_owned()));
        }
        if pod["spec"]["serviceAccountName"].is_blank() {
            return Err(refuse(no_account(cx, pod)));
        }
        let account = self.account(cx, attributes, pod).await?;
        match mountable::are_enforced(&account) {
            true => mountable::check_pod(&account, pod).map_err(refuse),
            false => Ok(()),
        }
    }

    async fn check_ephemeral_containers(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        pod: &Value,
    ) -> Result<(), Status> {
        if pod["spec"]["serviceAccountName"].is_blank() {
            return Err(forbidden(cx, attributes, pod, no_account(cx, pod)));
        }
        let account = self.account(cx, attributes, pod).await?;
        match mountable::are_enforced(&account) {
            // kube-apiserver answers these with 500.
            true => mountable::check_ephemeral_containers(&account, pod).map_err(status::unknown),
            false => Ok(()),
        }
    }
}

#[boxed_async]
impl Plugin for ServiceAccount {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        is_for_subresource(cx, "", "pods", "ephemeralcontainers")
    }

    async fn mutate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Value>,
    ) -> Result<(), Status> {
        let Some(pod) = object else { return Ok(()) };
        if attributes.operation != Operation::Create || !is_for(cx, "", "pods") {
            return Ok(());
        }
        if is_mirror(pod) {
            return self.check(cx, attributes, pod).await;
        }
        if pod["spec"]["serviceAccountName"].is_blank() {
            let spec = pod.field("spec");
            spec.put("serviceAccountName", DEFAULT);
            spec.put("serviceAccount", DEFAULT);
        }
        let account = self.account(cx, attributes, pod).await?;
        if mounts_token(&account, pod) {
            token_volume::mount(pod);
        }
        let pull_secrets = account["imagePullSecrets"].items();
        if pod["spec"]["imagePullSecrets"].is_blank() && !pull_secrets.is_empty() {
            let names = pull_secrets.iter().map(|s| json!({"name": s["name"]}));
            let names: Vec<Value> = names.collect();
            pod.field("spec").put("imagePullSecrets", names);
        }
        self.check(cx, attributes, pod).await
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let Some(pod) = object else { return Ok(()) };
        match attributes.operation {
            Operation::Create if is_for(cx, "", "pods") => self.check(cx, attributes, pod).await,
            Operation::Update if is_for_subresource(cx, "", "pods", "ephemeralcontainers") => {
                self.check_ephemeral_containers(cx, attributes, pod).await
            }
            _ => Ok(()),
        }
    }
}

/// A pod from a file exists without the API, so it cannot depend on objects of the API.
fn check_mirror(pod: &Value) -> Result<(), &'static str> {
    if !pod["spec"]["serviceAccountName"].is_blank() {
        return Err("a mirror pod may not reference service accounts");
    }
    if pod_references::secrets(pod).next().is_some() {
        return Err("a mirror pod may not reference secrets");
    }
    let volumes = pod["spec"]["volumes"].items().iter();
    let mut sources = volumes.flat_map(|volume| volume["projected"]["sources"].items());
    match sources.any(|source| source["serviceAccountToken"].is_set()) {
        true => Err("a mirror pod may not use ServiceAccountToken volume projections"),
        false => Ok(()),
    }
}

/// The pod decides, then the account; by default a token is mounted.
fn mounts_token(account: &Value, pod: &Value) -> bool {
    const FLAG: &str = "automountServiceAccountToken";
    let flags = [&pod["spec"][FLAG], &account[FLAG]];
    flags.into_iter().find_map(Value::as_bool).unwrap_or(true)
}

fn no_account(cx: &RequestContext, pod: &Value) -> String {
    let name = pod["metadata"]["name"].text();
    format!(
        "no service account specified for pod {}/{name}",
        cx.namespace()
    )
}

#[cfg(test)]
mod tests;
