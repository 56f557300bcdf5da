//! A controller that maintains an Ingress for every Service with the annotation `ingress/http`.
//!
//! The Ingress has the name of the Service and routes `http://example.com/` to its first port. It is created with the
//! annotation, follows the Service, is restored when somebody changes or deletes it, and is deleted with the annotation or the
//! Service. The Service owns it. An Ingress with that name that belongs to somebody else is never touched.
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! use std::time::Duration;
//! use k8s_openapi::api::{core::v1::Service, networking::v1::Ingress};
//! use kube::{Api, api::PostParams};
//! use kubewright_controller::{Manager, wait::wait_for};
//! use kubewright_testing::TestCluster;
//!
//! let cluster = TestCluster::start().await;
//! let manager = Manager::new(cluster.client());
//! ingress_manager::builder().build(&manager, ingress_manager::reconcile).unwrap();
//!
//! let story = async {
//!     let services: Api<Service> = Api::default_namespaced(cluster.client());
//!     let web = serde_json::from_value(serde_json::json!({
//!         "metadata": {"name": "web", "annotations": {"ingress/http": "true"}},
//!         "spec": {"ports": [{"port": 80}]},
//!     }));
//!     services.create(&PostParams::default(), &web.unwrap()).await.unwrap();
//!     let ingresses: Api<Ingress> = Api::default_namespaced(cluster.client());
//!     wait_for(&ingresses, "web", Duration::from_secs(30), |web| web.is_some()).await.unwrap();
//! };
//! manager.run(story).await.unwrap();
//! # });
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`ingress`] | the Ingress of a Service |
//! | [`reconcile`](mod@reconcile) | [`ensure`]: creates, updates or deletes it |
//! | [`watches`] | [`builder`]: watches and predicates |

pub mod ingress;
pub mod reconcile;
pub mod watches;

pub use reconcile::{Change, ensure, reconcile};
pub use watches::builder;
