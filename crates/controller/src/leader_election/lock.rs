//! The Lease as a lock: read, created, updated by compare-and-swap.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{Api, Client, api::PostParams};
use thiserror::Error;

use super::config::ElectionConfig;

/// A failed request about the Lease.
#[derive(Debug, Error)]
pub(super) enum LockError {
    /// The server rejected it, or could not be reached.
    #[error(transparent)]
    Kube(#[from] kube::Error),
    /// No response in time. The request may have been carried out.
    #[error("no response within {0:?}")]
    Timeout(Duration),
}

/// One Lease.
#[derive(Clone)]
pub(super) struct LeaseLock {
    api: Api<Lease>,
    name: String,
    labels: BTreeMap<String, String>,
    timeout: Duration,
}

impl LockError {
    /// Reports whether another writer updated the Lease first.
    pub(super) fn is_conflict(&self) -> bool {
        kubewright_client::is_conflict(self)
    }
}

impl LeaseLock {
    pub(super) fn new(client: Client, config: &ElectionConfig) -> Self {
        Self {
            api: Api::namespaced(client, &config.namespace),
            name: config.name.clone(),
            labels: config.labels.clone(),
            timeout: config.request_timeout(),
        }
    }

    pub(super) fn api(&self) -> &Api<Lease> {
        &self.api
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) async fn get(&self) -> Result<Option<Lease>, LockError> {
        self.in_time(self.api.get_opt(&self.name)).await
    }

    pub(super) async fn create(&self, spec: LeaseSpec) -> Result<Lease, LockError> {
        let mut lease = Lease::default();
        lease.metadata.name = Some(self.name.clone());
        if !self.labels.is_empty() {
            lease.metadata.labels = Some(self.labels.clone());
        }
        lease.spec = Some(spec);
        self.in_time(self.api.create(&PostParams::default(), &lease))
            .await
    }

    /// Writes the record if the Lease has not changed since it was read. `read` is not modified, so that a failure
    /// leaves no trace in it.
    pub(super) async fn update(&self, read: &Lease, spec: LeaseSpec) -> Result<Lease, LockError> {
        let mut lease = read.clone();
        lease.spec = Some(spec);
        if !self.labels.is_empty() {
            let labels = lease.metadata.labels.get_or_insert_default();
            labels.extend(self.labels.clone());
        }
        let params = PostParams::default();
        self.in_time(self.api.replace(&self.name, &params, &lease))
            .await
    }

    async fn in_time<T>(
        &self,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, LockError> {
        match tokio::time::timeout(self.timeout, request).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(LockError::Timeout(self.timeout)),
        }
    }
}
