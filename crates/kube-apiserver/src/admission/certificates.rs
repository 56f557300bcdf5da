//! `CertificateApproval`, `CertificateSigning` and `CertificateSubjectRestriction`: permissions to approve and sign
//! certificate signing requests, and restricted subjects.

use kubewright_apiserver::{
    admission::{Attributes, Operation, Plugin},
    auth::{self, ResourceAttributes},
    boxed_async,
    request::RequestContext,
};
use kubewright_builtins::certificates::certificate_signing_request::parse_request;
use kubewright_machinery::{
    Status, go,
    json::{Read, same},
};
use serde_json::Value;

use super::forbidden::{forbidden, is_for, is_for_subresource};

const GROUP: &str = "certificates.k8s.io";
const REQUESTS: &str = "certificatesigningrequests";
/// The signer of certificates for clients of the API.
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
/// The group that is allowed everything.
const MASTERS: &str = "system:masters";

/// The `CertificateApproval` plugin: a decision needs the permission to `approve` for the signer.
pub(crate) struct CertificateApproval;

/// The `CertificateSigning` plugin: a certificate, or a condition beside it, needs the permission to `sign` for the signer.
pub(crate) struct CertificateSigning;

/// The `CertificateSubjectRestriction` plugin: no client certificate is issued for `system:masters`.
pub(crate) struct CertificateSubjectRestriction;

#[boxed_async]
impl Plugin for CertificateApproval {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        is_for_subresource(cx, GROUP, REQUESTS, "approval")
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let is_update = attributes.operation == Operation::Update;
        if !is_update || !is_for_subresource(cx, GROUP, REQUESTS, "approval") {
            return Ok(());
        }
        check_permission(cx, attributes, object, "approve").await
    }
}

#[boxed_async]
impl Plugin for CertificateSigning {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        is_for_subresource(cx, GROUP, REQUESTS, "status")
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let is_update = attributes.operation == Operation::Update;
        if !is_update || !is_for_subresource(cx, GROUP, REQUESTS, "status") {
            return Ok(());
        }
        let status = |object: Option<&Value>, field: &str| {
            object.map_or(Value::Null, |object| object["status"][field].clone())
        };
        let unchanged = |field: &str| same(&status(attributes.old, field), &status(object, field));
        if unchanged("certificate") && unchanged("conditions") {
            return Ok(());
        }
        check_permission(cx, attributes, object, "sign").await
    }
}

#[boxed_async]
impl Plugin for CertificateSubjectRestriction {
    fn reads_updated(&self, _cx: &RequestContext) -> bool {
        false
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let Some(csr) = object else { return Ok(()) };
        let is_create = attributes.operation == Operation::Create;
        if !is_create || !is_for(cx, GROUP, REQUESTS) || csr["spec"]["signerName"] != CLIENT_SIGNER
        {
            return Ok(());
        }
        let cause = match parse_request(csr) {
            Err(error) => format!("failed to parse CSR: {error}"),
            Ok(request) if request.subject().organizations().any(|o| o == MASTERS) => {
                format!("use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed")
            }
            Ok(_) => return Ok(()),
        };
        Err(forbidden(cx, attributes, csr, cause))
    }
}

/// Checks a permission for the signer of the stored request: by its name, or for all signers of its domain.
async fn check_permission(
    cx: &RequestContext,
    attributes: &Attributes<'_>,
    object: Option<&Value>,
    verb: &str,
) -> Result<(), Status> {
    let stored = attributes.old.unwrap_or(&Value::Null);
    let signer = stored["spec"]["signerName"].text();
    let domain = signer.split('/').next().unwrap_or_default();
    let all = format!("{domain}/*");
    let mut refusal = None;
    for name in [signer, &all] {
        let resource = ResourceAttributes {
            group: GROUP,
            version: "*",
            resource: "signers",
            name,
            ..ResourceAttributes::default()
        };
        let asked = auth::Attributes::of_resource(&cx.user, verb, resource);
        let decision = cx.authorizer.authorize(&asked).await;
        if decision.is_allow() {
            cx.authorizer.decided(&asked, &decision);
            return Ok(());
        }
        refusal.get_or_insert((resource, decision));
    }
    if let Some((resource, decision)) = refusal {
        let asked = auth::Attributes::of_resource(&cx.user, verb, resource);
        cx.authorizer.decided(&asked, &decision);
    }
    let signer = go::quote(signer);
    let cause = format!("user not permitted to {verb} requests with signerName {signer}");
    let object = object.unwrap_or(stored);
    Err(forbidden(cx, attributes, object, cause))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kubewright_apiserver::auth::{Authorizer, Decision};
    use serde_json::json;

    use super::*;
    use crate::admission::testing::Scene;

    /// Allows one verb for one name of a signer.
    struct Allow(&'static str, &'static str);

    #[boxed_async]
    impl Authorizer for Allow {
        async fn authorize(&self, attributes: &auth::Attributes<'_>) -> Decision {
            let resource = attributes.resource().unwrap();
            assert_eq!((resource.group, resource.version), (GROUP, "*"));
            assert_eq!((resource.resource, resource.namespace), ("signers", ""));
            match (attributes.verb, resource.name) == (self.0, self.1) {
                true => Decision::allow(),
                false => Decision::no_opinion(""),
            }
        }
    }

    fn csr(status: Value) -> Value {
        let spec = json!({"signerName": "example.com/s"});
        json!({"metadata": {"name": "r"}, "spec": spec, "status": status})
    }

    fn scene(subresource: &str, allow: Allow) -> Scene {
        Scene::at(GROUP, REQUESTS, subresource).with_authorizer(Arc::new(allow))
    }

    #[tokio::test]
    async fn a_decision_needs_a_permission_for_the_signer_or_its_domain() {
        let approved = csr(json!({"conditions": [{"type": "Approved"}]}));
        let plugin = CertificateApproval;
        for name in ["example.com/s", "example.com/*"] {
            let scene = scene("approval", Allow("approve", name));
            let old = csr(json!({}));
            scene.update(&plugin, &old, &approved).await.unwrap();
        }
        let scene = scene("approval", Allow("approve", "example.com/other"));
        let refused = scene.update(&plugin, &csr(json!({})), &approved).await;
        assert_eq!(
            refused.unwrap_err().message,
            "certificatesigningrequests.certificates.k8s.io \"r\" is forbidden: user not permitted to approve requests \
             with signerName \"example.com/s\""
        );
    }

    #[tokio::test]
    async fn a_certificate_and_conditions_need_the_permission_to_sign() {
        let plugin = CertificateSigning;
        let old = csr(json!({}));
        let nobody = || scene("status", Allow("", ""));
        for status in [json!({"certificate": "eA=="}), json!({"conditions": [{}]})] {
            let refused = nobody().update(&plugin, &old, &csr(status.clone())).await;
            let message = refused.unwrap_err().message;
            let end = "user not permitted to sign requests with signerName \"example.com/s\"";
            assert!(message.ends_with(end), "{message}");
            let signer = scene("status", Allow("sign", "example.com/s"));
            signer.update(&plugin, &old, &csr(status)).await.unwrap();
        }
        let empty = csr(json!({"conditions": []}));
        nobody().update(&plugin, &old, &empty).await.unwrap();
    }

    #[tokio::test]
    async fn a_request_that_cannot_be_read_gets_no_client_certificate() {
        let scene = Scene::new(GROUP, REQUESTS);
        let mut request = csr(json!({}));
        let plugin = CertificateSubjectRestriction;
        scene.create(&plugin, &request).await.unwrap();
        request["spec"]["signerName"] = CLIENT_SIGNER.into();
        let refused = scene.create(&plugin, &request).await.unwrap_err();
        let end = "failed to parse CSR: PEM block type must be CERTIFICATE REQUEST";
        assert!(refused.message.ends_with(end), "{}", refused.message);
    }
}
