//! Events about objects: aggregated, limited, and sent in the background.
//!
//! A [`Recorder`] puts events into a bounded queue and returns at once; if the queue is full the event is dropped and
//! counted. The [`EventBroadcaster`]'s task decides whether an event is new, a repetition or over the budget, and
//! writes it, retrying while the server cannot be reached.
//!
//! There are two APIs with two ways to limit the number of events, both as in client-go:
//!
//! | API | combination |
//! |---|---|
//! | `events.k8s.io/v1`, the default | events that differ only in their note are one series: the first is created, the second makes it a series, further ones are counted here and written every half hour and at the end (`series`) |
//! | `v1` | ten different messages of the same reason become one combined event; repetitions count up; each source has a budget of 25 events an object and one more every five minutes (`correlator`) |
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! # let cluster = kubewright_testing::TestCluster::start().await;
//! # let client = cluster.client();
//! use k8s_openapi::api::{core::v1::Namespace, events::v1::Event};
//! use kube::Api;
//! use kubewright_controller::events::{EventBroadcaster, EventType};
//!
//! let broadcaster = EventBroadcaster::new(client.clone());
//! let recorder = broadcaster.recorder("shop");
//! let namespace = Api::<Namespace>::all(client.clone()).get("default").await.unwrap();
//! recorder.event(&namespace, EventType::Normal, "Opened", "the shop is open");
//!
//! // Usually spawned. On shutdown it sends the queued events.
//! broadcaster.run(std::future::ready(())).await;
//! let events: Api<Event> = Api::default_namespaced(client);
//! let event = events.list(&Default::default()).await.unwrap().items.remove(0);
//! assert_eq!(event.note.as_deref(), Some("the shop is open"));
//! # });
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `recorder` | [`Recorder`], [`EventDraft`] |
//! | `broadcaster` | [`EventBroadcaster`], [`EventOptions`] |
//! | `correlator` | the rules for `v1` |
//! | `series` | the rules for `events.k8s.io/v1` |
//! | `source` | the events of a manager: the broadcaster starts with the first recorder |

pub(crate) mod broadcaster;
pub(crate) mod correlator;
pub(crate) mod lru;
mod pending;
pub(crate) mod recorder;
pub(crate) mod series;
pub(crate) mod sink;
mod source;

pub use broadcaster::{EventApi, EventBroadcaster, EventOptions, EventStats};
pub use correlator::{Aggregation, SpamLimit};
pub use recorder::{EventDraft, EventType, Recorder};
pub(crate) use source::{Events, RecorderSource};
