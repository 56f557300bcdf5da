//! Namespaces that change while the manager runs.
//!
//! Every watch changes over to a cache of the new namespaces once that is filled: objects in namespaces that were removed
//! leave with delete events, those of new ones come as objects that were there; those in between are looked at once more.
//! Scopes of kinds that name their namespaces stay as they are, and so does what
//! [`Client::informer`](crate::Client::informer) gave before.

use kubewright_informer::Namespaces;

use super::Manager;

/// All namespaces are cached, so that none can be removed: use [`Manager::set_namespaces`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("all namespaces are cached: none can be removed")]
pub struct AllNamespaces;

impl Manager {
    /// In which namespaces objects are cached; `None` for all of them.
    pub fn namespaces(&self) -> Option<Vec<String>> {
        self.caches().namespaces()
    }

    /// Caches objects in these namespaces only, from now on.
    pub fn set_namespaces<N: Into<String>>(&self, names: impl IntoIterator<Item = N>) {
        self.caches().set_namespaces(Namespaces::these(names));
    }

    /// Caches objects in all namespaces from now on.
    pub fn set_all_namespaces(&self) {
        self.caches().set_namespaces(Namespaces::All);
    }

    /// Caches objects in this namespace too.
    pub fn add_namespace(&self, name: &str) {
        if let Some(mut names) = self.namespaces() {
            names.push(name.to_owned());
            self.set_namespaces(names);
        }
    }

    /// Caches objects in this namespace no more.
    pub fn remove_namespace(&self, name: &str) -> Result<(), AllNamespaces> {
        let mut names = self.namespaces().ok_or(AllNamespaces)?;
        names.retain(|other| other != name);
        self.set_namespaces(names);
        Ok(())
    }
}
