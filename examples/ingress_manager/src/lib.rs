//! A controller that keeps an Ingress for every Service that asks for one with the annotation `ingress/http`.
//!
//! The Ingress has the Service's name and sends `http://example.com/` to the Service's first port. It is made when the
//! annotation appears, follows the Service, is put right when somebody changes or deletes it, and goes when the annotation
//! or the Service goes. The Service owns it. An Ingress of that name that belongs to somebody else is never touched.
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
//! | module | what it holds |
//! |---|---|
//! | [`ingress`] | which Ingress a Service asks for |
//! | [`reconcile`](mod@reconcile) | [`ensure`]: makes it so |
//! | [`watches`] | [`builder`]: what is watched, and which events count |

pub mod ingress;
pub mod reconcile;
pub mod watches;

pub use reconcile::{Change, ensure, reconcile};
pub use watches::builder;
