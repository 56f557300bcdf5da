//! The kinds of the load: ConfigMaps, and a custom kind.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, PostParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::{Value, json};

use crate::Kinds;

/// The namespace of all objects.
pub(crate) const NAMESPACE: &str = "default";

/// The label with the number of the worker that owns an object.
pub(crate) const WORKER: &str = "soak/worker";

/// The number of objects on a page of a list.
const PAGE: u32 = 50;

/// A kind of object.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) name: String,
    resource: ApiResource,
    /// The field that holds the data.
    field: &'static str,
}

/// Objects by name, each with the number of its last write.
pub(crate) type Numbers = BTreeMap<String, i64>;

impl Kind {
    pub(crate) fn api(&self, client: Client) -> Api<DynamicObject> {
        Api::namespaced_with(client, NAMESPACE, &self.resource)
    }

    /// Returns an object with this number.
    pub(crate) fn object(&self, name: &str, worker: u32, number: i64) -> Value {
        // The size varies, so that nothing has a slot of its exact size.
        let filler = "x".repeat(64 + usize::try_from(number % 29).unwrap_or_default() * 32);
        json!({
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {WORKER: worker.to_string()}},
            self.field: {"number": number.to_string(), "filler": filler},
        })
    }

    /// Returns the number of an object; 0 if it has none.
    pub(crate) fn number(&self, object: &DynamicObject) -> i64 {
        let text = object.data[self.field]["number"].as_str();
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    }
}

/// Creates the custom kind, and returns both kinds.
pub(crate) async fn install(client: Client) -> anyhow::Result<Kinds> {
    let text = json!({"type": "string"});
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "number": text, "filler": text, "colour": {"type": "string", "default": "white"},
    }}}});
    let crd = serde_json::from_value(json!({
        "metadata": {"name": "ships.soak.example.com"},
        "spec": {
            "group": "soak.example.com", "scope": "Namespaced",
            "names": {"plural": "ships", "kind": "Ship"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    }))?;
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &crd).await?;
    let kind = |group: &str, kind: &str, plural: &str, field: &'static str| {
        let gvk = GroupVersionKind::gvk(group, "v1", kind);
        Arc::new(Kind {
            name: kind.to_owned(),
            resource: ApiResource::from_gvk_with_plural(&gvk, plural),
            field,
        })
    };
    let ships = kind("soak.example.com", "Ship", "ships", "spec");
    for _ in 0..100 {
        if ships
            .api(client.clone())
            .list(&ListParams::default())
            .await
            .is_ok()
        {
            return Ok(vec![kind("", "ConfigMap", "configmaps", "data"), ships]);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    anyhow::bail!("the custom kind is not served")
}

/// Lists all objects of the workers, page by page.
pub(crate) async fn list(api: &Api<DynamicObject>) -> anyhow::Result<Vec<DynamicObject>> {
    list_with(api, WORKER).await
}

/// Lists the objects that a label selector selects, page by page.
pub(crate) async fn list_with(
    api: &Api<DynamicObject>,
    selector: &str,
) -> anyhow::Result<Vec<DynamicObject>> {
    let mut all = Vec::new();
    let mut parameters = ListParams::default().labels(selector).limit(PAGE);
    loop {
        let page = api.list(&parameters).await.context("cannot list")?;
        all.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(all),
        }
    }
}

/// Gathers what the workers expect by kind.
pub(crate) fn by_kind(
    kinds: &Kinds,
    all: Vec<(Arc<Kind>, Numbers)>,
) -> HashMap<String, (Arc<Kind>, Numbers)> {
    let mut gathered: HashMap<String, (Arc<Kind>, Numbers)> = kinds
        .iter()
        .map(|kind| (kind.name.clone(), (kind.clone(), Numbers::new())))
        .collect();
    for (kind, numbers) in all {
        if let Some((_, gathered)) = gathered.get_mut(&kind.name) {
            gathered.extend(numbers);
        }
    }
    gathered
}

/// Counts the objects that differ from what is expected.
pub(crate) fn differences(held: &[DynamicObject], (kind, expected): &(Arc<Kind>, Numbers)) -> u64 {
    let held: Numbers = held
        .iter()
        .map(|object| (object.name_any(), kind.number(object)))
        .collect();
    count_differences(&held, expected)
}

/// Counts the names whose numbers differ, or that only one side has.
pub(crate) fn count_differences(held: &Numbers, expected: &Numbers) -> u64 {
    let wrong = expected
        .iter()
        .filter(|(name, number)| held.get(*name) != Some(number))
        .count();
    let extra = held
        .keys()
        .filter(|name| !expected.contains_key(*name))
        .count();
    (wrong + extra) as u64
}
