//! The addresses of the servers that share a store. Each server renews a lease, as kube-apiserver does, and both see the
//! addresses of each other.

use std::{net::IpAddr, time::Duration};

use kubewright_apiserver::registry::payload;
use kubewright_machinery::{Status, json::Read, status};
use kubewright_store::{Key, Payload, Range, Store, WriteError};
use serde_json::{Value, json};

use crate::layout::StorageLayout;

/// The lifetime of a lease that is not renewed.
const LIFETIME: Duration = Duration::from_secs(15);

/// Renews the lease of an address.
pub(super) async fn renew(store: &dyn Store, address: IpAddr) -> Result<(), Status> {
    let key = Key::new(StorageLayout::SERVER_LEASES, address.to_string());
    let found = store.get(&key).await.map_err(status::internal)?;
    let generation = match &found {
        Some(entry) => {
            let lease: Value = serde_json::from_slice(&entry.bytes).map_err(status::internal)?;
            lease["metadata"]["generation"].int()
        }
        None => 0,
    };
    // The generation makes the values of two renewals differ: equal bytes would not be written.
    let lease = json!({
        "kind": "Endpoints", "apiVersion": "v1",
        "metadata": {
            "generation": generation.wrapping_add(1),
            "labels": {StorageLayout::OWN_LEASE: "true"},
        },
        "subsets": [{"addresses": [{"ip": address.to_string()}]}],
    });
    let lease = Payload {
        ttl: Some(LIFETIME),
        ..payload(&lease)
    };
    let written = match found {
        Some(entry) => store.update(key, entry.revision, lease).await.map(drop),
        None => store.create(key, lease).await.map(drop),
    };
    match written {
        // Another server with the same address has just renewed it.
        Ok(()) | Err(WriteError::Exists(_) | WriteError::Conflict(_)) => Ok(()),
        Err(error) => Err(status::internal(error)),
    }
}

/// Returns the addresses of all servers with a lease, in order.
pub(super) async fn addresses(store: &dyn Store) -> Result<Vec<IpAddr>, Status> {
    let snapshot = store.snapshot(None).await.map_err(status::internal)?;
    let leases = snapshot.range(StorageLayout::SERVER_LEASES, Range::default());
    let leases = leases.await.map_err(status::internal)?.entries;
    let mut addresses: Vec<IpAddr> = leases.iter().filter_map(|l| l.path.parse().ok()).collect();
    addresses.sort();
    Ok(addresses)
}
