//! [`ListerWatcher`]: where a reflector gets its bytes.
//!
//! | module | what it holds |
//! |---|---|
//! | [`client`] | [`KubeListerWatcher`]: a cluster, or the embedded server, through [`kube::Client`] |
//! | [`replay`] | [`Replay`]: answers written down beforehand, faults included |

pub mod client;
pub mod replay;

use std::time::Duration;

use futures_util::future::BoxFuture;
use kubewright_client::stream::{ByteStream, OpenError};

pub use client::{KubeListerWatcher, Projection, Selection};
pub use replay::Replay;

/// Lists and watches one resource. What it answers is the body as the server sends it, in JSON.
pub trait ListerWatcher: Send + Sync + 'static {
    /// Begins a list.
    fn list(&self, request: ListRequest) -> BoxFuture<'_, Result<ByteStream, OpenError>>;

    /// Begins a watch.
    fn watch(&self, request: WatchRequest) -> BoxFuture<'_, Result<ByteStream, OpenError>>;

    /// Whether a watch may begin with the objects there are (`sendInitialEvents`).
    fn supports_watch_list(&self) -> bool {
        true
    }
}

/// What a list asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// Not older than that. `0` is anything the server has at hand, empty is the newest there is.
    pub resource_version: String,
    /// At most that many items.
    pub limit: Option<u32>,
    /// The page to go on with.
    pub continue_token: String,
}

/// What a watch asks for. Bookmarks are always asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchRequest {
    /// From there on.
    pub resource_version: String,
    /// Begin with the objects there are, and mark their end with a bookmark.
    pub send_initial_events: bool,
    /// The server is to end the watch after that time.
    pub timeout: Duration,
}
