//! Printers of the core group.

mod config;
pub(super) mod events;
mod nodes;
mod pods;
mod services;
mod volumes;

pub(super) use services::load_balancer_addresses;

use super::Printer;

/// The printer of a core kind.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "ComponentStatus" => &nodes::COMPONENT_STATUS,
        "ConfigMap" => &config::CONFIG_MAP,
        "Endpoints" => &services::ENDPOINTS,
        "Event" => &events::EVENT,
        "Namespace" => &config::NAMESPACE,
        "Node" => &nodes::NODE,
        "PersistentVolume" => &volumes::PERSISTENT_VOLUME,
        "PersistentVolumeClaim" => &volumes::PERSISTENT_VOLUME_CLAIM,
        "Pod" => &pods::POD,
        "PodTemplate" => &pods::POD_TEMPLATE,
        "ReplicationController" => &pods::REPLICATION_CONTROLLER,
        "ResourceQuota" => &config::RESOURCE_QUOTA,
        "Secret" => &config::SECRET,
        "Service" => &services::SERVICE,
        "ServiceAccount" => &config::SERVICE_ACCOUNT,
        _ => return None,
    })
}
