//! `create`

use http::Response;
use kubewright_machinery::Status;

use super::{Call, decode, managed, not_allowed, write};
use crate::{
    admission::{Attributes, Operation},
    body::Body,
    request::{WriteOptions, options::WriteKind},
    respond::{Accepted, object::object_response},
};

pub(super) async fn run(call: Call) -> Result<Response<Body>, Status> {
    let handler = call
        .target
        .handlers()
        .create
        .clone()
        .ok_or_else(not_allowed)?;
    let Call {
        cx,
        target,
        request,
    } = call;
    let accepted = Accepted::negotiate(request.headers(), &cx.query, &target.offer(false))?;
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
    write::default(&target, &mut object);
    if target.speaks_parent() {
        write::wipe_system_fields(&mut object);
    }
    write::check_namespace(&cx, &target, &mut object)?;
    write::dedup_owner_references(&cx, &mut object);
    managed::track(&cx, &target, None, &mut object, &options);
    let name = match cx.info.name.as_str() {
        "" => object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        name => name.to_owned(),
    };
    let attributes = Attributes {
        operation: Operation::Create,
        name: &name,
        old: None,
        dry_run: options.dry_run,
    };
    cx.admission.mutate(&cx, &attributes, &mut object).await?;
    write::reshape(&cx, &target, &mut object)?;
    let created = handler.create(&cx, &cx.info.name, object, &options).await?;
    Ok(object_response(
        &cx,
        &accepted,
        201,
        &target.resource,
        &created,
    ))
}
