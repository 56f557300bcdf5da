//! [`Registration`]: the webhook configurations of an operator on this machine.
//!
//! They have their own names, so that those of a deployed operator are not changed.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::{Api, Client, Resource, api::DeleteParams, core::DynamicObject};
use kubewright_operator::Model;
use kubewright_scaffold::{Error, generate::webhook_configurations};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::endpoint::Endpoint;
use crate::cluster::{
    apply::{Applier, Report},
    refused,
};

/// The time limit for a configuration to be applied.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The webhook configurations of an operator.
pub(super) struct Registration {
    client: Client,
    /// The prefix of their names.
    prefix: String,
    is_registered: bool,
}

impl Registration {
    pub(super) fn new(client: Client, operator: &str) -> Self {
        Self {
            client,
            prefix: prefix(operator),
            is_registered: false,
        }
    }

    /// Registers the webhooks of a model, and removes others that were registered before.
    pub(super) async fn register(
        &mut self,
        model: &Model,
        endpoint: &Endpoint,
    ) -> Result<(), Error> {
        let report = Report::silent();
        let mut applier = Applier::new(self.client.clone(), &model.name, TIMEOUT, &report);
        let wanted = configurations(model, endpoint, &self.prefix);
        self.is_registered = !wanted.is_empty();
        for object in &wanted {
            applier.one(object).await?;
        }
        let has = |kind: &str| {
            let types = wanted.iter().filter_map(|it| it.types.as_ref());
            types.into_iter().any(|it| it.kind == kind)
        };
        if !has("MutatingWebhookConfiguration") {
            self.delete::<MutatingWebhookConfiguration>("mutating")
                .await?;
        }
        if !has("ValidatingWebhookConfiguration") {
            self.delete::<ValidatingWebhookConfiguration>("validating")
                .await?;
        }
        Ok(())
    }

    /// Removes the configurations, if they were registered.
    pub(super) async fn remove(&mut self) -> Result<(), Error> {
        if self.is_registered {
            self.remove_all().await?;
            self.is_registered = false;
        }
        Ok(())
    }

    /// Removes the configurations, which a program that is gone may have left.
    pub(super) async fn remove_all(&self) -> Result<(), Error> {
        self.delete::<MutatingWebhookConfiguration>("mutating")
            .await?;
        self.delete::<ValidatingWebhookConfiguration>("validating")
            .await
    }

    async fn delete<K>(&self, type_: &str) -> Result<(), Error>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
    {
        let name = name(&self.prefix, type_);
        let api: Api<K> = Api::all(self.client.clone());
        match api.delete(&name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(refused(format_args!("delete {name}"), &error)),
        }
    }
}

/// Returns the configurations that `generate` writes, with names and URLs of this machine.
fn configurations(model: &Model, endpoint: &Endpoint, prefix: &str) -> Vec<DynamicObject> {
    let configurations = webhook_configurations(model, &model.name).into_iter();
    let object = |mut configuration: Value| {
        let type_ = match configuration["kind"].as_str() {
            Some("MutatingWebhookConfiguration") => "mutating",
            _ => "validating",
        };
        configuration["metadata"] = json!({
            "name": name(prefix, type_),
            "labels": {"app.kubernetes.io/managed-by": "kubewright"},
        });
        let webhooks = configuration["webhooks"].as_array_mut();
        for webhook in webhooks.into_iter().flatten() {
            let path = &webhook["clientConfig"]["service"]["path"];
            let config = endpoint.client_config(path.as_str().unwrap_or_default());
            webhook["clientConfig"] = config;
        }
        serde_json::from_value(configuration).ok()
    };
    configurations.filter_map(object).collect()
}

fn name(prefix: &str, type_: &str) -> String {
    format!("{prefix}-local-{type_}-webhook-configuration")
}

/// Returns the name of an operator as part of the name of an object.
pub(super) fn prefix(operator: &str) -> String {
    let lower = operator.to_ascii_lowercase();
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = lower.chars().map(allowed).take(40).collect();
    match name.trim_matches('-') {
        "" => "operator".to_owned(),
        name => name.to_owned(),
    }
}
