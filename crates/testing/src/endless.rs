//! Detection of controllers that write forever: counts the writes of each object while a test waits.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use http::Method;
use kubewright_apiserver::request::{Query, RequestInfo, Verb};
use kubewright_cluster::RequestObserver;
use kubewright_controller::Manager;
use kubewright_ledger::ObjectRef;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The number of writes of one object, while a test waits, that no sound controller needs.
const MOST_WRITES: usize = 1000;

/// The number of objects of one kind and namespace, created while a test waits, that no sound controller needs.
const MOST_CREATES: usize = 10_000;

/// The largest number of objects whose writes are counted.
const MOST_OBJECTS: usize = 10_000;

/// Numbers of writes, by request (`PATCH /api/v1/namespaces/default/configmaps/rope`).
#[derive(Default)]
pub(crate) struct Writes {
    counts: Mutex<HashMap<String, usize>>,
    too_many: Notify,
}

/// The counters of the writes to a cluster. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Counters(Arc<Mutex<Vec<Weak<Writes>>>>);

/// The numbers of runs of controllers at some point.
pub(crate) struct Runs(Vec<(String, u64)>);

impl Writes {
    /// Counts a write.
    pub(crate) fn count(&self, request: &str) {
        let mut counts = self.counts.lock();
        if !counts.contains_key(request) && counts.len() < MOST_OBJECTS {
            counts.insert(request.to_owned(), 0);
        }
        let Some(count) = counts.get_mut(request) else {
            return;
        };
        *count += 1;
        let most = match request.starts_with("POST ") {
            true => MOST_CREATES,
            false => MOST_WRITES,
        };
        if *count == most {
            self.too_many.notify_one();
        }
    }

    /// Waits until a request has been repeated too often.
    pub(crate) async fn too_many(&self) {
        self.too_many.notified().await;
    }

    /// Returns the request that was repeated most often, and the number of its repetitions.
    fn most_frequent(&self) -> (String, usize) {
        let counts = self.counts.lock();
        let most = counts.iter().max_by_key(|(_, count)| **count);
        most.map_or_else(Default::default, |(request, count)| {
            (request.clone(), *count)
        })
    }

    /// Returns the object that was written most often, unless it is named by the server.
    pub(crate) fn object(&self) -> Option<ObjectRef> {
        let (request, _) = self.most_frequent();
        let (method, path) = request.split_once(' ')?;
        let method: Method = method.parse().ok()?;
        let info = RequestInfo::new(&method, path, &Query::default());
        (!info.name.is_empty()).then_some(ObjectRef {
            group: info.group,
            resource: info.resource,
            namespace: info.namespace,
            name: info.name,
        })
    }

    /// Describes the controllers that write forever, and their object.
    pub(crate) fn describe(&self, before: &Runs, managers: &[Manager]) -> String {
        let (request, count) = self.most_frequent();
        let who = before.busiest(managers, count);
        format!(
            "{who} writes forever: {request} {count} times. Each run writes something new, such as the time, or controllers undo each \
             other's work"
        )
    }
}

impl Counters {
    /// Starts counting.
    pub(crate) fn start(&self) -> Arc<Writes> {
        let writes = Arc::new(Writes::default());
        self.0.lock().push(Arc::downgrade(&writes));
        writes
    }

    /// Reports whether any counter is active.
    pub(crate) fn are_used(&self) -> bool {
        let mut counters = self.0.lock();
        counters.retain(|counter| counter.strong_count() > 0);
        !counters.is_empty()
    }

    /// Adds a write to every active counter.
    pub(crate) fn count(&self, request: &str) {
        let counters = self.0.lock();
        for writes in counters.iter().filter_map(Weak::upgrade) {
            writes.count(request);
        }
    }
}

impl Runs {
    /// Returns the current numbers of runs.
    pub(crate) fn of(managers: &[Manager]) -> Self {
        let controllers = managers.iter().flat_map(Manager::controllers);
        let runs = controllers.map(|c| (c.name().to_owned(), c.status().runs));
        Self(runs.collect())
    }

    /// Returns the controllers with enough runs to explain a number of writes.
    fn busiest(&self, managers: &[Manager], writes: usize) -> String {
        let now = Self::of(managers).0;
        let named: Vec<String> = now
            .into_iter()
            .filter_map(|(name, runs)| {
                let before = self.0.iter().find(|(known, _)| *known == name);
                let runs = runs - before.map_or(0, |(_, runs)| *runs).min(runs);
                (runs as usize >= (writes / 4).max(1)).then(|| format!("{name} ({runs} runs)"))
            })
            .collect();
        match named.is_empty() {
            true => "the program".to_owned(),
            false => named.join(" or "),
        }
    }
}

impl RequestObserver for Counters {
    fn observes(&self, info: &RequestInfo) -> bool {
        is_write(info) && self.are_used()
    }

    fn succeeded(&self, method: &Method, path: &str) {
        self.count(&write_name(method, path));
    }
}

/// Returns the name of a write in reports, such as `PATCH /api/v1/namespaces/default/configmaps/rope`.
pub(crate) fn write_name(method: &Method, path: &str) -> String {
    format!("{method} {path}")
}

/// Reports whether a request writes an object that no sound controller writes repeatedly. Leases are renewed, and events are
/// limited by their recorder.
pub(crate) fn is_write(info: &RequestInfo) -> bool {
    let writes = matches!(
        info.verb,
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete | Verb::DeleteCollection
    );
    writes && !matches!(info.resource.as_str(), "leases" | "events")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_writes_since_the_start_are_counted() {
        let counters = Counters::default();
        assert!(!counters.are_used());
        counters.count("PATCH /a");
        let writes = counters.start();
        assert!(counters.are_used());
        counters.count("PATCH /a");
        counters.count("PATCH /b");
        counters.count("PATCH /b");
        let described = writes.describe(&Runs(Vec::new()), &[]);
        assert!(
            described.starts_with("the program writes forever: PATCH /b 2 times."),
            "{described}"
        );
        drop(writes);
        assert!(!counters.are_used());
    }
}
