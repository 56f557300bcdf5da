//! `ResourceQuota`: enforces the quotas of a namespace.
//!
//! A write that uses resources is checked against every quota that matches. `status.used` is raised by compare-and-swap before
//! the write is stored. The usage of a write that fails afterwards is not returned here; a controller recounts, as it does
//! when objects are deleted. A quota without `status.hard` has no controller that counts; see `counting`.
//!
//! [`Evaluator`] computes the usage of an object, `check` compares it with the quotas.

mod check;
mod counting;

use std::hash::{BuildHasher, RandomState};

use kubewright_apiserver::{
    FieldManager, SharedClock,
    admission::{Attributes, Operation, Plugin},
    boxed_async,
    registry::{Shape, payload},
    request::RequestContext,
};
use kubewright_builtins::usage::{
    Evaluator, Selector,
    resource_list::{self, ResourceList},
};
use kubewright_catalog::generated::core_v1::RESOURCE_QUOTA;
use kubewright_machinery::{
    Status,
    gvk::{GroupResource, GroupVersionKind},
    json::Read,
    status,
};
use kubewright_store::{Entry, Key, Revision, WriteError};
use serde_json::Value;
use tokio::sync::Mutex;

use super::{
    fields::object_mut,
    forbidden::forbidden,
    stored::{Stored, decode},
};
use crate::kinds::collection;
use check::{Change, Rejection, may_use_more};
use counting::Admitted;

const RESOURCE_QUOTAS: &str = "resourcequotas";
/// Maximum attempts after conflicts.
const RETRIES: usize = 3;
/// The number of locks that namespaces share.
const TURNS: usize = 64;
const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Resources that are not counted: those that are never stored, and events.
const IGNORED: [(&str, &str); 10] = [
    ("", "bindings"),
    ("", "componentstatuses"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("", "events"),
    ("events.k8s.io", "events"),
];

/// The `ResourceQuota` plugin.
pub(crate) struct ResourceQuota {
    store: Stored,
    clock: SharedClock,
    /// Serializes the writers of a namespace, so that they do not conflict.
    turns: Box<[Mutex<()>]>,
    hasher: RandomState,
    manager: FieldManager,
    admitted: Admitted,
}

/// A quota as it was read.
struct Quota {
    name: String,
    revision: Revision,
    object: Value,
    /// True if no controller has counted the usage.
    uncounted: bool,
    hard: ResourceList,
    used: ResourceList,
    selectors: Vec<Selector>,
}

impl ResourceQuota {
    /// Returns a plugin that reads and updates the quotas of a store.
    pub(crate) fn new(store: Stored, clock: SharedClock) -> Self {
        let kind = GroupVersionKind::new("", "v1", "ResourceQuota");
        let rules = kubewright_builtins::rules("", "ResourceQuota");
        let shape = Shape::Typed(&RESOURCE_QUOTA);
        Self {
            store,
            clock,
            turns: (0..TURNS).map(|_| Mutex::new(())).collect(),
            hasher: RandomState::new(),
            manager: FieldManager::new(&kind, shape, "status", rules.reset_fields_status),
            admitted: Admitted::default(),
        }
    }

    async fn entries(&self, namespace: &str) -> Result<Vec<Entry>, Status> {
        self.store
            .entries(RESOURCE_QUOTAS, format!("{namespace}/"))
            .await
    }

    /// Reads the quotas of a namespace, and counts the usage of those that no controller has counted.
    async fn quotas(
        &self,
        namespace: &str,
        collection: &str,
        evaluator: &Evaluator,
    ) -> Result<Vec<Quota>, Status> {
        let quotas: Result<Vec<_>, _> = self
            .entries(namespace)
            .await?
            .iter()
            .map(Quota::read)
            .collect();
        let mut quotas = quotas?;
        let limits = |quota: &Quota| quota.hard.keys().any(|name| evaluator.measures(name));
        if quotas.iter().any(|quota| quota.uncounted && limits(quota)) {
            let objects = self.store.entries(collection, format!("{namespace}/"));
            let (objects, now) = (objects.await?, self.clock.now());
            let key = (namespace, collection);
            counting::count(&mut quotas, evaluator, now, &objects, &self.admitted, key)?;
        }
        Ok(quotas)
    }

    /// Waits for the lock of the namespace.
    async fn turn(&self, namespace: &str) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        let hash = self.hasher.hash_one(namespace) as usize;
        match self.turns.get(hash % TURNS) {
            Some(turn) => Some(turn.lock().await),
            None => None,
        }
    }

    /// Writes the usage. Returns false after a conflict.
    async fn spend(
        &self,
        namespace: &str,
        quota: &Quota,
        used: &ResourceList,
    ) -> Result<bool, Status> {
        let mut object = quota.object.clone();
        if let Some(status) = object_mut(&mut object, &["status"]) {
            status.insert("used".into(), resource_list::write(used));
        }
        let now = self.clock.now().as_second();
        self.manager
            .update(&quota.object, &mut object, "kube-apiserver", now);
        let key = Key::new(RESOURCE_QUOTAS, format!("{namespace}/{}", quota.name));
        match self
            .store
            .0
            .update(key, quota.revision, payload(&object))
            .await
        {
            Ok(_) => Ok(true),
            Err(WriteError::Conflict(_)) => Ok(false),
            Err(e) => Err(status::internal(e)),
        }
    }
}

#[boxed_async]
impl Plugin for ResourceQuota {
    fn reads_updated(&self, cx: &RequestContext) -> bool {
        let info = &cx.info;
        !matches!(
            Evaluator::of(&info.group, &info.resource),
            Evaluator::Objects(..)
        )
    }

    async fn validate(
        &self,
        cx: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
    ) -> Result<(), Status> {
        let info = &cx.info;
        let Some(object) = object else {
            if attributes.operation == Operation::Delete && !attributes.dry_run {
                let collection = collection(&info.group, &info.resource);
                let name = attributes.name;
                self.admitted.forget(&info.namespace, &collection, name);
            }
            return Ok(());
        };
        let counted = matches!(attributes.operation, Operation::Create | Operation::Update)
            && cx.resource.spec().namespaced
            && !info.namespace.is_empty()
            && !IGNORED.contains(&(info.group.as_str(), info.resource.as_str()));
        if !counted {
            return Ok(());
        }
        let change = Change {
            operation: attributes.operation,
            subresource: &info.subresource,
            object,
            old: attributes.old,
            now: self.clock.now(),
        };
        let evaluator = Evaluator::of(&info.group, &info.resource);
        if !may_use_more(&evaluator, &change) || self.entries(&info.namespace).await?.is_empty() {
            return Ok(());
        }
        let refuse = |rejection: Rejection| forbidden(cx, attributes, object, rejection.0);
        let collection = collection(&info.group, &info.resource);
        let _turn = self.turn(&info.namespace).await;
        let mut quotas = self
            .quotas(&info.namespace, &collection, &evaluator)
            .await?;
        let mut contended = String::new();
        for _ in 0..=RETRIES {
            let spent = check::check(&quotas, &evaluator, &change).map_err(refuse)?;
            if attributes.dry_run {
                return Ok(());
            }
            let mut again = Vec::new();
            let mut counted_here = false;
            for (quota, used) in quotas.iter().zip(&spent) {
                let Some(used) = used else { continue };
                if quota.uncounted {
                    counted_here = true;
                } else if !self.spend(&info.namespace, quota, used).await? {
                    again.push(quota.name.clone());
                }
            }
            let Some(first) = again.first() else {
                if counted_here {
                    self.admitted.add(&info.namespace, &collection, &change);
                }
                return Ok(());
            };
            contended.clone_from(first);
            // The other quotas are updated already. A quota that was deleted limits nothing.
            quotas = self
                .quotas(&info.namespace, &collection, &evaluator)
                .await?;
            quotas.retain(|quota| quota.uncounted || again.contains(&quota.name));
        }
        Err(status::conflict(
            &GroupResource::new("", RESOURCE_QUOTAS),
            &contended,
            MODIFIED,
        ))
    }
}

impl Quota {
    fn read(entry: &Entry) -> Result<Self, Status> {
        let object: Value = decode(entry)?;
        let counted = resource_list::read(&object["status"]["hard"]);
        let uncounted = counted.is_empty();
        Ok(Self {
            name: object["metadata"]["name"].text().to_owned(),
            revision: entry.revision,
            hard: match uncounted {
                true => resource_list::read(&object["spec"]["hard"]),
                false => counted,
            },
            uncounted,
            used: resource_list::read(&object["status"]["used"]),
            selectors: Selector::all_of(&object["spec"]),
            object,
        })
    }
}

#[cfg(test)]
mod tests;
