//! Deletion of a CRD: its objects are deleted first.
//!
//! A round sets the condition that deletion has started, deletes the objects namespace by namespace, and waits until none is
//! left. Errors are reported in a condition, and the next round retries.

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::Duration,
};

use kubewright_apiserver::rfc3339;
use kubewright_machinery::{Status, status};
use kubewright_store::{Key, WriteError};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::Instant};

use super::{Crds, GROUP, PLURAL, conditions, instances::Instances};
use crate::kinds::collection;

/// The delays between checks for remaining objects, with a backoff.
const POLL: Duration = Duration::from_millis(100);
const LONGEST_POLL: Duration = Duration::from_secs(5);
/// The time after which a condition reports remaining objects.
const CHECK: Duration = Duration::from_secs(60);

const COMPLETED: conditions::Condition<'_> = (
    "Terminating",
    "False",
    "InstanceDeletionCompleted",
    "removed all instances",
);
const NEVER_ESTABLISHED: conditions::Condition<'_> = (
    "Terminating",
    "False",
    "NeverEstablished",
    "resource was never established",
);

/// The result of a round that did not finish.
enum Trouble {
    /// The reason and the message of the condition.
    Report(&'static str, String),
    /// The status cannot be read or written.
    Untold(Status),
    /// The server or the CRD no longer exists.
    Over,
}

impl From<Status> for Trouble {
    fn from(status: Status) -> Self {
        Self::Untold(status)
    }
}

/// Returns whether a CRD waits for the deletion of its objects.
pub(super) fn is_due(crd: &Value) -> bool {
    let finalizers = crd["metadata"]["finalizers"].as_array();
    !crd["metadata"]["deletionTimestamp"].is_null()
        && finalizers.is_some_and(|all| all.iter().any(|f| f == conditions::CLEANUP))
}

/// Deletes the objects of a CRD, and then the CRD, in the background.
pub(super) fn spawn(crds: &Arc<Crds>, name: String) -> JoinHandle<()> {
    let crds = Arc::downgrade(crds);
    tokio::spawn(async move {
        let mut pause = POLL;
        loop {
            match round(&crds, &name).await {
                Ok(()) | Err(Trouble::Over) => return,
                Err(Trouble::Report(reason, why)) => report(&crds, &name, reason, &why).await,
                Err(Trouble::Untold(e)) => {
                    tracing::warn!(%name, error = e.message, "cannot clean up a CRD");
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_POLL);
        }
    })
}

/// Runs one round.
async fn round(weak: &Weak<Crds>, name: &str) -> Result<(), Trouble> {
    let (crd, instances) = {
        let crds = weak.upgrade().ok_or(Trouble::Over)?;
        let crd = crds.read(name).await?.filter(is_due);
        let crd = crd.ok_or(Trouble::Over)?;
        let now = rfc3339(crds.environment.clock.now());
        let started = |crd: &mut Value| {
            let before = crd["status"].clone();
            conditions::set(crd, conditions::DELETION_IN_PROGRESS, &now);
            crd["status"] != before
        };
        let crd = crds.update_status(name, crd, &started).await?;
        let instances = match conditions::is_true(&crd, "Established") {
            true => crds.instances(crd.clone()).await?,
            false => None,
        };
        (crd, instances)
    };
    let condition = match instances {
        Some(instances) => {
            delete(&instances).await?;
            wait(weak, &instances).await?;
            COMPLETED
        }
        None => NEVER_ESTABLISHED,
    };
    let crds = weak.upgrade().ok_or(Trouble::Over)?;
    finish(&crds, &crd, condition).await?;
    crds.sync(name).await?;
    Ok(())
}

/// Deletes the objects. Those with finalizers are marked and stay.
async fn delete(instances: &Instances) -> Result<(), Trouble> {
    const FAILED: &str = "InstanceDeletionFailed";
    let unlisted =
        |e: Status| Trouble::Report(FAILED, format!("could not list instances: {}", e.message));
    let mut errors = BTreeSet::new();
    for namespace in instances.namespaces().await.map_err(unlisted)? {
        if let Err(e) = instances.delete_in(&namespace).await {
            errors.insert(e.message);
        }
    }
    let errors: Vec<String> = errors.into_iter().collect();
    let text = match errors.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    let why = format!("could not issue all deletes: {text}");
    Err(Trouble::Report(FAILED, why))
}

/// Waits until there are no objects, for a limited time.
async fn wait(weak: &Weak<Crds>, instances: &Instances) -> Result<(), Trouble> {
    let unconfirmed = |e: &str| {
        let why = format!("could not confirm zero CustomResources remaining: {e}");
        Trouble::Report("InstanceDeletionCheck", why)
    };
    let (end, mut pause) = (Instant::now() + CHECK, POLL);
    while !instances
        .are_gone()
        .await
        .map_err(|e| unconfirmed(&e.message))?
    {
        if Instant::now() >= end {
            return Err(unconfirmed("context deadline exceeded"));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_POLL);
        // The server no longer exists.
        if weak.strong_count() == 0 {
            return Err(Trouble::Over);
        }
    }
    Ok(())
}

/// Sets the condition that reports why objects remain.
async fn report(weak: &Weak<Crds>, name: &str, reason: &'static str, why: &str) {
    tracing::warn!(%name, reason = why, "cannot delete the objects of a CRD");
    let Some(crds) = weak.upgrade() else {
        return;
    };
    let now = rfc3339(crds.environment.clock.now());
    let change = |crd: &mut Value| {
        let before = crd["status"].clone();
        conditions::set(crd, ("Terminating", "True", reason, why), &now);
        crd["status"] != before
    };
    let written = match crds.read(name).await {
        Ok(Some(crd)) if is_due(&crd) => crds.update_status(name, crd, &change).await.map(drop),
        Ok(_) => Ok(()),
        Err(e) => Err(e),
    };
    if let Err(e) = written {
        tracing::warn!(%name, "its status could not be written: {}", e.message);
    }
}

/// Removes the finalizer, and thereby the CRD if it has no other. A CRD that was recreated meanwhile is left alone.
async fn finish(
    crds: &Crds,
    cleaned: &Value,
    condition: conditions::Condition<'_>,
) -> Result<(), Status> {
    let name = cleaned["metadata"]["name"].as_str().unwrap_or_default();
    let store = &crds.environment.store;
    let now = rfc3339(crds.environment.clock.now());
    let key = Key {
        collection: collection(GROUP, PLURAL),
        path: name.into(),
    };
    loop {
        let Some(entry) = store.get(&key).await.map_err(status::internal)? else {
            return Ok(());
        };
        let crd: Value = serde_json::from_slice(&entry.bytes).map_err(status::internal)?;
        if crd["metadata"]["uid"] != cleaned["metadata"]["uid"] || !is_due(&crd) {
            return Ok(());
        }
        let finalizers = crd["metadata"]["finalizers"].as_array();
        let rest: Vec<Value> = finalizers
            .into_iter()
            .flatten()
            .filter(|f| *f != conditions::CLEANUP)
            .cloned()
            .collect();
        if rest.is_empty() {
            match store.delete(key.clone(), entry.revision).await {
                Ok(_) => return Ok(()),
                Err(WriteError::Conflict(_)) => continue,
                Err(e) => return Err(status::internal(e)),
            }
        }
        let change = |crd: &mut Value| {
            crd["metadata"]["finalizers"] = json!(rest);
            conditions::set(crd, condition, &now);
            true
        };
        crds.update_status(name, crd, &change).await?;
        return Ok(());
    }
}
