//! A definition that is being deleted: its objects go, then it goes.

use std::{sync::Arc, time::Duration};

use kubewright_apiserver::{clock::rfc3339, registry::generic::payload};
use kubewright_machinery::{Status, status};
use kubewright_store::{Key, Range, Store, WriteError};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::Instant};

use super::{Definitions, GROUP, PLURAL, conditions};
use crate::kinds::collection;

/// How often objects that somebody holds are looked for.
const POLL: Duration = Duration::from_millis(100);
const LONGEST_POLL: Duration = Duration::from_secs(5);
/// How long to wait before saying that objects are still there.
const CHECK: Duration = Duration::from_secs(60);
/// How many objects are read at once.
const PAGE: usize = 512;

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
        let mut check = Instant::now() + CHECK;
        loop {
            // Nothing is left to do for a server that is gone.
            let Some(definitions) = definitions.upgrade() else {
                return;
            };
            match run(&definitions, &name).await {
                Ok(true) => return,
                Ok(false) if Instant::now() < check => {}
                Ok(false) => {
                    check = Instant::now() + CHECK;
                    let why = "could not confirm zero CustomResources remaining: context deadline exceeded";
                    complain(&definitions, &name, "InstanceDeletionCheck", why).await;
                    pause = POLL;
                }
                Err(e) => {
                    let why = format!("could not issue all deletes: {}", e.message);
                    complain(&definitions, &name, "InstanceDeletionFailed", &why).await;
                }
            }
            drop(definitions);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_POLL);
        }
    })
}

/// Says on the definition why its objects are still there. The next round says that it goes on.
async fn complain(definitions: &Definitions, name: &str, reason: &'static str, why: &str) {
    tracing::warn!(%name, "the objects of a definition are not deleted: {why}");
    let now = rfc3339(definitions.environment.clock.now());
    let change = |crd: &mut Value| {
        let before = crd["status"].clone();
        conditions::set(crd, ("Terminating", "True", reason, why), &now);
        crd["status"] != before
    };
    let written = match definitions.read(name).await {
        Ok(Some(crd)) => definitions.amend(name, crd, &change).await.map(drop),
        Ok(None) => Ok(()),
        Err(e) => Err(e),
    };
    if let Err(e) = written {
        tracing::warn!(%name, "its status could not be written: {}", e.message);
    }
}

/// One round. Says whether there is nothing more to do.
async fn run(definitions: &Arc<Definitions>, name: &str) -> Result<bool, Status> {
    let Some(crd) = definitions.read(name).await?.filter(is_due) else {
        return Ok(true);
    };
    let now = rfc3339(definitions.environment.clock.now());
    let started = |crd: &mut Value| {
        let before = crd["status"].clone();
        conditions::set(crd, conditions::DELETION_IN_PROGRESS, &now);
        crd["status"] != before
    };
    let crd = definitions.amend(name, crd, &started).await?;
    let condition = if conditions::is_true(&crd, "Established") {
        if delete_objects(definitions, &crd, &now).await? > 0 {
            return Ok(false);
        }
        (
            "Terminating",
            "False",
            "InstanceDeletionCompleted",
            "removed all instances",
        )
    } else {
        (
            "Terminating",
            "False",
            "NeverEstablished",
            "resource was never established",
        )
    };
    finish(definitions, name, condition, &now).await?;
    definitions.sync(name).await?;
    Ok(true)
}

/// Takes the finalizer away; without another, the definition goes.
async fn finish(
    definitions: &Definitions,
    name: &str,
    condition: conditions::Condition<'_>,
    now: &str,
) -> Result<(), Status> {
    let store = &definitions.environment.store;
    let key = Key {
        collection: collection(GROUP, PLURAL),
        path: name.into(),
    };
    loop {
        let Some(entry) = store.get(&key).await.map_err(status::internal)? else {
            return Ok(());
        };
        let crd: Value = serde_json::from_slice(&entry.bytes).map_err(status::internal)?;
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
            conditions::set(crd, condition, now);
            true
        };
        definitions.amend(name, crd, &change).await?;
        return Ok(());
    }
}

/// Deletes what nobody holds and marks the rest. Says how many are left.
async fn delete_objects(
    definitions: &Definitions,
    crd: &Value,
    now: &str,
) -> Result<usize, Status> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let collection = collection(
        &text(&crd["spec"]["group"]),
        &text(&crd["status"]["acceptedNames"]["plural"]),
    );
    let store: &Arc<dyn Store> = &definitions.environment.store;
    let snapshot = store.snapshot(None).await.map_err(status::internal)?;
    let (mut start, mut left) = (String::new(), 0);
    loop {
        let range = Range {
            prefix: String::new(),
            start,
            limit: PAGE,
        };
        let page = snapshot
            .range(&collection, range)
            .await
            .map_err(status::internal)?;
        for entry in &page.entries {
            let key = Key {
                collection: collection.clone(),
                path: entry.path.clone(),
            };
            let mut object: Value =
                serde_json::from_slice(&entry.bytes).map_err(status::internal)?;
            let held = object["metadata"]["finalizers"]
                .as_array()
                .is_some_and(|f| !f.is_empty());
            let result = if !held {
                store.delete(key, entry.revision).await.map(|_| ())
            } else if object["metadata"]["deletionTimestamp"].is_null() {
                let generation = object["metadata"]["generation"]
                    .as_i64()
                    .unwrap_or_default();
                object["metadata"]["generation"] = json!(generation.saturating_add(1));
                object["metadata"]["deletionTimestamp"] = json!(now);
                object["metadata"]["deletionGracePeriodSeconds"] = json!(0);
                store
                    .update(key, entry.revision, payload(&object))
                    .await
                    .map(|_| ())
            } else {
                Ok(())
            };
            match result {
                Ok(()) if !held => {}
                // Held by somebody, or written meanwhile: the next round sees to it.
                Ok(()) | Err(WriteError::Conflict(_)) => left += 1,
                Err(e) => return Err(status::internal(e)),
            }
        }
        match page.entries.last() {
            Some(last) if page.remaining > 0 => start = format!("{}\0", last.path),
            _ => return Ok(left),
        }
    }
}
