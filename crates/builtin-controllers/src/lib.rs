//! The built-in controllers of Kubernetes.
//!
//! Without them an API server only stores objects: a deleted namespace stays `Terminating`, and dependents of a deleted
//! owner stay forever. They are written with [`kubewright_controller`] and the public API like any other controller,
//! and are checked against recordings of kube-controller-manager 1.36:
//!
//! | name | purpose |
//! |---|---|
//! | `namespace-controller` | empties deleted namespaces, pods first, reports obstacles in conditions, and removes the finalizer |
//! | `garbage-collector-controller` | deletes or orphans objects whose owners are gone, in the background or in the foreground |
//! | `serviceaccount-controller` | keeps a ServiceAccount `default` in every namespace |
//! | `root-ca-certificate-publisher-controller` | keeps a ConfigMap `kube-root-ca.crt` in every namespace |
//! | `serviceaccount-token-controller` | fills Secrets with tokens of service accounts |
//! | `certificatesigningrequest-approving-controller` | approves certificates of kubelets |
//! | `certificatesigningrequest-signing-controller` | issues certificates for approved requests |
//! | `certificatesigningrequest-cleaner-controller` | deletes old certificate signing requests |
//! | `clusterrole-aggregation-controller` | gathers the rules of aggregated cluster roles |
//! | `validatingadmissionpolicy-status-controller` | checks expressions of policies against the types of their objects |
//! | `persistentvolumeclaim-protection-controller` | keeps deleted claims while a scheduled pod uses them |
//! | `persistentvolume-protection-controller` | keeps deleted volumes while they are bound |
//! | `volumeattributesclass-protection-controller` | keeps deleted classes while a volume or claim names them |
//! | `replicaset-controller`, `replicationcontroller-controller` | keep the desired number of pods |
//! | `deployment-controller` | rolls out pod templates through ReplicaSets |
//! | `statefulset-controller` | keeps pods with fixed names and claims, one after the other |
//! | `daemonset-controller` | keeps a pod on every node that fits |
//! | `job-controller` | runs pods until enough of them have succeeded |
//! | `cronjob-controller` | creates Jobs at the times of a schedule |
//! | `ttl-after-finished-controller` | deletes finished Jobs after their time to live |
//! | `endpoints-controller`, `endpointslice-controller` | keep the addresses of the pods of Services |
//! | `disruption-controller` | keeps the status of PodDisruptionBudgets |
//! | `pod-garbage-collector-controller` | deletes pods of nodes that are gone, and pods that no other controller deletes |
//! | `node-lifecycle-controller` | notices nodes that fall silent, and taints nodes as their conditions say |
//! | `taint-eviction-controller` | deletes pods that do not tolerate a taint of their node |
//! | `resourcequota-controller` | keeps the usage of resource quotas |
//! | `persistentvolume-binder-controller` | binds claims to volumes, and reclaims volumes |
//! | `persistentvolume-expander-controller` | says that others grow volumes |
//! | `ephemeral-volume-controller` | creates the claims of ephemeral volumes |
//! | `simulated-volume-provisioner` | makes, grows and deletes volumes of simulated nodes; of this crate only |
//! | `horizontal-pod-autoscaler-controller` | scales targets by the metrics of their pods |
//! | `endpointslice-mirroring-controller` | mirrors the Endpoints of Services without a selector |
//! | `node-ipam-controller` | gives every node a range of addresses for its pods |
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
//! All caches but those of cluster roles and workloads hold metadata only, with one cache for each kind. New kinds are noticed by watching
//! CustomResourceDefinitions and APIServices, and by periodic discovery.
//!
//! | module | contents |
//! |---|---|
//! | `set` | [`Controllers`]: the selection of controllers, and their options |
//! | `names` | [`Name`]: the names of the controllers |
//! | `namespace` | namespace deletion |
//! | `garbage` | the garbage collector |
//! | `service_account`, `root_ca` | the publishers |
//! | `protection` | the protection of storage objects that are in use |
//! | `policy_status` | type checking of admission policies |
//! | `role_aggregation` | the rules of aggregated cluster roles |
//! | `workloads` | the controllers of workloads, with the feature `workloads` |
//! | `resources` | resources of the server, from discovery |

mod certificates;
mod garbage;
#[cfg(feature = "workloads")]
mod generated;
mod names;
mod namespace;
mod policy_status;
mod protection;
mod resources;
mod role_aggregation;
mod root_ca;
mod service_account;
mod set;
mod token_secrets;
#[cfg(feature = "workloads")]
mod workloads;

pub use names::{Name, UnknownController};
pub use set::Controllers;
pub use token_secrets::{SecretTokenClaims, TokenGenerator};
