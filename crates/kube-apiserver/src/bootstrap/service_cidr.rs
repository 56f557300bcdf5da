//! The default ServiceCIDR, which the API shows for the range of cluster IPs.

use http::Method;
use kubewright_apiserver::{ApiServer, Clock, rfc3339};
use kubewright_machinery::{Status, status};
use kubewright_store::{Key, Store};
use serde_json::json;

use super::send;
use crate::{kinds::collection, service_range::ServiceRange};

/// Creates the default ServiceCIDR if it is missing, and marks it as ready.
pub(super) async fn ensure(
    server: &ApiServer,
    store: &dyn Store,
    range: ServiceRange,
    clock: &dyn Clock,
) -> Result<(), Status> {
    let key = Key::new(
        collection("networking.k8s.io", "servicecidrs"),
        "kubernetes",
    );
    if store.get(&key).await.map_err(status::internal)?.is_some() {
        return Ok(());
    }
    const PATH: &str = "/apis/networking.k8s.io/v1/servicecidrs";
    let cidr = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": [range.to_string()]},
    });
    if send(server, Method::POST, PATH, "application/json", &cidr)
        .await?
        .is_none()
    {
        return Ok(());
    }
    let ready = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "kubernetes"},
        "status": {"conditions": [{
            "type": "Ready", "status": "True", "lastTransitionTime": rfc3339(clock.now()),
            "message": "Kubernetes default Service CIDR is ready",
        }]},
    });
    let path = format!(
        "{PATH}/kubernetes/status?fieldManager=kubernetes-service-cidr-controller&force=true"
    );
    send(
        server,
        Method::PATCH,
        &path,
        "application/apply-patch+yaml",
        &ready,
    )
    .await
    .map(drop)
}
