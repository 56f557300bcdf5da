//! [`Ensurer`]: keeps the flow schemas and priority levels that a cluster has from the start.
//!
//! Objects that are missing are created again. The specs of the mandatory ones are restored; those of the others too, unless the
//! annotation `apf.kubernetes.io/autoupdate-spec` says that they were changed on purpose. As in kube-apiserver this happens at
//! the start and a minute after a change, by the first request after that.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::Method;
use jiff::Timestamp;
use kubewright_apiserver::{ApiServer, SharedClock};
use kubewright_machinery::{
    Status,
    json::{Read, same},
    status,
};
use kubewright_store::{Range, Store};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    GROUP, PriorityAndFairness,
    bootstrap::{AUTO_UPDATE, Bootstrapped, LEVELS_PLURAL, PRODUCER, SCHEMAS_PLURAL, objects},
};
use crate::{bootstrap::send, kinds::collection};

/// The interval at which the objects are checked.
const INTERVAL: Duration = Duration::from_secs(60);

/// Keeps the objects of a new cluster.
pub(super) struct Ensurer {
    store: Arc<dyn Store>,
    clock: SharedClock,
    /// The time of the last check of the objects.
    last: Mutex<Timestamp>,
    /// The generation of the index at that time.
    generation: AtomicU64,
    fairness: PriorityAndFairness,
}

impl Ensurer {
    pub(super) fn new(
        store: Arc<dyn Store>,
        clock: SharedClock,
        fairness: PriorityAndFairness,
    ) -> Self {
        Self {
            store,
            clock,
            last: Mutex::default(),
            generation: AtomicU64::new(0),
            fairness,
        }
    }

    /// Reports whether the objects must be checked: they have changed since the last check, and the interval has
    /// passed. The caller must then check them.
    pub(super) fn is_due(&self, generation: u64) -> bool {
        if self.generation.load(Ordering::Relaxed) == generation {
            return false;
        }
        let (mut last, now) = (self.last.lock(), self.clock.now());
        let due = now.duration_since(*last).unsigned_abs() >= INTERVAL;
        if due {
            *last = now;
            self.generation.store(generation, Ordering::Relaxed);
        }
        due
    }

    /// Creates the objects of a new cluster without requests. Objects of a cluster that is not new are restored.
    pub(super) async fn bootstrap(&self, server: &ApiServer) -> Result<(), Status> {
        let now = self.clock.now();
        *self.last.lock() = now;
        let mut is_new = true;
        for wanted in objects(now, self.fairness) {
            is_new &= wanted.create(&*self.store).await?;
        }
        if !is_new {
            self.restore(server).await;
        }
        Ok(())
    }

    /// Creates objects that are missing, restores those that were changed, and deletes those that are no longer part of a new
    /// cluster. After an error, for example of a webhook, they are checked again after the next interval.
    pub(super) async fn restore(&self, server: &ApiServer) {
        if let Err(error) = self.ensure(server).await {
            tracing::warn!(%error, "cannot restore the flow schemas and priority levels");
            self.generation.store(0, Ordering::Relaxed);
        }
    }

    async fn ensure(&self, server: &ApiServer) -> Result<(), Status> {
        let mut wanted = objects(self.clock.now(), self.fairness);
        wanted.sort_by_key(Bootstrapped::is_mandatory);
        for wanted in &wanted {
            let found = self.store.get(&wanted.key()).await;
            let Some(found) = found.map_err(status::internal)? else {
                wanted.create(&*self.store).await?;
                continue;
            };
            let current: Value = serde_json::from_slice(&found.bytes).map_err(status::internal)?;
            if let Some(revised) = revise(wanted, current) {
                let (plural, name) = (wanted.plural, wanted.name);
                let path = format!("/apis/{GROUP}/v1/{plural}/{name}?fieldManager={PRODUCER}");
                // After a conflict, it is looked at again after the next interval.
                send(server, Method::PUT, &path, "application/json", &revised).await?;
            }
        }
        self.remove_unwanted(server, &wanted).await
    }

    async fn remove_unwanted(
        &self,
        server: &ApiServer,
        wanted: &[Bootstrapped],
    ) -> Result<(), Status> {
        let snapshot = self.store.snapshot(None).await.map_err(status::internal)?;
        for plural in [SCHEMAS_PLURAL, LEVELS_PLURAL] {
            let collection = collection(GROUP, plural);
            let all = snapshot.range(&collection, Range::default());
            for entry in all.await.map_err(status::internal)?.entries {
                let name = &*entry.path;
                if wanted.iter().any(|w| w.plural == plural && w.name == name) {
                    continue;
                }
                let object: Value =
                    serde_json::from_slice(&entry.bytes).map_err(status::internal)?;
                if auto_update(&object) == Some(true) {
                    let path = format!("/apis/{GROUP}/v1/{plural}/{name}");
                    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
                    let media = "application/json";
                    send(server, Method::DELETE, &path, media, &options).await?;
                }
            }
        }
        Ok(())
    }
}

/// Returns an object as it has to be, or `None` if it is so.
fn revise(wanted: &Bootstrapped, mut current: Value) -> Option<Value> {
    let annotated = auto_update(&current);
    let is_updated = wanted.is_mandatory()
        || annotated.unwrap_or_else(|| current["metadata"]["generation"].int() == 1);
    let is_changed = is_updated && !is_as_wanted(wanted, &current["spec"]);
    if !is_changed && annotated == Some(is_updated) {
        return None;
    }
    if is_changed {
        current["spec"] = wanted.object["spec"].clone();
    }
    current["metadata"]["annotations"][AUTO_UPDATE] = is_updated.to_string().into();
    Some(current)
}

/// Reports whether a spec is that of a new cluster. The shares of the level `exempt` may be changed.
fn is_as_wanted(wanted: &Bootstrapped, current: &Value) -> bool {
    let mut spec = wanted.object["spec"].clone();
    if wanted.plural == LEVELS_PLURAL && wanted.name == "exempt" {
        if !current["exempt"].is_set() {
            return false;
        }
        spec["exempt"] = current["exempt"].clone();
    }
    same(&spec, current)
}

/// Returns the value of the annotation, if it is one.
fn auto_update(object: &Value) -> Option<bool> {
    match object["metadata"]["annotations"][AUTO_UPDATE].text() {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(name: &str) -> Bootstrapped {
        let mut all = objects(Timestamp::UNIX_EPOCH, PriorityAndFairness::Enabled).into_iter();
        all.find(|w| w.plural == LEVELS_PLURAL && w.name == name)
            .expect("a level of a new cluster")
    }

    fn revised(name: &str, change: impl Fn(&mut Value)) -> Option<Value> {
        let wanted = wanted(name);
        let mut current = wanted.object.clone();
        change(&mut current);
        revise(&wanted, current)
    }

    fn shares(object: &mut Value) {
        object["spec"]["limited"]["nominalConcurrencyShares"] = json!(7);
    }

    #[test]
    fn an_object_is_restored_unless_it_was_changed_on_purpose() {
        assert_eq!(revised("system", |_| {}), None);
        let restored = revised("system", shares).expect("it differs");
        assert_eq!(restored["spec"], wanted("system").object["spec"]);
        let on_purpose = |object: &mut Value| {
            shares(object);
            object["metadata"]["annotations"][AUTO_UPDATE] = json!("false");
        };
        assert_eq!(revised("system", on_purpose), None);
        // A mandatory object is restored nevertheless, with its annotation.
        let restored = revised("catch-all", on_purpose).expect("it differs");
        assert_eq!(restored["spec"], wanted("catch-all").object["spec"]);
        assert_eq!(restored["metadata"]["annotations"][AUTO_UPDATE], "true");
    }

    #[test]
    fn without_the_annotation_the_generation_tells_whether_it_was_changed() {
        let without = |generation: u64| {
            revised("system", |object| {
                shares(object);
                object["metadata"]["generation"] = json!(generation);
                object["metadata"]["annotations"] = Value::Null;
            })
        };
        let restored = without(1).expect("it is restored");
        assert_eq!(restored["spec"], wanted("system").object["spec"]);
        let kept = without(2).expect("the annotation is added");
        assert_eq!(kept["spec"]["limited"]["nominalConcurrencyShares"], 7);
        assert_eq!(kept["metadata"]["annotations"][AUTO_UPDATE], "false");
    }

    #[test]
    fn the_shares_of_the_exempt_level_may_be_changed() {
        let change = |object: &mut Value| {
            object["spec"]["exempt"]["nominalConcurrencyShares"] = json!(10);
        };
        assert_eq!(revised("exempt", change), None);
        assert!(revised("exempt", |o| o["spec"]["exempt"] = Value::Null).is_some());
    }
}
