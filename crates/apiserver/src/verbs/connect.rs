//! Streaming subresources: the handler speaks for itself.

use std::sync::Arc;

use http::Response;
use kubewright_machinery::Status;

use super::Call;
use crate::{admission::Attributes, body::Body, registry::Connect};

pub(super) async fn run(call: Call, handler: Arc<dyn Connect>) -> Result<Response<Body>, Status> {
    let Call { cx, request, .. } = call;
    let name = cx.info.name.clone();
    cx.admission.admit(&cx, &Attributes::connect(&name)).await?;
    handler.connect(&cx, &name, request).await
}
