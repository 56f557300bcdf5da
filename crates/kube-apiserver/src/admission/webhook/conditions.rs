//! [`MatchConditions`]: expressions that must all be true for a webhook to be called.

use std::sync::Arc;

use kubewright_apiserver::registry::BlockingPool;
use kubewright_cel::{AccessedResource, AdmissionEnv, AdmissionInput};
use kubewright_machinery::{Status, json::Read, status};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::hook::Hook;
use crate::admission::{
    matching::{Match, Request},
    policy::{Conditions, Decisions, Matched, request_resource},
    versioned::{Versioned, request_value},
};

/// The match conditions of a webhook, compiled when the first request needs them. Clones share the programs.
#[derive(Clone)]
pub(super) struct MatchConditions {
    list: Arc<Value>,
    compiled: Arc<OnceCell<Arc<Conditions>>>,
}

impl MatchConditions {
    /// Reads the list `matchConditions`.
    pub(super) fn read(list: &Value) -> Self {
        Self {
            list: Arc::new(list.clone()),
            compiled: Arc::default(),
        }
    }

    /// Reports whether there are no conditions.
    pub(super) fn is_empty(&self) -> bool {
        self.list.items().is_empty()
    }

    /// Takes over the programs of other conditions if their expressions are the same.
    pub(super) fn share(&mut self, other: &Self) {
        if self.list == other.list {
            *self = other.clone();
        }
    }

    /// Returns the programs. The first call compiles them in a pool.
    async fn compiled(&self, pool: &BlockingPool) -> Result<Arc<Conditions>, Status> {
        let compile = || async {
            let list = self.list.clone();
            let compile = move || {
                let env = AdmissionEnv::new().authorizer();
                Arc::new(Conditions::compile(&env, &list))
            };
            pool.run(compile).await
        };
        self.compiled.get_or_try_init(compile).await.cloned()
    }

    #[cfg(test)]
    pub(super) fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.compiled, &other.compiled)
    }
}

/// The authorization checks of the conditions of one request, and the resource that they are about.
pub(super) struct Checks {
    compiler: BlockingPool,
    decisions: Decisions,
    resource: Arc<AccessedResource>,
}

impl Checks {
    pub(super) fn new(request: &Request<'_>, compiler: &BlockingPool) -> Self {
        let resource = request_resource(request.cx, request.namespace(), request.name());
        Self {
            compiler: compiler.clone(),
            decisions: Decisions::default(),
            resource: Arc::new(resource),
        }
    }

    /// Evaluates the conditions of a webhook. If one fails and none is false, the failure policy decides.
    ///
    /// # Errors
    ///
    /// Fails with 403 if a condition fails and failures are not ignored.
    pub(super) async fn hold(
        &self,
        hook: &Hook,
        request: &Request<'_>,
        matched: &Match,
        objects: &Versioned,
    ) -> Result<bool, Status> {
        let fields = Value::Object(request_value(request, matched));
        let input = AdmissionInput {
            object: objects.object.as_ref(),
            old_object: objects.old.as_ref(),
            request: Some(&fields),
            decisions: Some(&self.decisions),
            request_resource: Some(&self.resource),
            ..AdmissionInput::default()
        };
        let conditions = hook.conditions.compiled(&self.compiler).await?;
        let evaluate = || conditions.evaluate(&input, &[]);
        match self.decisions.evaluate(request.cx, evaluate).await? {
            Matched::Yes => Ok(true),
            Matched::No => Ok(false),
            Matched::Failed(_) if hook.ignores_failure => Ok(false),
            Matched::Failed(why) => {
                tracing::warn!(webhook = hook.name, %why, "failed evaluating match conditions");
                let resource = request.resource.group_resource();
                Err(status::forbidden(&resource, request.name(), why))
            }
        }
    }
}
