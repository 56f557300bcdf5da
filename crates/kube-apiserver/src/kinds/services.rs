//! Services: allocation of cluster IPs and node ports.
//!
//! The allocator is in memory. It reads the allocated addresses from the store when the first service is written, so that a
//! cluster without services pays nothing. If other servers write to the store too, it reads them before each allocation; two
//! servers that give out the same address at the same moment do not notice each other.

use std::{collections::HashSet, net::Ipv4Addr, sync::Arc};

use kubewright_apiserver::registry::Reservation;
use kubewright_builtins::core::service::allocation;
use kubewright_machinery::{
    Status,
    field::{self, FieldError, Path},
    gvk::GroupKind,
    status,
};
use kubewright_store::{Range, Store};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::Environment;
use crate::service_range::ServiceRange;

/// The range of node ports.
const PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;
/// Maximum random attempts before a linear search.
const RANDOM_TRIES: usize = 32;

/// The allocator of a cluster. Clones share it.
#[derive(Clone)]
pub(crate) struct Services {
    store: Arc<dyn Store>,
    range: ServiceRange,
    is_store_shared: bool,
    taken: Arc<OnceCell<Arc<Mutex<Taken>>>>,
}

#[derive(Default)]
struct Taken {
    ips: HashSet<String>,
    ports: HashSet<i64>,
}

impl Services {
    pub(crate) fn new(environment: &Environment) -> Self {
        Self {
            store: environment.store.clone(),
            range: environment.service_range,
            is_store_shared: environment.is_store_shared,
            taken: Arc::default(),
        }
    }

    async fn taken(&self) -> Result<Arc<Mutex<Taken>>, Status> {
        if self.is_store_shared {
            return self.read_taken().await;
        }
        self.taken
            .get_or_try_init(|| self.read_taken())
            .await
            .cloned()
    }

    async fn read_taken(&self) -> Result<Arc<Mutex<Taken>>, Status> {
        let snapshot = self.store.snapshot(None).await.map_err(status::internal)?;
        let page = snapshot
            .range(&super::collection("", "services"), Range::default())
            .await
            .map_err(status::internal)?;
        let mut taken = Taken::default();
        for entry in page.entries {
            let service: Value = serde_json::from_slice(&entry.bytes).map_err(status::internal)?;
            taken
                .ips
                .extend(allocation::released_cluster_ips(None, &service));
            taken
                .ports
                .extend(allocation::released_node_ports(None, &service));
        }
        Ok(Arc::new(Mutex::new(taken)))
    }

    /// Allocates the addresses and ports of a service. They are freed again unless the reservation is kept.
    pub(crate) async fn allocate(
        &self,
        service: &mut Value,
        old: Option<&Value>,
        dry_run: bool,
    ) -> Result<Option<Box<dyn Reservation>>, Status> {
        if let Some(old) = old {
            allocation::keep_allocated(service, old);
        }
        allocation::normalize_cluster_ips(service, old);
        let errors = allocation::default_ip_families(service, old, &["IPv4"]);
        if !errors.is_empty() {
            return Err(invalid(service, &errors));
        }
        let taken = self.taken().await?;
        let mut reserved = Reserved {
            taken: taken.clone(),
            ips: vec![],
            ports: vec![],
            released: None,
        };
        for wanted in allocation::wanted_cluster_ips(service, old) {
            let address = wanted.address.as_deref();
            let ip = take_ip(&self.range, &mut taken.lock(), address)
                .map_err(|text| invalid(service, &[ip_error(service, address, &text)]))?;
            reserved.ips.push(ip.clone());
            allocation::put_cluster_ip(service, wanted.index, &ip);
        }
        let sharing = match old {
            None => allocation::PortSharing::Shared,
            Some(_) => allocation::PortSharing::Separate,
        };
        for wanted in allocation::wanted_node_ports(service, old) {
            let port = take_port(&mut taken.lock(), wanted.port).map_err(|text| {
                invalid(service, &[port_error(wanted.index, wanted.port, &text)])
            })?;
            reserved.ports.push(port);
            allocation::put_node_port(service, wanted.index, port, sharing);
        }
        if dry_run {
            return Ok(None);
        }
        reserved.released = old.map(|old| {
            let ips = allocation::released_cluster_ips(Some(service), old);
            let ports = allocation::released_node_ports(Some(service), old);
            (ips, ports)
        });
        Ok(Some(Box::new(reserved)))
    }

    /// Frees the addresses and ports of a deleted service.
    pub(crate) fn release(&self, service: &Value) {
        if let Some(taken) = self.taken.get() {
            let mut taken = taken.lock();
            for ip in allocation::released_cluster_ips(None, service) {
                taken.ips.remove(&ip);
            }
            for port in allocation::released_node_ports(None, service) {
                taken.ports.remove(&port);
            }
        }
    }
}

/// The addresses and ports of a service that is not stored yet.
struct Reserved {
    taken: Arc<Mutex<Taken>>,
    ips: Vec<String>,
    ports: Vec<i64>,
    /// The addresses and ports that the change frees once it is stored.
    released: Option<(Vec<String>, Vec<i64>)>,
}

impl Reservation for Reserved {
    fn keep(mut self: Box<Self>) {
        self.ips.clear();
        self.ports.clear();
        if let Some((ips, ports)) = self.released.take() {
            self.ips = ips;
            self.ports = ports;
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        for ip in &self.ips {
            taken.ips.remove(ip);
        }
        for port in &self.ports {
            taken.ports.remove(port);
        }
    }
}

fn take_ip(
    range: &ServiceRange,
    taken: &mut Taken,
    wanted: Option<&str>,
) -> Result<String, String> {
    if let Some(wanted) = wanted {
        if !wanted.parse().is_ok_and(|ip| range.contains(ip)) {
            return Err(format!(
                "the provided IP ({wanted}) is not in the valid range. The range of valid IPs is {range}"
            ));
        }
        if !taken.ips.insert(wanted.to_owned()) {
            return Err("provided IP is already allocated".to_owned());
        }
        return Ok(wanted.to_owned());
    }
    let (first, size) = (u32::from(range.first()), range.size());
    let random = (0..RANDOM_TRIES).map(|_| rand::random_range(0..size));
    for offset in random.chain(0..size) {
        let ip = Ipv4Addr::from(first + offset).to_string();
        if taken.ips.insert(ip.clone()) {
            return Ok(ip);
        }
    }
    Err("range is full".to_owned())
}

fn take_port(taken: &mut Taken, wanted: Option<i64>) -> Result<i64, String> {
    if let Some(wanted) = wanted {
        if !PORTS.contains(&wanted) {
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {}-{}",
                PORTS.start(),
                PORTS.end()
            ));
        }
        if !taken.ports.insert(wanted) {
            return Err("provided port is already allocated".to_owned());
        }
        return Ok(wanted);
    }
    let random = (0..RANDOM_TRIES).map(|_| rand::random_range(PORTS));
    for port in random.chain(PORTS) {
        if taken.ports.insert(port) {
            return Ok(port);
        }
    }
    Err("range is full".to_owned())
}

fn ip_error(service: &Value, wanted: Option<&str>, text: &str) -> FieldError {
    let path = Path::new("spec").child("clusterIPs");
    let detail = match wanted {
        Some(ip) => format!("failed to allocate IP {ip}: {text}"),
        None => format!("failed to allocate a serviceIP: {text}"),
    };
    field::invalid(&path, &service["spec"]["clusterIPs"], detail)
}

fn port_error(index: Option<usize>, wanted: Option<i64>, text: &str) -> FieldError {
    let spec = Path::new("spec");
    let path = match index {
        Some(i) => spec.child("ports").index(i).child("nodePort"),
        None => spec.child("healthCheckNodePort"),
    };
    field::invalid(&path, &json!(wanted.unwrap_or(0)), text)
}

fn invalid(service: &Value, errors: &[FieldError]) -> Status {
    let name = service["metadata"]["name"].as_str().unwrap_or_default();
    status::invalid(&GroupKind::new("", "Service"), name, errors)
}
