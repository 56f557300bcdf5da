//! The DNS records of the apps, outside of the cluster: a stand-in for the API of a provider.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use kubewright::controller::Result;

/// The records, by app. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Dns(Arc<Mutex<BTreeMap<String, String>>>);

impl Dns {
    /// Sets the host of an app, or removes it. Returns whether that changed anything.
    pub async fn set(&self, app: &str, host: Option<&str>) -> Result<bool> {
        let before = match host {
            Some(host) => self.records().insert(app.to_owned(), host.to_owned()),
            None => self.records().remove(app),
        };
        Ok(before.as_deref() != host)
    }

    /// Returns the host of an app.
    pub fn host(&self, app: &str) -> Option<String> {
        self.records().get(app).cloned()
    }

    fn records(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
