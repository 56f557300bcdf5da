//! Definitions: the versions of a kind in one, and their way to a cluster.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client, ResourceExt};
use kubewright_controller::{apply::apply, wait::object::wait_for};

use super::{Operator, OperatorError};

/// How long a definition may take to become usable.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(60);

impl Operator {
    /// A definition for each kind, with all its versions, sorted by name.
    pub fn definitions(&self) -> Result<Vec<CustomResourceDefinition>, OperatorError> {
        for pair in self.converter.pairs() {
            let [a, b] = &pair.definitions;
            if a != b {
                return Err(OperatorError::Conversion(a.clone(), b.clone()));
            }
        }
        let mut merged: Vec<CustomResourceDefinition> = Vec::new();
        for next in &self.definitions {
            let known = merged
                .iter_mut()
                .find(|known| known.name_any() == next.name_any());
            match known {
                Some(known) => add_versions(known, next)?,
                None => merged.push(next.clone()),
            }
        }
        for definition in &mut merged {
            let versions = &mut definition.spec.versions;
            versions.sort_by(|a, b| a.name.cmp(&b.name));
            let stored = versions.iter().filter(|version| version.storage).count();
            if stored != 1 {
                return Err(OperatorError::Storage {
                    versions: versions.len(),
                    stored,
                    name: definition.name_any(),
                });
            }
        }
        merged.sort_by_key(ResourceExt::name_any);
        Ok(merged)
    }

    /// Brings the definitions to a cluster, by server-side apply, and waits until they can be used.
    pub async fn install(&self, client: Client) -> Result<(), OperatorError> {
        let api: Api<CustomResourceDefinition> = Api::all(client);
        for definition in self.definitions()? {
            let name = definition.name_any();
            apply(&api, &self.name, &definition)
                .await
                .map_err(|cause| OperatorError::Install {
                    name: name.clone(),
                    cause,
                })?;
            wait_for(&api, &name, ESTABLISHED_WITHIN, |it| {
                it.is_some_and(is_established)
            })
            .await
            .map_err(|cause| OperatorError::Establish { name, cause })?;
        }
        Ok(())
    }

    /// Brings the definitions to a cluster of a test, which from then on has objects converted by this operator.
    #[cfg(feature = "testing")]
    pub async fn install_on(
        &self,
        cluster: &kubewright_testing::TestCluster,
    ) -> Result<(), OperatorError> {
        for definition in self.converter.definitions() {
            let converter = self.converter();
            cluster.convert(definition, move |object, to| {
                converter.convert(object, to).map_err(|e| e.to_string())
            });
        }
        self.install(cluster.client()).await
    }
}

/// Adds the versions of one definition to another of the same name.
fn add_versions(
    known: &mut CustomResourceDefinition,
    next: &CustomResourceDefinition,
) -> Result<(), OperatorError> {
    let what = if known.spec.names.kind != next.spec.names.kind {
        Some("their kind")
    } else if known.spec.scope != next.spec.scope {
        Some("their scope")
    } else {
        None
    };
    if let Some(what) = what {
        let name = known.name_any();
        return Err(OperatorError::Versions { name, what });
    }
    for version in &next.spec.versions {
        known
            .spec
            .versions
            .retain(|other| other.name != version.name);
        known.spec.versions.push(version.clone());
    }
    Ok(())
}

fn is_established(definition: &CustomResourceDefinition) -> bool {
    let status = definition.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Established" && condition.status == "True")
}
