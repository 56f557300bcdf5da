//! [`AuthorizationMode`]: the authorizers of a server.

use std::{fmt, str::FromStr, sync::Arc};

use kubewright_apiserver::auth::{AlwaysAllow, AlwaysDeny, Authorizer, AuthorizerUnion};
use kubewright_store::Store;
use thiserror::Error;

use crate::{
    node_authorizer::NodeAuthorizer,
    rbac::{Policy, Rbac},
};

/// An authorizer of a server. Several are asked in order until one allows or denies.
///
/// ```
/// use kubewright_kube_apiserver::AuthorizationMode;
///
/// let mode: AuthorizationMode = "RBAC".parse().unwrap();
/// assert!(matches!(mode, AuthorizationMode::Rbac));
/// assert!("rbac".parse::<AuthorizationMode>().is_err());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum AuthorizationMode {
    /// Allows what roles and bindings grant, and creates those of a new cluster.
    Rbac,
    /// Allows nodes what they need for their pods: [`NodeAuthorizer`]. Enable the admission plugin `NodeRestriction` too.
    Node,
    /// Allows everything.
    AlwaysAllow,
    /// Allows nothing, except to members of `system:masters`.
    AlwaysDeny,
    /// A custom authorizer.
    Custom(Arc<dyn Authorizer>),
}

/// A mode that does not exist, or that this server does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown authorization mode {0:?}: expected RBAC, Node, AlwaysAllow or AlwaysDeny")]
pub struct UnknownMode(String);

impl FromStr for AuthorizationMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        match text {
            "RBAC" => Ok(Self::Rbac),
            "Node" => Ok(Self::Node),
            "AlwaysAllow" => Ok(Self::AlwaysAllow),
            "AlwaysDeny" => Ok(Self::AlwaysDeny),
            other => Err(UnknownMode(other.to_owned())),
        }
    }
}

impl fmt::Debug for AuthorizationMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rbac => "Rbac",
            Self::Node => "Node",
            Self::AlwaysAllow => "AlwaysAllow",
            Self::AlwaysDeny => "AlwaysDeny",
            Self::Custom(_) => "Custom",
        })
    }
}

impl AuthorizationMode {
    /// Returns the authorizer of some modes.
    pub(crate) fn authorizer(
        modes: &[Self],
        policy: &Arc<Policy>,
        store: &Arc<dyn Store>,
    ) -> Arc<dyn Authorizer> {
        let one = |mode: &Self| -> Arc<dyn Authorizer> {
            match mode {
                Self::Rbac => Arc::new(Rbac::of(policy.clone())),
                Self::Node => Arc::new(NodeAuthorizer::new(store.clone())),
                Self::AlwaysAllow => Arc::new(AlwaysAllow),
                Self::AlwaysDeny => Arc::new(AlwaysDeny),
                Self::Custom(authorizer) => authorizer.clone(),
            }
        };
        match modes {
            [mode] => one(mode),
            modes => Arc::new(AuthorizerUnion::new(modes.iter().map(one).collect())),
        }
    }
}
