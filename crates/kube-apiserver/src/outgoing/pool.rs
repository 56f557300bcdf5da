//! [`Pool`]: clients by configuration, each with its idle connections.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustls::ClientConfig;

use super::{
    connection::Connection,
    endpoint::Endpoint,
    trust::{self, Identity},
};

/// The number of clients that are kept.
const MAX_CLIENTS: usize = 200;
/// The number of idle connections that a client keeps.
const MAX_IDLE: usize = 25;
/// The time after which an idle connection is not used any more.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// Clients by configuration. The one that was used least recently makes room for another.
#[derive(Default)]
pub(super) struct Pool {
    clients: Mutex<Clients>,
    identity: Option<Identity>,
}

#[derive(Default)]
struct Clients {
    uses: u64,
    by_endpoint: HashMap<Endpoint, (u64, Arc<PooledClient>)>,
}

/// The connections to one endpoint.
pub(super) struct PooledClient {
    /// The TLS configuration, or the reason why there is none.
    pub(super) tls: Result<Arc<ClientConfig>, String>,
    idle: Mutex<Vec<(Instant, Connection)>>,
}

impl Pool {
    /// Returns a pool whose clients may present a certificate.
    pub(super) fn new(identity: Option<Identity>) -> Self {
        Self {
            identity,
            ..Self::default()
        }
    }

    /// Returns the client of an endpoint.
    pub(super) fn client(&self, endpoint: &Endpoint) -> Arc<PooledClient> {
        let mut clients = self.clients.lock();
        clients.uses += 1;
        let now = clients.uses;
        if let Some((used, client)) = clients.by_endpoint.get_mut(endpoint) {
            *used = now;
            return client.clone();
        }
        let identity = self.identity.as_ref().filter(|_| endpoint.presents_proxy);
        let tls = trust::client_config(&endpoint.ca_bundle, endpoint.insecure, identity);
        let client = Arc::new(PooledClient {
            tls: tls.map(Arc::new).map_err(|e| match e {
                rustls::Error::General(text) => text,
                other => other.to_string(),
            }),
            idle: Mutex::default(),
        });
        if clients.by_endpoint.len() >= MAX_CLIENTS {
            let oldest = clients
                .by_endpoint
                .iter()
                .min_by_key(|(_, (used, _))| *used);
            let oldest = oldest.map(|(endpoint, _)| endpoint.clone());
            oldest.map(|endpoint| clients.by_endpoint.remove(&endpoint));
        }
        let entry = (now, client.clone());
        clients.by_endpoint.insert(endpoint.clone(), entry);
        client
    }
}

impl PooledClient {
    /// Returns an idle connection that is open as far as is known, the one that was used last.
    pub(super) fn reuse(&self) -> Option<Connection> {
        let mut idle = self.idle.lock();
        idle.retain(|(since, connection)| since.elapsed() < IDLE_TIMEOUT && connection.is_open());
        idle.pop().map(|(_, connection)| connection)
    }

    /// Keeps a connection for the next call.
    pub(super) fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE && connection.is_open() {
            idle.push((Instant::now(), connection));
        }
    }

    /// Closes the idle connections: after a failure of one, the others are likely broken, too.
    pub(super) fn forget(&self) {
        self.idle.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_number_of_clients_is_bounded() {
        let pool = Pool::default();
        let endpoint = |i: usize| Endpoint::read(&json!({"url": format!("https://h/{i}")}));
        let first = pool.client(&endpoint(0));
        for i in 1..=MAX_CLIENTS {
            pool.client(&endpoint(i));
            assert!(Arc::ptr_eq(&first, &pool.client(&endpoint(0))));
        }
        assert_eq!(pool.clients.lock().by_endpoint.len(), MAX_CLIENTS);
        assert!(!pool.clients.lock().by_endpoint.contains_key(&endpoint(1)));
    }

    #[test]
    fn another_bundle_is_another_client() {
        let pool = Pool::default();
        let a = pool.client(&Endpoint::read(&json!({"url": "https://h/"})));
        let b = json!({"url": "https://h/", "caBundle": "YQ=="});
        assert!(!Arc::ptr_eq(&a, &pool.client(&Endpoint::read(&b))));
    }
}
