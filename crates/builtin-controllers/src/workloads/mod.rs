//! The controllers of workloads, and their shared modules.
//!
//! | module | contents |
//! |---|---|
//! | `objects`, `pods`, `hash`, `history`, `pace` | shared modules: kinds, pods, hashes, revisions, rests between passes |
//! | `replica_set`, `deployment`, `stateful_set`, `daemon_set`, `job`, `cron_job` | workloads |
//! | `ttl_after_finished` | the deletion of finished Jobs |
//! | `services` | what the controllers of endpoints share |
//! | `endpoints`, `endpoint_slice`, `endpoint_slice_mirroring` | the endpoints of Services |
//! | `disruption` | disruption budgets |
//! | `pod_garbage` | pods that no other controller deletes |
//! | `node_lifecycle`, `taint_eviction` | nodes that fall silent, and the eviction of their pods |
//! | `resource_quota` | the usage of quotas |
//! | `volume_binder`, `volume_expander`, `ephemeral_volume`, `volume_provisioner` | claims and volumes |
//! | `autoscaler` | horizontal pod autoscalers |
//! | `load_balancer` | addresses of services of the type `LoadBalancer` |
//! | `node_ipam` | the ranges of addresses of nodes |

mod autoscaler;
mod cron_job;
mod daemon_set;
mod deployment;
mod disruption;
mod endpoint_slice;
mod endpoint_slice_mirroring;
mod endpoints;
mod ephemeral_volume;
mod hash;
mod history;
mod job;
mod load_balancer;
mod node_ipam;
mod node_lifecycle;
mod objects;
mod pace;
mod pod_garbage;
mod pods;
mod replica_set;
mod resource_quota;
mod services;
mod stateful_set;
mod taint_eviction;
mod ttl_after_finished;
mod volume_binder;
mod volume_expander;
mod volume_provisioner;

use kubewright_controller::{Manager, ManagerError};

use self::objects::{ReplicaSet, ReplicationController};
use crate::Name;
pub(crate) use node_lifecycle::NodeMonitor;

/// The number of objects that a workload controller works on at once.
const WORKERS: usize = 5;

/// Adds a controller for workloads to a manager.
pub(crate) fn add_to(
    manager: &Manager,
    name: Name,
    monitor: NodeMonitor,
) -> Result<(), ManagerError> {
    match name {
        Name::ReplicationController => replica_set::add_to::<ReplicationController>(manager),
        Name::ReplicaSet => replica_set::add_to::<ReplicaSet>(manager),
        Name::Deployment => deployment::add_to(manager),
        Name::StatefulSet => stateful_set::add_to(manager),
        Name::DaemonSet => daemon_set::add_to(manager),
        Name::Job => job::add_to(manager),
        Name::CronJob => cron_job::add_to(manager),
        Name::TtlAfterFinished => ttl_after_finished::add_to(manager),
        Name::Endpoints => endpoints::add_to(manager),
        Name::EndpointSlice => endpoint_slice::add_to(manager),
        Name::Disruption => disruption::add_to(manager),
        Name::PodGarbageCollector => pod_garbage::add_to(manager),
        Name::NodeLifecycle => node_lifecycle::add_to(manager, monitor),
        Name::TaintEviction => taint_eviction::add_to(manager),
        Name::NodeIpam => node_ipam::add_to(manager),
        Name::ResourceQuota => resource_quota::add_to(manager),
        Name::VolumeBinder => volume_binder::add_to(manager),
        Name::VolumeExpander => volume_expander::add_to(manager),
        Name::EphemeralVolume => ephemeral_volume::add_to(manager),
        Name::VolumeProvisioner => volume_provisioner::add_to(manager),
        Name::HorizontalPodAutoscaler => autoscaler::add_to(manager),
        Name::EndpointSliceMirroring => endpoint_slice_mirroring::add_to(manager),
        Name::LoadBalancer => load_balancer::add_to(manager),
        // `Controllers` adds the controllers that every cluster needs.
        _ => Ok(()),
    }
}
