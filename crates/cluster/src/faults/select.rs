//! [`Match`]: selects the requests that a fault affects.

use kube::Resource;
use kubewright_apiserver::request::{RequestInfo, Verb};

/// Selects the requests that a fault affects. `None` selects all.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kubewright_apiserver::request::Verb;
/// use kubewright_cluster::Match;
///
/// let update = Match::verb(Verb::Update).resource("configmaps").name("colours");
/// let status = Match::kind::<Deployment>().with_verb(Verb::Patch).subresource("status");
/// assert_eq!(status.resource.as_deref(), Some("deployments"));
/// # let _ = update;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// The verb.
    pub verb: Option<Verb>,
    /// The API group; empty for the core group.
    pub group: Option<String>,
    /// The resource, such as `configmaps`.
    pub resource: Option<String>,
    /// The subresource, such as `status`; empty for the object itself.
    pub subresource: Option<String>,
    /// The namespace.
    pub namespace: Option<String>,
    /// The name of the object. Creations have none, since the name is in their body.
    pub name: Option<String>,
    /// The beginning of the `User-Agent` of the client.
    pub client: Option<String>,
}

impl Match {
    /// Selects requests with a verb.
    pub fn verb(verb: Verb) -> Self {
        Self::default().with_verb(verb)
    }

    /// Selects requests for objects of a type.
    pub fn kind<K: Resource<DynamicType = ()>>() -> Self {
        let mut selection = Self::default().resource(K::plural(&()));
        selection.group = Some(K::group(&()).into_owned());
        selection
    }

    /// Restricts the selection to a verb.
    #[must_use]
    pub fn with_verb(mut self, verb: Verb) -> Self {
        self.verb = Some(verb);
        self
    }

    /// Restricts the selection to a resource.
    #[must_use]
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resource = Some(resource.into());
        self
    }

    /// Restricts the selection to a subresource.
    #[must_use]
    pub fn subresource(mut self, subresource: impl Into<String>) -> Self {
        self.subresource = Some(subresource.into());
        self
    }

    /// Restricts the selection to a namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Restricts the selection to an object.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Restricts the selection to clients whose `User-Agent` begins with this text.
    #[must_use]
    pub fn client(mut self, user_agent: impl Into<String>) -> Self {
        self.client = Some(user_agent.into());
        self
    }

    pub(super) fn fits(&self, info: &RequestInfo, user_agent: &str) -> bool {
        let fits = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        self.verb.is_none_or(|verb| verb == info.verb)
            && fits(&self.group, &info.group)
            && fits(&self.resource, &info.resource)
            && fits(&self.subresource, &info.subresource)
            && fits(&self.namespace, &info.namespace)
            && fits(&self.name, &info.name)
            && self
                .client
                .as_deref()
                .is_none_or(|client| user_agent.starts_with(client))
    }
}
