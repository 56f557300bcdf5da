//! `binding`: a pod gets its node, once.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_apiserver::{
    clock::rfc3339,
    object::Object,
    registry::{
        Create, Handlers, Shape,
        generic::{Generic, GenericOptions},
    },
    request::{RequestContext, WriteOptions},
};
use kubewright_builtins::core::pod::binding;
use kubewright_catalog::generated::core_v1::POD;
use kubewright_machinery::{
    Status, field,
    gvk::{GroupResource, GroupVersionKind},
    status,
};
use serde_json::Value;

use crate::kinds::{
    BuiltInKind, Environment,
    strategy::{BuiltIn, Endpoint},
};

pub(super) fn handlers(kind: &BuiltInKind<'_>) -> Handlers {
    let create = Arc::new(Bind(kind.generic.clone()));
    Handlers {
        create: Some(create),
        ..Handlers::default()
    }
}

/// `pods/x/binding`
struct Bind(Generic);

#[async_trait]
impl Create for Bind {
    async fn create(
        &self,
        cx: &RequestContext,
        name: &str,
        binding: Value,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        if binding["metadata"]["name"].as_str().unwrap_or_default() != name {
            return Err(status::bad_request(
                "name in URL does not match name in Binding object",
            ));
        }
        bind(&self.0, cx, name, &binding, options.dry_run).await
    }
}

/// `bindings`: the pod is the one of the binding's name.
pub(super) struct BindNamed(Generic);

impl BindNamed {
    pub(super) fn new(environment: &Environment) -> Self {
        let rules = kubewright_builtins::rules("", "Pod");
        Self(Generic::new(GenericOptions {
            store: environment.store.clone(),
            collection: crate::kinds::collection("", "pods"),
            resource: GroupResource::new("", "pods"),
            kind: GroupVersionKind::new("", "v1", "Pod"),
            namespaced: true,
            shape: Shape::Typed(&POD),
            selectable: Arc::new(crate::kinds::selectable_of("", "v1", "pods")),
            strategy: Arc::new(BuiltIn::new("", "Pod", rules, Endpoint::main(rules))),
            converter: None,
            clock: environment.clock.clone(),
        }))
    }
}

#[async_trait]
impl Create for BindNamed {
    async fn create(
        &self,
        cx: &RequestContext,
        _name: &str,
        binding: Value,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        let name = binding["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        bind(&self.0, cx, &name, &binding, options.dry_run).await
    }
}

async fn bind(
    pods: &Generic,
    cx: &RequestContext,
    name: &str,
    binding: &Value,
    dry_run: bool,
) -> Result<Object, Status> {
    let errors = binding::validate(binding);
    if !errors.is_empty() {
        // Not told as an invalid object, but as a failure.
        return Err(status::unknown(field::aggregate(&errors)));
    }
    let now = rfc3339(pods.clock().now());
    let resource = GroupResource::new("", "pods/binding");
    let assign = |pod: &mut Value| {
        binding::bind(pod, binding, &now).map_err(|text| status::conflict(&resource, name, text))
    };
    pods.rewrite(cx, name, dry_run, &assign).await?;
    super::done()
}
