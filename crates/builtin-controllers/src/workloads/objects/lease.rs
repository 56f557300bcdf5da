//! Leases of nodes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind;

/// The annotation of the lease of a simulated node that does not write heartbeats while it is alive. While its value is `elided`,
/// the lease counts as renewed; a node that falls silent loses the annotation.
const HEARTBEATS: &str = "kubewright.dev/heartbeats";

kind! {
    /// A lease.
    Lease, "coordination.k8s.io", "v1", "leases", LeaseSpec, Value
}

/// The spec of a lease.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LeaseSpec {
    pub(crate) renew_time: Option<MicroTime>,
}

impl Lease {
    /// Reports whether the lease counts as renewed at any time.
    pub(crate) fn is_elided(&self) -> bool {
        let annotations = self.metadata.annotations.as_ref();
        annotations.is_some_and(|all| all.get(HEARTBEATS).is_some_and(|value| value == "elided"))
    }
}
