//! A definition that is being deleted: its objects go, then it goes.
//!
//! A round says on the definition that it began, deletes the objects namespace by namespace, and waits until nobody holds
//! one any more. What goes wrong is said on the definition, and the next round tries again.

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::Duration,
};

use kubewright_apiserver::clock::rfc3339;
use kubewright_machinery::{Status, status};
use kubewright_store::{Key, WriteError};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::Instant};

use super::{Definitions, GROUP, PLURAL, conditions, instances::Instances};
use crate::kinds::collection;

/// How often objects that somebody holds are looked for: soon at first, then ever less often.
const POLL: Duration = Duration::from_millis(100);
const LONGEST_POLL: Duration = Duration::from_secs(5);
/// How long to wait before saying that objects are still there.
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

/// Why a round did not get to its end.
enum Trouble {
    /// The reason and the message of the condition that says so.
    Told(&'static str, String),
    /// The status itself could not be read or written.
    Untold(Status),
    /// Nothing is left to do: the server or the definition is gone.
    Over,
}

impl From<Status> for Trouble {
    fn from(status: Status) -> Self {
        Self::Untold(status)
    }
}

/// Whether a definition waits for its objects to go.
pub(super) fn is_due(crd: &Value) -> bool {
    let finalizers = crd["metadata"]["finalizers"].as_array();
    !crd["metadata"]["deletionTimestamp"].is_null()
        && finalizers.is_some_and(|all| all.iter().any(|f| f == conditions::CLEANUP))
}

/// Lets the objects of a definition go, and then the definition, in the background.
pub(super) fn spawn(definitions: &Arc<Definitions>, name: String) -> JoinHandle<()> {
    let definitions = Arc::downgrade(definitions);
    tokio::spawn(async move {
        let mut pause = POLL;
        loop {
            match round(&definitions, &name).await {
                Ok(()) | Err(Trouble::Over) => return,
                Err(Trouble::Told(reason, why)) => {
                    complain(&definitions, &name, reason, &why).await
                }
                Err(Trouble::Untold(e)) => {
                    tracing::warn!(%name, "a definition is not cleaned up: {}", e.message);
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_POLL);
        }
    })
}

/// One round.
async fn round(weak: &Weak<Definitions>, name: &str) -> Result<(), Trouble> {
    let (crd, instances) = {
        let definitions = weak.upgrade().ok_or(Trouble::Over)?;
        let crd = definitions.read(name).await?.filter(is_due);
        let crd = crd.ok_or(Trouble::Over)?;
        let now = rfc3339(definitions.environment.clock.now());
        let started = |crd: &mut Value| {
            let before = crd["status"].clone();
            conditions::set(crd, conditions::DELETION_IN_PROGRESS, &now);
            crd["status"] != before
        };
        let crd = definitions.amend(name, crd, &started).await?;
        let instances = match conditions::is_true(&crd, "Established") {
            true => definitions.instances(&crd),
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
    let definitions = weak.upgrade().ok_or(Trouble::Over)?;
    finish(&definitions, &crd, condition).await?;
    definitions.sync(name).await?;
    Ok(())
}

/// Deletes the objects. What somebody holds is marked and stays.
async fn delete(instances: &Instances) -> Result<(), Trouble> {
    const FAILED: &str = "InstanceDeletionFailed";
    let unlisted =
        |e: Status| Trouble::Told(FAILED, format!("could not list instances: {}", e.message));
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
    Err(Trouble::Told(FAILED, why))
}

/// Waits until there are no objects, but not for ever.
async fn wait(weak: &Weak<Definitions>, instances: &Instances) -> Result<(), Trouble> {
    let unconfirmed = |e: &str| {
        let why = format!("could not confirm zero CustomResources remaining: {e}");
        Trouble::Told("InstanceDeletionCheck", why)
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
        // Nothing is left to do for a server that is gone.
        if weak.strong_count() == 0 {
            return Err(Trouble::Over);
        }
    }
    Ok(())
}

/// Says on the definition why its objects are still there. The next round says that it goes on.
async fn complain(weak: &Weak<Definitions>, name: &str, reason: &'static str, why: &str) {
    tracing::warn!(%name, "the objects of a definition are not deleted: {why}");
    let Some(definitions) = weak.upgrade() else {
        return;
    };
    let now = rfc3339(definitions.environment.clock.now());
    let change = |crd: &mut Value| {
        let before = crd["status"].clone();
        conditions::set(crd, ("Terminating", "True", reason, why), &now);
        crd["status"] != before
    };
    let written = match definitions.read(name).await {
        Ok(Some(crd)) if is_due(&crd) => definitions.amend(name, crd, &change).await.map(drop),
        Ok(_) => Ok(()),
        Err(e) => Err(e),
    };
    if let Err(e) = written {
        tracing::warn!(%name, "its status could not be written: {}", e.message);
    }
}

/// Takes the finalizer away; without another, the definition goes. One that was made anew meanwhile stays as it is.
async fn finish(
    definitions: &Definitions,
    cleaned: &Value,
    condition: conditions::Condition<'_>,
) -> Result<(), Status> {
    let name = cleaned["metadata"]["name"].as_str().unwrap_or_default();
    let store = &definitions.environment.store;
    let now = rfc3339(definitions.environment.clock.now());
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
        definitions.amend(name, crd, &change).await?;
        return Ok(());
    }
}
