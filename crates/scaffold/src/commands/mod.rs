//! The commands. Each returns a [`Plan`](crate::plan::Plan) and writes nothing itself.
//!
//! | module | command |
//! |---|---|
//! | [`new`] | `new`, `init` |
//! | [`api`] | `create api`, `add api` |
//! | [`controller`] | `add controller` |
//! | [`version`] | `add version` |
//! | [`remove`] | `remove api`, `remove controller`, `remove version` |
//! | [`edit`] | `edit` |
//! | [`status`] | `status` |

pub mod api;
pub mod controller;
mod conversion;
pub mod edit;
pub mod new;
pub(crate) mod registration;
pub mod remove;
pub mod status;
pub(crate) mod targets;
pub mod version;
