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
use kubewright_catalog::generated::core_v1::POD;
use kubewright_machinery::{
    Status,
    field::{self, Path},
    gvk::{GroupKind, GroupResource, GroupVersionKind},
    status::{self, Details},
};
use serde_json::{Map, Value, json};

use crate::kinds::{BuiltInKind, Environment, strategy::{BuiltIn, Endpoint}};

pub(super) fn handlers(kind: &BuiltInKind<'_>) -> Handlers {
    let create = Arc::new(Bind(kind.generic.clone()));
    Handlers { create: Some(create), ..Handlers::default() }
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
        let name = binding["metadata"]["name"].as_str().unwrap_or_default().to_owned();
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
    validate(binding)?;
    let node = binding["target"]["name"].as_str().unwrap_or_default();
    let annotations = binding["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    let now = rfc3339(pods.clock().now());
    pods.rewrite(cx, name, dry_run, &|pod| assign(pod, name, node, &annotations, &now)).await?;
    Ok(Object::new(&Status { code: 201, ..success() })?)
}

fn success() -> Status {
    let mut status = Status::success(Details::default());
    status.details = None;
    status
}

fn validate(binding: &Value) -> Result<(), Status> {
    let target = Path::new("target");
    let mut errors = Vec::new();
    let kind = binding["target"]["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "" | "Node") {
        errors.push(field::not_supported(&target.child("kind"), kind, &["Node", "<empty>"]));
    }
    if binding["target"]["name"].as_str().unwrap_or_default().is_empty() {
        errors.push(field::required(&target.child("name"), ""));
    }
    if errors.is_empty() {
        return Ok(());
    }
    let name = binding["metadata"]["name"].as_str().unwrap_or_default();
    Err(status::invalid(&GroupKind::new("", "Binding"), name, &errors))
}

fn assign(
    pod: &mut Value,
    name: &str,
    node: &str,
    annotations: &Map<String, Value>,
    now: &str,
) -> Result<(), Status> {
    let resource = GroupResource::new("", "pods/binding");
    let refuse = |text: String| Err(status::conflict(&resource, name, text));
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        return refuse(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let current = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if !current.is_empty() {
        return refuse(format!("pod {name} is already assigned to node {}", field::go_quote(current)));
    }
    if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        return refuse(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    pod["spec"]["nodeName"] = json!(node);
    for (key, value) in annotations {
        pod["metadata"]["annotations"][key] = value.clone();
    }
    let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let mut conditions: Vec<Value> =
        conditions.into_iter().filter(|c| c["type"] != "PodScheduled").collect();
    conditions.push(json!({
        "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now,
    }));
    pod["status"]["conditions"] = conditions.into();
    Ok(())
}
