//! [`Authorization`]: the flag for the authorizers of a local cluster.

use clap::Args;
use kubewright_cluster::AuthorizationMode;
use kubewright_scaffold::Error;

/// The flag for the authorizers of a cluster that a command starts.
#[derive(Args, Clone, Debug)]
pub(crate) struct Authorization {
    /// Authorizers to ask, in order: RBAC, Node, AlwaysAllow, AlwaysDeny
    #[arg(
        long = "authorization-mode",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "RBAC"
    )]
    modes: Vec<AuthorizationMode>,
}

impl Authorization {
    /// Returns the authorizers.
    ///
    /// # Errors
    ///
    /// Fails if one of them is named twice, as in kube-apiserver.
    pub(crate) fn modes(&self) -> Result<Vec<AuthorizationMode>, Error> {
        let mut names: Vec<String> = self.modes.iter().map(|mode| format!("{mode:?}")).collect();
        names.sort();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::new(
                "--authorization-mode names a mode more than once",
                "name each mode once, such as RBAC,AlwaysDeny",
            ));
        }
        Ok(self.modes.clone())
    }

    /// Returns whether every user may do everything.
    pub(crate) fn is_open(&self) -> bool {
        let is_open = |mode: &AuthorizationMode| matches!(mode, AuthorizationMode::AlwaysAllow);
        self.modes.iter().any(is_open)
    }
}
