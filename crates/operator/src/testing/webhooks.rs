//! The webhooks of an operator on a test cluster, called in the same process.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use kube::{
    Api,
    api::{Patch, PatchParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use kubewright_controller::Manager;
use kubewright_testing::{ServiceHandler, TestCluster, boxed_async};
use kubewright_webhook::Webhooks;

use crate::{Operator, OperatorError, names::Names};

/// The port of the Service.
const PORT: u16 = 443;

/// Serves the calls to the Service of the webhooks.
struct InProcess(Webhooks);

#[boxed_async]
impl ServiceHandler for InProcess {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        Ok(self.0.call(request).await)
    }
}

impl Operator {
    /// Serves the webhooks and conversions of this operator without sockets and certificates.
    pub(super) fn route(&self, cluster: &TestCluster) -> Result<(), OperatorError> {
        let webhooks = self.webhooks()?;
        if webhooks.is_empty() {
            return Ok(());
        }
        let names = Names::of(&self.name);
        // Used until the operator is added to a manager, which sets its own client.
        let client = Manager::new(cluster.client_as(&names.user()));
        webhooks.set_client(client.client().clone());
        let (home, webhook_service) = (names.home, names.webhook_service);
        for crd in webhooks.converter().crds() {
            cluster.convert_at(crd, &home, &webhook_service, PORT);
        }
        cluster.serve_webhooks(&home, &webhook_service, PORT, Arc::new(InProcess(webhooks)));
        Ok(())
    }

    /// Applies the webhook configurations.
    pub(super) async fn apply_configurations(
        &self,
        cluster: &TestCluster,
    ) -> Result<(), OperatorError> {
        let names = Names::of(&self.name);
        let model = self.model()?;
        for configuration in model.webhook_configurations(&names.home, &names.webhook_service) {
            let text = |pointer: &str| {
                let value = configuration.pointer(pointer);
                value.and_then(|it| it.as_str()).unwrap_or_default()
            };
            let (kind, name) = (text("/kind"), text("/metadata/name"));
            let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
            let resource = ApiResource::from_gvk(&kind);
            let api: Api<DynamicObject> = Api::all_with(cluster.client(), &resource);
            let params = PatchParams::apply(&self.name).force();
            let applied = api
                .patch(name, &params, &Patch::Apply(&configuration))
                .await;
            applied.map_err(|source| OperatorError::Install {
                name: name.to_owned(),
                source: source.into(),
            })?;
        }
        Ok(())
    }
}
