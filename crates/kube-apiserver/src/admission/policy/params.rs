//! The parameters of policies, as new as the store.

use std::sync::{Arc, OnceLock};

use kubewright_apiserver::{
    ApiServer, WeakApiServer,
    registry::Resource,
    request::{GetOptions, ListOptions, RequestContext},
};
use kubewright_machinery::{gvk::GroupVersionKind, json::Read};
use kubewright_store::Store;
use serde_json::Value;

use super::{
    binding::ParamRef,
    param_cache::{Answer, Found, ParamCache, Question},
};

const NOT_FOUND: &str = "no params found for policy binding with `Deny` parameterNotFoundAction";
const CLUSTER_SCOPED_REQUEST: &str =
    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
const CLUSTER_SCOPED_KIND: &str =
    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";

/// Reads parameters of any kind that the server serves.
#[derive(Clone)]
pub(crate) struct Params {
    server: Arc<OnceLock<WeakApiServer>>,
    cache: ParamCache,
}

impl Params {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            server: Arc::default(),
            cache: ParamCache::new(store),
        }
    }

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
    ) -> Result<Found, String> {
        let namespace = match (resource.spec().namespaced, reference.namespace.as_str()) {
            (true, "") if request_namespace.is_empty() => {
                return Err(CLUSTER_SCOPED_REQUEST.to_owned());
            }
            (true, "") => request_namespace,
            (false, "") => "",
            (false, _) => return Err(CLUSTER_SCOPED_KIND.to_owned()),
            (true, namespace) => namespace,
        };
        let spec = resource.spec();
        let slash = if spec.namespaced { "/" } else { "" };
        // Either the name or the selector is set.
        let question = Question {
            version: spec.group_version.version.clone(),
            path: format!("{namespace}{slash}{}", reference.name),
            selector: reference.selector_text.clone(),
        };
        let read = async {
            let cx = context(cx, resource, namespace);
            match &reference.selector {
                None => get(&cx, &reference.name).await,
                Some(selector) => {
                    let labels = selector.clone()?;
                    let options = ListOptions {
                        labels,
                        ..ListOptions::default()
                    };
                    list(&cx, &options).await
                }
            }
        };
        let found = self.cache.get_or_read(resource, question, read).await?;
        match found.is_empty() && reference.deny_missing {
            true => Err(NOT_FOUND.to_owned()),
            false => Ok(found),
        }
    }
}

/// Returns the context of a request for parameters.
fn context(cx: &RequestContext, resource: &Arc<Resource>, namespace: &str) -> RequestContext {
    let mut info = (*cx.info).clone();
    info.namespace = namespace.to_owned();
    info.subresource = String::new();
    RequestContext {
        info: Arc::new(info),
        resource: resource.clone(),
        ..cx.clone()
    }
}

async fn get(cx: &RequestContext, name: &str) -> Result<Answer, String> {
    let Some(get) = &cx.resource.handlers().get else {
        return Err(not_synced(cx));
    };
    match get.get(cx, name, &GetOptions::default()).await {
        Ok(object) => Ok(Answer {
            bytes: object.bytes.len(),
            found: Arc::from([Arc::new(object.to_value().map_err(|e| e.message)?)]),
        }),
        Err(missing) if missing.code == 404 => Ok(Answer {
            bytes: 0,
            found: Arc::from([]),
        }),
        Err(error) => Err(error.message),
    }
}

async fn list(cx: &RequestContext, options: &ListOptions) -> Result<Answer, String> {
    let Some(list) = &cx.resource.handlers().list else {
        return Err(not_synced(cx));
    };
    let list = list.list(cx, options).await.map_err(|e| e.message)?;
    let objects = list.items.collect().await.map_err(|e| e.message)?;
    let mut found = Vec::with_capacity(objects.len());
    let bytes = objects.iter().map(|object| object.bytes.len()).sum();
    for object in objects {
        found.push(Arc::new(object.to_value().map_err(|e| e.message)?));
    }
    let path = |object: &Arc<Value>| {
        let metadata = &object["metadata"];
        (
            metadata["namespace"].text().to_owned(),
            metadata["name"].text().to_owned(),
        )
    };
    found.sort_by_cached_key(path);
    Ok(Answer {
        found: found.into(),
        bytes,
    })
}

/// Returns the error of a kind whose objects cannot be read.
fn not_synced(cx: &RequestContext) -> String {
    let kind = &cx.resource.spec().kind;
    let (version, kind) = (kind.api_version(), &kind.kind);
    format!(
        "paramKind kind `&ParamKind{{APIVersion:{version},Kind:{kind},}}` not yet synced to use for admission"
    )
}
