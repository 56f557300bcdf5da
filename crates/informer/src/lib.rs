//! Informers: caches of Kubernetes resources that follow the cluster and report every change.
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! use std::time::Duration;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kubewright_informer::{Event, IndexFn, SharedInformerFactory};
//! # use kube::api::{Api, PostParams};
//! # let cluster = kubewright_testing::TestCluster::start().await;
//! # let client = cluster.client();
//! # let mut map = ConfigMap::default();
//! # map.metadata.name = Some("colours".into());
//! # Api::default_namespaced(client.clone()).create(&PostParams::default(), &map).await.unwrap();
//!
//! let factory = SharedInformerFactory::new(client);
//! let maps = factory.informer::<ConfigMap>();
//! maps.add_index("immutable", IndexFn::field("immutable")).unwrap();
//! let handler = maps.add_handler(|event: Event<ConfigMap>| match event {
//!     Event::Added { object, .. } => println!("+ {}", object.key()),
//!     Event::Updated { object, .. } => println!("~ {} {}", object.key(), object.resource_version()),
//!     Event::Deleted { object, .. } => println!("- {}", object.key()),
//! });
//!
//! factory.start();
//! let report = factory.wait_for_sync(Duration::from_secs(10)).await;
//! assert!(report.is_synced(), "{report}");
//! handler.synced().await;
//!
//! let map = maps.lister().namespace("default").get("colours").unwrap();
//! assert!(map.is_some());
//! # });
//! ```
//!
//! From the wire to a handler: a [`ListerWatcher`] returns bytes; a [`Reflector`] keeps up with them and pushes [`Delta`]s
//! to a [`DeltaQueue`]; a [`SharedInformer`] applies them to its [`Indexer`] and notifies its readers of [`Event`]s. A
//! [`SharedInformerFactory`] has one informer for each resource and scope; a [`Lister`] reads it.
//!
//! Objects are kept as the JSON they arrived in, without managedFields. Their metadata is read from the bytes; a value is
//! decoded on demand ([`Cached::get`]) and shared while it is in use. Protobuf is not requested: cutting an object out
//! of JSON and finding its metadata costs less than decoding it from anything, and the same bytes serve typed, dynamic and
//! metadata readers.
//!
//! `RULES.md` has the rules of client-go, each with its test or the reason why it is not followed; `FAULTS.md` has the
//! faults that an informer survives, each with its tests.
//!
//! | purpose | types |
//! |---|---|
//! | informers | [`SharedInformerFactory`], [`SharedInformer`], [`Scope`], [`InformerConfig`] |
//! | reading | [`Lister`], [`Indexer`], [`Snapshot`], [`IndexFn`] |
//! | events | [`Event`], [`EventHandler`], [`Subscription`], [`SubscribeOptions`] |
//! | objects | [`Key`], [`Cached`], [`StoredObject`], [`Transform`] |
//! | reflectors | [`Reflector`], [`ListerWatcher`], [`Delta`], [`DeltaQueue`], [`Ingest`] |
//! | metrics | [`MetricsSnapshot`], [`write_metrics`] |
//! | tests | [`replay`] |
//!
//! For those who know client-go:
//!
//! | client-go | here |
//! |---|---|
//! | `RealFIFO`, `DeltaFIFO` | [`DeltaQueue`], [`DeltaQueue::coalescing`] |
//! | `DeletedFinalStateUnknown` | [`Event::Deleted`] with `exact: false`; it always has the last known state |
//! | `Store`, `Indexer`, `ThreadSafeStore` | [`Indexer`]; a batch of changes is one step for readers |
//! | `MutationCache`, consistency store | [`SharedInformer::wait_for`] with the version in the response to the write |
//! | `MutationDetector` | nothing: shared objects are immutable |
//! | `processorListener`, `RetryWatcher` | [`Subscription`] |
//! | `UntilWithSync` | reading a [`Subscription`] until the condition holds |
//! | `FilteringResourceEventHandler` | [`Event::filtered`] |
//! | `ListWatch` | [`ListerWatcher`] |
//! | `Lister.Get` with NotFound | [`Lister::get`]: `None` |

mod delta;
mod events;
mod factory;
mod informer;
mod key;
mod lister;
mod lister_watcher;
mod metrics;
mod object;
mod reflector;
mod store;
mod transform;
mod version;

pub use delta::{Delta, DeltaQueue, Sourced};
pub use events::{
    Buffer, Cause, Event, EventHandler, HandlerPanic, Registration, SubscribeOptions, Subscription,
    SubscriptionProgress,
};
pub use factory::{Scope, SharedInformerFactory, SharedInformerFactoryBuilder, SyncReport};
pub use informer::{InformerConfig, Namespaces, NotSynced, SharedInformer};
pub use key::{Key, KeyError};
pub use lister::{Lister, NamespaceLister};
pub use lister_watcher::{
    KubeListerWatcher, ListRequest, ListerWatcher, Projection, Selection, WatchRequest, replay,
};
pub use metrics::{MetricsSnapshot, RelistCause, write_metrics};
pub use object::{
    Cached, Compression, DecodeFailure, DecodedLimits, Ingest, ObjectKind, Owner, Rejected,
    StoredObject,
};
pub use reflector::{BackoffSettings, ErrorHandler, Reflector, ReflectorConfig, ReflectorError};
pub use store::{IndexError, IndexFn, Indexer, NAMESPACE_INDEX, Snapshot, VersionError};
pub use transform::Transform;
pub use version::compare_resource_versions;
