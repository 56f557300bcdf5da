//! Recognising controllers that write for ever: counting the writes of each object while a test waits.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use kubewright_apiserver::request::{RequestInfo, Verb};
use kubewright_controller::Manager;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The number of writes of one object, while a test waits, that no controller needs.
const MOST_WRITES: usize = 1000;

/// The number of objects of one kind and namespace, created while a test waits, that no controller needs.
const MOST_CREATES: usize = 10_000;

/// The number of objects whose writes are counted.
const MOST_OBJECTS: usize = 10_000;

/// Numbers of writes, by request (`PATCH /api/v1/namespaces/default/configmaps/rope`).
#[derive(Default)]
pub(crate) struct Writes {
    counts: Mutex<HashMap<String, usize>>,
    too_many: Notify,
}

/// Those who count the writes to a cluster. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Counters(Arc<Mutex<Vec<Weak<Writes>>>>);

/// The runs of controllers at a moment.
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

    /// Describes who writes for ever, and which object.
    pub(crate) fn describe(&self, before: &Runs, managers: &[Manager]) -> String {
        let counts = self.counts.lock();
        let (request, count) = counts
            .iter()
            .max_by_key(|(_, count)| **count)
            .map_or(("", 0), |(request, count)| (request.as_str(), *count));
        let who = before.busiest(managers, count);
        format!(
            "{who} writes for ever: {request} {count} times. Each run writes something new, such as the time, or controllers undo each \
             other's work"
        )
    }
}

impl Counters {
    /// Starts to count.
    pub(crate) fn start(&self) -> Arc<Writes> {
        let writes = Arc::new(Writes::default());
        self.0.lock().push(Arc::downgrade(&writes));
        writes
    }

    /// Reports whether anybody counts.
    pub(crate) fn are_used(&self) -> bool {
        let mut counters = self.0.lock();
        counters.retain(|counter| counter.strong_count() > 0);
        !counters.is_empty()
    }

    /// Counts a write for everybody who counts.
    pub(crate) fn count(&self, request: &str) {
        let counters = self.0.lock();
        for writes in counters.iter().filter_map(Weak::upgrade) {
            writes.count(request);
        }
    }
}

impl Runs {
    /// Returns the runs so far.
    pub(crate) fn of(managers: &[Manager]) -> Self {
        let controllers = managers.iter().flat_map(Manager::controllers);
        let runs = controllers.map(|c| (c.name().to_owned(), c.status().runs));
        Self(runs.collect())
    }

    /// Names the controllers whose runs can explain a number of writes since then.
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

/// Reports whether a request writes an object that no controller needs to write repeatedly. Leases are renewed, and events
/// are limited by their recorder.
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
            described.starts_with("the program writes for ever: PATCH /b 2 times."),
            "{described}"
        );
        drop(writes);
        assert!(!counters.are_used());
    }
}
