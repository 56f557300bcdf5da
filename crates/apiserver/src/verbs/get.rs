//! `get`

use http::Response;
use kubewright_machinery::{Status, status};

use super::Call;
use crate::{body::Body, request::GetOptions, respond::object::object_response};

pub(super) async fn run(call: Call) -> Result<Response<Body>, Status> {
    let handler = call.handler(|handlers| &handlers.get)?;
    let accepted = call.accepted()?;
    let Call { cx, target, .. } = call;
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
