//! Connections that a handler has taken over, such as terminals.
//!
//! The server no longer drives them, but it waits for them at shutdown, and cuts them when their time is over.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::Context,
    time::Duration,
};

use futures_util::task::AtomicWaker;
use tokio::sync::{Notify, watch};

use crate::{activity::Activity, connection::Phase};

/// The state of an upgrade, as its stream and the server share it.
#[derive(Debug, Default)]
pub(crate) struct Upgrade {
    upgraded: AtomicBool,
    cut: AtomicBool,
    /// Wakes the reader when the connection is cut.
    reader: AtomicWaker,
    /// Notified when the stream is dropped.
    closed: Notify,
}

impl Upgrade {
    /// Records that a handler takes over the connection, before it does.
    pub(crate) fn begin(&self) {
        self.upgraded.store(true, Relaxed);
    }

    /// Returns whether the connection was cut.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut.load(Relaxed)
    }

    /// Returns whether the connection was cut. Otherwise, the task of an upgraded connection is woken when it is.
    pub(crate) fn poll_cut(&self, cx: &Context<'_>) -> bool {
        if !self.upgraded.load(Relaxed) {
            return false;
        }
        self.reader.register(cx.waker());
        self.is_cut()
    }

    /// Records that the stream was dropped.
    pub(crate) fn close(&self) {
        self.closed.notify_one();
    }

    fn cut(&self) {
        self.cut.store(true, Relaxed);
        self.reader.wake();
    }
}

/// Waits until an upgraded connection ends, which holds up the shutdown. Cuts it once the shutdown has lasted for `patience`.
pub(crate) async fn keep(
    activity: Arc<Activity>,
    mut phase: watch::Receiver<Phase>,
    patience: Duration,
) {
    let upgrade = &activity.upgrade;
    let expired = async {
        // A dropped sender means that the server is gone.
        let draining = phase.wait_for(|phase| *phase != Phase::Serving).await;
        if draining.is_ok_and(|phase| *phase == Phase::Draining) {
            let aborted = phase.wait_for(|phase| *phase == Phase::Aborted);
            // It is over in any case.
            let _ = tokio::time::timeout(patience, aborted).await;
        }
    };
    tokio::select! {
        () = upgrade.closed.notified() => {}
        () = expired => upgrade.cut(),
    }
}
