//! [`ListerWatcher`]: the source of a reflector's bytes.
//!
//! | module | contents |
//! |---|---|
//! | `client` | [`KubeListerWatcher`]: a cluster, or the embedded server, through [`kube::Client`] |
//! | [`replay`] | [`Replay`](replay::Replay): recorded responses, faults included |

pub(crate) mod client;
pub mod replay;

use std::time::Duration;

use async_trait::async_trait;
use kubewright_client::stream::{ByteStream, OpenError};

pub use client::{KubeListerWatcher, Projection, Selection};

/// Lists and watches one resource.
///
/// The result is the body as the server sends it, in JSON.
#[async_trait]
pub trait ListerWatcher: Send + Sync + 'static {
    /// Begins a list.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached.
    async fn list(&self, request: ListRequest) -> Result<ByteStream, OpenError>;

    /// Begins a watch.
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the request or cannot be reached.
    async fn watch(&self, request: WatchRequest) -> Result<ByteStream, OpenError>;

    /// Reports whether a watch may begin with the existing objects (`sendInitialEvents`).
    fn supports_watch_list(&self) -> bool {
        true
    }
}

/// The parameters of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// The oldest acceptable resource version. `0` accepts anything the server has at hand; empty requests the newest.
    pub resource_version: String,
    /// The maximum number of items.
    pub limit: Option<u32>,
    /// The token of the page to continue with.
    pub continue_token: String,
}

/// The parameters of a watch. Bookmarks are always requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchRequest {
    /// The resource version to start after.
    pub resource_version: String,
    /// True to begin with the existing objects, and to mark their end with a bookmark.
    pub send_initial_events: bool,
    /// The time after which the server ends the watch.
    pub timeout: Duration,
}
