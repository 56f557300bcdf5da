//! Changing the namespaces of a running manager.
//!
//! Every watch changes over to a cache of the new namespaces once that is filled: objects in removed namespaces are
//! reported as deleted, those in new ones as initial, and all others are reconciled once more. Scopes of kinds that
//! name their namespaces do not change, nor does what [`Client::informer`](crate::Client::informer) returned before.

use kubewright_informer::Namespaces;

use super::Manager;

/// All namespaces are cached, so that none can be removed. Use [`Manager::set_namespaces`].
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// # let cluster = kubewright_testing::TestCluster::start().await;
/// # let client = cluster.client();
/// use kubewright_controller::{AllNamespaces, Manager};
///
/// let manager = Manager::new(client);
/// assert_eq!(manager.remove_namespace("shop"), Err(AllNamespaces));
/// manager.set_namespaces(["shop", "bank"]);
/// assert_eq!(manager.remove_namespace("shop"), Ok(()));
/// assert_eq!(manager.namespaces().unwrap(), ["bank"]);
/// # });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all namespaces are cached, so none can be removed: use set_namespaces()")]
pub struct AllNamespaces;

impl Manager {
    /// Returns the cached namespaces; `None` for all.
    pub fn namespaces(&self) -> Option<Vec<String>> {
        self.caches().namespaces()
    }

    /// Restricts the caches to these namespaces.
    pub fn set_namespaces<N: Into<String>>(&self, names: impl IntoIterator<Item = N>) {
        self.caches().set_namespaces(Namespaces::these(names));
    }

    /// Caches all namespaces.
    pub fn set_all_namespaces(&self) {
        self.caches().set_namespaces(Namespaces::All);
    }

    /// Adds a namespace to the caches.
    pub fn add_namespace(&self, name: &str) {
        if let Some(mut names) = self.namespaces() {
            names.push(name.to_owned());
            self.set_namespaces(names);
        }
    }

    /// Removes a namespace from the caches.
    ///
    /// # Errors
    ///
    /// Fails if all namespaces are cached.
    pub fn remove_namespace(&self, name: &str) -> Result<(), AllNamespaces> {
        let mut names = self.namespaces().ok_or(AllNamespaces)?;
        names.retain(|other| other != name);
        self.set_namespaces(names);
        Ok(())
    }
}
