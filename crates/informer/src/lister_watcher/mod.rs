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
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::{sync::Arc, time::Duration};
/// use bytes::Bytes;
/// use futures_util::stream;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube::core::ApiResource;
/// use kubewright_client::{BoxError, stream::{ByteStream, OpenError}};
/// use kubewright_informer::{InformerConfig, ListRequest, ListerWatcher, SharedInformer, WatchRequest};
///
/// /// A cluster without objects, in which nothing happens.
/// struct Empty;
///
/// #[async_trait::async_trait]
/// impl ListerWatcher for Empty {
///     async fn list(&self, _: ListRequest) -> Result<ByteStream, OpenError> {
///         let list = Bytes::from_static(br#"{"metadata":{"resourceVersion":"7"},"items":[]}"#);
///         Ok(Box::pin(stream::iter([Ok::<Bytes, BoxError>(list)])))
///     }
///
///     async fn watch(&self, _: WatchRequest) -> Result<ByteStream, OpenError> {
///         Ok(Box::pin(stream::pending::<Result<Bytes, BoxError>>()))
///     }
///
///     fn supports_watch_list(&self) -> bool {
///         false
///     }
/// }
///
/// let resource = ApiResource::erase::<ConfigMap>(&());
/// let maps =
///     SharedInformer::<ConfigMap>::new(resource, vec![Arc::new(Empty)], InformerConfig::default());
/// maps.start();
/// maps.wait_for_sync(Duration::from_secs(10)).await.unwrap();
/// assert_eq!(maps.resource_version().as_deref(), Some("7"));
/// # });
/// ```
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
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use futures_util::StreamExt;
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube::core::ApiResource;
/// use kubewright_client::stream::ListDecoder;
/// use kubewright_informer::{KubeListerWatcher, ListRequest, ListerWatcher, Selection};
///
/// let resource = ApiResource::erase::<Namespace>(&());
/// let source = KubeListerWatcher::new(client, &resource, None, Selection::default());
/// let request = ListRequest { limit: Some(1), ..ListRequest::default() };
/// let mut page = source.list(request).await.ok().unwrap();
/// let (mut decoder, mut count) = (ListDecoder::default(), 0);
/// while let Some(chunk) = page.next().await {
///     decoder.push(chunk.unwrap());
///     while decoder.next().unwrap().is_some() {
///         count += 1;
///     }
/// }
/// assert_eq!(count, 1);
/// # });
/// ```
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
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::time::Duration;
/// use kubewright_informer::{
///     ListerWatcher, WatchRequest, replay::{RecordedRequest, Replay, Response},
/// };
///
/// let source = Replay::new().watch(Response::empty());
/// let request = WatchRequest {
///     resource_version: "7".into(),
///     timeout: Duration::from_secs(300),
///     ..WatchRequest::default()
/// };
/// assert!(ListerWatcher::watch(&source, request.clone()).await.is_ok());
/// assert_eq!(source.requests(), [RecordedRequest::Watch(request)]);
/// # });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchRequest {
    /// The resource version to start after.
    pub resource_version: String,
    /// True to begin with the existing objects, and to mark their end with a bookmark.
    pub send_initial_events: bool,
    /// The time after which the server ends the watch.
    pub timeout: Duration,
}
