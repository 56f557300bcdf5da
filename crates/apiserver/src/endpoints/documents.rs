//! [`Document`]: fixed content at a path.

use bytes::Bytes;

/// Content that a server answers `GET` of a path with, besides the API.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_apiserver::{ApiServer, Body, Document, registry::Registry};
///
/// let motto = Document::new("/motto", "text/plain", "observe, compare, act");
/// let server = ApiServer::builder(Registry::default()).document(motto).build();
/// let request = http::Request::get("/motto").body(Body::empty()).unwrap();
/// let response = server.handle(request).await;
/// assert_eq!(response.headers()["content-type"], "text/plain");
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct Document {
    /// The path, which does not name a resource.
    pub path: String,
    /// The media type. Clients that do not accept it get a 406.
    pub content_type: &'static str,
    /// The `Cache-Control` header (default: that of all answers).
    pub cache_control: Option<String>,
    /// The content.
    pub content: Bytes,
}

impl Document {
    /// Creates a document.
    pub fn new(
        path: impl Into<String>,
        content_type: &'static str,
        content: impl Into<Bytes>,
    ) -> Self {
        Self {
            path: path.into(),
            content_type,
            cache_control: None,
            content: content.into(),
        }
    }
}
