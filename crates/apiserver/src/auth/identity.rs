//! Users that stand for service accounts and nodes.

use kubewright_machinery::validation::{
    NameForm,
    names::{name_is_dns_label, name_is_dns_subdomain},
};

use super::NODES;
use crate::request::UserInfo;

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
const NODE: &str = "system:node:";

/// Returns the namespace and the name of the service account that a user is.
///
/// ```
/// use kubewright_apiserver::auth::service_account;
///
/// assert_eq!(service_account("system:serviceaccount:shop:web"), Some(("shop", "web")));
/// assert_eq!(service_account("system:serviceaccount:shop:Web"), None);
/// assert_eq!(service_account("alice"), None);
/// ```
pub fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    let valid = name_is_dns_label(namespace, NameForm::Whole).is_empty()
        && name_is_dns_subdomain(name, NameForm::Whole).is_empty();
    valid.then_some((namespace, name))
}

/// Returns the groups of the service accounts in a namespace.
///
/// ```
/// use kubewright_apiserver::auth::service_account_groups;
///
/// let groups = service_account_groups("shop");
/// assert_eq!(groups, ["system:serviceaccounts", "system:serviceaccounts:shop"]);
/// ```
pub fn service_account_groups(namespace: &str) -> [String; 2] {
    const ALL: &str = "system:serviceaccounts";
    [ALL.to_owned(), format!("{ALL}:{namespace}")]
}

/// Returns the name of the node that a user is, if nodes can have that name.
pub(super) fn node(user: &str) -> Option<&str> {
    let name = user.strip_prefix(NODE)?;
    let valid = name_is_dns_subdomain(name, NameForm::Whole).is_empty();
    valid.then_some(name)
}

/// Returns the name of the node that a user is: `system:node:<name>` in the group `system:nodes`. The name may be
/// empty: the user is then an unknown node.
///
/// ```
/// use kubewright_apiserver::{auth::node_identity, request::UserInfo};
///
/// let mut kubelet = UserInfo { name: "system:node:n1".into(), ..UserInfo::default() };
/// assert_eq!(node_identity(&kubelet), None);
/// kubelet.groups.push("system:nodes".into());
/// assert_eq!(node_identity(&kubelet), Some("n1"));
/// ```
pub fn node_identity(user: &UserInfo) -> Option<&str> {
    let name = user.name.strip_prefix(NODE)?;
    let is_node = user.groups.iter().any(|group| group == NODES);
    is_node.then_some(name)
}
