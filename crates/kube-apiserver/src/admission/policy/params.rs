//! The parameters of policies, read from the store when a request needs them.

use std::sync::{Arc, OnceLock};

use kubewright_apiserver::{
    ApiServer, WeakApiServer,
    registry::Resource,
    request::{GetOptions, ListOptions, RequestContext},
};
use kubewright_machinery::{gvk::GroupVersionKind, json::Read};
use serde_json::Value;

use super::binding::ParamRef;

const NOT_FOUND: &str = "no params found for policy binding with `Deny` parameterNotFoundAction";
const CLUSTER_SCOPED_REQUEST: &str =
    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
const CLUSTER_SCOPED_KIND: &str =
    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";

/// Reads parameters of any kind that the server serves.
#[derive(Clone, Default)]
pub(crate) struct Params {
    server: Arc<OnceLock<WeakApiServer>>,
}

impl Params {
    /// Sets the server whose objects are parameters.
    pub(crate) fn start(&self, server: &ApiServer) {
        let _ = self.server.set(server.downgrade());
    }

    /// Finds the resource of a kind of parameters.
    ///
    /// # Errors
    ///
    /// Returns a message if the server has no such kind.
    pub(crate) fn resource(&self, kind: &GroupVersionKind) -> Result<Arc<Resource>, String> {
        let server = self.server.get().and_then(WeakApiServer::upgrade);
        let registry = server.map(|server| server.registry());
        let found = registry.and_then(|registry| {
            let group = registry.groups().iter().find(|g| g.name == kind.group)?;
            let versions = group.versions.iter();
            let mut served = versions.filter(|(version, _)| *version == kind.version);
            let (_, resources) = served.next()?;
            let of_kind = |resource: &&Arc<Resource>| resource.spec().kind.kind == kind.kind;
            resources.iter().find(of_kind).cloned()
        });
        found.ok_or_else(|| {
            let (group, version, kind) = (&kind.group, &kind.version, &kind.kind);
            format!(
                "failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'"
            )
        })
    }

    /// Reads the parameters that a binding refers to, in the order of their names.
    ///
    /// # Errors
    ///
    /// Returns a message if the reference does not fit the kind or the request, or if there are no parameters and the binding
    /// denies that.
    pub(crate) async fn read(
        &self,
        cx: &RequestContext,
        resource: &Arc<Resource>,
        reference: &ParamRef,
        request_namespace: &str,
    ) -> Result<Vec<Value>, String> {
        let namespace = match (resource.spec().namespaced, reference.namespace.as_str()) {
            (true, "") if request_namespace.is_empty() => {
                return Err(CLUSTER_SCOPED_REQUEST.to_owned());
            }
            (true, "") => request_namespace,
            (false, "") => "",
            (false, _) => return Err(CLUSTER_SCOPED_KIND.to_owned()),
            (true, namespace) => namespace,
        };
        let mut info = (*cx.info).clone();
        info.namespace = namespace.to_owned();
        info.subresource = String::new();
        let cx = RequestContext {
            info: Arc::new(info),
            resource: resource.clone(),
            ..cx.clone()
        };
        let found = match &reference.selector {
            None => get(&cx, &reference.name).await?,
            Some(selector) => {
                let labels = selector.clone()?;
                let options = ListOptions {
                    labels,
                    ..ListOptions::default()
                };
                list(&cx, &options).await?
            }
        };
        match found.is_empty() && reference.deny_missing {
            true => Err(NOT_FOUND.to_owned()),
            false => Ok(found),
        }
    }
}

async fn get(cx: &RequestContext, name: &str) -> Result<Vec<Value>, String> {
    let Some(get) = &cx.resource.handlers().get else {
        return Err(not_synced(cx));
    };
    match get.get(cx, name, &GetOptions::default()).await {
        Ok(object) => Ok(vec![object.to_value().map_err(|e| e.message)?]),
        Err(missing) if missing.code == 404 => Ok(Vec::new()),
        Err(error) => Err(error.message),
    }
}

async fn list(cx: &RequestContext, options: &ListOptions) -> Result<Vec<Value>, String> {
    let Some(list) = &cx.resource.handlers().list else {
        return Err(not_synced(cx));
    };
    let list = list.list(cx, options).await.map_err(|e| e.message)?;
    let objects = list.items.collect().await.map_err(|e| e.message)?;
    let mut found = Vec::with_capacity(objects.len());
    for object in objects {
        found.push(object.to_value().map_err(|e| e.message)?);
    }
    let path = |object: &Value| {
        let metadata = &object["metadata"];
        (
            metadata["namespace"].text().to_owned(),
            metadata["name"].text().to_owned(),
        )
    };
    found.sort_by_cached_key(path);
    Ok(found)
}

/// Returns the error of a kind whose objects cannot be read.
fn not_synced(cx: &RequestContext) -> String {
    let kind = &cx.resource.spec().kind;
    let (version, kind) = (kind.api_version(), &kind.kind);
    format!(
        "paramKind kind `&ParamKind{{APIVersion:{version},Kind:{kind},}}` not yet synced to use for admission"
    )
}
