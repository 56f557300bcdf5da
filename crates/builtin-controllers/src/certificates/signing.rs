//! `certificatesigningrequest-signing-controller`: issues certificates for approved requests to the built-in signers.

use k8s_openapi::{
    ByteString,
    api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition},
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::api::PostParams;
use kubewright_client::ErrorExt;
use kubewright_controller::{
    Action, Context, Controller, Error, Manager, ManagerError, Request, Result,
};
use kubewright_x509::{Authority, CertificateRequest, Template};

use super::{
    APPROVED, DENIED, FAILED, has_condition, is_issued, parse, policy,
    signers::{self, Validity},
    usages, watch,
};
use crate::names::Name;

pub(crate) fn add_to(manager: &Manager, authority: Authority) -> Result<(), ManagerError> {
    let reconcile = move |context: Context, request: Request| {
        let authority = authority.clone();
        async move { reconcile(&context, &request, &authority).await }
    };
    Controller::builder()
        .named(Name::RequestSigning.as_str())
        .watch(watch())
        .build(manager, reconcile)?;
    Ok(())
}

async fn reconcile(context: &Context, request: &Request, authority: &Authority) -> Result<Action> {
    let csr: Option<CertificateSigningRequest> = context.client().get_live(request.key()).await?;
    let Some(mut csr) = csr else {
        return Ok(Action::done());
    };
    let approved = has_condition(&csr, APPROVED) && !has_condition(&csr, DENIED);
    if is_issued(&csr) || !approved || has_condition(&csr, FAILED) {
        return Ok(Action::done());
    }
    let parsed = parse(&csr)?;
    match signers::validate(&csr.spec.signer_name, &parsed, &usages(&csr)) {
        Validity::NotOurs => return Ok(Action::done()),
        Validity::Valid => {
            let certificate = issue(context, &csr, &parsed, authority).map_err(Error::message)?;
            let status = csr.status.get_or_insert_default();
            status.certificate = Some(ByteString(certificate.into_bytes()));
        }
        Validity::Invalid(problem) => fail(context, &mut csr, problem),
    }
    let api = context.client().cluster_api::<CertificateSigningRequest>();
    let params = PostParams::default();
    match api.replace_status(request.name(), &params, &csr).await {
        // It has changed or is gone, which is an event of its own.
        Err(error) if error.is_conflict() || error.is_not_found() => Ok(Action::done()),
        written => Ok(written.map(|_| Action::done())?),
    }
}

/// Issues the certificate, as PEM.
fn issue(
    context: &Context,
    csr: &CertificateSigningRequest,
    request: &CertificateRequest,
    authority: &Authority,
) -> Result<String, String> {
    let text = |error: kubewright_x509::Error| format!("error auto signing csr: {error}");
    request.verify().map_err(text)?;
    let end = authority.certificate().validity().not_after;
    let now = context.now().as_second();
    let validity = policy::validity(csr.spec.expiration_seconds, now, end)?;
    let (key_usage, extended_key_usages) = policy::key_usages(&usages(csr))?;
    let template = Template {
        key_usage,
        extended_key_usages,
        ..Template::for_request(request, validity)
    };
    Ok(authority.issue(&template).map_err(text)?.to_pem())
}

fn fail(context: &Context, csr: &mut CertificateSigningRequest, problem: String) {
    let status = csr.status.get_or_insert_default();
    let conditions = status.conditions.get_or_insert_default();
    conditions.push(CertificateSigningRequestCondition {
        type_: FAILED.to_owned(),
        status: "True".to_owned(),
        reason: Some("SignerValidationFailure".to_owned()),
        message: Some(problem),
        last_update_time: Some(Time(context.now())),
        ..CertificateSigningRequestCondition::default()
    });
}
