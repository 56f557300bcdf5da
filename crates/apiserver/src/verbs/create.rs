//! `create`: decode, default, track managed fields, mutate, and hand over to the registry.

use http::Response;
use kubewright_machinery::Status;

use super::{Call, decode, write};
use crate::{
    admission::Attributes,
    body::Body,
    registry::Draft,
    request::{WriteOptions, options::WriteKind},
    respond::object::object_response,
};

pub(super) async fn run(call: Call) -> Result<Response<Body>, Status> {
    let handler = call.handler(|handlers| &handlers.create)?;
    let accepted = call.accepted()?;
    let Call {
        cx,
        target,
        request,
    } = call;
    let (parts, body) = request.into_parts();
    let body = decode::read_body(body).await?;
    let options = WriteOptions::parse(&cx.query, WriteKind::Create)?;
    let mut object = decode::object(
        &cx,
        &target,
        &parts.headers,
        &body,
        options.field_validation,
    )?;
    write::default(&target, &mut object)?;
    write::record(&cx, &target, &object);
    if target.takes_parent() {
        write::clear_system_fields(&mut object);
    }
    write::check_namespace(&cx, &target, &mut object)?;
    write::dedup_owner_references(&cx, &mut object);
    let mut draft = Draft::from(object);
    if let Some(manager) = target.field_manager() {
        manager.track(&cx, None, &mut draft, &options).await;
    }
    let name = match cx.info.name.as_str() {
        "" => draft.value["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        name => name.to_owned(),
    };
    let Draft { value, managed, .. } = &mut draft;
    let attributes = Attributes::create(&name, &options).with_managed(managed.as_ref());
    let mutation = cx.admission.mutate(&cx, &attributes, Some(value)).await?;
    write::settle_mutated(&cx, &target, value, mutation)?;
    draft.take_mutated_fields();
    draft.given_name = name;
    let created = handler.create(&cx, &cx.info.name, draft, &options).await?;
    Ok(object_response(
        &cx,
        &accepted,
        201,
        &target.resource,
        &created,
    ))
}
