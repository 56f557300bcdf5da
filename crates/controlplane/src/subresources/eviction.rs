//! `eviction`: a delete that asks the disruption budgets first.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_apiserver::{
    clock::rfc3339,
    object::Object,
    registry::{Create, Delete, Handlers, generic::Generic},
    request::{DeleteOptions, RequestContext, WriteOptions},
};
use kubewright_machinery::{Status, labels::LabelSelector, status};
use kubewright_store::{Payload, Range, Store, WriteError};
use serde_json::{Value, json};

use crate::kinds::{BuiltInKind, collection};

/// The most pods that a budget waits for at once.
const MOST_DISRUPTED: usize = 2000;
/// How often a contended budget is tried.
const ATTEMPTS: usize = 100;

pub(super) fn handlers(kind: &BuiltInKind<'_>) -> Handlers {
    let create = Evict { pods: kind.generic.clone(), store: kind.environment.store.clone() };
    Handlers { create: Some(Arc::new(create)), ..Handlers::default() }
}

struct Evict {
    pods: Generic,
    store: Arc<dyn Store>,
}

#[async_trait]
impl Create for Evict {
    async fn create(
        &self,
        cx: &RequestContext,
        name: &str,
        eviction: Value,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        let named = eviction["metadata"]["name"].as_str().unwrap_or_default();
        if !named.is_empty() && named != name {
            return Err(status::bad_request("name in URL does not match name in Eviction object"));
        }
        let mut delete = match &eviction["deleteOptions"] {
            Value::Null => DeleteOptions::default(),
            given => DeleteOptions::from_value(given)?,
        };
        delete.dry_run |= options.dry_run;
        let pod = self.pods.read(cx, name).await?;
        if !ignores_budgets(&pod) {
            self.spend(cx, &pod, name, delete.dry_run).await?;
        }
        self.pods.delete(cx, name, &delete).await?;
        let answer = Status {
            code: 201,
            details: None,
            ..Status::success(Default::default())
        };
        Object::new(&answer)
    }
}

/// A pod that is done, not yet running or on its way out disturbs nobody.
fn ignores_budgets(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    matches!(phase, "Succeeded" | "Failed" | "Pending")
        || !pod["metadata"]["deletionTimestamp"].is_null()
}

impl Evict {
    /// Takes one disruption from the budget that covers the pod, or says why not.
    async fn spend(
        &self,
        cx: &RequestContext,
        pod: &Value,
        name: &str,
        dry_run: bool,
    ) -> Result<(), Status> {
        for _ in 0..ATTEMPTS {
            let mut covering = self.budgets(cx.namespace(), pod).await?;
            let Some((entry, mut budget)) = covering.pop() else { return Ok(()) };
            if !covering.is_empty() {
                return Err(Status::failure(
                    500,
                    "InternalError",
                    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
                ));
            }
            take_one(&mut budget, name, &rfc3339(self.pods.clock().now()))?;
            if dry_run {
                return Ok(());
            }
            match self.store.update(entry.0, entry.1, encode(&budget)).await {
                Ok(_) => return Ok(()),
                Err(WriteError::Conflict(_)) => {}
                Err(e) => return Err(status::internal(e)),
            }
        }
        Err(status::too_many_requests(
            "Cannot evict pod as it would violate the pod's disruption budget.",
            0,
        ))
    }

    async fn budgets(
        &self,
        namespace: &str,
        pod: &Value,
    ) -> Result<Vec<((kubewright_store::Key, kubewright_store::Revision), Value)>, Status> {
        let collection = collection("policy", "poddisruptionbudgets");
        let snapshot = self.store.snapshot(None).await.map_err(status::internal)?;
        let range = Range { prefix: format!("{namespace}/"), ..Range::default() };
        let page = snapshot.range(&collection, range).await.map_err(status::internal)?;
        let mut out = Vec::new();
        for entry in page.entries {
            let budget: Value = serde_json::from_slice(&entry.bytes).map_err(status::internal)?;
            let selector = LabelSelector::from_label_selector(&budget["spec"]["selector"]);
            let covers = selector.is_ok_and(|selector| {
                selector.matches(|key| pod["metadata"]["labels"][key].as_str())
            });
            if covers {
                let key = kubewright_store::Key::new(collection.clone(), entry.path.clone());
                out.push(((key, entry.revision), budget));
            }
        }
        Ok(out)
    }
}

fn take_one(budget: &mut Value, pod: &str, now: &str) -> Result<(), Status> {
    let name = budget["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let refused = |message: String, retry: u16| {
        let text = "Cannot evict pod as it would violate the pod's disruption budget.";
        Err(status::too_many_requests(text, retry).with_cause("DisruptionBudget", message, ""))
    };
    let observed = budget["status"]["observedGeneration"].as_i64().unwrap_or(0);
    if observed < budget["metadata"]["generation"].as_i64().unwrap_or(0) {
        return refused(
            format!("The disruption budget {name} is still being processed by the server."),
            10,
        );
    }
    let disrupted = budget["status"]["disruptedPods"].as_object().map_or(0, serde_json::Map::len);
    let allowed = budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0);
    if allowed <= 0 || disrupted > MOST_DISRUPTED {
        let desired = budget["status"]["desiredHealthy"].as_i64().unwrap_or(0);
        let current = budget["status"]["currentHealthy"].as_i64().unwrap_or(0);
        return refused(
            format!("The disruption budget {name} needs {desired} healthy pods and has {current} currently"),
            0,
        );
    }
    budget["status"]["disruptionsAllowed"] = json!(allowed - 1);
    budget["status"]["disruptedPods"][pod] = json!(now);
    Ok(())
}

/// The budget as it is stored: with a place for its resourceVersion.
fn encode(budget: &Value) -> Payload {
    kubewright_apiserver::registry::generic::payload(budget)
}
