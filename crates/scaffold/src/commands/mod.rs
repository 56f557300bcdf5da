//! The commands. Each returns a [`Plan`](crate::Plan) and writes nothing itself.
//!
//! | module | command |
//! |---|---|
//! | `new` | `new`, `init` |
//! | `api` | `create api`, `add api` |
//! | `aggregated`, `subresource` | `create api --aggregated`, `create subresource` |
//! | `controller` | `add controller` |
//! | `version` | `add version` |
//! | `webhook` | `create webhook`, `add webhook` |
//! | `remove` | `remove api`, `remove controller`, `remove version`, `remove webhook` |
//! | `edit`, `storage` | `edit` |
//! | `dependency`, `package`, `kube_attribute` | parts of these: entries of `Cargo.toml`, `#[kube(...)]` |
//! | `status` | `status` |

mod aggregated;
pub(crate) mod api;
pub(crate) mod controller;
mod conversion;
mod dependency;
mod edit;
mod features;
mod kube_attribute;
mod new;
mod package;
pub(crate) mod registration;
mod remove;
mod status;
mod storage;
mod subresource;
pub(crate) mod targets;
mod version;
mod webhook;

pub use aggregated::AddAggregatedApi;
pub use api::AddApi;
pub use controller::AddController;
pub use dependency::{Dependency, GitReference};
pub use edit::Edit;
pub use new::NewProject;
pub use package::{License, Package};
pub use remove::Remove;
pub use status::{PartState, PartStatus, status};
pub use storage::MoveStorage;
pub use subresource::AddSubresource;
pub use version::AddVersion;
pub use webhook::AddWebhook;
