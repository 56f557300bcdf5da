//! The attributes of a request that authorizers see, and the 403 of a denied one.

use http::Method;
use kubewright_machinery::{Status, go, gvk::GroupResource, status};

use crate::request::{RequestInfo, UserInfo, Verb, query::Query};

/// A request as authorization rules see it.
///
/// ```
/// use http::Method;
/// use kubewright_apiserver::{auth::Attributes, request::{Query, RequestInfo, UserInfo}};
///
/// let user = UserInfo { name: "alice".into(), ..UserInfo::default() };
/// let (method, query) = (Method::GET, Query::parse(Some("labelSelector=app%3Dweb")));
/// let info = RequestInfo::new(&method, "/api/v1/namespaces/shop/pods", &query);
/// let attributes = Attributes::new(&user, &info, &method, &query);
/// assert_eq!((attributes.verb().as_str(), attributes.resource()), ("list", "pods"));
/// assert_eq!(attributes.label_selector(), Some("app=web"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// The user.
    pub user: &'a UserInfo,
    /// The parsed path.
    pub info: &'a RequestInfo,
    /// The method, which is the verb of non-resource requests.
    pub method: &'a Method,
    /// The query parameters.
    pub query: &'a Query,
}

impl<'a> Attributes<'a> {
    /// Returns the attributes of a request.
    pub fn new(
        user: &'a UserInfo,
        info: &'a RequestInfo,
        method: &'a Method,
        query: &'a Query,
    ) -> Self {
        Self {
            user,
            info,
            method,
            query,
        }
    }

    /// Returns the verb: `list` for a resource, the lower-case method for other paths.
    pub fn verb(&self) -> String {
        if self.info.is_resource {
            self.info.verb.to_string()
        } else {
            self.method.as_str().to_ascii_lowercase()
        }
    }

    /// Returns whether the path names a resource.
    pub fn is_resource(&self) -> bool {
        self.info.is_resource
    }

    /// Returns the group; empty for the core group.
    pub fn group(&self) -> &'a str {
        &self.info.group
    }

    /// Returns the version, such as `v1`.
    pub fn version(&self) -> &'a str {
        &self.info.version
    }

    /// Returns the namespace, or an empty string.
    pub fn namespace(&self) -> &'a str {
        &self.info.namespace
    }

    /// Returns the resource, such as `pods`.
    pub fn resource(&self) -> &'a str {
        &self.info.resource
    }

    /// Returns the subresource, such as `status`, or an empty string.
    pub fn subresource(&self) -> &'a str {
        &self.info.subresource
    }

    /// Returns the resource as roles name it, such as `pods/status`.
    pub fn resource_and_subresource(&self) -> String {
        match (self.resource(), self.subresource()) {
            (resource, "") => resource.to_owned(),
            (resource, subresource) => format!("{resource}/{subresource}"),
        }
    }

    /// Returns the name of the object: that of the path, or the only one that a field selector allows.
    pub fn name(&self) -> &'a str {
        match self.info.name.as_str() {
            "" => &self.info.selected_name,
            name => name,
        }
    }

    /// Returns the decoded path.
    pub fn path(&self) -> &'a str {
        &self.info.path
    }

    /// Returns the label selector of a list, watch or deletecollection as it was given.
    pub fn label_selector(&self) -> Option<&'a str> {
        self.selector("labelSelector")
    }

    /// Returns the field selector of a list, watch or deletecollection as it was given.
    pub fn field_selector(&self) -> Option<&'a str> {
        self.selector("fieldSelector")
    }

    fn selector(&self, key: &str) -> Option<&'a str> {
        let selects = matches!(
            self.info.verb,
            Verb::List | Verb::Watch | Verb::DeleteCollection
        );
        if self.info.is_resource && selects {
            self.query.first(key)
        } else {
            None
        }
    }
}

/// Returns the 403 of a denied request, with the reason of the authorizer if it gave one.
pub fn forbidden(attributes: &Attributes<'_>, reason: &str) -> Status {
    let mut cause = escape_html(&denial(attributes));
    if !reason.is_empty() {
        cause = format!("{cause}: {reason}");
    }
    let resource = GroupResource::new(attributes.group(), attributes.resource());
    let mut status = status::forbidden(&resource, attributes.name(), &cause);
    if attributes.resource().is_empty() {
        // Without a resource there is nothing to name before the message.
        status.message = format!("forbidden: {cause}");
    }
    status
}

fn denial(attributes: &Attributes<'_>) -> String {
    let (user, verb) = (go::quote(&attributes.user.name), attributes.verb());
    if !attributes.is_resource() {
        return format!(
            "User {user} cannot {verb} path {}",
            go::quote(attributes.path())
        );
    }
    let resource = go::quote(&attributes.resource_and_subresource());
    let group = go::quote(attributes.group());
    let what = format!("User {user} cannot {verb} resource {resource} in API group {group}");
    match attributes.namespace() {
        "" => format!("{what} at the cluster scope"),
        namespace => format!("{what} in the namespace {}", go::quote(namespace)),
    }
}

/// Escapes what the client sent, so that a browser does not interpret it as markup.
fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
