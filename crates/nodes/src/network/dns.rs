//! DNS records of services and pods, as the DNS service of a cluster answers.

use std::net::Ipv4Addr;

use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{Api, api::ListParams};

use super::{Network, names::SERVICE_NAME};

/// The domain of the cluster.
pub(crate) const ZONE: &str = "cluster.local";

/// The number of dots from which on a name is tried as it is first.
const MANY_DOTS: usize = 5;

/// The number of aliases that are followed.
const MOST_ALIASES: usize = 8;

/// A DNS record, with the name that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) data: Data,
}

/// The data of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    Address(Ipv4Addr),
    Alias(String),
    Pointer(String),
    Service { port: i32, target: String },
}

/// The type of the records that a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordType {
    Address,
    Alias,
    Pointer,
    Service,
}

impl Data {
    /// Returns the name of the type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Address(_) => "A",
            Self::Alias(_) => "CNAME",
            Self::Pointer(_) => "PTR",
            Self::Service { .. } => "SRV",
        }
    }
}

/// An address behind a service.
struct Endpoint {
    address: Ipv4Addr,
    hostname: Option<String>,
    ports: Vec<(String, String, i32)>,
}

impl Network {
    /// Looks up a name with the search path of a namespace.
    pub(crate) async fn search(
        &self,
        namespace: &str,
        name: &str,
        wanted: RecordType,
    ) -> Vec<Record> {
        if name.ends_with('.') {
            return self.look_up(name, wanted).await;
        }
        let searched = search_path(namespace).map(|domain| format!("{name}.{domain}"));
        let mut names: Vec<String> = searched.into();
        let at = match name.matches('.').count() < MANY_DOTS {
            true => names.len(),
            false => 0,
        };
        names.insert(at, name.to_owned());
        for name in names {
            let found = self.look_up(&name, wanted).await;
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    /// Looks up an absolute name. Aliases are followed within the cluster.
    pub(crate) async fn look_up(&self, name: &str, wanted: RecordType) -> Vec<Record> {
        let mut records = Vec::new();
        let mut name = name.trim_end_matches('.').to_lowercase();
        for _ in 0..MOST_ALIASES {
            let found = self.records(&name, wanted).await;
            let alias = found.iter().find_map(|data| match data {
                Data::Alias(target) => Some(target.trim_end_matches('.').to_owned()),
                _ => None,
            });
            records.extend(found.into_iter().map(|data| Record {
                name: format!("{name}."),
                data,
            }));
            match alias {
                Some(target) if wanted != RecordType::Alias => name = target,
                _ => break,
            }
        }
        records
    }

    async fn records(&self, name: &str, wanted: RecordType) -> Vec<Data> {
        if let Some(address) = name.strip_suffix(".in-addr.arpa") {
            return match wanted {
                RecordType::Pointer => self.pointers(address).await,
                _ => Vec::new(),
            };
        }
        let Some(inner) = name.strip_suffix(ZONE).and_then(|n| n.strip_suffix('.')) else {
            return Vec::new();
        };
        let parts: Vec<&str> = inner.split('.').collect();
        match parts[..] {
            [address, _, "pod"] if wanted == RecordType::Address => {
                let address = address.replace('-', ".").parse();
                address.map(Data::Address).into_iter().collect()
            }
            [service, namespace, "svc"] => self.of_service(namespace, service, None, wanted).await,
            [host, service, namespace, "svc"] => {
                self.of_service(namespace, service, Some(host), wanted)
                    .await
            }
            [port, protocol, service, namespace, "svc"] if wanted == RecordType::Service => {
                let names = port.strip_prefix('_').zip(protocol.strip_prefix('_'));
                match names {
                    Some(names) => self.ports(namespace, service, names).await,
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    /// Returns the records of a service, or of one of its hosts.
    async fn of_service(
        &self,
        namespace: &str,
        name: &str,
        host: Option<&str>,
        wanted: RecordType,
    ) -> Vec<Data> {
        let Some(service) = self.service(namespace, name).await else {
            return Vec::new();
        };
        let spec = service.spec.unwrap_or_default();
        let external = spec.external_name.filter(|name| !name.is_empty());
        let external = external.filter(|_| spec.type_.as_deref() == Some("ExternalName"));
        if let (Some(target), None) = (external, host) {
            return match wanted {
                RecordType::Address | RecordType::Alias => vec![Data::Alias(format!("{target}."))],
                _ => Vec::new(),
            };
        }
        if wanted != RecordType::Address {
            return Vec::new();
        }
        let own = spec.cluster_ip.as_deref().and_then(|ip| ip.parse().ok());
        match (own, host) {
            (Some(address), None) => vec![Data::Address(address)],
            (Some(_), Some(_)) => Vec::new(),
            (None, host) => {
                let endpoints = self.endpoints(namespace, name).await.into_iter();
                let wanted = endpoints.filter(|endpoint| match host {
                    Some(host) => endpoint.host() == host,
                    None => true,
                });
                wanted
                    .map(|endpoint| Data::Address(endpoint.address))
                    .collect()
            }
        }
    }

    /// Returns the locations of a named port of a service.
    async fn ports(
        &self,
        namespace: &str,
        name: &str,
        (port, protocol): (&str, &str),
    ) -> Vec<Data> {
        let Some(service) = self.service(namespace, name).await else {
            return Vec::new();
        };
        let target = format!("{name}.{namespace}.svc.{ZONE}.");
        let spec = service.spec.unwrap_or_default();
        if spec.cluster_ip.as_deref() != Some("None") {
            let ports = spec.ports.into_iter().flatten();
            let named = ports.filter(|declared| {
                let own = declared.protocol.as_deref().unwrap_or("TCP");
                declared.name.as_deref() == Some(port) && own.eq_ignore_ascii_case(protocol)
            });
            return named
                .map(|declared| Data::Service {
                    port: declared.port,
                    target: target.clone(),
                })
                .collect();
        }
        let mut found = Vec::new();
        for endpoint in self.endpoints(namespace, name).await {
            for (own, own_protocol, number) in &endpoint.ports {
                if own == port && own_protocol.eq_ignore_ascii_case(protocol) {
                    found.push(Data::Service {
                        port: *number,
                        target: format!("{}.{target}", endpoint.host()),
                    });
                }
            }
        }
        found
    }

    /// Returns the names of an address whose numbers are in reverse order.
    async fn pointers(&self, reversed: &str) -> Vec<Data> {
        let parts: Vec<&str> = reversed.rsplit('.').collect();
        let (Ok(address), Some(client)) = (parts.join(".").parse::<Ipv4Addr>(), self.client())
        else {
            return Vec::new();
        };
        let text = address.to_string();
        let all: Api<Service> = Api::all(client.live());
        let Ok(services) = all.list(&ListParams::default()).await else {
            return Vec::new();
        };
        for service in &services.items {
            let namespace = service.metadata.namespace.as_deref().unwrap_or_default();
            let name = service.metadata.name.as_deref().unwrap_or_default();
            let ip = service.spec.as_ref().and_then(|s| s.cluster_ip.as_deref());
            let domain = format!("{name}.{namespace}.svc.{ZONE}.");
            if ip == Some(&text) {
                return vec![Data::Pointer(domain)];
            }
            if ip == Some("None") {
                let endpoints = self.endpoints(namespace, name).await;
                let found = endpoints.iter().find(|e| e.address == address);
                if let Some(endpoint) = found {
                    return vec![Data::Pointer(format!("{}.{domain}", endpoint.host()))];
                }
            }
        }
        Vec::new()
    }

    async fn service(&self, namespace: &str, name: &str) -> Option<Service> {
        let services: Api<Service> = self.client()?.api(namespace);
        services.get_opt(name).await.ok()?
    }

    /// Returns the ready endpoints of a service.
    async fn endpoints(&self, namespace: &str, name: &str) -> Vec<Endpoint> {
        let Some(client) = self.client() else {
            return Vec::new();
        };
        let slices: Api<EndpointSlice> = client.api(namespace);
        let selector = ListParams::default().labels(&format!("{SERVICE_NAME}={name}"));
        let Ok(slices) = slices.list(&selector).await else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for slice in slices.items {
            let ports = slice.ports.unwrap_or_default().into_iter();
            let ports: Vec<_> = ports
                .filter_map(|port| {
                    let protocol = port.protocol.unwrap_or_else(|| "TCP".to_owned());
                    Some((port.name.unwrap_or_default(), protocol, port.port?))
                })
                .collect();
            for endpoint in slice.endpoints.into_iter().flatten() {
                let is_ready = endpoint.conditions.and_then(|c| c.ready) != Some(false);
                let address = endpoint.addresses.first().and_then(|a| a.parse().ok());
                if let (true, Some(address)) = (is_ready, address) {
                    found.push(Endpoint {
                        address,
                        hostname: endpoint.hostname,
                        ports: ports.clone(),
                    });
                }
            }
        }
        found
    }
}

impl Endpoint {
    /// Returns the name of the endpoint within the domain of its service.
    fn host(&self) -> String {
        match &self.hostname {
            Some(name) => name.clone(),
            None => self.address.to_string().replace('.', "-"),
        }
    }
}

/// Returns the domains in which the names of a namespace's pods are searched.
pub(crate) fn search_path(namespace: &str) -> [String; 3] {
    [
        format!("{namespace}.svc.{ZONE}"),
        format!("svc.{ZONE}"),
        ZONE.to_owned(),
    ]
}
