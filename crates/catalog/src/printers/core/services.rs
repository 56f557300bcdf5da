//! Printers of services and endpoints.

use kubewright_machinery::json::Read;
use std::collections::BTreeSet;

use serde_json::Value;

use crate::printers::columns::{AGE, NAME, text};
use crate::printers::text::{labels, or_none};
use crate::printers::{PrintOptions, Printer, age, fields, row};

pub(super) static ENDPOINTS: Printer = Printer::new(
    &[
        NAME,
        text(
            "Endpoints",
            "The addresses and ports that serve, cut short.",
        ),
        AGE,
    ],
    endpoints,
);

pub(super) static SERVICE: Printer = Printer::new(
    &[
        NAME,
        text("Type", "How the service is exposed."),
        text(
            "Cluster-IP",
            "The address of the service inside the cluster.",
        ),
        text(
            "External-IP",
            "The addresses or the name of the service outside the cluster.",
        ),
        text(
            "Port(s)",
            "The ports of the service, with node port and protocol.",
        ),
        AGE,
        text(
            "Selector",
            "The labels of the pods the service sends traffic to.",
        )
        .wide(),
    ],
    service,
);

/// The addresses of a load balancer status, sorted and without duplicates.
pub(in crate::printers) fn load_balancer_addresses(status: &Value) -> String {
    let addresses: BTreeSet<&str> = status["loadBalancer"]["ingress"]
        .items()
        .iter()
        .map(|ingress| ingress["ip"].text_or(ingress["hostname"].text()))
        .filter(|address| !address.is_empty())
        .collect();
    addresses.into_iter().collect::<Vec<_>>().join(",")
}

fn endpoints(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        addresses(object),
        age::of(object, options)
    ]
}

fn addresses(endpoints: &Value) -> String {
    const SHOWN: usize = 3;
    let subsets = endpoints["subsets"].items();
    if subsets.is_empty() {
        return "<none>".to_owned();
    }
    let mut shown = Vec::with_capacity(SHOWN);
    let mut total = 0;
    for subset in subsets {
        let addresses = subset["addresses"].items();
        let ports = subset["ports"].items();
        let pairs = ports.len().max(1).saturating_mul(addresses.len());
        total += pairs;
        for pair in 0..pairs.min(SHOWN - shown.len()) {
            let ip = addresses[pair % addresses.len()]["ip"].text();
            match ports.get(pair / addresses.len()) {
                Some(port) => shown.push(host_and_port(ip, port["port"].int())),
                None => shown.push(ip.to_owned()),
            }
        }
    }
    let shown = shown.join(",");
    match total.saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

fn host_and_port(host: &str, port: i64) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

fn service(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    let first_cluster_ip = spec["clusterIPs"].texts().next();
    let cluster_ip = first_cluster_ip.unwrap_or_else(|| spec["clusterIP"].text_or("<none>"));
    row![
        fields::name(object),
        spec["type"].text(),
        cluster_ip,
        external_ip(object),
        ports(&spec["ports"]),
        age::of(object, options),
        labels(&spec["selector"]),
    ]
}

fn external_ip(service: &Value) -> String {
    let spec = &service["spec"];
    let external_ips = spec["externalIPs"].texts().collect::<Vec<_>>().join(",");
    match spec["type"].text() {
        "ClusterIP" | "NodePort" => or_none(external_ips),
        "LoadBalancer" => {
            let balancer = load_balancer_addresses(&service["status"]);
            match (balancer.as_str(), external_ips.as_str()) {
                ("", "") => "<pending>".to_owned(),
                ("", _) => external_ips,
                (_, "") => balancer,
                _ => format!("{balancer},{external_ips}"),
            }
        }
        "ExternalName" => spec["externalName"].text().to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn ports(ports: &Value) -> String {
    let ports: Vec<String> = ports
        .items()
        .iter()
        .map(|port| {
            let (number, protocol) = (port["port"].int(), port["protocol"].text());
            match port["nodePort"].int() {
                node_port if node_port > 0 => format!("{number}:{node_port}/{protocol}"),
                _ => format!("{number}/{protocol}"),
            }
        })
        .collect();
    or_none(ports.join(","))
}
