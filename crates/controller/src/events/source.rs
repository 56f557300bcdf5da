//! The events of a manager.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{EventApi, EventBroadcaster, EventOptions, EventStats, Recorder, pending::Pending};
use crate::{
    clock::SharedClock,
    manager::{Group, Groups},
};

/// The events of a manager. The broadcaster starts with the first recorder. Clones share it.
#[derive(Clone)]
pub(crate) struct Events(Arc<Inner>);

struct Inner {
    client: kube::Client,
    /// The API of the events of controllers.
    api: EventApi,
    clock: SharedClock,
    groups: Arc<Groups>,
    stats: EventStats,
    pending: Pending,
    /// For each API a recorder to make others from, once its broadcaster has been added.
    started: Mutex<[Option<Recorder>; 2]>,
}

/// The recorder of one controller, made when it is first needed.
pub(crate) struct RecorderSource {
    events: Events,
    controller: Arc<str>,
    recorder: OnceLock<Recorder>,
}

impl Events {
    pub(crate) fn new(
        client: kube::Client,
        api: EventApi,
        clock: SharedClock,
        groups: Arc<Groups>,
        pulse: Arc<Notify>,
    ) -> Self {
        Self(Arc::new(Inner {
            client,
            api,
            clock,
            groups,
            stats: EventStats::default(),
            pending: Pending::new(pulse),
            started: Mutex::default(),
        }))
    }

    /// Returns the API of the events of controllers.
    pub(crate) fn api(&self) -> EventApi {
        self.0.api
    }

    /// Returns the counters.
    pub(crate) fn stats(&self) -> EventStats {
        self.0.stats.clone()
    }

    /// Reports whether recorded events are not written yet.
    pub(crate) fn are_pending(&self) -> bool {
        !self.0.pending.is_empty()
    }

    /// Returns a recorder in the name of a controller, for events of an API.
    pub(crate) fn recorder(&self, api: EventApi, controller: &str) -> Recorder {
        let mut started = self.0.started.lock();
        let slot = match api {
            EventApi::Events => 0,
            EventApi::Core => 1,
        };
        let recorder = started[slot].get_or_insert_with(|| self.start(api));
        recorder.named(controller)
    }

    /// Adds the broadcaster to the group that stops last, so that it writes the events of the last reconciles.
    fn start(&self, api: EventApi) -> Recorder {
        let inner = &self.0;
        let clock = inner.clock.clone();
        let options = EventOptions {
            clock: Arc::new(move || clock.now()),
            ..EventOptions::new(api)
        };
        let broadcaster = EventBroadcaster::new_with(
            inner.client.clone(),
            options,
            inner.stats.clone(),
            inner.pending.clone(),
        );
        let recorder = broadcaster.recorder("");
        let run = Box::new(|stop: crate::Stop| {
            let run = async move {
                broadcaster.run(stop.stopping()).await;
                Ok(())
            };
            Box::pin(run) as _
        });
        // A manager that has stopped writes no events; those that are recorded then are dropped and counted.
        if let Err(error) = inner
            .groups
            .add(Group::HttpServers, "events".to_owned(), run)
        {
            tracing::debug!(%error, "events are not written");
        }
        recorder
    }
}

impl RecorderSource {
    pub(crate) fn new(events: Events, controller: Arc<str>) -> Self {
        Self {
            events,
            controller,
            recorder: OnceLock::new(),
        }
    }

    pub(crate) fn get(&self) -> &Recorder {
        self.recorder
            .get_or_init(|| self.events.recorder(self.events.api(), &self.controller))
    }
}
