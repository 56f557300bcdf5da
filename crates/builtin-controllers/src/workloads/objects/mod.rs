//! The objects that the workload controllers read, with the fields that they need and no others: caches then decode little,
//! and fields of other releases are never lost, since objects are written as the JSON that was read ([`Draft`]).
//!
//! | module | contents |
//! |---|---|
//! | `condition` | conditions of a status |
//! | `draft` | JSON to write |
//! | `template` | pod templates |
//! | `pod`, `replica_set`, `deployment`, `stateful_set`, `revision`, `daemon_set`, `job`, `cron_job`, `service`, `node`, `lease`, `quota`, `disruption_budget` | kinds |

mod condition;
mod cron_job;
mod daemon_set;
mod deployment;
mod disruption_budget;
mod draft;
mod job;
mod lease;
mod node;
mod pod;
mod quota;
mod replica_set;
mod revision;
mod service;
mod stateful_set;
mod template;

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::Resource;
use kubewright_controller::Result;
use kubewright_informer::StoredObject;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) use condition::Condition;
pub(crate) use cron_job::CronJob;
pub(crate) use daemon_set::{DaemonSet, DaemonSetStatus};
pub(crate) use deployment::{Deployment, DeploymentStatus};
pub(crate) use disruption_budget::{PodDisruptionBudget, PodDisruptionBudgetStatus};
pub(crate) use draft::Draft;
pub(crate) use job::{
    FailureRule, Job, JobEnd, JobStatus, OnExitCodes, PodFailurePolicy, SuccessPolicy, Uncounted,
};
pub(crate) use lease::Lease;
pub(crate) use node::{Node, Taint};
pub(crate) use pod::{ContainerStatus, Pod, Volume};
pub(crate) use quota::ResourceQuota;
pub(crate) use replica_set::{ReplicaSet, ReplicationController, SetSpec, SetStatus};
pub(crate) use revision::ControllerRevision;
pub(crate) use service::{Service, ServicePort};
pub(crate) use stateful_set::{PersistentVolumeClaim, Retention, StatefulSet, StatefulSetStatus};
pub(crate) use template::Template;

/// Declares a kind with the fields of its spec and status that are read.
macro_rules! kind {
    ($(#[$doc:meta])* $name:ident, $group:literal, $version:literal, $plural:literal, $spec:ty, $status:ty) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize)]
        #[serde(default)]
        pub(crate) struct $name {
            pub(crate) metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            pub(crate) spec: $spec,
            pub(crate) status: $status,
        }

        $crate::workloads::objects::resource!($name, $group, $version, $plural);
    };
}

/// Makes a type with metadata a resource.
macro_rules! resource {
    ($name:ident, $group:literal, $version:literal, $plural:literal) => {
        $crate::workloads::objects::resource!(
            $name,
            $group,
            $version,
            $plural,
            kube::core::NamespaceResourceScope
        );
    };
    ($name:ident, $group:literal, $version:literal, $plural:literal, $scope:ty) => {
        impl kube::Resource for $name {
            type DynamicType = ();
            type Scope = $scope;

            fn kind(_: &()) -> std::borrow::Cow<'_, str> {
                stringify!($name).into()
            }

            fn group(_: &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }

            fn version(_: &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }

            fn plural(_: &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(
                &mut self,
            ) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

pub(crate) use kind;
pub(crate) use resource;

/// An object of a cache: decoded, and the JSON to write it from.
pub(crate) struct Current<K> {
    pub(crate) object: K,
    pub(crate) body: Value,
}

impl<K: DeserializeOwned + Clone + Send + Sync + 'static> Current<K> {
    pub(crate) fn of(stored: &Arc<StoredObject>) -> Result<Self> {
        let object: Arc<K> = stored.decode()?;
        Ok(Self {
            object: Arc::unwrap_or_clone(object),
            body: serde_json::from_slice(&stored.json())?,
        })
    }
}

/// Returns the reference of a controller to an object that it creates or adopts.
pub(crate) fn controller_reference<K: Resource<DynamicType = ()>>(owner: &K) -> OwnerReference {
    OwnerReference {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        name: owner.meta().name.clone().unwrap_or_default(),
        uid: owner.meta().uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Returns a time as conditions have it: whole seconds.
pub(crate) fn whole_seconds(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}
