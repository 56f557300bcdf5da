//! Findings about the webhook configurations of an operator in a cluster: those that nobody answers.

use std::net::SocketAddr;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use kube::{Api, Client, ResourceExt};
use kubewright_operator::Model;
use tokio::net::TcpStream;

use super::Finding;
use crate::cluster::one_line;

/// Returns findings about configurations with the webhooks of an operator.
pub(super) async fn findings(client: &Client, model: &Model) -> Vec<Finding> {
    if model.webhooks.is_empty() {
        return Vec::new();
    }
    let entries = match entries(client).await {
        Ok(entries) => entries,
        Err(error) => return vec![Finding::warning("webhook", one_line(&error), "")],
    };
    let ours = |name: &str| model.webhooks.iter().any(|it| it.webhook["name"] == name);
    let mut findings = Vec::new();
    for entry in entries.iter().filter(|entry| ours(&entry.webhook)) {
        findings.extend(unanswered(entry).await);
    }
    if findings.is_empty() {
        let count = entries.iter().filter(|entry| ours(&entry.webhook)).count();
        let found = match count {
            0 => "the cluster calls none of the operator's webhooks".to_owned(),
            count => format!("the cluster calls {count} of the operator's webhooks"),
        };
        findings.push(Finding::good("webhook", found));
    }
    findings
}

/// A webhook in a cluster.
struct Entry {
    configuration: String,
    webhook: String,
    config: WebhookClientConfig,
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
            webhook: it.name,
            config: it.client_config,
        }));
    }
    for configuration in validating.list(&Default::default()).await? {
        let name = configuration.name_any();
        let webhooks = configuration.webhooks.unwrap_or_default().into_iter();
        entries.extend(webhooks.map(|it| Entry {
            configuration: name.clone(),
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
