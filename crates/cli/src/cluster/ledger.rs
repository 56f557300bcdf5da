//! [`LedgerClient`]: the endpoints `/kubewright/v1/` of a server.

use kube::Client;
use kubewright_ledger::ObjectRef;
use kubewright_scaffold::Error;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::refused;

/// Everything else in a parameter is escaped.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// The endpoints `/kubewright/v1/` of a server.
pub(crate) struct LedgerClient(Client);

/// The query of an endpoint.
#[derive(Default)]
pub(crate) struct LedgerQuery(Vec<(&'static str, String)>);

impl LedgerQuery {
    /// Returns the query that names an object.
    pub(crate) fn of(object: &ObjectRef) -> Self {
        Self::default()
            .with("group", &object.group)
            .with("resource", &object.resource)
            .with("namespace", &object.namespace)
            .with("name", &object.name)
    }

    /// Adds a parameter.
    pub(crate) fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.0.push((name, value.to_string()));
        self
    }

    /// Adds a parameter, if there is a value.
    pub(crate) fn with_some(self, name: &'static str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

impl LedgerClient {
    pub(crate) fn new(client: &Client) -> Self {
        Self(client.clone())
    }

    /// Returns the response of an endpoint; `None` if the server has no ledger, or does not know the requested item.
    pub(crate) async fn find(
        &self,
        endpoint: &str,
        query: LedgerQuery,
    ) -> Result<Option<Value>, Error> {
        match self.get(endpoint, query).await {
            Ok(answer) => Ok(Some(answer)),
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(None),
            Err(error) => Err(refused("read the ledger", &error)),
        }
    }

    /// Returns the answer of an endpoint.
    pub(crate) async fn read(&self, endpoint: &str, query: LedgerQuery) -> Result<Value, Error> {
        match self.get(endpoint, query).await {
            Ok(answer) => Ok(answer),
            Err(kube::Error::Api(status)) if status.code == 404 => {
                match self.get("", LedgerQuery::default()).await {
                    Ok(_) => Err(Error::new(
                        &status.message,
                        "check the name and --namespace; the ledger forgets what is old",
                    )),
                    Err(_) => Err(Error::new(
                        "this cluster has no ledger",
                        "use a cluster of `kubewright up` or `kubewright dev`, without --no-ledger",
                    )),
                }
            }
            Err(error) => Err(refused("read the ledger", &error)),
        }
    }

    async fn get(&self, endpoint: &str, query: LedgerQuery) -> kube::Result<Value> {
        let pairs = query.0.iter().map(|(name, value)| {
            let value = utf8_percent_encode(value, ESCAPED);
            format!("{name}={value}")
        });
        let query: Vec<String> = pairs.collect();
        let path = format!("/kubewright/v1/{endpoint}?{}", query.join("&"));
        let request = http::Request::get(path).body(Vec::new());
        self.0
            .request(request.map_err(kube::Error::HttpError)?)
            .await
    }
}
