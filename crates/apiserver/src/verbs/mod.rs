//! The verbs, one file each. A verb negotiates, decodes, calls the handler of the resource and responds.

mod apply;
mod connect;
mod create;
mod custom;
mod decode;
mod delete;
mod get;
mod list;
mod patch;
mod patched_kind;
mod update;
mod write;

use std::{sync::Arc, time::Duration};

pub use patched_kind::check_patched_kind;

use http::{Method, Request, Response};
use kubewright_machinery::{Status, status, time::parse_duration};
use tokio::time::Instant;

use crate::{
    body::Body,
    field_manager::FieldManager,
    registry::{Connect, Handlers, Resource, Shape, Subresource, SubresourceKind},
    request::{RequestContext, Verb},
    respond::{
        Accepted,
        negotiate::{self, Media, Offer},
    },
};

/// The longest that a write may take, its webhooks included.
const LONGEST_WRITE: Duration = Duration::from_secs(34);

/// The longest that the deletion of a collection may take, its webhooks included: as long as any request.
const LONGEST_DELETION: Duration = Duration::from_secs(60);

/// The target of a request: a resource, or one of its subresources.
pub(crate) struct Target {
    pub(crate) resource: Arc<Resource>,
    /// The position of the subresource, if there is one.
    subresource: Option<usize>,
}

/// A request with its target and context.
pub(crate) struct Call {
    pub(crate) cx: RequestContext,
    pub(crate) target: Target,
    pub(crate) request: Request<Body>,
}

impl Call {
    /// Returns the handler of a verb, or the 405 of a target without it.
    fn handler<T: ?Sized>(
        &self,
        of: impl FnOnce(&Handlers) -> &Option<Arc<T>>,
    ) -> Result<Arc<T>, Status> {
        of(self.target.handlers())
            .clone()
            .ok_or_else(|| self.target.not_allowed(&self.cx))
    }

    /// Negotiates the form of the response.
    fn accepted(&self) -> Result<Accepted, Status> {
        // Only lists may be streams of events.
        let streams = matches!(self.cx.info.verb, Verb::List | Verb::Watch);
        let offer = self.target.offer(streams);
        Accepted::negotiate(self.request.headers(), &self.cx.query, &offer)
    }
}

impl Target {
    /// Returns the target that the path names, or `None` if there is no such resource.
    pub(crate) fn find(
        resource: &Arc<Resource>,
        info: &crate::request::RequestInfo,
    ) -> Option<Self> {
        // The path of a namespace names it as the namespace and as the object.
        let is_namespace = info.resource == "namespaces" && info.name == info.namespace;
        let in_namespace = !info.namespace.is_empty() && !is_namespace;
        let reaches_all = match resource.custom {
            Some(_) => matches!(info.verb, Verb::List | Verb::Watch),
            None => resource.handlers.list.is_some(),
        };
        let scope_fits = if resource.spec.namespaced {
            in_namespace || (info.name.is_empty() && reaches_all)
        } else {
            !in_namespace
        };
        // Only the old way to watch leads to a subresource, and there is nothing.
        let watches_subresource = info.verb == Verb::Watch && !info.subresource.is_empty();
        if !scope_fits || watches_subresource {
            return None;
        }
        let subresource = match info.subresource.as_str() {
            "" => None,
            name => Some(resource.subresources.iter().position(|s| s.name == name)?),
        };
        let target = Self {
            resource: resource.clone(),
            subresource,
        };
        let takes_path = |connect: &Arc<dyn Connect>| connect.takes_path();
        if !info.rest.is_empty() && !target.handlers().connect.as_ref().is_some_and(takes_path) {
            return None;
        }
        // Reviews can be created, but have no items.
        let handlers = target.handlers();
        let has_items =
            handlers.get.is_some() || handlers.update.is_some() || handlers.delete.is_some();
        if target.subresource.is_none() && !info.name.is_empty() && !has_items {
            return None;
        }
        Some(target)
    }

    pub(crate) fn subresource(&self) -> Option<&Subresource> {
        self.subresource.map(|i| &self.resource.subresources[i])
    }

    pub(crate) fn handlers(&self) -> &Handlers {
        self.subresource()
            .map_or(&self.resource.handlers, |s| &s.handlers)
    }

    /// Returns the kind and the shape of request bodies.
    fn body_type(&self) -> (&kubewright_machinery::gvk::GroupVersionKind, Shape) {
        match self.subresource().map(|s| &s.kind) {
            Some(SubresourceKind::Other(kind, shape)) => (kind, *shape),
            _ => (&self.resource.spec.kind, self.resource.spec.shape),
        }
    }

    /// Returns the schema of request bodies if they are custom objects.
    fn custom(&self) -> Option<&dyn crate::registry::Custom> {
        match self.subresource() {
            Some(subresource) if !self.takes_parent() => {
                subresource.object.as_ref()?.custom.as_deref()
            }
            _ => self.resource.custom.as_deref(),
        }
    }

    /// Returns whether request bodies are objects of the resource itself.
    fn takes_parent(&self) -> bool {
        !matches!(
            self.subresource().map(|s| &s.kind),
            Some(SubresourceKind::Other(..))
        )
    }

    /// Returns the field manager of the endpoint, if the kind has one.
    fn field_manager(&self) -> Option<&FieldManager> {
        match self.subresource() {
            None => self.resource.field_manager.as_deref(),
            Some(subresource) => subresource.field_manager.as_deref(),
        }
    }

    /// Returns the 405 of a verb that the target does not support.
    fn not_allowed(&self, cx: &RequestContext) -> Status {
        match self.resource.custom {
            Some(_) => {
                let verb = cx.info.verb.to_string();
                status::method_not_allowed(&self.resource.spec.group_resource(), &verb)
            }
            None => not_allowed(),
        }
    }

    fn media(&self) -> &'static [Media] {
        match self.body_type().1 {
            Shape::Untyped if self.resource.custom.is_none() => negotiate::NO_PROTOBUF,
            _ => negotiate::BUILT_IN,
        }
    }

    fn offer(&self, streams: bool) -> Offer {
        Offer {
            media: self.media(),
            plain_protobuf: match &self.resource.custom {
                Some(_) => self.custom().is_some_and(|c| c.protobuf().is_some()),
                None => matches!(self.body_type().1, Shape::Typed(_)),
            },
            transforms: true,
            tables: self.has_tables(),
            streams,
            routed: self.resource.custom.is_none(),
        }
    }

    /// Reports whether what can be updated can be patched too; some subresources take only whole objects.
    fn takes_patches(&self) -> bool {
        self.subresource().is_none_or(|subresource| {
            let verbs = &subresource.verbs;
            verbs.is_empty() || verbs.iter().any(|verb| verb == "patch")
        })
    }

    /// Reports whether the objects here can be shown as tables. Reviews and most subresources cannot.
    fn has_tables(&self) -> bool {
        match self.subresource() {
            Some(subresource) => subresource.table.is_some(),
            None => {
                let handlers = &self.resource.handlers;
                handlers.get.is_some() || handlers.list.is_some()
            }
        }
    }
}

/// Returns the 405 of built-in resources and of discovery.
pub(crate) fn not_allowed() -> Status {
    Status::failure(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    )
    .with_details(
        status::resource_not_found()
            .details
            .map(|d| *d)
            .unwrap_or_default(),
    )
}

/// Runs the verb of a request.
///
/// The future of each verb is boxed: a future is as large as the largest one that it may await, and this one is moved into the
/// timeout and the panic guard of every request.
pub(crate) async fn run(mut call: Call) -> Result<Response<Body>, Status> {
    let longest = match call.cx.info.verb {
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete => LONGEST_WRITE,
        Verb::DeleteCollection => LONGEST_DELETION,
        _ => return run_verb(call).await,
    };
    let now = Instant::now();
    let asked = call.cx.query.first("timeout").and_then(|text| {
        let nanoseconds = u64::try_from(parse_duration(text).ok()?).ok()?;
        Some(Duration::from_nanos(nanoseconds)).filter(|asked| !asked.is_zero())
    });
    call.cx.deadline = Some(now + asked.map_or(longest, |asked| asked.min(longest)));
    let written = tokio::time::timeout_at(now + longest, run_verb(call)).await;
    written.unwrap_or_else(|_| {
        let text = "Timeout: request did not complete within requested timeout - context deadline exceeded";
        Err(status::timeout(text, 0))
    })
}

async fn run_verb(call: Call) -> Result<Response<Body>, Status> {
    let info = call.cx.info.clone();
    let method = match call.request.method() {
        // Custom resources go by the verb, which is the same for both.
        &Method::HEAD if call.target.resource.custom.is_some() => Method::GET,
        method => method.clone(),
    };
    let handlers = call.target.handlers();
    let connect = handlers.connect.clone();
    if let Some(connect) = connect.filter(|connect| connect.methods().contains(&method)) {
        return Box::pin(connect::run(call, connect)).await;
    }
    let collection = info.name.is_empty();
    // Across all namespaces, objects can only be listed and watched.
    let whole_cluster = call.target.resource.spec.namespaced && info.namespace.is_empty();
    match method {
        Method::GET if collection || info.verb == Verb::Watch => Box::pin(list::run(call)).await,
        _ if whole_cluster => Err(call.target.not_allowed(&call.cx)),
        Method::GET => Box::pin(get::run(call)).await,
        Method::POST
            if collection
                || call.target.subresource.is_some()
                || call.target.resource.custom.is_some() =>
        {
            Box::pin(create::run(call)).await
        }
        Method::PUT if !collection => Box::pin(update::run(call)).await,
        Method::PATCH if !call.target.takes_patches() => Err(not_allowed()),
        Method::PATCH if !collection => Box::pin(patch::run(call)).await,
        Method::DELETE if collection => Box::pin(delete::run_collection(call)).await,
        Method::DELETE => Box::pin(delete::run(call)).await,
        Method::PUT | Method::PATCH if call.target.resource.custom.is_some() => {
            if method == Method::PATCH {
                patch::check_kind(&call)?;
            }
            Err(status::bad_request("name must be provided"))
        }
        _ => Err(call.target.not_allowed(&call.cx)),
    }
}
