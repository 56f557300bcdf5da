//! Findings about the webhook configurations in a cluster: webhooks of the operator without a server, and those of others that
//! can block the cluster.

use std::net::SocketAddr;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use kube::{Api, Client, ResourceExt};
use kubewright_operator::Model;
use serde_json::Value;
use tokio::net::TcpStream;

use super::{Finding, webhooks};
use crate::cluster::one_line;

/// Returns findings about the webhooks that the cluster calls: those of an operator, if there is one, and others.
pub(super) async fn findings(client: &Client, model: Option<&Model>) -> Vec<Finding> {
    let has_webhooks = model.is_some_and(|model| !model.webhooks.is_empty());
    let entries = match entries(client).await {
        Ok(entries) => entries,
        // Few users may list them.
        Err(_) if !has_webhooks => return Vec::new(),
        Err(error) => return vec![Finding::warning("webhook", one_line(&error), "")],
    };
    let known: Vec<&Value> = model
        .into_iter()
        .flat_map(|model| &model.webhooks)
        .map(|it| &it.webhook["name"])
        .collect();
    let (ours, others): (Vec<&Entry>, Vec<&Entry>) = entries
        .iter()
        .partition(|entry| known.iter().any(|name| **name == *entry.webhook));
    let others = others.into_iter();
    let others = others.flat_map(|it| webhooks::of_cluster(&it.configuration, &it.value));
    let others: Vec<Finding> = others.collect();
    if !has_webhooks {
        return others;
    }
    let mut findings = Vec::new();
    for entry in &ours {
        findings.extend(unanswered(entry).await);
    }
    if findings.is_empty() {
        let found = match ours.len() {
            0 => "the cluster calls none of the operator's webhooks".to_owned(),
            count => format!("the cluster calls {count} of the operator's webhooks"),
        };
        findings.push(Finding::good("webhook", found));
    }
    findings.extend(others);
    findings
}

/// A webhook in a cluster.
struct Entry {
    configuration: String,
    webhook: String,
    config: WebhookClientConfig,
    /// All of it.
    value: Value,
}

async fn entries(client: &Client) -> kube::Result<Vec<Entry>> {
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let mut entries = Vec::new();
    for configuration in mutating.list(&Default::default()).await? {
        let name = configuration.name_any();
        let webhooks = configuration.webhooks.unwrap_or_default().into_iter();
        entries.extend(webhooks.map(|it| Entry {
            configuration: name.clone(),
            value: serde_json::to_value(&it).unwrap_or_default(),
            webhook: it.name,
            config: it.client_config,
        }));
    }
    for configuration in validating.list(&Default::default()).await? {
        let name = configuration.name_any();
        let webhooks = configuration.webhooks.unwrap_or_default().into_iter();
        entries.extend(webhooks.map(|it| Entry {
            configuration: name.clone(),
            value: serde_json::to_value(&it).unwrap_or_default(),
            webhook: it.name,
            config: it.client_config,
        }));
    }
    Ok(entries)
}

/// Returns a finding about a webhook that cannot be called.
async fn unanswered(entry: &Entry) -> Option<Finding> {
    let Entry {
        configuration,
        webhook,
        config,
        ..
    } = entry;
    if let Some(url) = &config.url {
        let address = url.strip_prefix("https://")?.split('/').next()?;
        let address: SocketAddr = address.parse().ok()?;
        let is_gone = address.ip().is_loopback() && TcpStream::connect(address).await.is_err();
        return is_gone.then(|| {
            Finding::bad(
                "webhook",
                format!("{webhook} in {configuration} is called at {address}, where nothing listens, so writes fail"),
                "remove it with `kubewright install` or `uninstall`: `run` or `dev` was killed before it could",
            )
        });
    }
    config.ca_bundle.is_none().then(|| {
        Finding::warning(
            "webhook",
            format!("{webhook} in {configuration} has no caBundle, so the cluster does not trust the operator"),
            "check that the operator, or cert-manager, runs and may write it",
        )
    })
}
