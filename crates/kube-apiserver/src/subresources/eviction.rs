//! `eviction`: a delete that respects disruption budgets.

use std::sync::Arc;

use kubewright_apiserver::{
    Object,
    admission::Attributes,
    boxed_async,
    registry::{Create, Draft, DryRun, Generic, Handlers},
    request::{DeleteOptions, RequestContext, WriteOptions},
    rfc3339,
};
use kubewright_builtins::core::pod::eviction;
use kubewright_machinery::{Status, labels::LabelSelector, status};
use kubewright_store::{Payload, Range, Store, WriteError};
use serde_json::Value;

use crate::kinds::{BuiltInKind, collection};

/// Maximum attempts after conflicts on a budget.
const ATTEMPTS: usize = 100;

pub(super) fn handlers(kind: &BuiltInKind<'_>) -> Handlers {
    let create = Evict {
        pods: kind.generic.clone(),
        store: kind.environment.store.clone(),
    };
    Handlers {
        create: Some(Arc::new(create)),
        ..Handlers::default()
    }
}

struct Evict {
    pods: Generic,
    store: Arc<dyn Store>,
}

#[boxed_async]
impl Create for Evict {
    async fn create(
        &self,
        cx: &RequestContext,
        name: &str,
        draft: Draft,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        let request = draft.into_value();
        let named = request["metadata"]["name"].as_str().unwrap_or_default();
        if named != name {
            return Err(status::bad_request(
                "name in URL does not match name in Eviction object",
            ));
        }
        let mut delete = match &request["deleteOptions"] {
            Value::Null => DeleteOptions::default(),
            given => DeleteOptions::from_value(given)?,
        };
        delete.dry_run |= options.dry_run;
        let attributes = Attributes::create(name, options);
        cx.admission
            .validate(cx, &attributes, Some(&request))
            .await?;
        let pod = self.pods.read(cx, name).await?;
        if !eviction::needs_no_budget(&pod) {
            self.spend(cx, &pod, name, delete.dry_run).await?;
        }
        if !delete.dry_run {
            let now = rfc3339(self.pods.clock().now());
            let mark = |pod: &mut Value| {
                eviction::mark_evicted(pod, &now);
                Ok(())
            };
            self.pods.rewrite(cx, name, DryRun::No, &mark).await?;
        }
        self.pods.delete_admitted(cx, name, &delete).await?;
        super::done()
    }
}

impl Evict {
    /// Takes one disruption from the budget of the pod.
    ///
    /// # Errors
    ///
    /// Fails with 429 if the budget allows no disruption.
    async fn spend(
        &self,
        cx: &RequestContext,
        pod: &Value,
        name: &str,
        dry_run: bool,
    ) -> Result<(), Status> {
        for _ in 0..ATTEMPTS {
            let mut covering = self.budgets(cx.namespace(), pod).await?;
            let Some((entry, mut budget)) = covering.pop() else {
                return Ok(());
            };
            if !covering.is_empty() {
                return Err(eviction::too_many_budgets());
            }
            if eviction::may_go_unhealthy(pod, &budget) {
                return Ok(());
            }
            let now = rfc3339(self.pods.clock().now());
            eviction::take_disruption(&mut budget, name, &now).map_err(|status| *status)?;
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
        let range = Range {
            prefix: format!("{namespace}/"),
            ..Range::default()
        };
        let page = snapshot
            .range(&collection, range)
            .await
            .map_err(status::internal)?;
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

/// Encodes the budget for the store.
fn encode(budget: &Value) -> Payload {
    kubewright_apiserver::registry::payload(budget)
}
