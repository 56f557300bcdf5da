//! Resolution of service names and addresses to ready endpoints.

use std::net::Ipv4Addr;

use k8s_openapi::api::{
    core::v1::{Service, ServicePort},
    discovery::v1::EndpointSlice,
};
use kube::{Api, api::ListParams};

use super::{Call, DialError, Network};

/// The label that associates an EndpointSlice with its Service.
pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// The labels of services whose traffic others than the nodes route.
const NOT_PROXIED: [&str; 2] = [
    "service.kubernetes.io/headless",
    "service.kubernetes.io/service-proxy-name",
];

/// The way by which a call reaches a service.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Entrance {
    /// An address or name of the service.
    Cluster,
    /// A port of a node.
    NodePort,
}

/// The suffixes of service names, longest first.
const DOMAINS: [&str; 2] = [".svc.cluster.local", ".svc"];

impl Call {
    /// Reports whether a port of a service has the protocol.
    fn fits(&self, port: &ServicePort) -> bool {
        port.protocol.as_deref().unwrap_or("TCP") == self.protocol.as_str()
    }
}

/// Returns the addresses of the load balancers of a service.
fn balancers(service: &Service) -> impl Iterator<Item = &str> {
    let balancer = service
        .status
        .as_ref()
        .and_then(|s| s.load_balancer.as_ref());
    let ingress = balancer
        .into_iter()
        .flat_map(|b| b.ingress.iter().flatten());
    ingress.filter_map(|ingress| ingress.ip.as_deref())
}

impl Network {
    /// Returns an endpoint of the service with an address.
    pub(super) async fn behind(
        &self,
        address: Ipv4Addr,
        call: &Call,
    ) -> Result<(Ipv4Addr, u16), DialError> {
        let text = address.to_string();
        let found = self.all_services().await?.into_iter().find(|service| {
            let spec = service.spec.as_ref();
            spec.is_some_and(|spec| {
                spec.cluster_ip.as_deref() == Some(&text)
                    || spec.external_ips.iter().flatten().any(|ip| *ip == text)
            }) || balancers(service).any(|ip| ip == text)
        });
        let service = found.ok_or(DialError::NoRoute)?;
        let to = (call.port, Entrance::Cluster);
        self.endpoint(&service, None, to, call).await
    }

    /// Returns an endpoint of the service with a port on every node.
    pub(super) async fn behind_node_port(&self, call: &Call) -> Option<(Ipv4Addr, u16)> {
        for service in self.all_services().await.ok()? {
            let spec = service.spec.as_ref();
            let mut ports = spec.iter().flat_map(|spec| spec.ports.iter().flatten());
            let Some(own) =
                ports.find(|own| own.node_port == Some(i32::from(call.port)) && call.fits(own))
            else {
                continue;
            };
            let own = u16::try_from(own.port).ok()?;
            let to = (own, Entrance::NodePort);
            return self.endpoint(&service, None, to, call).await.ok();
        }
        None
    }

    async fn all_services(&self) -> Result<Vec<Service>, DialError> {
        let client = self.client().ok_or(DialError::NoRoute)?;
        let services: Api<Service> = Api::all(client.live());
        let listed = services.list(&ListParams::default()).await;
        listed
            .map(|listed| listed.items)
            .map_err(|_| DialError::NoRoute)
    }

    /// Resolves a name to an endpoint of a service: `web`, `web.shop`, `web.shop.svc`, or `web-0.web.shop.svc` for a pod with a
    /// host name.
    pub(super) async fn resolve(
        &self,
        namespace: &str,
        host: &str,
        call: &Call,
    ) -> Result<(Ipv4Addr, u16), DialError> {
        let client = self.client().ok_or(DialError::UnknownHost)?;
        let host = host.trim_end_matches('.');
        let inner = DOMAINS.iter().find_map(|domain| host.strip_suffix(domain));
        let parts: Vec<&str> = inner.unwrap_or(host).split('.').collect();
        let candidates: Vec<(Option<&str>, &str, &str)> = match parts[..] {
            [name] => vec![(None, name, namespace)],
            [first, second] if inner.is_none() => {
                vec![(None, first, second), (Some(first), second, namespace)]
            }
            [name, namespace] => vec![(None, name, namespace)],
            [pod, name, namespace] => vec![(Some(pod), name, namespace)],
            _ => Vec::new(),
        };
        for (pod, name, namespace) in candidates {
            let services: Api<Service> = client.api(namespace);
            if let Ok(Some(service)) = services.get_opt(name).await {
                let to = (call.port, Entrance::Cluster);
                return self.endpoint(&service, pod, to, call).await;
            }
        }
        Err(DialError::UnknownHost)
    }

    /// Returns an endpoint of a service, round-robin: a ready one, or else one that still serves while it terminates.
    async fn endpoint(
        &self,
        service: &Service,
        pod: Option<&str>,
        (port, entrance): (u16, Entrance),
        call: &Call,
    ) -> Result<(Ipv4Addr, u16), DialError> {
        let client = self.client().ok_or(DialError::NoRoute)?;
        let metadata = &service.metadata;
        let name = metadata.name.as_deref().unwrap_or_default();
        let spec = service.spec.as_ref().ok_or(DialError::Refused)?;
        let is_headless = spec.cluster_ip.as_deref() == Some("None");
        let mut labels = metadata.labels.iter().flat_map(|labels| labels.keys());
        if !is_headless && labels.any(|label| NOT_PROXIED.contains(&label.as_str())) {
            return Err(DialError::NoRoute);
        }
        let is_local = entrance == Entrance::Cluster
            && spec.internal_traffic_policy.as_deref() == Some("Local");
        let own = is_local.then(|| self.node_of(call.from)).flatten();
        let mut ports = spec.ports.iter().flatten();
        let declared =
            ports.find(|declared| declared.port == i32::from(port) && call.fits(declared));
        let slices: Api<EndpointSlice> =
            client.api(metadata.namespace.as_deref().unwrap_or_default());
        let selector = ListParams::default().labels(&format!("{SERVICE_NAME}={name}"));
        let slices = slices.list(&selector).await;
        let slices = slices.map_err(|_| DialError::NoRoute)?.items;
        let (mut found, mut terminating) = (Vec::new(), Vec::new());
        for slice in &slices {
            let target = match (is_headless, declared) {
                // The port of a headless service is not translated.
                (true, _) => Some(i32::from(port)),
                (false, None) => None,
                (false, Some(declared)) => {
                    let name = declared.name.as_deref().unwrap_or_default();
                    let mut ports = slice.ports.iter().flatten();
                    let port = ports.find(|p| p.name.as_deref().unwrap_or_default() == name);
                    port.and_then(|port| port.port)
                }
            };
            let Some(target) = target.and_then(|port| u16::try_from(port).ok()) else {
                continue;
            };
            for endpoint in slice.endpoints.iter().flatten() {
                let conditions = endpoint.conditions.as_ref();
                let is_ready = conditions.and_then(|c| c.ready) != Some(false);
                let is_wanted = pod.is_none() || endpoint.hostname.as_deref() == pod;
                let mut addresses = endpoint.addresses.iter();
                let address = addresses.next().and_then(|a| a.parse().ok());
                let is_near = own
                    .as_deref()
                    .is_none_or(|own| endpoint.node_name.as_deref() == Some(own));
                let Some(address) = address.filter(|_| is_wanted && is_near) else {
                    continue;
                };
                let still_serves = conditions
                    .is_some_and(|c| c.terminating == Some(true) && c.serving != Some(false));
                if is_ready {
                    found.push((address, target));
                } else if still_serves && !is_headless {
                    terminating.push((address, target));
                }
            }
        }
        if found.is_empty() {
            found = terminating;
        }
        let next = match spec.session_affinity.as_deref() {
            // The same client gets the same endpoint, as long as there are the same endpoints.
            Some("ClientIP") => {
                found.sort_unstable();
                call.from.to_bits() as usize
            }
            _ => self.next_turn(),
        };
        match found.is_empty() {
            true => Err(DialError::Refused),
            false => Ok(found[next % found.len()]),
        }
    }
}
