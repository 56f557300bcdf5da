//! The conversion of CRDs: by an operator on this machine, by a deployed one, or none.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use kubewright_operator::Model;
use serde_json::{Value, json};

use super::endpoint::{Endpoint, is_local};

/// The CRDs whose conversion was pointed to this machine, and the Services that converted their objects before.
#[derive(Default)]
pub(super) struct Conversions(Vec<(String, Option<Value>)>);

impl Conversions {
    /// Points the CRDs of a model to an endpoint. They have yet to be applied.
    pub(super) async fn point(
        &mut self,
        client: &Client,
        model: &mut Model,
        endpoint: &Endpoint,
    ) -> kube::Result<()> {
        for definition in &mut model.crds {
            let name = definition["metadata"]["name"].as_str().unwrap_or_default();
            if !model.conversions.iter().any(|it| it == name) {
                continue;
            }
            if !self.0.iter().any(|(known, _)| known == name) {
                let before = by_service(client, name).await?;
                self.0.push((name.to_owned(), before));
            }
            definition["spec"]["conversion"] = json!({
                "strategy": "Webhook",
                "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": endpoint.client_config("/convert"),
                },
            });
        }
        Ok(())
    }

    /// Restores the previous conversion of the CRDs: by a Service, or none.
    pub(super) async fn restore(&mut self, client: &Client) -> Vec<(String, kube::Error)> {
        let mut failed = Vec::new();
        for (name, before) in std::mem::take(&mut self.0) {
            // Somebody else may have pointed it elsewhere meanwhile.
            let restored = match is_pointed_here(client, &name).await {
                Ok(true) => set(client, &name, before.as_ref()).await,
                Ok(false) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = restored {
                failed.push((name, error));
            }
        }
        failed
    }
}

/// Lets the CRDs of a model have their objects converted by the operator that is deployed, if there is one. Otherwise applying
/// them would take the conversion away from it.
pub(crate) async fn keep_deployed(client: &Client, model: &mut Model) -> kube::Result<()> {
    for definition in &mut model.crds {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        if !model.conversions.iter().any(|it| it == name) {
            continue;
        }
        if let Some(mut conversion) = by_service(client, name).await? {
            // The operator keeps the bundle.
            let config = conversion.pointer_mut("/webhook/clientConfig");
            if let Some(config) = config.and_then(Value::as_object_mut) {
                config.remove("caBundle");
            }
            definition["spec"]["conversion"] = conversion;
        }
    }
    Ok(())
}

/// Resets the conversion strategy of a CRD that is about to be deleted. The program that converts its objects may be gone, and
/// then they can be neither read nor deleted.
pub(crate) async fn reset_conversion(client: &Client, definition: &str) -> kube::Result<()> {
    match webhook_of(client, definition).await? {
        Some(_) => set(client, definition, None).await,
        None => Ok(()),
    }
}

/// Returns the conversion of a CRD, if a Service does it.
async fn by_service(client: &Client, definition: &str) -> kube::Result<Option<Value>> {
    let conversion = webhook_of(client, definition).await?;
    let conversion = conversion.filter(|it| {
        let config = it.webhook.as_ref().and_then(|it| it.client_config.as_ref());
        config.is_some_and(|it| it.service.is_some())
    });
    Ok(conversion.and_then(|it| serde_json::to_value(it).ok()))
}

/// Returns the conversion of a CRD, if a webhook does it.
async fn webhook_of(
    client: &Client,
    definition: &str,
) -> kube::Result<Option<CustomResourceConversion>> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let found = api.get_opt(definition).await?;
    let conversion = found.and_then(|it| it.spec.conversion);
    Ok(conversion.filter(|it| it.webhook.is_some()))
}

/// Sets the conversion of a CRD that a webhook converts.
async fn set(client: &Client, definition: &str, conversion: Option<&Value>) -> kube::Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut conversion = match conversion {
        Some(conversion) => conversion.clone(),
        None => json!({"strategy": "None", "webhook": null}),
    };
    if let Some(config) = conversion.pointer_mut("/webhook/clientConfig") {
        config["url"] = Value::Null;
    }
    let patch = json!({"spec": {"conversion": conversion}});
    let params = PatchParams::default();
    match api.patch(definition, &params, &Patch::Merge(patch)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map(drop),
    }
}

/// Reports whether a CRD points to this machine.
async fn is_pointed_here(client: &Client, definition: &str) -> kube::Result<bool> {
    let conversion = webhook_of(client, definition).await?;
    let config = conversion.and_then(|it| it.webhook?.client_config);
    Ok(config
        .and_then(|it| it.url)
        .is_some_and(|url| is_local(&url)))
}
