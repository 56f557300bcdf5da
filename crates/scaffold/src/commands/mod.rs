//! The commands. Each returns a [`Plan`](crate::Plan) and writes nothing itself.
//!
//! | module | command |
//! |---|---|
//! | `new` | `new`, `init` |
//! | `api` | `create api`, `add api` |
//! | `controller` | `add controller` |
//! | `version` | `add version` |
//! | `remove` | `remove api`, `remove controller`, `remove version` |
//! | `edit` | `edit` |
//! | `status` | `status` |

pub(crate) mod api;
pub(crate) mod controller;
mod conversion;
mod edit;
mod new;
pub(crate) mod registration;
mod remove;
mod status;
pub(crate) mod targets;
mod version;

pub use api::AddApi;
pub use controller::AddController;
pub use edit::Edit;
pub use new::{Dependency, NewProject};
pub use remove::Remove;
pub use status::{PartState, PartStatus, status};
pub use version::AddVersion;
