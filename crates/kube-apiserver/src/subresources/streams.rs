//! `log`, `exec`, `attach`, `portforward` and `proxy`: streams from a node.
//!
//! There are no nodes, so each fails as kube-apiserver does for a pod without a node, or for a node that does not respond.

use std::sync::Arc;

use async_trait::async_trait;
use http::{Method, Request, Response, StatusCode};
use kubewright_apiserver::{
    Body,
    auth::Attributes,
    registry::{Connect, Generic, Handlers},
    request::{RequestContext, Verb},
};
use kubewright_machinery::{Status, gvk::GroupResource, status};
use serde_json::Value;

use super::{connect_options, log_options};
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
        is_log: name == "log",
    });
    Handlers {
        connect: Some(connect),
        ..Handlers::default()
    }
}

struct NobodyThere {
    parents: Generic,
    methods: Vec<Method>,
    /// Whether it only reads, so that admission is not asked.
    is_log: bool,
}

#[async_trait]
impl Connect for NobodyThere {
    fn methods(&self) -> &[Method] {
        &self.methods
    }

    fn takes_path(&self) -> bool {
        self.methods.contains(&Method::PUT)
    }

    fn options(&self, cx: &RequestContext) -> Value {
        connect_options::of(cx)
    }

    fn is_admitted(&self) -> bool {
        !self.is_log
    }

    async fn connect(
        &self,
        cx: &RequestContext,
        name: &str,
        _request: Request<Body>,
    ) -> Result<Response<Body>, Status> {
        let subresource = cx.info.subresource.as_str();
        let name = match subresource {
            "proxy" => without_port(name),
            _ => name,
        };
        if matches!(subresource, "exec" | "attach" | "portforward") {
            authorize_creation(cx).await?;
        }
        if subresource == "log" {
            log_options::check(&cx.query, name)?;
        }
        let parent = self.parents.read(cx, name).await?;
        if parent["kind"] == "Pod" {
            let is_unset = |value: &Value| value.as_str().unwrap_or_default().is_empty();
            let unassigned = is_unset(&parent["spec"]["nodeName"]);
            if matches!(subresource, "log" | "exec" | "attach") {
                check_container(&parent, name, cx.query.first("container"))?;
            }
            match subresource {
                "log" if unassigned => {
                    // A pod that nobody runs has said nothing yet.
                    let mut silence = Response::new(Body::empty());
                    *silence.status_mut() = StatusCode::NO_CONTENT;
                    return Ok(silence);
                }
                "proxy" if is_unset(&parent["status"]["podIP"]) => {
                    return Err(status::bad_request("address not allowed"));
                }
                "proxy" => {}
                _ if unassigned => {
                    return Err(status::bad_request(format!(
                        "pod {name} does not have a host assigned"
                    )));
                }
                _ => {}
            }
        }
        Err(Status::failure(
            503,
            "ServiceUnavailable",
            format!("{} {name} has no kubelet that answers", cx.info.resource),
        ))
    }
}

/// Checks that the user may open a stream by a POST. A web socket is opened by a GET, which roles allow as reading.
async fn authorize_creation(cx: &RequestContext) -> Result<(), Status> {
    let info = &cx.info;
    if info.verb == Verb::Create {
        return Ok(());
    }
    let attributes = Attributes::of_request(&cx.user, info, &cx.query).with_verb("create");
    let decision = cx.authorizer.authorize(&attributes).await;
    match decision.error {
        _ if decision.is_allow() => Ok(()),
        Some(error) => Err(status::unknown(error)),
        None => {
            let resource = GroupResource::new(&info.group, &info.resource);
            let reason = decision.reason.to_string();
            Err(status::forbidden(&resource, &info.name, &reason))
        }
    }
}

/// Returns the name in `scheme:name:port`, where scheme and port may be missing.
fn without_port(text: &str) -> &str {
    let parts: Vec<&str> = text.split(':').collect();
    match parts[..] {
        [name, _] | [_, name, _] => name,
        _ => text,
    }
}

/// Checks that the pod has the container, or only one where none is named.
fn check_container(pod: &Value, name: &str, container: Option<&str>) -> Result<(), Status> {
    let names = |kind: &str| -> Vec<&str> {
        let containers = pod["spec"][kind].as_array();
        containers
            .into_iter()
            .flatten()
            .filter_map(|container| container["name"].as_str())
            .collect()
    };
    let all = [
        names("initContainers"),
        names("containers"),
        names("ephemeralContainers"),
    ]
    .concat();
    match container.filter(|container| !container.is_empty()) {
        Some(container) if !all.contains(&container) => Err(status::bad_request(format!(
            "container {container} is not valid for pod {name}"
        ))),
        None if names("containers").len() > 1 => Err(status::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            all.join(" ")
        ))),
        _ => Ok(()),
    }
}
