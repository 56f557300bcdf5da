//! `update`: decode and default; then, as a [`Change`] of the stored object, track managed fields and mutate.

use http::Response;
use kubewright_derive::boxed_async;
use kubewright_machinery::Status;
use serde_json::Value;

use super::{Call, Target, decode, write};
use crate::{
    admission::Attributes,
    body::Body,
    registry::{Change, Draft, Updated},
    request::{RequestContext, WriteOptions, options::WriteKind},
    respond::{Accepted, object::object_response},
};

pub(super) async fn run(call: Call) -> Result<Response<Body>, Status> {
    let handler = call.handler(|handlers| &handlers.update)?;
    let accepted = call.accepted()?;
    let Call {
        cx,
        target,
        request,
    } = call;
    let (parts, body) = request.into_parts();
    let body = decode::read_body(body).await?;
    let options = WriteOptions::parse(&cx.query, WriteKind::Update)?;
    let mut object = decode::object(
        &cx,
        &target,
        &parts.headers,
        &body,
        options.field_validation,
    )?;
    write::default(&target, &mut object)?;
    write::record(&cx, &target, &object);
    write::check_namespace(&cx, &target, &mut object)?;
    write::check_name(&object, &cx.info.name)?;
    write::dedup_owner_references(&cx, &mut object);
    let uid = object["metadata"]["uid"]
        .as_str()
        .filter(|u| !u.is_empty())
        .map(str::to_owned);
    let change = Replace {
        object,
        uid,
        target: &target,
        options: &options,
    };
    let updated = handler
        .update(&cx, &cx.info.name, &change, &options)
        .await?;
    Ok(respond(&cx, &accepted, &target, &updated))
}

/// Returns the object after an update, a patch or an apply: 201 if it is new.
pub(super) fn respond(
    cx: &RequestContext,
    accepted: &Accepted,
    target: &Target,
    updated: &Updated,
) -> Response<Body> {
    let code = if updated.created { 201 } else { 200 };
    object_response(cx, accepted, code, &target.resource, &updated.object)
}

/// Replaces the whole object.
struct Replace<'a> {
    object: Value,
    uid: Option<String>,
    target: &'a Target,
    options: &'a WriteOptions,
}

#[boxed_async]
impl Change for Replace<'_> {
    fn expected_uid(&self) -> Option<&str> {
        self.uid.as_deref()
    }

    async fn apply(&self, cx: &RequestContext, old: Option<&Value>) -> Result<Draft, Status> {
        let mut draft = Draft::from(self.object.clone());
        if let Some(manager) = self.target.field_manager() {
            manager.track(cx, old, &mut draft, self.options).await;
        }
        mutate(cx, self.target, old, &mut draft.value, self.options).await?;
        Ok(draft)
    }
}

/// Runs mutating admission on a changed object.
pub(super) async fn mutate(
    cx: &RequestContext,
    target: &Target,
    old: Option<&Value>,
    object: &mut Value,
    options: &WriteOptions,
) -> Result<(), Status> {
    let name = &cx.info.name;
    let attributes = match old {
        Some(old) => Attributes::update(name, old, options),
        None => Attributes::create(name, options),
    };
    write::dedup_owner_references(cx, object);
    let mutation = cx.admission.mutate(cx, &attributes, Some(object)).await?;
    write::settle_mutated(cx, target, object, mutation)
}
