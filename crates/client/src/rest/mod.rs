//! [`RestClient`]: any path of the API, any verb.
//!
//! The clients for objects ([`ClientSet`](crate::ClientSet), [`DynamicClient`](crate::DynamicClient),
//! [`MetadataClient`](crate::MetadataClient)) are built on it.
//!
//! | module | contents |
//! |---|---|
//! | `request` | [`RestRequest`]: a request, built step by step |
//! | `response` | [`RestResponse`]: a response |
//! | `failure` | failures as a `Status` |
//! | `path` | paths of resources, and the names that they may contain |
//! | `watch` | [`WatchStream`]: events, decoded while they arrive |

pub(crate) mod failure;
pub(crate) mod path;
mod request;
pub(crate) mod response;
pub(crate) mod watch;

pub use request::RestRequest;
pub use response::RestResponse;
pub use watch::WatchStream;

use http::Method;
use kubewright_machinery::gvk::GroupVersion;

/// REST by path: choose a verb, describe the target, then [`send`](RestRequest::send).
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_client::RestClient;
/// use kubewright_machinery::gvk::GroupVersion;
/// use serde_json::{Value, json};
///
/// let rest = RestClient::new(client).group_version(&GroupVersion::new("", "v1"));
/// let map = json!({"metadata": {"name": "colours"}, "data": {"sky": "blue"}});
/// let answer = rest.post().namespace("default").resource("configmaps").json(&map).send().await.unwrap();
/// assert!(answer.was_created());
///
/// let map: Value = rest
///     .get().namespace("default").resource("configmaps").name("colours")
///     .send().await.unwrap()
///     .object().unwrap();
/// assert_eq!(map["data"]["sky"], "blue");
///
/// let version: Value = rest.get().abs_path("/version").send().await.unwrap().object().unwrap();
/// assert_eq!(version["major"], "1");
/// # });
/// ```
#[derive(Clone)]
pub struct RestClient {
    client: kube::Client,
    base: String,
}

impl RestClient {
    /// Creates a client whose paths start at the root.
    pub fn new(client: kube::Client) -> Self {
        Self {
            client,
            base: String::new(),
        }
    }

    /// Selects the group version of resources.
    #[must_use]
    pub fn group_version(mut self, version: &GroupVersion) -> Self {
        self.base = path::of_group_version(version);
        self
    }

    /// Starts a GET request.
    pub fn get(&self) -> RestRequest {
        self.verb(Method::GET)
    }

    /// Starts a POST request.
    pub fn post(&self) -> RestRequest {
        self.verb(Method::POST)
    }

    /// Starts a PUT request.
    pub fn put(&self) -> RestRequest {
        self.verb(Method::PUT)
    }

    /// Starts a PATCH request; the content type of the body determines the kind of patch.
    pub fn patch(&self) -> RestRequest {
        self.verb(Method::PATCH)
    }

    /// Starts a DELETE request.
    pub fn delete(&self) -> RestRequest {
        self.verb(Method::DELETE)
    }

    /// Starts a request with any method.
    pub fn verb(&self, method: Method) -> RestRequest {
        RestRequest::new(self.client.clone(), method, self.base.clone())
    }

    /// Returns the underlying client.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }
}
