//! The CustomResourceDefinitions of an operator: one CRD for all versions of a kind, and their installation.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition,
};
use kube::{Api, Client, ResourceExt};
use kubewright_controller::{
    apply,
    wait::{WaitError, wait_for},
};
use serde_json::Value;

use crate::{Operator, OperatorError};

/// The time limit for a CRD to become established.
const ESTABLISH_TIMEOUT: Duration = Duration::from_secs(60);

impl Operator {
    /// Returns one CustomResourceDefinition for each kind, with all its versions, sorted by name.
    ///
    /// # Errors
    ///
    /// Fails if a CustomResourceDefinition is not valid, or if versions or conversions contradict each other.
    pub fn crds(&self) -> Result<Vec<CustomResourceDefinition>, OperatorError> {
        let parse = |manifest: Value| {
            let name = text(&manifest["metadata"]["name"]).to_owned();
            serde_json::from_value(manifest)
                .map_err(|source| OperatorError::Malformed { name, source })
        };
        self.crd_manifests()?.into_iter().map(parse).collect()
    }

    /// Returns the CustomResourceDefinitions as JSON.
    pub(crate) fn crd_manifests(&self) -> Result<Vec<Value>, OperatorError> {
        if let Some((a, b)) = self.converter().contradiction() {
            return Err(OperatorError::Conversion(a.to_owned(), b.to_owned()));
        }
        let mut merged: BTreeMap<String, Value> = BTreeMap::new();
        for api in &self.apis {
            let next = api.as_ref().map_err(Clone::clone)?;
            let name = text(&next["metadata"]["name"]);
            match merged.get_mut(name) {
                Some(known) => add_versions(name, known, next)?,
                None => drop(merged.insert(name.to_owned(), next.clone())),
            }
        }
        for (name, crd) in &mut merged {
            let Some(versions) = crd["spec"]["versions"].as_array_mut() else {
                continue;
            };
            versions.sort_by(|a, b| text(&a["name"]).cmp(text(&b["name"])));
            let stored = versions.iter().filter(|version| version["storage"] == true);
            let stored = stored.count();
            if stored != 1 {
                return Err(OperatorError::Storage {
                    name: name.clone(),
                    versions: versions.len(),
                    stored,
                });
            }
        }
        Ok(merged.into_values().collect())
    }

    /// Installs the CustomResourceDefinitions by server-side apply, and waits until they are established. The conversion
    /// webhook of a deployed operator is kept.
    ///
    /// # Errors
    ///
    /// Fails as [`crds`](Self::crds) does, if the cluster rejects a CRD, or if one is not established within a minute.
    pub async fn install(&self, client: Client) -> Result<(), OperatorError> {
        let api: Api<CustomResourceDefinition> = Api::all(client);
        let converted = self.converter().crds();
        for mut crd in self.crds()? {
            let name = crd.name_any();
            if converted.contains(&name) {
                let deployed = deployed_conversion(&api, &name).await;
                let failed = |source: kube::Error| OperatorError::Install {
                    name: name.clone(),
                    source: source.into(),
                };
                crd.spec.conversion = deployed.map_err(failed)?;
            }
            apply(&api, &self.name, &crd)
                .await
                .map_err(|source| OperatorError::Install {
                    name: name.clone(),
                    source: source.into(),
                })?;
            wait_for(&api, &name, ESTABLISH_TIMEOUT, |crd| {
                crd.is_some_and(is_established)
            })
            .await
            .map_err(|error| OperatorError::Establish {
                name,
                source: match error {
                    WaitError::Timeout => WaitError::Timeout,
                    WaitError::Failed(error) => WaitError::Failed(error.into()),
                },
            })?;
        }
        Ok(())
    }
}

/// Returns the deployed conversion webhook of a CRD, which applying the CRD without it would remove. The `caBundle` is left out,
/// since another field manager owns it.
async fn deployed_conversion(
    api: &Api<CustomResourceDefinition>,
    name: &str,
) -> kube::Result<Option<CustomResourceConversion>> {
    let conversion = api.get_opt(name).await?.and_then(|it| it.spec.conversion);
    Ok(conversion.and_then(|mut conversion| {
        let config = conversion.webhook.as_mut()?.client_config.as_mut()?;
        config.ca_bundle = None;
        config.service.is_some().then_some(conversion)
    }))
}

/// Adds the versions of one CRD to another with the same name.
fn add_versions(name: &str, known: &mut Value, next: &Value) -> Result<(), OperatorError> {
    for (pointer, what) in [
        ("/spec/names/kind", "their kind"),
        ("/spec/scope", "their scope"),
    ] {
        if known.pointer(pointer) != next.pointer(pointer) {
            let name = name.to_owned();
            return Err(OperatorError::Versions { name, what });
        }
    }
    let added = next["spec"]["versions"].as_array().into_iter().flatten();
    if let Some(versions) = known["spec"]["versions"].as_array_mut() {
        for version in added {
            versions.retain(|other| other["name"] != version["name"]);
            versions.push(version.clone());
        }
    }
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn is_established(crd: &CustomResourceDefinition) -> bool {
    let status = crd.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Established" && condition.status == "True")
}
