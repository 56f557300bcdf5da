//! The 403 of a request that is not allowed.

use kubewright_machinery::{Status, go, gvk::GroupResource, status};

use super::{Attributes, Reason, Target};

/// Returns the 403 of a request that is not allowed, with the reason of the authorizer if it gave one.
///
/// ```
/// use kubewright_apiserver::{
///     auth::{Attributes, Reason, forbidden},
///     request::UserInfo,
/// };
///
/// let alice = UserInfo { name: "alice".into(), ..UserInfo::default() };
/// let status = forbidden(&Attributes::of_path(&alice, "get", "/metrics"), &Reason::default());
/// assert_eq!(status.message, r#"forbidden: User "alice" cannot get path "/metrics""#);
/// ```
pub fn forbidden(attributes: &Attributes<'_>, reason: &Reason) -> Status {
    let mut cause = escape_html(&denial(attributes));
    if !reason.is_empty() {
        cause = format!("{cause}: {reason}");
    }
    let (resource, name) = match &attributes.target {
        Target::Resource(target) => (
            GroupResource::new(target.group, target.resource),
            target.name,
        ),
        Target::Path(_) => (GroupResource::new("", ""), ""),
    };
    let mut status = status::forbidden(&resource, name, &cause);
    if resource.resource.is_empty() {
        // Without a resource there is nothing to name before the message.
        status.message = format!("forbidden: {cause}");
    }
    status
}

fn denial(attributes: &Attributes<'_>) -> String {
    let (user, verb) = (go::quote(&attributes.user.name), attributes.verb);
    let target = match &attributes.target {
        Target::Path(path) => {
            return format!("User {user} cannot {verb} path {}", go::quote(path));
        }
        Target::Resource(target) => target,
    };
    let resource = go::quote(&target.with_subresource());
    let group = go::quote(target.group);
    let what = format!("User {user} cannot {verb} resource {resource} in API group {group}");
    match target.namespace {
        "" => format!("{what} at the cluster scope"),
        namespace => format!("{what} in the namespace {}", go::quote(namespace)),
    }
}

/// Escapes what the client sent, so that a browser does not interpret it as markup.
pub(crate) fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
