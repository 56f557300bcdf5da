//! [`ReconcileId`]: the ID of one run of a reconciler.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use uuid::Uuid;

/// The ID of one run of a reconciler, printed as a UUID.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Controller, Manager, Request};
///
/// let (sender, mut ids) = tokio::sync::mpsc::unbounded_channel();
/// let manager = Manager::new(client);
/// let controller = Controller::for_::<ConfigMap>()
///     .build(&manager, move |context: Context, _: Request| {
///         sender.send(context.reconcile_id()).unwrap();
///         async { Ok(Action::done()) }
///     })
///     .unwrap();
/// controller.trigger(Request::new("shop", "web"));
/// controller.trigger(Request::new("shop", "db"));
/// let both = async {
///     let (first, second) = (ids.recv().await.unwrap(), ids.recv().await.unwrap());
///     assert_ne!(first, second);
///     assert_eq!(first.to_string().len(), 36);
/// };
/// manager.run(both).await.unwrap();
/// # });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReconcileId(Uuid);

impl ReconcileId {
    /// Returns a new ID. It is unpredictable enough for logs, and costs no call of the system.
    pub(crate) fn random() -> Self {
        static SEEDS: LazyLock<[RandomState; 2]> = LazyLock::new(Default::default);
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let [high, low] = [&SEEDS[0], &SEEDS[1]].map(|seed| seed.hash_one(count));
        let bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }
}

impl fmt::Display for ReconcileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ReconcileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
