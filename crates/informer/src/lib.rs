//! A cache of the cluster that is small, fast and never wrong.
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
//!     Event::Updated { new, .. } => println!("~ {} {}", new.key(), new.resource_version()),
//!     Event::Deleted { last, .. } => println!("- {}", last.key()),
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
//! From the wire to a handler: a [`ListerWatcher`] answers with bytes; the [`Reflector`] keeps up with it and pushes
//! [`Delta`]s to a [`DeltaQueue`]; a [`SharedInformer`] applies them to its [`Indexer`] and tells its readers [`Event`]s. A
//! [`SharedInformerFactory`] has one informer for each resource and scope; a [`Lister`] reads it.
//!
//! Objects are kept as the JSON they came in, without managedFields. Their metadata is read from the bytes; a value is
//! decoded when somebody asks for it ([`Cached::get`]) and shared while somebody holds it. Protobuf is not asked for: cutting
//! an object from JSON and finding its metadata costs less than decoding it from anything, and bytes of JSON serve typed,
//! dynamic and metadata readers alike, of built-in kinds and of others.
//!
//! `RULES.md` has the rules of client-go's behaviour, each with its test or the reason why it is not followed; `FAULTS.md` has
//! the faults that an informer survives, each with its tests.
//!
//! | module | what it holds |
//! |---|---|
//! | [`factory`] | [`SharedInformerFactory`]: informers that all share |
//! | [`informer`] | [`SharedInformer`]: a cache, its handlers, its state |
//! | [`lister`] | [`Lister`]: reading |
//! | [`events`] | [`Event`], [`Subscription`], [`EventHandler`] |
//! | [`store`] | [`Indexer`], [`Snapshot`], [`IndexFn`] |
//! | [`object`] | [`StoredObject`], [`Cached`] |
//! | [`delta`] | [`Delta`], [`DeltaQueue`] |
//! | [`reflector`] | [`Reflector`]: list, watch, resume, recover |
//! | [`lister_watcher`] | [`ListerWatcher`]: a cluster, the embedded server, a replay |
//! | [`transform`] | [`Transform`]: what is done to objects before they are cached |
//! | [`metrics`] | [`Metrics`]: counters |
//! | [`key`], [`version`] | names of objects, revisions |

pub mod delta;
pub mod events;
pub mod factory;
pub mod informer;
pub mod key;
pub mod lister;
pub mod lister_watcher;
pub mod metrics;
pub mod object;
pub mod reflector;
pub mod store;
pub mod transform;
pub mod version;

pub use delta::{Delta, DeltaQueue};
pub use events::{
    Buffer, Cause, Event, EventHandler, Registration, SubscribeOptions, Subscription,
    SubscriptionProgress,
};
pub use factory::{Scope, SharedInformerFactory, SyncReport};
pub use informer::{InformerConfig, Namespaces, NotSynced, SharedInformer};
pub use key::Key;
pub use lister::{Lister, NamespaceLister};
pub use lister_watcher::{KubeListerWatcher, ListerWatcher, Replay};
pub use metrics::{MetricsSnapshot, RelistCause, write_metrics};
pub use object::{Cached, Compression, Ingest, StoredObject};
pub use reflector::{Reflector, ReflectorConfig, ReflectorError};
pub use store::{IndexFn, Indexer, Snapshot};
pub use transform::Transform;
