//! The context of a request: user, query, warnings.

use std::{fmt, sync::Arc};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{info::RequestInfo, query::Query};
use crate::{
    admission::AdmissionChain,
    audit::{Level, record::Record},
    auth::{Attributes, Authorizer, Decision},
    registry::Resource,
};

/// An authenticated user.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
///
/// use http::Request;
/// use kubewright_apiserver::{ApiServer, Body, registry::Registry, request::UserInfo};
///
/// let alice = UserInfo {
///     name: "alice".into(),
///     groups: vec!["system:authenticated".into()],
///     ..UserInfo::default()
/// };
/// // A request in process can be made as any user.
/// let server = ApiServer::builder(Registry::default()).build();
/// let request = Request::get("/version").body(Body::empty()).unwrap();
/// assert_eq!(server.handle_as(Arc::new(alice), request).await.status(), 200);
/// # });
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// The name: `system:serviceaccount:ns:name`, `alice`.
    pub name: String,
    /// The uid, or empty.
    pub uid: String,
    /// The groups, such as `system:authenticated`.
    pub groups: Vec<String>,
    /// Extra attributes from the authenticator.
    pub extra: Vec<(String, Vec<String>)>,
}

/// The warnings of a response, collected while the request is handled. Clones share one list.
///
/// ```
/// use kubewright_apiserver::request::Warnings;
///
/// let warnings = Warnings::default();
/// warnings.add("spec.old is deprecated");
/// warnings.add("spec.old is deprecated");
/// assert_eq!(warnings.take(), ["spec.old is deprecated"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Warnings(Arc<Mutex<Vec<String>>>);

/// The number of warnings after which further ones are dropped. Far fewer fit into the headers of a response.
const MAX_WARNINGS: usize = 1000;

/// The context of a request, which every handler gets.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_apiserver::{
///     admission::AdmissionChain,
///     auth::AlwaysAllow,
///     registry::{Handlers, Resource, ResourceSpec},
///     request::{Annotations, Query, RequestContext, RequestInfo, Warnings},
/// };
/// use kubewright_machinery::gvk::GroupVersionKind;
///
/// let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
/// let path = "/apis/sky.example.com/v1/namespaces/north/comets";
/// let query = Query::parse(None);
/// let cx = RequestContext {
///     info: Arc::new(RequestInfo::new(&http::Method::GET, path, &query)),
///     query: Arc::new(query),
///     user: Arc::default(),
///     user_agent: "kubectl/v1.34".into(),
///     warnings: Warnings::default(),
///     resource: Arc::new(Resource::computed(ResourceSpec::new(kind, "comets"), Handlers::default())),
///     admission: AdmissionChain::default(),
///     authorizer: Arc::new(AlwaysAllow),
///     annotations: Annotations::default(),
///     deadline: None,
/// };
/// assert_eq!(cx.namespace(), "north");
/// assert_eq!(cx.field_manager(""), "kubectl");
/// ```
#[derive(Clone)]
pub struct RequestContext {
    /// The parsed path.
    pub info: Arc<RequestInfo>,
    /// The query parameters.
    pub query: Arc<Query>,
    /// The authenticated user.
    pub user: Arc<UserInfo>,
    /// The `User-Agent` header.
    pub user_agent: Arc<str>,
    /// Collects warnings for the response.
    pub warnings: Warnings,
    /// The resource of the request.
    pub resource: Arc<Resource>,
    /// The admission chain.
    pub admission: AdmissionChain,
    /// The authorizer, for decisions that depend on more than the request itself. See also
    /// [`authorize`](Self::authorize).
    pub authorizer: Arc<dyn Authorizer>,
    /// Collects annotations for the audit event.
    pub annotations: Annotations,
    /// The time at which the request is given up, unless it may last.
    pub deadline: Option<Instant>,
}

/// The annotations of an audit event, collected while the request is handled. Clones share one list. Without audit there is
/// no list, and adding costs nothing.
///
/// ```
/// use kubewright_apiserver::request::Annotations;
///
/// let annotations = Annotations::recording();
/// annotations.add("authorization.k8s.io/decision", || "allow".to_owned());
/// annotations.add("authorization.k8s.io/decision", || "forbid".to_owned());
/// assert_eq!(annotations.take(), [("authorization.k8s.io/decision".to_owned(), "allow".to_owned())]);
/// assert!(Annotations::default().take().is_empty());
/// ```
#[derive(Clone, Default)]
pub struct Annotations(Option<Arc<Record>>);

impl fmt::Debug for Annotations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recording = self.0.is_some();
        let mut text = f.debug_struct("Annotations");
        text.field("recording", &recording).finish_non_exhaustive()
    }
}

impl Annotations {
    /// Returns an empty list that records.
    pub fn recording() -> Self {
        Self(Some(Arc::default()))
    }

    /// Returns the annotations of a record.
    pub(crate) fn of(record: Arc<Record>) -> Self {
        Self(Some(record))
    }

    /// Returns the record that the annotations belong to.
    pub(crate) fn record(&self) -> Option<&Arc<Record>> {
        self.0.as_ref()
    }

    /// Adds an annotation, unless there is one with the key. The value is computed only if it is recorded.
    pub fn add(&self, key: &str, value: impl FnOnce() -> String) {
        let Some(record) = &self.0 else { return };
        if record.annotate(key, value).is_err() {
            tracing::warn!(key, "an audit annotation is already set");
        }
    }

    /// Adds an annotation to events of a level or a higher one.
    pub fn add_at(&self, level: Level, key: &str, value: impl FnOnce() -> String) {
        if self.0.as_ref().is_some_and(|record| record.is_at(level)) {
            self.add(key, value);
        }
    }

    /// Removes and returns all annotations, sorted by their keys.
    pub fn take(&self) -> Vec<(String, String)> {
        match &self.0 {
            Some(record) => record.take_annotations(),
            None => Vec::new(),
        }
    }
}

impl Warnings {
    /// Adds a warning unless it is a duplicate.
    pub fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut list = self.0.lock();
        if !text.is_empty() && list.len() < MAX_WARNINGS && !list.contains(&text) {
            list.push(text);
        }
    }

    /// Adds several warnings.
    pub fn extend(&self, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.add(text));
    }

    /// Returns whether there are no warnings.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Removes and returns all warnings.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl RequestContext {
    /// Returns the namespace of the request, or an empty string.
    pub fn namespace(&self) -> &str {
        &self.info.namespace
    }

    /// Decides about a permission without which the request fails, in addition to that for the request itself. An
    /// [`AccessObserver`](crate::auth::AccessObserver) of the server learns of it.
    pub async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let decision = self.authorizer.authorize(attributes).await;
        self.authorizer.decided(attributes, &decision);
        decision
    }

    /// Returns the name of the field manager: the option, or the user agent up to the first `/`.
    pub fn field_manager(&self, option: &str) -> String {
        const LONGEST: usize = 128;
        if !option.is_empty() {
            return option.to_owned();
        }
        let prefix = self.user_agent.split('/').next().unwrap_or_default();
        let mut out = String::new();
        for c in prefix.chars().filter(|c| !c.is_control()) {
            if out.len() + c.len_utf8() > LONGEST {
                break;
            }
            out.push(c);
        }
        out
    }
}
