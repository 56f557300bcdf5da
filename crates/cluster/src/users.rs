//! [`ClusterUser`]: a user that credentials are issued for.

use std::{fmt, str::FromStr};

/// A user of a cluster: a name, and the groups of its certificate.
///
/// ```
/// use kubewright_cluster::ClusterUser;
///
/// let alice: ClusterUser = "alice=dev,ops".parse().unwrap();
/// assert_eq!((alice.name(), alice.groups()), ("alice", &["dev".to_owned(), "ops".to_owned()][..]));
///
/// let web: ClusterUser = "system:serviceaccount:shop:web".parse().unwrap();
/// assert_eq!(web.service_account(), Some(("shop", "web")));
/// assert!("system:serviceaccount:shop".parse::<ClusterUser>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterUser {
    name: String,
    groups: Vec<String>,
}

/// An invalid user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterUserError {
    /// The name or a group is empty.
    #[error("expected USER or USER=GROUP,GROUP")]
    Empty,
    /// Anonymous users have no credentials.
    #[error("{0} has no credentials")]
    Anonymous(String),
    /// The name of a service account is malformed, or has groups.
    #[error("expected system:serviceaccount:NAMESPACE:NAME without groups")]
    ServiceAccount,
}

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
const NODE: &str = "system:node:";

impl ClusterUser {
    /// Creates a user with groups. Service accounts have the groups of their token only; nodes are in `system:nodes`.
    ///
    /// # Errors
    ///
    /// Fails if the name or a group is empty, or if no user can have the name.
    pub fn new<G: Into<String>>(
        name: impl Into<String>,
        groups: impl IntoIterator<Item = G>,
    ) -> Result<Self, ClusterUserError> {
        let name = name.into();
        let mut groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        if name.is_empty() || groups.iter().any(String::is_empty) {
            return Err(ClusterUserError::Empty);
        }
        if name == "system:anonymous" {
            return Err(ClusterUserError::Anonymous(name));
        }
        if name.starts_with(SERVICE_ACCOUNT) {
            let user = Self { name, groups };
            return match user.service_account().is_some() && user.groups.is_empty() {
                true => Ok(user),
                false => Err(ClusterUserError::ServiceAccount),
            };
        }
        if name.starts_with(NODE) && !groups.iter().any(|group| group == "system:nodes") {
            groups.push("system:nodes".to_owned());
        }
        Ok(Self { name, groups })
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the groups.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// Returns the namespace and the name of a service account, if the user is one.
    pub fn service_account(&self) -> Option<(&str, &str)> {
        let account = self.name.strip_prefix(SERVICE_ACCOUNT)?;
        let (namespace, name) = account.split_once(':')?;
        let complete = !namespace.is_empty() && !name.is_empty() && !name.contains(':');
        complete.then_some((namespace, name))
    }
}

impl FromStr for ClusterUser {
    type Err = ClusterUserError;

    fn from_str(text: &str) -> Result<Self, ClusterUserError> {
        match text.split_once('=') {
            None => Self::new(text, [""; 0]),
            Some((name, groups)) => Self::new(name, groups.split(',')),
        }
    }
}

impl fmt::Display for ClusterUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_users_are_errors() {
        for text in ["", "=dev", "alice=", "alice=dev,", "system:anonymous"] {
            assert!(text.parse::<ClusterUser>().is_err(), "{text}");
        }
        for text in [
            "system:serviceaccount:",
            "system:serviceaccount::web",
            "system:serviceaccount:shop:",
            "system:serviceaccount:shop:web:x",
            "system:serviceaccount:shop:web=dev",
        ] {
            let error = text.parse::<ClusterUser>();
            assert_eq!(error, Err(ClusterUserError::ServiceAccount), "{text}");
        }
    }

    #[test]
    fn nodes_are_nodes() {
        let node: ClusterUser = "system:node:n1".parse().unwrap();
        assert_eq!(node.groups(), ["system:nodes"]);
        let node: ClusterUser = "system:node:n1=system:nodes".parse().unwrap();
        assert_eq!(node.groups(), ["system:nodes"]);
    }
}
