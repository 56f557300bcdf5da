//! `get`

use http::Response;
use kubewright_machinery::{Status, status};

use super::Call;
use crate::{
    body::Body,
    request::GetOptions,
    respond::{Accepted, object::object_response},
};

pub(super) async fn run(call: Call) -> Result<Response<Body>, Status> {
    let handler = call
        .target
        .handlers()
        .get
        .clone()
        .ok_or_else(|| call.target.not_allowed(&call.cx))?;
    let Call {
        cx,
        target,
        request,
    } = call;
    let accepted = Accepted::negotiate(request.headers(), &cx.query, &target.offer(false))?;
    if cx.query.flag("export") == Some(true) {
        return Err(status::bad_request(
            "the export parameter, deprecated since v1.14, is no longer supported",
        ));
    }
    let options = GetOptions::parse(&cx.query);
    let object = handler.get(&cx, &cx.info.name, &options).await?;
    Ok(object_response(
        &cx,
        &accepted,
        200,
        &target.resource,
        &object,
    ))
}
