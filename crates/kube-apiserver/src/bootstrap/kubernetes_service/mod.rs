//! The Service `kubernetes` in the namespace `default`: how programs in the cluster find the server.
//!
//! The Service, its Endpoints and its EndpointSlice are brought up to date when a server starts, and every ten seconds
//! after that. As in kube-apiserver, ports are corrected only at the start.
//!
//! | module | contents |
//! |---|---|
//! | `objects` | the three objects as they have to be |
//! | `leases` | the addresses of servers that share a store |

mod leases;
mod objects;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Weak},
    time::Duration,
};

use http::Method;
use kubewright_apiserver::{ApiServer, SharedClock, registry::payload};
use kubewright_machinery::{Status, status};
use kubewright_store::{Key, Revision, Store, WriteError};
use serde_json::{Value, json};

use super::{create, send, service_cidr};
use crate::{
    kinds::{Environment, collection},
    service_range::ServiceRange,
};

/// The interval at which the objects are checked.
const INTERVAL: Duration = Duration::from_secs(10);
/// The port of a server whose address is not known.
const PORT: u16 = 6443;
const MEDIA: &str = "application/json";

/// The address that the server listens on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Endpoint {
    address: IpAddr,
    port: u16,
}

/// Whether ports that differ are corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ports {
    Corrected,
    Kept,
}

/// Keeps the Service and the objects that belong to it.
pub(crate) struct KubernetesService {
    /// Weak, so that waiting for the next check does not keep the store open.
    store: Weak<dyn Store>,
    clock: SharedClock,
    range: ServiceRange,
    endpoint: Endpoint,
    is_addressed: bool,
    presence: Presence,
}

/// The part of a server in the addresses of the Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// It is the only server.
    Only,
    /// It is one of several, with a lease for its address.
    Leased,
    /// It is one of several, and has no address.
    None,
}

/// A kind of which the Service has an object.
#[derive(Clone, Copy)]
struct Kind {
    group: &'static str,
    plural: &'static str,
    /// The collection's path in the API.
    path: &'static str,
}

const SERVICE: Kind = Kind {
    group: "",
    plural: "services",
    path: "/api/v1/namespaces/default/services",
};
const ENDPOINTS: Kind = Kind {
    group: "",
    plural: "endpoints",
    path: "/api/v1/namespaces/default/endpoints",
};
const SLICE: Kind = Kind {
    group: "discovery.k8s.io",
    plural: "endpointslices",
    path: "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
};

/// A stored object.
struct Found {
    revision: Revision,
    object: Value,
}

impl Endpoint {
    /// Reads `address:port`. A server without a known address is on this machine.
    fn of(address: &str) -> Self {
        let known = address.parse::<SocketAddr>().ok();
        let reachable = known.map(|a| a.ip()).filter(|ip| !ip.is_unspecified());
        Self {
            address: reachable.unwrap_or(Ipv4Addr::LOCALHOST.into()),
            port: known.map_or(PORT, |a| a.port()),
        }
    }
}

impl KubernetesService {
    /// Returns the Service of a server with this address.
    pub(crate) fn new(environment: &Environment, address: &str) -> Self {
        Self {
            store: Arc::downgrade(&environment.store),
            clock: environment.clock.clone(),
            range: environment.service_range,
            endpoint: Endpoint::of(address),
            is_addressed: !address.is_empty(),
            presence: match (environment.is_store_shared, address) {
                (false, _) => Presence::Only,
                (true, "") => Presence::None,
                (true, _) => Presence::Leased,
            },
        }
    }

    /// Brings the objects up to date. If the server has an address, keeps them so until it is dropped: a server in a test would
    /// otherwise have a timer, which fires millions of times in a year of virtual time. If that fails, for example because of
    /// a webhook, it is tried again after the interval.
    pub(crate) async fn start(self, server: &ApiServer) {
        let mut ports = Ports::Corrected;
        self.check(server, &mut ports).await;
        if !self.is_addressed {
            return;
        }
        let server = server.downgrade();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(INTERVAL).await;
                let Some(server) = server.upgrade() else {
                    return;
                };
                self.check(&server, &mut ports).await;
            }
        });
    }

    async fn check(&self, server: &ApiServer, ports: &mut Ports) {
        let Some(store) = self.store.upgrade() else {
            return;
        };
        match self.reconcile(server, &*store, *ports).await {
            Ok(()) => *ports = Ports::Kept,
            Err(error) => {
                tracing::warn!(%error, "cannot bring the Service default/kubernetes up to date");
            }
        }
    }

    async fn reconcile(
        &self,
        server: &ApiServer,
        store: &dyn Store,
        ports: Ports,
    ) -> Result<(), Status> {
        let range = service_cidr::ensure(server, store, self.range, &*self.clock).await;
        let service = self.reconcile_service(server, store, ports).await;
        let endpoints = self.reconcile_endpoints(server, store, ports).await;
        range.and(service).and(endpoints)
    }

    async fn reconcile_service(
        &self,
        server: &ApiServer,
        store: &dyn Store,
        ports: Ports,
    ) -> Result<(), Status> {
        let port = self.endpoint.port;
        let Some(found) = SERVICE.read(store).await? else {
            return create(server, SERVICE.path, &objects::service(&self.range, port)).await;
        };
        let revised = objects::revised_service(&found.object, port);
        if ports == Ports::Kept || revised == found.object {
            return Ok(());
        }
        let path = format!("{}/kubernetes", SERVICE.path);
        let written = send(server, Method::PUT, &path, MEDIA, &revised).await?;
        written.map(drop).ok_or_else(changed_meanwhile)
    }

    async fn reconcile_endpoints(
        &self,
        server: &ApiServer,
        store: &dyn Store,
        ports: Ports,
    ) -> Result<(), Status> {
        let found = ENDPOINTS.read(store).await?;
        let addresses = match self.presence {
            Presence::None if found.is_some() => return Ok(()),
            Presence::Only | Presence::None => vec![self.endpoint.address],
            Presence::Leased => {
                leases::renew(store, self.endpoint.address).await?;
                leases::addresses(store).await?
            }
        };
        let current = found.as_ref().map(|found| &found.object);
        let wanted = objects::endpoints(current, &addresses, self.endpoint.port, ports);
        let sent = stand_ins(&wanted, "/subsets/0/addresses", |ip| json!({"ip": ip}));
        ENDPOINTS.write(server, store, found, &wanted, sent).await?;
        let mut found = SLICE.read(store).await?;
        let slice = |found: &Option<Found>| {
            objects::endpoint_slice(found.as_ref().map(|found| &found.object), &wanted)
        };
        let mut mirror = slice(&found);
        // The type of the addresses cannot be changed.
        if let Some(other) = &found
            && other.object["addressType"] != mirror["addressType"]
        {
            let path = format!("{}/kubernetes", SLICE.path);
            let options = json!({"kind": "DeleteOptions", "apiVersion": "v1"});
            send(server, Method::DELETE, &path, MEDIA, &options).await?;
            found = None;
            mirror = slice(&found);
        }
        let item = |ip: &str| json!({"addresses": [ip], "conditions": {"ready": true}});
        let sent = stand_ins(&mirror, "/endpoints", item);
        SLICE.write(server, store, found, &mirror, sent).await
    }
}

impl Kind {
    fn key(self) -> Key {
        Key::new(collection(self.group, self.plural), "default/kubernetes")
    }

    async fn read(self, store: &dyn Store) -> Result<Option<Found>, Status> {
        let Some(entry) = store.get(&self.key()).await.map_err(status::internal)? else {
            return Ok(None);
        };
        Ok(Some(Found {
            revision: entry.revision,
            object: serde_json::from_slice(&entry.bytes).map_err(status::internal)?,
        }))
    }

    /// Stores an object, unless it is stored as it is wanted.
    ///
    /// The addresses of servers may be loopback addresses, which are not valid in endpoints that clients write. So the API
    /// gets an object with other addresses, for a dry run, and the wanted ones replace them in the result.
    async fn write(
        self,
        server: &ApiServer,
        store: &dyn Store,
        found: Option<Found>,
        wanted: &Value,
        StandIns { sent, field }: StandIns,
    ) -> Result<(), Status> {
        if found.as_ref().is_some_and(|found| found.object == *wanted) {
            return Ok(());
        }
        let (method, path) = match found {
            None => (Method::POST, format!("{}?dryRun=All", self.path)),
            Some(_) => (Method::PUT, format!("{}/kubernetes?dryRun=All", self.path)),
        };
        let answer = send(server, method, &path, MEDIA, &sent).await?;
        let mut object = answer.ok_or_else(changed_meanwhile)?;
        if let (Some(to), Some(from)) = (object.pointer_mut(field), wanted.pointer(field)) {
            to.clone_from(from);
        }
        let written = match found {
            None => store.create(self.key(), payload(&object)).await.map(drop),
            Some(found) => {
                let updated = store.update(self.key(), found.revision, payload(&object));
                updated.await.map(drop)
            }
        };
        written.map_err(|error| match error {
            WriteError::Exists(_) | WriteError::Conflict(_) => changed_meanwhile(),
            error => status::internal(error),
        })
    }
}

/// An object with addresses that any client could write.
struct StandIns {
    sent: Value,
    /// The list of addresses, as a JSON pointer.
    field: &'static str,
}

fn stand_ins(wanted: &Value, field: &'static str, item: fn(&str) -> Value) -> StandIns {
    let mut sent = wanted.clone();
    let address = match wanted["addressType"] == "IPv6" {
        true => "2001:db8::1",
        false => "192.0.2.1",
    };
    if let Some(addresses) = sent.pointer_mut(field) {
        *addresses = json!([item(address)]);
    }
    StandIns { sent, field }
}

fn changed_meanwhile() -> Status {
    status::internal("an object of the Service was changed meanwhile")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_where_clients_reach_the_server() {
        for (text, address, port) in [
            ("192.0.2.7:8443", "192.0.2.7", 8443),
            ("0.0.0.0:7000", "127.0.0.1", 7000),
            ("[::1]:7000", "::1", 7000),
            ("", "127.0.0.1", 6443),
        ] {
            let address = address.parse().unwrap();
            assert_eq!(Endpoint::of(text), Endpoint { address, port }, "{text}");
        }
    }
}
