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
//! It maintains sums over the pods of each node, updated by events, so that the cost of placing a pod does not grow with the
//! number of pods. Decisions are made sequentially; their writes overlap.
//!
//! | module | contents |
//! |---|---|
//! | `scheduler` | [`Scheduler`]: settings, and registration with a manager |
//! | `state` | the state, updated by events, and the decision about a pod |
//! | `snapshot`, `node`, `pod`, `counts`, `resources` | nodes and their pods |
//! | `queue` | pending pods, and the times of their next attempts |
//! | `filter` | filters: whether a node can run a pod |
//! | `score` | scores: the best node |
//! | `volumes` | volumes: the nodes that can reach them, and the choice of volumes for claims |
//! | `preemption`, `budgets` | the pods to delete in favour of one with a higher priority; disruption budgets |
//! | `diagnosis` | the message for an unschedulable pod |
//! | `placement` | [`Placement`]: a custom function that replaces filters and scores |
//! | `admission` | [`NodeAdmission`]: the checks that a kubelet repeats |
//! | `cycle`, `writes` | the scheduling loop; bindings, conditions, events |
//!
//! `RULES.md` lists the rules of kube-scheduler that it follows, with their tests.

mod admission;
mod budgets;
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
mod volumes;
mod writes;

pub use admission::{NodeAdmission, PodRejection, ResizeRejection};
pub use node::NodeInfo;
pub use placement::Placement;
pub use resources::Resources;
pub use scheduler::{DEFAULT_SCHEDULER, Scheduler};
