//! `scale`: the number of replicas, whatever the kind.
//!
//! A write through it is a write of the parent. Who manages `spec.replicas` is kept on the parent and shown on the scale.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_apiserver::{
    managed::scale::ScaleOwners,
    object::Object,
    registry::{Change, Get, Handlers, Update, Updated, generic::Generic},
    request::{GetOptions, RequestContext, WriteOptions},
};
use kubewright_catalog::generated::autoscaling_v1::SCALE;
use kubewright_machinery::{
    Status,
    field::{self, ErrorList, Path},
    gvk::{GroupKind, GroupVersionKind},
    labels::LabelSelector,
    status,
};
use kubewright_schema::normalize_typed;
use serde_json::{Value, json};

use crate::kinds::{BuiltInKind, strategy::Endpoint};

pub(super) fn handlers(kind: &BuiltInKind<'_>) -> Handlers {
    let endpoint = Endpoint { main: false, ..Endpoint::main(kind.rules) };
    let scale = Arc::new(Scale {
        parents: kind.at(endpoint),
        kind: kind.kind.clone(),
        plural: kind.info.plural,
    });
    Handlers { get: Some(scale.clone()), update: Some(scale), ..Handlers::default() }
}

struct Scale {
    parents: Generic,
    kind: GroupVersionKind,
    plural: &'static str,
}

/// The scale of an object.
fn of(parent: &Value) -> Result<Value, Status> {
    let metadata = &parent["metadata"];
    let selector = &parent["spec"]["selector"];
    let selector = match selector.as_object() {
        None => String::new(),
        Some(_) if selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some() => {
            LabelSelector::from_label_selector(selector).map_err(status::internal)?.to_string()
        }
        // Replication controllers select by labels alone.
        Some(labels) => {
            let terms: Vec<String> = labels
                .iter()
                .map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default()))
                .collect();
            terms.join(",")
        }
    };
    let scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": {"replicas": parent["spec"]["replicas"]},
        "status": {"replicas": parent["status"]["replicas"], "selector": selector},
    });
    normalize_typed(scale, &SCALE).map_err(status::internal)
}

#[async_trait]
impl Get for Scale {
    async fn get(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &GetOptions,
    ) -> Result<Object, Status> {
        let parent = self.parents.get(cx, name, options).await?.to_value()?;
        Ok(Object::from_value(&of(&parent)?))
    }
}

#[async_trait]
impl Update for Scale {
    async fn update(
        &self,
        cx: &RequestContext,
        name: &str,
        change: &dyn Change,
        options: &WriteOptions,
    ) -> Result<Updated, Status> {
        let change = ScaleChange { change, scale: self };
        let updated = self.parents.update(cx, name, &change, options).await?;
        let parent = updated.object.to_value()?;
        Ok(Updated { object: Object::from_value(&of(&parent)?), created: false })
    }
}

/// A change of the scale, as a change of the parent.
struct ScaleChange<'a> {
    change: &'a dyn Change,
    scale: &'a Scale,
}

#[async_trait]
impl Change for ScaleChange<'_> {
    fn expected_uid(&self) -> Option<&str> {
        self.change.expected_uid()
    }

    async fn apply(&self, cx: &RequestContext, old: Option<&Value>) -> Result<Value, Status> {
        let resource =
            kubewright_machinery::gvk::GroupResource::new(&self.scale.kind.group, self.scale.plural);
        let parent = old.ok_or_else(|| status::not_found(&resource, &cx.info.name))?;
        let owners = ScaleOwners::of(parent, &self.scale.kind.api_version());
        let mut before = of(parent)?;
        before["metadata"]["managedFields"] = owners.on_scale();
        let after = self.change.apply(cx, Some(&before)).await?;
        validate(&after)?;
        let mut parent = parent.clone();
        parent["metadata"]["managedFields"] = owners.on_parent(&after["metadata"]["managedFields"]);
        parent["spec"]["replicas"] = json!(after["spec"]["replicas"].as_i64().unwrap_or(0));
        parent["metadata"]["resourceVersion"] = after["metadata"]["resourceVersion"].clone();
        Ok(parent)
    }
}

fn validate(scale: &Value) -> Result<(), Status> {
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas >= 0 {
        return Ok(());
    }
    let path = Path::new("spec").child("replicas");
    let error = field::invalid(&path, &json!(replicas), "must be greater than or equal to 0");
    let name = scale["metadata"]["name"].as_str().unwrap_or_default();
    Err(status::invalid(&GroupKind::new("autoscaling", "Scale"), name, &ErrorList::from([error])))
}
