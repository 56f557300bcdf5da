//! `log`, `exec`, `attach`, `portforward` and `proxy`: conversations with a node.
//!
//! Nothing runs on this control plane, so there is nobody to talk to; each says so as the real server does of a pod without a
//! node, or of a node that does not answer.

use std::sync::Arc;

use async_trait::async_trait;
use http::{Method, Request, Response};
use kubewright_apiserver::{
    body::Body,
    registry::{Connect, Handlers, generic::Generic},
    request::RequestContext,
};
use kubewright_machinery::{Status, status};

use crate::kinds::BuiltInKind;

pub(super) fn handlers(kind: &BuiltInKind<'_>, name: &str) -> Handlers {
    let methods = match name {
        "log" => vec![Method::GET],
        "proxy" => {
            vec![
                Method::GET,
                Method::POST,
                Method::PUT,
                Method::PATCH,
                Method::DELETE,
                Method::HEAD,
                Method::OPTIONS,
            ]
        }
        _ => vec![Method::GET, Method::POST],
    };
    let connect = Arc::new(NobodyThere {
        parents: kind.generic.clone(),
        methods,
    });
    Handlers {
        connect: Some(connect),
        ..Handlers::default()
    }
}

struct NobodyThere {
    parents: Generic,
    methods: Vec<Method>,
}

#[async_trait]
impl Connect for NobodyThere {
    fn methods(&self) -> &[Method] {
        &self.methods
    }

    async fn connect(
        &self,
        cx: &RequestContext,
        name: &str,
        _request: Request<Body>,
    ) -> Result<Response<Body>, Status> {
        let parent = self.parents.read(cx, name).await?;
        let is_pod = parent["kind"] == "Pod";
        let node = parent["spec"]["nodeName"].as_str().unwrap_or_default();
        if is_pod && node.is_empty() && cx.info.subresource == "log" {
            // A pod that nobody runs has said nothing yet.
            return Ok(Response::new(Body::empty()));
        }
        if is_pod && node.is_empty() {
            return Err(status::bad_request(format!(
                "pod {name} does not have a host assigned"
            )));
        }
        Err(Status::failure(
            503,
            "ServiceUnavailable",
            format!("{} {name} has no kubelet that answers", cx.info.resource),
        ))
    }
}
