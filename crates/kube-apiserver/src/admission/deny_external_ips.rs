//! `DenyServiceExternalIPs`: services get no new external addresses.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    request::RequestContext,
};
use kubewright_machinery::{Status, json::Read};
use serde_json::Value;

use super::forbidden::{forbidden, is_for};

/// The `DenyServiceExternalIPs` plugin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DenyServiceExternalIPs;

#[boxed_async]
impl Plugin for DenyServiceExternalIPs {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        is_for(cx, "", "services")
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let Some(service) = object else { return Ok(()) };
        let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
        if !writes || !is_for(cx, "", "services") {
            return Ok(());
        }
        let addresses = |service: &Value| service["spec"]["externalIPs"].items().to_vec();
        let old = attributes.old.map(addresses).unwrap_or_default();
        match addresses(service)
            .iter()
            .all(|address| old.contains(address))
        {
            true => Ok(()),
            false => {
                let cause = "Use of external IPs is denied by admission control";
                Err(forbidden(cx, attributes, service, cause))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::testing::Scene;

    #[tokio::test]
    async fn addresses_may_only_be_removed() {
        let scene = Scene::new("", "services");
        let plugin = DenyServiceExternalIPs;
        let service = |addresses: &[&str]| json!({"metadata": {"name": "s"}, "spec": {"externalIPs": addresses}});
        scene.create(&plugin, &service(&[])).await.unwrap();
        let refused = scene.create(&plugin, &service(&["1.2.3.4"])).await;
        assert_eq!(
            refused.unwrap_err().message,
            "services \"s\" is forbidden: Use of external IPs is denied by admission control"
        );
        let both = service(&["1.2.3.4", "1.2.3.5"]);
        let one = service(&["1.2.3.5"]);
        scene.update(&plugin, &both, &one).await.unwrap();
        scene.update(&plugin, &one, &both).await.unwrap_err();
    }
}
