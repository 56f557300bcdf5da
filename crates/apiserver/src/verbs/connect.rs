//! Streaming subresources: the handler takes over the connection.

use std::sync::Arc;

use http::Response;
use kubewright_machinery::{Status, status};

use super::Call;
use crate::{admission::Attributes, body::Body, registry::Connect};

pub(super) async fn run(call: Call, handler: Arc<dyn Connect>) -> Result<Response<Body>, Status> {
    let Call { cx, request, .. } = call;
    let name = cx.info.name.clone();
    if handler.is_admitted() {
        let dry_run = cx.query.all("dryRun").any(|value| !value.is_empty());
        if dry_run {
            return Err(status::bad_request("dryRun is not supported"));
        }
        let mut options = handler.options(&cx);
        let attributes = Attributes::connect(&name);
        let object = (!options.is_null()).then_some(&mut options);
        cx.admission.admit(&cx, &attributes, object).await?;
    }
    handler.connect(&cx, &name, request).await
}
