//! [`ClusterNamespaces`]: the namespaces of the cluster.

use std::time::Duration;

use http::Request;
use kube::Client;
use kubewright_apiserver::{
    admission::{NamespacePhase, Namespaces},
    boxed_async,
};
use kubewright_machinery::{Status, status};
use serde_json::Value;

use super::cache::Cache;

/// The lifetime of a cached namespace.
const LIFETIME: Duration = Duration::from_secs(1);
/// The time limit of a read.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Reads namespaces from the API server of the cluster.
pub(crate) struct ClusterNamespaces {
    client: Client,
    active: Cache<String, ()>,
}

impl ClusterNamespaces {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            active: Cache::new(LIFETIME),
        }
    }
}

#[boxed_async]
impl Namespaces for ClusterNamespaces {
    async fn phase(&self, name: &str) -> Result<Option<NamespacePhase>, Status> {
        if self.active.get(&name.to_owned()).is_some() {
            return Ok(Some(NamespacePhase::Active));
        }
        let request = Request::get(format!("/api/v1/namespaces/{name}"));
        let request = request.body(Vec::new()).map_err(status::internal)?;
        let answer = tokio::time::timeout(TIMEOUT, self.client.request::<Value>(request)).await;
        let answer = answer.map_err(|_| {
            status::internal("the API server of the cluster did not answer in time")
        })?;
        match answer {
            Ok(namespace) if namespace["metadata"]["deletionTimestamp"].is_string() => {
                Ok(Some(NamespacePhase::Terminating))
            }
            Ok(_) => {
                self.active.insert(name.to_owned(), ());
                Ok(Some(NamespacePhase::Active))
            }
            Err(kube::Error::Api(error)) if error.code == 404 => Ok(None),
            Err(error) => Err(status::internal(error.to_string())),
        }
    }
}
