//! [`Policy`]: a policy, decoded, and compiled when the first request matches it.

use std::sync::Arc;

use kubewright_apiserver::registry::BlockingPool;
use kubewright_machinery::{
    Status,
    gvk::{GroupVersion, GroupVersionKind},
    json::Read,
};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::Family;
use crate::admission::matching::Criteria;

/// A policy.
pub(crate) struct Policy<F: Family> {
    pub(crate) name: Arc<str>,
    /// Whether errors are passed over.
    pub(crate) ignores_errors: bool,
    /// The requests that the policy is for; `None` if it does not say.
    pub(crate) constraints: Option<Criteria>,
    pub(crate) param_kind: Option<GroupVersionKind>,
    spec: Arc<Value>,
    compiled: OnceCell<Arc<F::Compiled>>,
}

impl<F: Family> Policy<F> {
    /// Reads a stored policy.
    pub(crate) fn read(name: &str, spec: Value) -> Self {
        let set = |key: &str| Some(&spec[key]).filter(|value| value.is_set());
        Self {
            name: name.into(),
            ignores_errors: spec["failurePolicy"].text() == "Ignore",
            constraints: set("matchConstraints").map(Criteria::of_resources),
            param_kind: set("paramKind").map(|kind| {
                let version = GroupVersion::parse(kind["apiVersion"].text()).unwrap_or_default();
                GroupVersionKind::new(version.group, version.version, kind["kind"].text())
            }),
            spec: Arc::new(spec),
            compiled: OnceCell::new(),
        }
    }

    /// Reports whether the policy was read from the same spec, so that its programs can be kept.
    pub(crate) fn is_of(&self, spec: &Value) -> bool {
        *self.spec == *spec
    }

    /// Returns the compiled policy. The first call compiles it in a pool.
    pub(crate) async fn compiled(&self, pool: &BlockingPool) -> Result<Arc<F::Compiled>, Status> {
        let compile = || async {
            let spec = self.spec.clone();
            pool.run(move || Arc::new(F::compile(&spec))).await
        };
        self.compiled.get_or_try_init(compile).await.cloned()
    }
}
