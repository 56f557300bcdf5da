//! [`Quorum`]: the newest revision of etcd, requested once for all waiting readers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use kubewright_store::{Failure, FailureKind, Revision};
use tokio::sync::{Notify, watch};

use crate::{
    api::{RangeAnswer, RangeRequest},
    error::failure,
    grpc::{CallError, Channel},
    load::RANGE,
    shared::{Names, Shared},
};

/// The time limit of all attempts together.
const PATIENCE: Duration = Duration::from_secs(10);

/// Requests and the latest response.
pub(crate) struct Quorum {
    asked: AtomicU64,
    wake: Notify,
    answered: watch::Sender<Answer>,
}

/// The latest response, which is valid for all requests up to a number.
struct Answer {
    up_to: u64,
    newest: Result<Revision, Failure>,
}

/// Returns the newest revision. A range is linearizable, even if it is empty.
pub(crate) async fn newest_revision(
    channel: &Channel,
    names: &Names,
) -> Result<Revision, CallError> {
    // The key that kube-apiserver uses for its health check. It never exists.
    let key = format!("{}health", names.prefix());
    let request = RangeRequest {
        key: key.as_bytes(),
        limit: 1,
        keys_only: true,
        ..RangeRequest::default()
    };
    let answer: RangeAnswer = channel.read(RANGE, &request.encode(), PATIENCE).await?;
    Ok(Revision(answer.header.revision))
}

impl Quorum {
    pub(crate) fn new() -> Self {
        let nothing = Answer {
            up_to: 0,
            newest: Ok(Revision(0)),
        };
        Self {
            asked: AtomicU64::new(0),
            wake: Notify::new(),
            answered: watch::Sender::new(nothing),
        }
    }

    /// Returns the newest revision of etcd at some time after the call.
    pub(crate) async fn newest(&self) -> Result<Revision, Failure> {
        let mut answered = self.answered.subscribe();
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        self.wake.notify_one();
        let answer = answered.wait_for(|answer| answer.up_to >= number).await;
        match answer {
            Ok(answer) => answer.newest.clone(),
            Err(_) => Err(Failure::new(
                FailureKind::Unavailable,
                "the store is closed",
            )),
        }
    }

    /// Processes requests until the task is aborted, all pending ones with one call to etcd.
    pub(crate) async fn run(self: Arc<Self>, shared: Arc<Shared>) {
        loop {
            let up_to = self.asked.load(Ordering::SeqCst);
            if self.answered.borrow().up_to == up_to {
                self.wake.notified().await;
                continue;
            }
            let newest = newest_revision(&shared.channel, &shared.names).await;
            let newest = newest.map_err(failure);
            self.answered.send_replace(Answer { up_to, newest });
        }
    }
}
