//! Services.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind;

kind! {
    /// A Service.
    Service, "", "v1", "services", ServiceSpec, Value
}

/// The spec of a Service.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ServiceSpec {
    pub(crate) selector: Option<BTreeMap<String, String>>,
    pub(crate) ports: Vec<ServicePort>,
    #[serde(rename = "clusterIP")]
    pub(crate) cluster_ip: String,
    pub(crate) r#type: String,
    pub(crate) ip_families: Vec<String>,
    pub(crate) publish_not_ready_addresses: bool,
    pub(crate) traffic_distribution: Option<String>,
}

/// A port of a Service.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ServicePort {
    pub(crate) name: String,
    pub(crate) protocol: String,
    pub(crate) app_protocol: Option<String>,
    /// A number, or the name of a port.
    pub(crate) target_port: Value,
}

impl Service {
    /// Reports whether the Service has no address of its own.
    pub(crate) fn is_headless(&self) -> bool {
        matches!(self.spec.cluster_ip.as_str(), "" | "None")
    }
}
