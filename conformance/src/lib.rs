//! Recorded answers of kube-apiserver, and the runner that compares another server with them.
//!
//! | module | contents |
//! |---|---|
//! | [`scenario`], [`step`] | scenario files: sequences of requests |
//! | [`server`], [`setup`] | the server under test: one in this process, or that of a kubeconfig |
//! | [`identities`], [`sign`], [`der`] | certificates, tokens and the key that signs tokens |
//! | [`hooks`] | the webhooks that the server under test calls |
//! | [`run`] | runs the requests of a scenario in order, and reads the stored object after each write |
//! | [`normal`] | replaces values that differ from run to run by placeholders |
//! | [`golden`] | the recorded answers |
//! | [`compare`] | comparison field by field, and the reasons for intended differences |
//! | [`definitions`] | CustomResourceDefinitions, requests generated from them, and their recorded answers |
//! | [`report`] | `CONFORMANCE.md` |
//!
//! ```
//! use kubewright_conformance::{run::run_scenario, scenario, server::Server, setup::Setup};
//!
//! let text = "
//! about: Objects with nothing in them.
//! scenarios:
//!   - scenario: a name is enough
//!     steps:
//!       - POST /api/v1/namespaces/<ns>/configmaps: {metadata: {name: a}}
//! ";
//! let file = scenario::parse("core/empty", text)?;
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let server = Server::in_process(Setup::Plain).await?;
//! let outcomes = run_scenario(&server, &file.scenarios[0]).await?;
//! assert_eq!(outcomes[0].code, 201);
//! assert_eq!(outcomes[0].stored, Some("as answered".into()));
//! # Ok::<(), anyhow::Error>(())
//! # })?;
//! # Ok::<(), anyhow::Error>(())
//! ```

pub mod compare;
pub mod definitions;
pub mod der;
pub mod golden;
pub mod hooks;
pub mod identities;
pub mod normal;
pub mod report;
pub mod run;
pub mod scenario;
pub mod server;
pub mod setup;
pub mod sign;
pub mod step;

use std::path::PathBuf;

/// Returns the folder with the scenarios and the recorded answers.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
