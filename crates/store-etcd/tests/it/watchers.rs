//! Watchers of stores under faults. Their events must be ordered, unique, complete, resumable, with the right type and previous
//! object, and no progress ahead of changes.

use std::{collections::BTreeMap, time::Duration};

use kubewright_store::{ChangeKind, Entry, Range, ReadError, Revision, Store, WatchError};
use kubewright_store_etcd::EtcdStore;
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::load::{COLLECTION, Recorded};

/// A watcher that resumes whenever its watch ends.
pub(crate) struct Watcher {
    until: tokio::sync::watch::Sender<u64>,
    running: JoinHandle<Result<Seen, String>>,
}

/// The events that a watcher received, and the revisions that it skipped.
#[derive(Debug, Default)]
struct Seen {
    events: Vec<Event>,
    /// Revisions after the first, up to the second, that were read as a list instead.
    gaps: Vec<(u64, u64)>,
    /// The revision at which it started.
    start: u64,
    /// The number of watches.
    watches: usize,
}

#[derive(Debug)]
struct Event {
    revision: u64,
    path: String,
    kind: ChangeKind,
    value: String,
    previous: Option<(u64, String)>,
}

impl Watcher {
    /// Starts a watcher of each store.
    pub(crate) async fn of_each(stores: &[EtcdStore]) -> Vec<Self> {
        let mut watchers = Vec::new();
        for store in stores {
            let start = store.current().await.unwrap();
            let (until, end) = tokio::sync::watch::channel(u64::MAX);
            let running = tokio::spawn(watch(store.clone(), start, end));
            watchers.push(Self { until, running });
        }
        watchers
    }

    /// Waits until all watchers are up to date, and compares their events with the history.
    pub(crate) async fn check_all(watchers: Vec<Self>, recorded: &Recorded) {
        for watcher in watchers {
            watcher.until.send_replace(recorded.end);
            let seen = timeout(Duration::from_secs(60), watcher.running).await;
            let seen = seen.expect("the last change").unwrap();
            let seen = seen.unwrap_or_else(|why| panic!("{why}"));
            check(&seen, recorded).unwrap_or_else(|why| panic!("{why}"));
            println!(
                "{} events in {} watches, {} gaps",
                seen.events.len(),
                seen.watches,
                seen.gaps.len()
            );
        }
    }
}

async fn watch(
    store: EtcdStore,
    start: Revision,
    mut end: tokio::sync::watch::Receiver<u64>,
) -> Result<Seen, String> {
    let mut seen = Seen {
        start: start.0,
        ..Seen::default()
    };
    let mut at = start;
    loop {
        let mut watch = match store.watch(COLLECTION, "", at).await {
            Ok(watch) => watch,
            Err(ReadError::Compacted { .. }) => {
                // Like an informer: list, then watch.
                let Ok(now) = store.snapshot(None).await else {
                    continue;
                };
                let listed = now.range(COLLECTION, Range::default()).await;
                listed.map_err(|e| e.to_string())?;
                seen.gaps.push((at.0, now.revision().0));
                at = now.revision();
                continue;
            }
            Err(_) => {
                sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        seen.watches += 1;
        loop {
            if at.0 >= *end.borrow_and_update() {
                return Ok(seen);
            }
            let changes = tokio::select! {
                changes = watch.next() => changes,
                _ = end.changed() => continue,
            };
            let changes = match changes {
                Ok(changes) => changes,
                Err(WatchError::Lagged { .. } | WatchError::Backend(_)) => break,
                Err(error) => return Err(error.to_string()),
            };
            for change in &changes {
                if change.revision <= at {
                    let late = change.revision;
                    return Err(format!("{late:?} came after progress {at:?}"));
                }
                seen.events.push(Event {
                    revision: change.revision.0,
                    path: change.entry.path.to_string(),
                    kind: change.kind,
                    value: text(&change.entry),
                    previous: change.previous.as_ref().map(|p| (p.revision.0, text(p))),
                });
            }
            let last = changes.last().map(|change| change.revision);
            if last.is_some_and(|last| watch.progress() < last) {
                return Err(format!("progress {:?} before {last:?}", watch.progress()));
            }
            at = watch.progress();
        }
    }
}

fn check(seen: &Seen, recorded: &Recorded) -> Result<(), String> {
    // The state after each change, replayed.
    let mut state: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    let mut events = seen.events.iter().peekable();
    for (revision, path, value) in &recorded.changes {
        let before = state.get(path.as_str()).copied();
        match value {
            Some(value) => drop(state.insert(path, (*revision, value))),
            None => drop(state.remove(path.as_str())),
        }
        let is_missed = |gap: &(u64, u64)| gap.0 < *revision && *revision <= gap.1;
        if *revision <= seen.start || seen.gaps.iter().any(is_missed) {
            continue;
        }
        let event = events.next();
        let event = event.ok_or_else(|| format!("revision {revision} was not seen"))?;
        let expected_kind = match (before, value) {
            (None, Some(_)) => ChangeKind::Created,
            (Some(_), Some(_)) => ChangeKind::Updated,
            (_, None) => ChangeKind::Deleted,
        };
        let last = value.as_deref().or(before.map(|(_, value)| value));
        let previous = event.previous.as_ref();
        let is_right = event.revision == *revision
            && event.path == *path
            && event.kind == expected_kind
            && Some(&*event.value) == last
            && previous.map(|(revision, value)| (*revision, &**value)) == before;
        if !is_right {
            return Err(format!(
                "{event:?} instead of {revision} {path} {value:?} after {before:?}"
            ));
        }
    }
    // The last change is the end of the load.
    match events.next() {
        Some(event) if event.revision != recorded.end => Err(format!("{event:?} never happened")),
        _ => Ok(()),
    }
}

fn text(entry: &Entry) -> String {
    String::from_utf8_lossy(&entry.bytes).into_owned()
}
