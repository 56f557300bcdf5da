//! [`Stop`]: a stop signal.

use tokio::sync::watch;

/// A stop signal. Cheap to clone.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_controller::{Group, Manager, Stop};
///
/// let manager = Manager::new(client);
/// let (sender, started) = tokio::sync::oneshot::channel();
/// manager
///     .add(Group::Others, "clock", move |stop: Stop| async move {
///         let _ = sender.send(stop.is_stopping());
///         stop.stopping().await;
///         assert!(stop.is_stopping());
///         Ok(())
///     })
///     .unwrap();
/// // Runs until the clock has started.
/// manager.run(async { assert!(!started.await.unwrap()) }).await.unwrap();
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

/// The sender of a stop signal.
#[derive(Debug)]
pub(crate) struct Stopper(watch::Sender<bool>);

impl Stop {
    /// Reports whether it is time to stop.
    pub fn is_stopping(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }

    /// Waits until it is time to stop.
    pub async fn stopping(&self) {
        // A dropped sender means the end as well.
        let _ = self.0.clone().wait_for(|stop| *stop).await;
    }
}

impl Stopper {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    pub(crate) fn stop(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn signal(&self) -> Stop {
        Stop(self.0.subscribe())
    }
}
