//! The scheduler of a cluster: assigns pods to nodes as kube-scheduler does.
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! use k8s_openapi::api::core::v1::{Node, Pod};
//! use kube::Api;
//! use kubewright_controller::Manager;
//! use kubewright_scheduler::Scheduler;
//! use kubewright_testing::TestCluster;
//! use serde_json::{from_value, json};
//!
//! let cluster = TestCluster::start().await;
//! let manager = Manager::new(cluster.client());
//! Scheduler::new().add_to(&manager).unwrap();
//! let _running = cluster.run(&manager);
//!
//! let nodes: Api<Node> = Api::all(cluster.client());
//! let node = json!({"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}});
//! let node = nodes.create(&Default::default(), &from_value(node).unwrap()).await.unwrap();
//! // New nodes have a taint until they are ready.
//! let ready = json!({"spec": {"taints": null}});
//! nodes.patch("n1", &Default::default(), &kube::api::Patch::Merge(ready)).await.unwrap();
//!
//! let pods: Api<Pod> = Api::default_namespaced(cluster.client());
//! let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
//! pods.create(&Default::default(), &from_value(pod).unwrap()).await.unwrap();
//! cluster.settled().await.unwrap();
//! let pod = pods.get("p").await.unwrap();
//! assert_eq!(pod.spec.unwrap().node_name.as_deref(), Some("n1"));
//! # });
//! ```
//!
//! It keeps the sums over the pods of each node up to date event by event, so that the cost of placing a pod does not grow with
//! the number of pods. One decision is made after the other; their writes overlap.
//!
//! | module | contents |
//! |---|---|
//! | `scheduler` | [`Scheduler`]: settings, and adding it to a manager |
//! | `state` | what is known, changed by events; the decision about a pod |
//! | `snapshot`, `node`, `pod`, `counts`, `resources` | nodes and their pods |
//! | `queue` | the pods that wait, and when they are tried again |
//! | `filter` | whether a node can run a pod |
//! | `score` | which node is the best |
//! | `preemption` | which pods make room for a more important one |
//! | `diagnosis` | the message about a pod that no node can run |
//! | `placement` | [`Placement`]: a function of one's own in place of filters and scores |
//! | `cycle`, `writes` | the work: bindings, conditions, events |
//!
//! `RULES.md` lists the rules that it follows, each with its test.

mod counts;
mod cycle;
mod diagnosis;
mod filter;
mod node;
mod placement;
mod pod;
mod preemption;
mod queue;
mod resources;
mod scheduler;
mod score;
mod selector;
mod snapshot;
mod state;
mod writes;

pub use node::NodeInfo;
pub use placement::Placement;
pub use resources::Resources;
pub use scheduler::{DEFAULT_SCHEDULER, Scheduler};
