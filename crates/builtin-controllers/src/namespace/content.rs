//! One pass over the contents of a namespace.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api,
    api::{DeleteParams, ListParams},
    core::ApiResource,
};
use kubewright_client::{
    DiscoveryClient, Error, MetadataClient, MetadataResource, discovery::GroupDiscoveryFailed,
};
use kubewright_machinery::gvk::GroupVersionResource;

use super::conditions::Findings;
use crate::resources::{Deletable, deletable_in_namespaces};

/// The estimated time for finalizers.
const FINALIZERS_TAKE: Duration = Duration::from_secs(15);

/// The contents of a namespace.
pub(super) struct Content<'a> {
    client: kube::Client,
    namespace: &'a str,
    deleted: Timestamp,
}

/// The result of a pass.
#[derive(Debug, Default)]
pub(super) struct Pass {
    /// The findings for the conditions.
    pub(super) findings: Findings,
    /// The resources with remaining objects.
    pub(super) remaining: Vec<ApiResource>,
    /// The estimated time until the rest is gone. Zero means that there is nothing to wait for.
    pub(super) estimate: Duration,
    /// The error, if any.
    pub(super) errors: Vec<String>,
}

/// The remaining objects of one resource.
#[derive(Debug, Default)]
struct Left {
    count: usize,
    finalizers: BTreeMap<String, usize>,
    estimate: Duration,
}

impl<'a> Content<'a> {
    pub(super) fn new(client: kube::Client, namespace: &'a str, deleted: Timestamp) -> Self {
        Self {
            client,
            namespace,
            deleted,
        }
    }

    /// Deletes what can be deleted: pods first, and the rest once they are gone.
    pub(super) async fn delete(&self) -> Pass {
        let mut pass = Pass::default();
        let resources = self.discover(&mut pass).await;
        let pods = GroupVersionResource::new("", "v1", "pods");
        let (first, rest): (Vec<_>, Vec<_>) =
            resources.into_iter().partition(|each| each.id() == pods);
        let mut pods_remain = false;
        for resource in &first {
            pods_remain |= self.delete_all(resource, &mut pass).await > 0;
        }
        if pods_remain {
            // The conditions count remaining objects only after a complete pass.
            pass.findings.remaining.clear();
            pass.findings.finalizers.clear();
            return pass;
        }
        for resource in &rest {
            self.delete_all(resource, &mut pass).await;
        }
        pass
    }

    async fn discover(&self, pass: &mut Pass) -> Vec<Deletable> {
        let found = match DiscoveryClient::new(self.client.clone()).discover().await {
            Ok(found) => found,
            Err(error) => {
                pass.errors.push(error.to_string());
                pass.findings.discovery = Some(error.to_string());
                return Vec::new();
            }
        };
        if !found.failures.is_empty() {
            let failed = GroupDiscoveryFailed(found.failures.clone());
            pass.errors.push(failed.to_string());
            pass.findings.discovery = Some(format!(
                "Discovery failed for some groups, {} failing: {failed}",
                failed.0.len()
            ));
        }
        deletable_in_namespaces(&found).unwrap_or_else(|error| {
            pass.errors.push(error.clone());
            pass.findings.parsing = Some(error);
            Vec::new()
        })
    }

    /// Deletes the objects of a resource, records the outcome, and returns the number of remaining objects.
    async fn delete_all(&self, resource: &Deletable, pass: &mut Pass) -> usize {
        let mut left = Left::default();
        if let Err(error) = self.try_delete_all(resource, &mut left).await {
            pass.errors.push(error.clone());
            pass.findings.content.push(error);
        }
        pass.estimate = pass.estimate.max(left.estimate);
        if left.count > 0 {
            pass.findings.remaining.insert(resource.id(), left.count);
            pass.remaining.push(resource.resource.clone());
            for (finalizer, count) in left.finalizers {
                *pass.findings.finalizers.entry(finalizer).or_default() += count;
            }
        }
        left.count
    }

    async fn try_delete_all(&self, resource: &Deletable, left: &mut Left) -> Result<(), String> {
        let said = |error: Error| error.to_string();
        left.estimate = self.grace(resource).await.map_err(said)?;
        let objects = MetadataClient::new(self.client.clone())
            .resource(&resource.id())
            .namespace(self.namespace);
        // Everything in the namespace is deleted, so nothing is orphaned.
        let how = DeleteParams::background();
        if !delete_collection(resource, &objects, &how)
            .await
            .map_err(said)?
        {
            delete_each(resource, &objects, &how).await.map_err(said)?;
        }
        if !resource.can("list") {
            return Ok(());
        }
        let mut list = match objects.list_each(&ListParams::default()).await {
            Ok(list) => list,
            Err(error) if is_unsupported(&error) => return Ok(()),
            Err(error) => return Err(said(error)),
        };
        while let Some(object) = list.next().await.map_err(said)? {
            left.count += 1;
            for finalizer in object.metadata.finalizers.unwrap_or_default() {
                *left.finalizers.entry(finalizer).or_default() += 1;
            }
        }
        list.finish().map_err(said)?;
        if left.count == 0 {
            left.estimate = Duration::ZERO;
        } else if left.estimate.is_zero() {
            if left.finalizers.is_empty() {
                return Err(format!(
                    "unexpected items still remain in namespace: {} for gvr: {}",
                    self.namespace,
                    resource.id()
                ));
            }
            left.estimate = FINALIZERS_TAKE;
        }
        Ok(())
    }

    /// Returns the longest remaining grace period of pods, and nothing for other resources.
    async fn grace(&self, resource: &Deletable) -> Result<Duration, Error> {
        if !(resource.resource.group.is_empty() && resource.resource.plural == "pods") {
            return Ok(Duration::ZERO);
        }
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), self.namespace);
        let pods = pods.list(&ListParams::default()).await?;
        let longest = pods
            .items
            .iter()
            .filter(|pod| {
                let phase = pod.status.as_ref().and_then(|s| s.phase.as_deref());
                !matches!(phase, Some("Succeeded" | "Failed"))
            })
            .filter_map(|pod| pod.spec.as_ref()?.termination_grace_period_seconds)
            .filter_map(|seconds| u64::try_from(seconds).ok())
            .max();
        let longest = Duration::from_secs(longest.unwrap_or(0));
        let over = super::left_of(longest, self.deleted).is_none();
        Ok(if over { Duration::ZERO } else { longest })
    }
}

/// Returns whether the server supports the request. An error means that it does, but failed.
async fn delete_collection(
    resource: &Deletable,
    objects: &MetadataResource,
    how: &DeleteParams,
) -> Result<bool, Error> {
    if !resource.can("deletecollection") {
        return Ok(false);
    }
    match objects.delete_collection(how, &ListParams::default()).await {
        Ok(()) => Ok(true),
        Err(error) if is_unsupported(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

async fn delete_each(
    resource: &Deletable,
    objects: &MetadataResource,
    how: &DeleteParams,
) -> Result<(), Error> {
    if !resource.can("list") {
        return Ok(());
    }
    let list = match objects.list(&ListParams::default()).await {
        Err(error) if is_unsupported(&error) => return Ok(()),
        list => list?,
    };
    for object in list.items {
        let name = object.metadata.name.unwrap_or_default();
        match objects.delete(&name, how).await {
            Err(error) if !is_unsupported(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The server does not serve the resource, or does not support the verb.
fn is_unsupported(error: &Error) -> bool {
    let refused = error.status().map(|status| status.reason.as_str());
    error.is_not_found() || refused == Some("MethodNotAllowed") || error.code() == Some(405)
}
