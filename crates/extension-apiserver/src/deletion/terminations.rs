//! [`Terminations`]: the objects of a kind that are being terminated.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::FutureExt;
use kubewright_apiserver::{
    registry::{Generic, Get},
    request::{DeleteOptions, GetOptions, RequestContext},
};
use kubewright_machinery::{Status, status};
use parking_lot::Mutex;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::GracefulDeletion;
use crate::storage::ServedKind;

/// The time limit for the termination of an object that has no grace period left.
const AT_ONCE: Duration = Duration::from_secs(30);
/// The longest grace period that is waited for. Longer ones end then.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// The objects of a kind that are being terminated. The versions of the kind share it.
pub(crate) struct Terminations<K> {
    pub(super) deletion: Arc<dyn GracefulDeletion<K>>,
    /// By uid.
    running: Mutex<HashMap<String, Running>>,
    /// Reads objects in the version of the type.
    pub(crate) stored: OnceLock<Arc<dyn Get>>,
}

/// A termination that is running.
struct Running {
    began: Instant,
    /// The end of the grace period.
    until: watch::Sender<Instant>,
}

/// The end of an object.
pub(super) struct Ending {
    /// The time of the deletion.
    pub(super) began: Instant,
    /// The grace period; zero if there is none left.
    pub(super) period: Duration,
    /// Removes the object afterwards, if it is still there.
    pub(super) removal: Option<Removal>,
}

/// The removal of an object.
pub(super) struct Removal {
    pub(super) generic: Generic,
    pub(super) cx: RequestContext,
}

/// A termination in the list, until it is dropped.
struct Entry<K> {
    terminations: Arc<Terminations<K>>,
    uid: String,
}

impl<K> Drop for Entry<K> {
    fn drop(&mut self) {
        self.terminations.running.lock().remove(&self.uid);
    }
}

impl<K: ServedKind> Terminations<K> {
    pub(crate) fn new(deletion: Arc<dyn GracefulDeletion<K>>) -> Self {
        Self {
            deletion,
            running: Mutex::default(),
            stored: OnceLock::new(),
        }
    }

    /// Reads an object in the version of `K`.
    pub(super) async fn read(&self, cx: &RequestContext, name: &str) -> Result<K, Status> {
        let missing = || status::internal("the kind has no storage version");
        let stored = self.stored.get().ok_or_else(missing)?;
        let object = stored.get(cx, name, &GetOptions::default()).await?;
        serde_json::from_slice(&object.bytes).map_err(status::internal)
    }

    /// Reports whether an object is being terminated here.
    pub(super) fn is_running(&self, uid: &str) -> bool {
        self.running.lock().contains_key(uid)
    }

    /// Starts the termination of an object. If it is running already, its grace period is shortened.
    pub(super) fn start(self: &Arc<Self>, object: K, ending: Ending) {
        let meta = object.meta();
        let uid = meta.uid.clone().unwrap_or_default();
        let name = meta.name.clone().unwrap_or_default();
        let period = ending.period.min(LONGEST);
        let mut running = self.running.lock();
        if let Some(running) = running.get(&uid) {
            return running.shorten(period);
        }
        let end = match period {
            Duration::ZERO => Instant::now() + AT_ONCE,
            period => ending.began + period,
        };
        let (sender, until) = watch::channel(end);
        let began = ending.began;
        let entry = Running {
            began,
            until: sender,
        };
        running.insert(uid.clone(), entry);
        drop(running);
        let entry = Entry {
            terminations: self.clone(),
            uid,
        };
        tokio::spawn(entry.run(object, name, until, ending.removal));
    }
}

impl Running {
    fn shorten(&self, period: Duration) {
        let end = match period {
            Duration::ZERO => Instant::now() + AT_ONCE,
            period => self.began + period,
        };
        self.until.send_if_modified(|until| {
            let is_shorter = end < *until;
            if is_shorter {
                *until = end;
            }
            is_shorter
        });
    }
}

impl<K: ServedKind> Entry<K> {
    /// Terminates an object within its grace period, and removes it.
    async fn run(
        self,
        object: K,
        name: String,
        until: watch::Receiver<Instant>,
        removal: Option<Removal>,
    ) {
        let ending = AssertUnwindSafe(self.terminations.deletion.terminate(object)).catch_unwind();
        tokio::select! {
            ended = ending => if ended.is_err() {
                tracing::error!(name, "the end of an object caused a panic");
            },
            () = expired(until) => {}
        }
        let Some(Removal { generic, cx }) = removal else {
            return;
        };
        let now = DeleteOptions {
            grace_period_seconds: Some(0),
            uid: Some(self.uid.clone()),
            ..DeleteOptions::default()
        };
        match generic.delete_admitted(&cx, &name, &now).await {
            Ok(_) => {}
            // Another request removed it first.
            Err(error) if error.code == 404 || error.code == 409 => {}
            Err(error) => tracing::warn!(name, %error, "an object was not removed"),
        }
    }
}

/// Waits until a time that can be moved.
async fn expired(mut until: watch::Receiver<Instant>) {
    loop {
        let end = *until.borrow_and_update();
        tokio::select! {
            () = sleep_until(end) => return,
            // The sender stays until the end.
            _ = until.changed() => {}
        }
    }
}
