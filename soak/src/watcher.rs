//! Watchers rebuild the state from events, and notice gaps.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use kube::{
    Api, Client, Config, ResourceExt,
    api::{WatchEvent, WatchParams},
    core::DynamicObject,
};
use tokio::{sync::watch, time::sleep};

use crate::{
    kinds::{self, Kind, Numbers, WORKER},
    process::ServerProcess,
    tally::{Operation, Tally},
};

/// The pause of a slow watcher between two events.
const SLOW: Duration = Duration::from_millis(100);

/// The longest life of a connection of a flaky watcher, in milliseconds.
const FLAKY: u64 = 3000;

/// The behaviour of a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// Reads as fast as it can.
    Steady,
    /// Drops its connection every few seconds and resumes.
    Flaky,
    /// Reads ten events a second, and falls behind.
    Slow,
}

/// A watcher with the state it has rebuilt.
pub(crate) struct Watcher {
    kind: Arc<Kind>,
    habit: Habit,
    tally: Arc<Tally>,
    /// Objects by name, with their uid and number.
    state: BTreeMap<String, (String, i64)>,
    /// The version to resume from, if the state is that of a version.
    version: Option<String>,
}

/// The way a watch ended.
enum End {
    /// It can be resumed.
    Resume,
    /// The version is too old: the watcher must list again.
    Expired,
}

impl Watcher {
    pub(crate) fn new(kind: Arc<Kind>, habit: Habit, tally: Arc<Tally>) -> Self {
        Self {
            kind,
            habit,
            tally,
            state: BTreeMap::new(),
            version: None,
        }
    }

    /// Watches until it is stopped.
    pub(crate) async fn run(mut self, config: Config, stopped: watch::Receiver<bool>) -> Self {
        while !*stopped.borrow() {
            // A new client is a new connection.
            let Ok(client) = Client::try_from(config.clone()) else {
                break;
            };
            let api = self.kind.api(client);
            let life = match self.habit {
                Habit::Flaky => Duration::from_millis(rand::random_range(1..FLAKY)),
                Habit::Steady | Habit::Slow => Duration::from_secs(280),
            };
            let mut stop = stopped.clone();
            tokio::select! {
                () = self.session(&api, life) => {}
                _ = stop.changed() => {}
            }
        }
        self
    }

    /// Catches up with the end of the load, and counts what is missing. A slow watcher is not expected to catch up.
    pub(crate) async fn finish(
        mut self,
        server: &ServerProcess,
        expected: &HashMap<String, (Arc<Kind>, Numbers)>,
        end: Instant,
    ) -> anyhow::Result<()> {
        let (_, expected) = &expected[&self.kind.name];
        if self.habit == Habit::Slow {
            return Ok(());
        }
        let api = self.kind.api(server.client().await?);
        while self.missing(expected) > 0 && Instant::now() < end {
            self.session(&api, Duration::from_secs(1)).await;
        }
        self.tally.lost(self.missing(expected));
        Ok(())
    }

    fn missing(&self, expected: &Numbers) -> u64 {
        let held = self.state.iter();
        let held: Numbers = held
            .map(|(name, (_, number))| (name.clone(), *number))
            .collect();
        kinds::count_differences(&held, expected)
    }

    /// Lists if need be, then watches for some time.
    async fn session(&mut self, api: &Api<DynamicObject>, life: Duration) {
        if self.version.is_none() && self.list(api).await.is_none() {
            return sleep(Duration::from_millis(100)).await;
        }
        match tokio::time::timeout(life, self.watch(api)).await {
            Ok(End::Expired) => {
                self.tally.count(Operation::Relist);
                self.version = None;
            }
            Ok(End::Resume) => self.tally.count(Operation::Resume),
            Err(_) => self.tally.count(Operation::DroppedWatch),
        }
    }

    async fn list(&mut self, api: &Api<DynamicObject>) -> Option<()> {
        let parameters = kube::api::ListParams::default().labels(WORKER);
        let list = match api.list(&parameters).await {
            Ok(list) => list,
            Err(error) => {
                self.tally.error(format_args!("list of a watcher: {error}"));
                return None;
            }
        };
        self.state = list
            .items
            .iter()
            .map(|object| {
                let uid = object.uid().unwrap_or_default();
                (object.name_any(), (uid, self.kind.number(object)))
            })
            .collect();
        self.version = list.metadata.resource_version;
        Some(())
    }

    async fn watch(&mut self, api: &Api<DynamicObject>) -> End {
        let parameters = WatchParams::default().labels(WORKER).timeout(290);
        let version = self.version.clone().unwrap_or_default();
        let mut events = match api.watch(&parameters, &version).await {
            Ok(events) => events.boxed(),
            Err(kube::Error::Api(status)) if status.code == 410 => return End::Expired,
            Err(error) => {
                self.tally.error(format_args!("watch: {error}"));
                sleep(Duration::from_millis(100)).await;
                return End::Resume;
            }
        };
        while let Some(event) = events.next().await {
            match event {
                Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => self.seen(&object),
                Ok(WatchEvent::Deleted(object)) => {
                    self.state.remove(&object.name_any());
                    self.version = object.resource_version();
                }
                Ok(WatchEvent::Bookmark(bookmark)) => {
                    self.version = Some(bookmark.metadata.resource_version);
                }
                Ok(WatchEvent::Error(status)) if status.code == 410 => return End::Expired,
                // The server has cut off a watcher that is too slow.
                Ok(WatchEvent::Error(_)) | Err(_) => return End::Resume,
            }
            self.tally.count(Operation::Event);
            if self.habit == Habit::Slow {
                sleep(SLOW).await;
            }
        }
        End::Resume
    }

    /// Records an object, and counts the events that are missing before it.
    fn seen(&mut self, object: &DynamicObject) {
        let (name, uid) = (object.name_any(), object.uid().unwrap_or_default());
        let number = self.kind.number(object);
        let before = match self.state.get(&name) {
            Some((known, before)) if *known == uid => *before,
            _ => 0,
        };
        if number != before + 1 {
            self.tally.lost(number.abs_diff(before + 1).max(1));
            self.tally.error(format_args!(
                "{name} went from {before} to {number} for a {:?} watcher",
                self.habit
            ));
        }
        self.state.insert(name, (uid, number));
        self.version = object.resource_version();
    }
}
