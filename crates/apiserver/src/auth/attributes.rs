//! What an authorizer gets to see of a request, and how a refusal is told.

use http::Method;
use kubewright_machinery::{Status, go, gvk::GroupResource, status};

use crate::request::{RequestInfo, UserInfo, Verb, query::Query};

/// A request as authorization rules speak of it.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// Who is asking.
    pub user: &'a UserInfo,
    /// Where the request points.
    pub info: &'a RequestInfo,
    /// The method, which is the verb of requests that are not for resources.
    pub method: &'a Method,
    /// The query parameters, for the selectors.
    pub query: &'a Query,
}

impl<'a> Attributes<'a> {
    /// From the parts of a request.
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

    /// `list` for resources; the method in lower case for other paths.
    pub fn verb(&self) -> String {
        if self.info.is_resource {
            self.info.verb.to_string()
        } else {
            self.method.as_str().to_ascii_lowercase()
        }
    }

    /// Whether the path names a resource.
    pub fn is_resource(&self) -> bool {
        self.info.is_resource
    }

    /// The group, empty for the core group.
    pub fn group(&self) -> &'a str {
        &self.info.group
    }

    /// `v1`
    pub fn version(&self) -> &'a str {
        &self.info.version
    }

    /// The namespace, or empty.
    pub fn namespace(&self) -> &'a str {
        &self.info.namespace
    }

    /// `pods`
    pub fn resource(&self) -> &'a str {
        &self.info.resource
    }

    /// `status`, or empty.
    pub fn subresource(&self) -> &'a str {
        &self.info.subresource
    }

    /// `pods/status`, as the rules of roles name it.
    pub fn resource_and_subresource(&self) -> String {
        match (self.resource(), self.subresource()) {
            (resource, "") => resource.to_owned(),
            (resource, subresource) => format!("{resource}/{subresource}"),
        }
    }

    /// The object's name: that of the path, or the only one that a field selector lets through.
    pub fn name(&self) -> &'a str {
        match self.info.name.as_str() {
            "" => &self.info.selected_name,
            name => name,
        }
    }

    /// The decoded path.
    pub fn path(&self) -> &'a str {
        &self.info.path
    }

    /// The label selector of a list, watch or deletecollection, as it was given.
    pub fn label_selector(&self) -> Option<&'a str> {
        self.selector("labelSelector")
    }

    /// The field selector of a list, watch or deletecollection, as it was given.
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

/// The 403 that says what was not allowed, with the authorizer's reason where it gave one.
pub fn forbidden(attributes: &Attributes<'_>, reason: &str) -> Status {
    let mut cause = escape_html(&refusal(attributes));
    if !reason.is_empty() {
        cause = format!("{cause}: {reason}");
    }
    let resource = GroupResource::new(attributes.group(), attributes.resource());
    let mut status = status::forbidden(&resource, attributes.name(), &cause);
    if attributes.resource().is_empty() {
        // Without a resource there is nothing to name before the sentence.
        status.message = format!("forbidden: {cause}");
    }
    status
}

fn refusal(attributes: &Attributes<'_>) -> String {
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

/// The message repeats what the client sent; a browser must not take it for markup.
fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
