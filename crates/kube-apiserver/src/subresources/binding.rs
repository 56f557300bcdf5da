//! `binding`: assigns a pod to a node.

use std::sync::Arc;

use kubewright_apiserver::{
    Object,
    admission::Attributes,
    boxed_async,
    registry::{Create, Draft, Generic, Handlers, ResourceSpec, Shape},
    request::{RequestContext, WriteOptions},
    rfc3339,
};
use kubewright_builtins::core::pod::binding;
use kubewright_catalog::generated::core_v1::POD;
use kubewright_machinery::{
    Status, field,
    gvk::{GroupResource, GroupVersionKind},
    status,
};
use serde_json::Value;

use crate::kinds::{BuiltInKind, Environment};

pub(super) fn handlers(kind: &BuiltInKind<'_>) -> Handlers {
    let create = Arc::new(Bind(kind.generic.clone()));
    Handlers {
        create: Some(create),
        ..Handlers::default()
    }
}

/// `pods/x/binding`
struct Bind(Generic);

#[boxed_async]
impl Create for Bind {
    async fn create(
        &self,
        cx: &RequestContext,
        name: &str,
        draft: Draft,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        let binding = draft.into_value();
        if binding["metadata"]["name"].as_str().unwrap_or_default() != name {
            return Err(status::bad_request(
                "name in URL does not match name in Binding object",
            ));
        }
        bind(&self.0, cx, name, &binding, options).await
    }
}

/// `bindings`: assigns the pod with the name of the binding.
pub(super) struct BindNamed(Generic);

impl BindNamed {
    pub(super) fn new(environment: &Environment) -> Self {
        let kind = GroupVersionKind::new("", "v1", "Pod");
        let spec = ResourceSpec {
            shape: Shape::Typed(&POD),
            selectable: crate::kinds::selectable_of("", "v1", "pods"),
            ..ResourceSpec::new(kind, "pods").namespaced()
        };
        // The strategy does not matter: bindings rewrite the pod.
        Self(Generic::new(spec, environment.store.clone()).with_clock(environment.clock.clone()))
    }
}

#[boxed_async]
impl Create for BindNamed {
    async fn create(
        &self,
        cx: &RequestContext,
        _name: &str,
        draft: Draft,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        let binding = draft.into_value();
        let name = binding["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        bind(&self.0, cx, &name, &binding, options).await
    }
}

async fn bind(
    pods: &Generic,
    cx: &RequestContext,
    name: &str,
    binding: &Value,
    options: &WriteOptions,
) -> Result<Object, Status> {
    let errors = binding::validate(binding);
    if !errors.is_empty() {
        // kube-apiserver reports a failure here, not an invalid object.
        return Err(status::unknown(field::aggregate(&errors)));
    }
    let attributes = Attributes::create(name, options);
    cx.admission
        .validate(cx, &attributes, Some(binding))
        .await?;
    let now = rfc3339(pods.clock().now());
    let resource = GroupResource::new("", "pods/binding");
    let assign = |pod: &mut Value| {
        binding::bind(pod, binding, &now).map_err(|text| status::conflict(&resource, name, text))
    };
    pods.rewrite(cx, name, options.dry_run.into(), &assign)
        .await?;
    super::done()
}
