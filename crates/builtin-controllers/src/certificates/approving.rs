//! `certificatesigningrequest-approving-controller`: approves requests of kubelets for client certificates, if the requester
//! has the permission for it.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::{
    api::{
        authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
        certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition},
    },
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::api::PostParams;
use kubewright_client::ErrorExt;
use kubewright_controller::{Action, Context, Controller, Manager, ManagerError, Request, Result};

use super::{APPROVED, DENIED, has_condition, is_issued, parse, signers, usages, watch};
use crate::names::Name;

/// The bounds of the delays between two tries.
const RETRY: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(1000));

/// The permissions that are asked for in order: the subresource, and the message of the approval.
const SELF: (&str, &str) = (
    "selfnodeclient",
    "Auto approving self kubelet client certificate after SubjectAccessReview.",
);
const ANY: (&str, &str) = (
    "nodeclient",
    "Auto approving kubelet client certificate after SubjectAccessReview.",
);

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    Controller::builder()
        .named(Name::RequestApproving.as_str())
        .watch(watch())
        .build(manager, reconcile)?;
    Ok(())
}

async fn reconcile(context: Context, request: Request) -> Result<Action> {
    let csr: Option<CertificateSigningRequest> = context.client().get_live(request.key()).await?;
    let Some(mut csr) = csr else {
        return Ok(Action::done());
    };
    if is_issued(&csr) || has_condition(&csr, APPROVED) || has_condition(&csr, DENIED) {
        return Ok(Action::done());
    }
    let permissions = permissions(&csr)?;
    for (subresource, message) in &permissions {
        if is_allowed(&context, &csr, subresource).await? {
            approve(&mut csr, message);
            let api = context.client().cluster_api::<CertificateSigningRequest>();
            let params = PostParams::default();
            let written = api.replace_subresource("approval", request.name(), &params, &csr);
            return match written.await {
                // It has changed or is gone, which is an event of its own.
                Err(error) if error.is_conflict() || error.is_not_found() => Ok(Action::done()),
                written => Ok(written.map(|_| Action::done())?),
            };
        }
    }
    if permissions.is_empty() {
        return Ok(Action::done());
    }
    tracing::debug!(
        csr = request.name(),
        "the requester of a kubelet's certificate lacks the permission"
    );
    Ok(Action::requeue_after(retry_delay(&context, &csr)))
}

/// Returns the permissions of which one is needed; none if the request is not for a kubelet.
fn permissions(csr: &CertificateSigningRequest) -> Result<Vec<(&'static str, &'static str)>> {
    if csr.spec.signer_name != signers::KUBELET_CLIENT {
        return Ok(Vec::new());
    }
    let request = parse(csr)?;
    if signers::check_kubelet_client(&request, &usages(csr)).is_err() {
        return Ok(Vec::new());
    }
    match csr.spec.username.as_deref() == Some(request.subject().common_name()) {
        true => Ok(vec![SELF, ANY]),
        false => Ok(vec![ANY]),
    }
}

/// Checks whether the requester may create the subresource that represents the approval.
async fn is_allowed(
    context: &Context,
    csr: &CertificateSigningRequest,
    subresource: &str,
) -> Result<bool> {
    let spec = &csr.spec;
    let extra: BTreeMap<String, Vec<String>> = spec.extra.clone().unwrap_or_default();
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: spec.username.clone(),
            uid: spec.uid.clone(),
            groups: spec.groups.clone(),
            extra: (!extra.is_empty()).then_some(extra),
            resource_attributes: Some(ResourceAttributes {
                group: Some("certificates.k8s.io".to_owned()),
                version: Some("*".to_owned()),
                resource: Some("certificatesigningrequests".to_owned()),
                subresource: Some(subresource.to_owned()),
                verb: Some("create".to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let reviews = context.client().cluster_api::<SubjectAccessReview>();
    let review = reviews.create(&PostParams::default(), &review).await?;
    Ok(review.status.is_some_and(|status| status.allowed))
}

fn approve(csr: &mut CertificateSigningRequest, message: &str) {
    let status = csr.status.get_or_insert_default();
    let conditions = status.conditions.get_or_insert_default();
    conditions.push(CertificateSigningRequestCondition {
        type_: APPROVED.to_owned(),
        status: "True".to_owned(),
        reason: Some("AutoApproved".to_owned()),
        message: Some(message.to_owned()),
        ..CertificateSigningRequestCondition::default()
    });
}

/// Permissions may be granted later. A request is checked again after as long as it has waited.
fn retry_delay(context: &Context, csr: &CertificateSigningRequest) -> Duration {
    let created = csr.metadata.creation_timestamp.as_ref();
    let waited = created.map_or(Duration::ZERO, |Time(created)| {
        let waited = context.now().duration_since(*created);
        waited.try_into().unwrap_or_default()
    });
    waited.clamp(RETRY.0, RETRY.1)
}
