//! [`RestClient`]: any path of the API, any verb.
//!
//! The clients for objects ([`ClientSet`](crate::ClientSet), [`DynamicClient`](crate::DynamicClient),
//! [`MetadataClient`](crate::MetadataClient)) stand on what is here.
//!
//! | module | what it holds |
//! |---|---|
//! | [`request`] | [`RestRequest`]: a request, put together piece by piece |
//! | [`answer`] | [`Answer`]: what came back |
//! | `refusal` | what is no answer, as a `Status` |
//! | [`path`] | paths of resources, and which names may stand in them |
//! | [`watch`] | [`Watch`]: events, decoded while they arrive |

pub mod answer;
pub mod path;
pub(crate) mod refusal;
pub mod request;
pub mod watch;

pub use answer::Answer;
pub use request::RestRequest;
pub use watch::Watch;

use http::Method;
use kubewright_machinery::gvk::GroupVersion;

/// REST by path: a verb, then what it is about, then [`send`](RestRequest::send).
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
    /// A client whose paths begin at the root.
    pub fn new(client: kube::Client) -> Self {
        Self {
            client,
            base: String::new(),
        }
    }

    /// A client whose resources are those of a group and version.
    #[must_use]
    pub fn group_version(mut self, version: &GroupVersion) -> Self {
        self.base = path::of_group_version(version);
        self
    }

    /// Reads.
    pub fn get(&self) -> RestRequest {
        self.verb(Method::GET)
    }

    /// Creates.
    pub fn post(&self) -> RestRequest {
        self.verb(Method::POST)
    }

    /// Replaces.
    pub fn put(&self) -> RestRequest {
        self.verb(Method::PUT)
    }

    /// Changes; the content type of the body says how.
    pub fn patch(&self) -> RestRequest {
        self.verb(Method::PATCH)
    }

    /// Deletes.
    pub fn delete(&self) -> RestRequest {
        self.verb(Method::DELETE)
    }

    /// Any other verb.
    pub fn verb(&self, method: Method) -> RestRequest {
        RestRequest::new(self.client.clone(), method, self.base.clone())
    }

    /// The client underneath.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }
}
