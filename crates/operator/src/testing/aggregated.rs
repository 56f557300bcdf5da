//! Aggregated APIs on a test cluster, served in the same process.

use std::time::Duration;

use kube::{
    Api,
    api::{Patch, PatchParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use kubewright_controller::wait::{WaitError, wait_for};
use kubewright_testing::TestCluster;
use serde_json::Value;

use crate::{Operator, OperatorError, names::Names};

/// The port of the Service.
const PORT: u16 = 443;
/// The time limit for an APIService to become available.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Operator {
    /// Serves the aggregated APIs of this operator without sockets and certificates. Objects are stored in memory, and are
    /// lost with the operator. `TestCluster::settled` does not count their changes.
    pub(super) fn serve_apis(&self, cluster: &TestCluster) -> Result<(), OperatorError> {
        if self.aggregated.is_empty() {
            return Ok(());
        }
        let names = Names::of(&self.name);
        let server = self
            .aggregated
            .in_process(cluster.client_as(&names.user()))?;
        let services = cluster.services();
        services.set_server(&names.home, &names.apiserver, PORT, server.api().clone());
        Ok(())
    }

    /// Registers the aggregated APIs, and waits until the cluster serves them.
    pub(super) async fn register_apis(&self, cluster: &TestCluster) -> Result<(), OperatorError> {
        let names = Names::of(&self.name);
        let kind = GroupVersionKind::gvk("apiregistration.k8s.io", "v1", "APIService");
        let api: Api<DynamicObject> =
            Api::all_with(cluster.client(), &ApiResource::from_gvk(&kind));
        let services = self.model()?.api_services(&names.home, &names.apiserver);
        for service in &services {
            let name = text(&service["metadata"]["name"]);
            let params = PatchParams::apply(&self.name).force();
            let applied = api.patch(name, &params, &Patch::Apply(service)).await;
            applied.map_err(|source| OperatorError::Install {
                name: name.to_owned(),
                source: source.into(),
            })?;
        }
        for service in &services {
            let name = text(&service["metadata"]["name"]);
            let available = wait_for(&api, name, TIMEOUT, |object| {
                object.is_some_and(|object| condition(object)["status"] == "True")
            });
            if let Err(error) = available.await {
                let reason = match error {
                    WaitError::Timeout => {
                        let last = api.get_opt(name).await.ok().flatten();
                        let message = last.map(|object| condition(&object)["message"].clone());
                        text(&message.unwrap_or_default()).to_owned()
                    }
                    WaitError::Failed(error) => error.to_string(),
                };
                return Err(OperatorError::Unavailable {
                    name: name.to_owned(),
                    reason,
                });
            }
        }
        Ok(())
    }
}

/// Returns the condition `Available`, the only condition of an APIService.
fn condition(object: &DynamicObject) -> &Value {
    &object.data["status"]["conditions"][0]
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
