//! A browser console for a Kubernetes cluster.
//!
//! A [`Console`] listens on a loopback address with plain HTTP, serves pages that are embedded in the program, and forwards
//! requests to a cluster: the API server of this process, or any other cluster with a kubeconfig. Its URL contains a token, which
//! grants the permissions of the client's user.
//!
//! ```
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! use kubewright_cluster::Cluster;
//! use kubewright_console::Console;
//!
//! let cluster = Cluster::builder().start().await?;
//! let console = Console::builder(cluster.client())
//!     .title("kubewright up")
//!     .start("127.0.0.1:0".parse().unwrap())
//!     .await?;
//! assert!(console.url().starts_with("http://127.0.0.1:"));
//! console.stop().await;
//! # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `console` | [`Console`]: the listener, its token, and shutdown |
//! | `guard` | checks that every request must pass first |
//! | `service` | routing of requests |
//! | `assets` | the files of the pages |
//! | `forward` | requests that are forwarded to the cluster |
//! | `secrets` | masking of Secret values |
//! | `stream` | one stream for each tab: windows of tables, objects, and polled responses |
//! | `export` | the pages with the data of a moment, in a single file |
//! | `metrics` | metrics of the server and the operator, for plots |
//! | `operator` | [`LocalOperator`]: the operator of this program |
//! | `sessions` | saved sessions |
//! | `lab` | faults, the clock and forks of a cluster in this process |
//! | `own` | the paths of data that is not part of the API: `kinds`, `tree`, `documents`, `perturbations` |

mod answer;
mod api_path;
mod assets;
mod console;
mod documents;
mod export;
mod forward;
mod guard;
mod kinds;
mod lab;
mod metrics;
mod operator;
mod own;
mod perturbations;
mod secrets;
mod service;
mod sessions;
mod stream;
mod token;
mod tree;

pub use assets::{Asset, assets};
pub use console::{Console, ConsoleBuilder, ConsoleError};
pub use export::{ExportError, export};
pub use operator::LocalOperator;
pub use sessions::{SaveError, save_session};
