//! Built-in controllers: what makes a cluster tidy up after itself.
//!
//! Without them an API server keeps what it is given: a deleted namespace stays `Terminating`, and what a deleted owner
//! leaves behind stays for ever. They are written with [`kubewright_controller`] and the public API, as anybody's
//! controllers are, and do what those of kube-controller-manager 1.36 do:
//!
//! | name | what it does |
//! |---|---|
//! | `namespace-controller` | empties deleted namespaces, pods first, says in conditions what is in the way, and lets them go |
//! | `garbage-collector-controller` | deletes objects whose owners are gone: in the background, in the foreground, or it orphans them |
//! | `serviceaccount-controller` | keeps a ServiceAccount `default` in every namespace |
//! | `root-ca-certificate-publisher-controller` | keeps a ConfigMap `kube-root-ca.crt` in every namespace |
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! # let cluster = kubewright_testing::TestCluster::start().await;
//! # let client = cluster.client();
//! use std::time::Duration;
//! use k8s_openapi::api::core::v1::Namespace;
//! use kube::Api;
//! use kubewright_controller::{Manager, wait::wait_for_deletion};
//! use kubewright_builtin_controllers::Controllers;
//!
//! let manager = Manager::new(client.clone());
//! Controllers::parse("*,-serviceaccount").unwrap().add_to(&manager).unwrap();
//!
//! let namespaces: Api<Namespace> = Api::all(client);
//! let mut namespace = Namespace::default();
//! namespace.metadata.name = Some("shop".into());
//! namespaces.create(&Default::default(), &namespace).await.unwrap();
//! namespaces.delete("shop", &Default::default()).await.unwrap();
//!
//! let gone = async move {
//!     wait_for_deletion(&namespaces, "shop", None, Duration::from_secs(60)).await.unwrap();
//! };
//! manager.run(gone).await.unwrap();
//! # });
//! ```
//!
//! All caches are of metadata only, one for each kind, whoever uses it. New kinds are noticed by watching definitions and
//! API services, and by a look every few minutes.
//!
//! | module | what it holds |
//! |---|---|
//! | [`set`] | [`Controllers`]: which of them run, and how |
//! | [`names`] | [`Name`]: their names |
//! | [`namespace`] | namespace deletion |
//! | [`garbage`] | the garbage collector |
//! | `service_account`, `root_ca` | the publishers |
//! | `resources` | what the server has, out of discovery |

pub mod garbage;
pub mod names;
pub mod namespace;
mod resources;
mod root_ca;
mod service_account;
pub mod set;

pub use names::{Name, UnknownController};
pub use set::Controllers;
