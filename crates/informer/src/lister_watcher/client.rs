//! [`KubeListerWatcher`]: a cluster, or the embedded server, through [`kube::Client`].

use async_trait::async_trait;
use kube::core::ApiResource;
use kubewright_client::stream::{ByteStream, OpenError, open, open_watch};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{ListRequest, ListerWatcher, WatchRequest};

/// The objects of a resource that are requested, and how much of them.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::time::Duration;
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_informer::{Scope, Selection, SharedInformerFactory};
///
/// let fields = Some("metadata.name=default".to_owned());
/// let selection = Selection { fields, ..Selection::default() };
/// let scope = Scope { selection: Some(selection), ..Scope::default() };
/// let factory = SharedInformerFactory::new(client);
/// let namespaces = factory.informer_in::<Namespace>(scope);
/// factory.start();
/// namespaces.wait_for_sync(Duration::from_secs(10)).await.unwrap();
/// assert_eq!(namespaces.indexer().len(), 1);
/// # });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selection {
    /// A label selector: `app=web,tier!=db`.
    pub labels: Option<String>,
    /// A field selector: `spec.nodeName=n1`.
    pub fields: Option<String>,
    /// The requested part of each object.
    pub projection: Projection,
}

/// The requested part of each object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Projection {
    /// The whole object.
    #[default]
    Whole,
    /// The metadata only.
    Metadata,
}

/// Lists and watches through a [`kube::Client`].
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use std::{sync::Arc, time::Duration};
/// use k8s_openapi::api::core::v1::Namespace;
/// use kube::core::ApiResource;
/// use kubewright_informer::{InformerConfig, KubeListerWatcher, Selection, SharedInformer};
///
/// let resource = ApiResource::erase::<Namespace>(&());
/// let source = KubeListerWatcher::new(client, &resource, None, Selection::default());
/// let informer =
///     SharedInformer::<Namespace>::new(resource, vec![Arc::new(source)], InformerConfig::default());
/// informer.start();
/// informer.wait_for_sync(Duration::from_secs(10)).await.unwrap();
/// assert!(informer.lister().get("default").unwrap().is_some());
/// # });
/// ```
#[derive(Clone)]
pub struct KubeListerWatcher {
    client: kube::Client,
    path: String,
    selection: Selection,
}

const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

impl KubeListerWatcher {
    /// Selects the objects of a resource, in one namespace or in all.
    pub fn new(
        client: kube::Client,
        resource: &ApiResource,
        namespace: Option<&str>,
        selection: Selection,
    ) -> Self {
        let root = if resource.group.is_empty() {
            "/api"
        } else {
            "/apis"
        };
        let namespace = namespace
            .map(|namespace| format!("/namespaces/{}", utf8_percent_encode(namespace, QUERY)))
            .unwrap_or_default();
        Self {
            client,
            path: format!(
                "{root}/{}{namespace}/{}",
                resource.api_version, resource.plural
            ),
            selection,
        }
    }

    fn accept(&self, list: bool) -> &'static str {
        match (self.selection.projection, list) {
            (Projection::Whole, _) => "application/json",
            (Projection::Metadata, true) => {
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
            }
            (Projection::Metadata, false) => {
                "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
            }
        }
    }

    fn path<'a>(&'a self, parameters: impl IntoIterator<Item = (&'a str, String)>) -> String {
        let selectors = [
            ("labelSelector", self.selection.labels.clone()),
            ("fieldSelector", self.selection.fields.clone()),
        ];
        let selectors = selectors
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        let mut path = self.path.clone();
        let mut separator = '?';
        for (name, value) in parameters.into_iter().chain(selectors) {
            if value.is_empty() {
                continue;
            }
            path.push(separator);
            path.push_str(name);
            path.push('=');
            path.extend(utf8_percent_encode(&value, QUERY));
            separator = '&';
        }
        path
    }
}

#[async_trait]
impl ListerWatcher for KubeListerWatcher {
    async fn list(&self, request: ListRequest) -> Result<ByteStream, OpenError> {
        let path = self.path([
            ("resourceVersion", request.resource_version),
            (
                "limit",
                request.limit.map(|n| n.to_string()).unwrap_or_default(),
            ),
            ("continue", request.continue_token),
        ]);
        open(&self.client, &path, self.accept(true)).await
    }

    async fn watch(&self, request: WatchRequest) -> Result<ByteStream, OpenError> {
        let initial = if request.send_initial_events {
            ("true".to_owned(), "NotOlderThan".to_owned())
        } else {
            Default::default()
        };
        let path = self.path([
            ("watch", "true".to_owned()),
            ("allowWatchBookmarks", "true".to_owned()),
            ("resourceVersion", request.resource_version),
            ("timeoutSeconds", request.timeout.as_secs().to_string()),
            ("sendInitialEvents", initial.0),
            ("resourceVersionMatch", initial.1),
        ]);
        open_watch(&self.client, &path, self.accept(false)).await
    }
}
