//! Computes what must be allocated for a service, and writes allocations into it. The allocator is the caller's.
//!
//! On create: [`normalize_cluster_ips`], [`default_ip_families`] (whose errors end the request), then for each wish of
//! [`wanted_cluster_ips`] and [`wanted_node_ports`] ask the allocator and [`put_cluster_ip`] / [`put_node_port`]. On
//! update the same after [`keep_allocated`], which takes over what the old object holds and the writer left out. All of
//! it comes before the strategy and validation.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::{Value, json};

use super::{
    cluster_ips,
    strategy::{needs_cluster_ip, needs_health_check_port, needs_node_port, node_ports},
};
use crate::json::{Read, Write};

/// A cluster IP to allocate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedIp {
    /// The index in `spec.clusterIPs`.
    pub index: usize,
    /// `IPv4` or `IPv6`.
    pub family: String,
    /// The address that was asked for; `None` takes any.
    pub address: Option<String>,
}

/// A node port to allocate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedPort {
    /// The index in `spec.ports`; `None` is the health check port.
    pub index: Option<usize>,
    /// The port that was asked for; `None` takes any.
    pub port: Option<i64>,
}

/// `clusterIP` and the first of `clusterIPs` are one: who sets one sets the other.
pub fn normalize_cluster_ips(new: &mut Value, old: Option<&Value>) {
    let ip = new["spec"]["clusterIP"].clone();
    let Some(old) = old else {
        if !ip.is_blank() && new["spec"]["clusterIPs"].is_blank() {
            new.field("spec").put("clusterIPs", json!([ip]));
        }
        return;
    };
    let before = &old["spec"];
    let plural = before["clusterIPs"].clone();
    let changed = before["clusterIP"].text() != ip.text();
    if !plural.is_blank() && new["spec"]["clusterIPs"].is_blank() && !changed {
        new.field("spec").put("clusterIPs", plural.clone());
    }
    if changed && new["spec"]["clusterIPs"].items() == plural.items() {
        if ip.is_blank() {
            new.field("spec").forget("clusterIPs");
        } else {
            new.field("spec").put("clusterIPs", json!([ip]));
        }
    }
}

/// Fills `ipFamilyPolicy` and `ipFamilies`, or says why that cannot be done; `available` are the families that the
/// cluster has, the default one first.
pub fn default_ip_families(
    service: &mut Value,
    old: Option<&Value>,
    available: &[&str],
) -> ErrorList {
    let mut errors = ErrorList::new();
    if !needs_cluster_ip(service) {
        return errors;
    }
    let headless = service["spec"]["clusterIP"] == "None";
    let selectorless = headless && service["spec"]["selector"].is_blank();
    let inherited = old.map(|o| o["spec"]["ipFamilyPolicy"].clone());
    let spec = service.field("spec");
    match inherited.filter(Read::is_set) {
        Some(policy) => spec.put_if_unset("ipFamilyPolicy", policy),
        None if selectorless => spec.put_if_unset("ipFamilyPolicy", "RequireDualStack"),
        None => spec.put_if_unset("ipFamilyPolicy", "SingleStack"),
    }
    cluster_ips::validate(service, old.unwrap_or(&Value::Null), &mut errors);
    if !errors.is_empty() {
        return errors;
    }
    let spec = service.field("spec");
    let single = spec["ipFamilyPolicy"] == "SingleStack";
    if let Some(old) = old
        && single
    {
        for field in ["clusterIPs", "ipFamilies"] {
            if spec[field] == old["spec"][field] {
                shorten(spec, field);
            }
        }
    }
    check_families(spec, selectorless, available, &mut errors);
    if !errors.is_empty() {
        return errors;
    }
    let mut families: Vec<String> = spec["ipFamilies"]
        .items()
        .iter()
        .map(|f| f.text().to_owned())
        .collect();
    for ip in spec["clusterIPs"].items().iter().skip(families.len()) {
        if ip == "None" {
            break;
        }
        families.push(family_of(ip.text()).to_owned());
    }
    if families.is_empty()
        && let Some(first) = available.first()
    {
        families.push((*first).to_owned());
    }
    if families.len() == 1 && !single && (selectorless || available.len() > 1) {
        let other = match families[0].as_str() {
            "IPv4" => "IPv6",
            _ => "IPv4",
        };
        families.push(other.to_owned());
    }
    spec.put("ipFamilies", families);
    errors
}

/// Keeps addresses and ports that an update leaves out.
pub fn keep_allocated(new: &mut Value, old: &Value) {
    if needs_cluster_ip(old) && needs_cluster_ip(new) {
        let spec = new.field("spec");
        for field in ["clusterIP", "clusterIPs"] {
            if old["spec"][field].is_set() {
                spec.put_if_blank(field, old["spec"][field].clone());
            }
        }
    }
    if needs_node_port(old) && needs_node_port(new) {
        let used: Vec<i64> = node_ports(old)
            .intersection(&node_ports(new))
            .copied()
            .collect();
        let mut by_name = BTreeMap::new();
        for port in old["spec"]["ports"].items() {
            by_name.insert(port["name"].text(), port["nodePort"].int());
        }
        new.field("spec").each("ports", |port| {
            let before = by_name
                .get(port["name"].text())
                .copied()
                .unwrap_or_default();
            if before != 0 && !used.contains(&before) {
                port.put_if_blank("nodePort", before);
            }
        });
    }
    if needs_health_check_port(old) && needs_health_check_port(new) {
        let before = old["spec"]["healthCheckNodePort"].int();
        if before != 0 {
            new.field("spec")
                .put_if_blank("healthCheckNodePort", before);
        }
    }
}

/// The cluster IPs to allocate: for a create, or for an update those that the old object does not hold.
pub fn wanted_cluster_ips(new: &Value, old: Option<&Value>) -> Vec<WantedIp> {
    if !needs_cluster_ip(new) || new["spec"]["clusterIPs"][0] == "None" {
        return Vec::new();
    }
    let families = new["spec"]["ipFamilies"].items();
    let held = match old {
        Some(old) if needs_cluster_ip(old) => {
            if old["spec"]["clusterIPs"][0] == "None" {
                return Vec::new();
            }
            old["spec"]["ipFamilies"].items().len()
        }
        _ => 0,
    };
    let wish = |(index, family): (usize, &Value)| WantedIp {
        index,
        family: family.text().to_owned(),
        address: match new["spec"]["clusterIPs"][index].text() {
            "" => None,
            ip => Some(ip.to_owned()),
        },
    };
    families.iter().enumerate().skip(held).map(wish).collect()
}

/// Writes an allocated cluster IP into the service.
pub fn put_cluster_ip(service: &mut Value, index: usize, ip: &str) {
    let spec = service.field("spec");
    if index == 0 {
        spec.put("clusterIP", ip);
    }
    let list = spec.field("clusterIPs");
    if !list.is_array() {
        *list = json!([]);
    }
    if let Some(ips) = list.as_array_mut() {
        if ips.len() <= index {
            ips.resize(index + 1, Value::String(String::new()));
        }
        ips[index] = ip.into();
    }
}

/// The node ports to allocate. Ports of one number and different protocols share a node port, see [`put_node_port`].
pub fn wanted_node_ports(new: &Value, old: Option<&Value>) -> Vec<WantedPort> {
    let mut wanted = Vec::new();
    let held = old
        .filter(|o| needs_node_port(o))
        .map(node_ports)
        .unwrap_or_default();
    if needs_node_port(new) {
        let automatic = new["spec"]["type"] == "NodePort"
            || new["spec"]["allocateLoadBalancerNodePorts"].flag();
        let mut asked = held.clone();
        let mut numbers = BTreeSet::new();
        let named: BTreeSet<i64> = new["spec"]["ports"]
            .items()
            .iter()
            .filter(|port| port["nodePort"].int() != 0)
            .map(|port| port["port"].int())
            .collect();
        for (i, port) in new["spec"]["ports"].items().iter().enumerate() {
            let (number, node_port) = (port["port"].int(), port["nodePort"].int());
            if node_port == 0 {
                let shared =
                    old.is_none() && (numbers.contains(&number) || named.contains(&number));
                if automatic && !shared {
                    wanted.push(WantedPort {
                        index: Some(i),
                        port: None,
                    });
                }
            } else if asked.insert(node_port) {
                wanted.push(WantedPort {
                    index: Some(i),
                    port: Some(node_port),
                });
            }
            numbers.insert(number);
        }
    }
    let had = old.is_some_and(needs_health_check_port);
    if needs_health_check_port(new) && !had {
        let port = match new["spec"]["healthCheckNodePort"].int() {
            0 => None,
            port => Some(port),
        };
        wanted.push(WantedPort { index: None, port });
    }
    wanted
}

/// The node ports of ports that have the same number and different protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortSharing {
    /// They get the same node port, as on a create.
    Shared,
    /// Each gets its own node port.
    Separate,
}

/// Writes an allocated node port into the service.
///
/// ```
/// use kubewright_builtins::core::service::allocation::{PortSharing, put_node_port, wanted_node_ports};
/// use serde_json::json;
///
/// let mut service = json!({"spec": {"type": "NodePort", "ports": [
///     {"name": "tcp", "port": 53, "protocol": "TCP"},
///     {"name": "udp", "port": 53, "protocol": "UDP"},
/// ]}});
/// for wanted in wanted_node_ports(&service, None) {
///     put_node_port(&mut service, wanted.index, 30053, PortSharing::Shared);
/// }
/// assert_eq!(service["spec"]["ports"][1]["nodePort"], 30053);
/// ```
pub fn put_node_port(
    service: &mut Value,
    index: Option<usize>,
    node_port: i64,
    sharing: PortSharing,
) {
    let spec = service.field("spec");
    let Some(index) = index else {
        spec.put("healthCheckNodePort", node_port);
        return;
    };
    let number = spec["ports"][index]["port"].int();
    let mut at = 0;
    spec.each("ports", |port| {
        if at == index {
            port.put("nodePort", node_port);
        } else if sharing == PortSharing::Shared && port["port"].int() == number {
            port.put_if_blank("nodePort", node_port);
        }
        at += 1;
    });
}

/// Returns the cluster IPs that the change releases.
pub fn released_cluster_ips(new: Option<&Value>, old: &Value) -> Vec<String> {
    if !needs_cluster_ip(old) || old["spec"]["clusterIPs"][0] == "None" {
        return Vec::new();
    }
    let kept = new
        .map(|n| n["spec"]["clusterIPs"].items())
        .unwrap_or_default();
    let held = old["spec"]["clusterIPs"].items().iter();
    held.filter(|ip| !kept.contains(ip))
        .map(|ip| ip.text().to_owned())
        .collect()
}

/// Returns the node ports that the change releases, the health check port included.
pub fn released_node_ports(new: Option<&Value>, old: &Value) -> Vec<i64> {
    let all = |service: &Value| {
        let mut ports = match needs_node_port(service) {
            true => node_ports(service),
            false => Default::default(),
        };
        let health = service["spec"]["healthCheckNodePort"].int();
        if needs_health_check_port(service) && health != 0 {
            ports.insert(health);
        }
        ports
    };
    let kept = new.map(all).unwrap_or_default();
    all(old).difference(&kept).copied().collect()
}

/// `IPv4` or `IPv6`.
pub fn family_of(ip: &str) -> &'static str {
    if ip.contains(':') { "IPv6" } else { "IPv4" }
}

/// Validates that the cluster has the requested families, and that a single-stack service has one address.
fn check_families(spec: &Value, selectorless: bool, available: &[&str], errors: &mut ErrorList) {
    let path = Path::new("spec");
    let policy = &spec["ipFamilyPolicy"];
    let policy_path = path.child("ipFamilyPolicy");
    if policy == "SingleStack" {
        for (list, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
            if spec[list].items().len() == 2 {
                let message = format!(
                    "must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
                );
                errors.push(field::invalid(&policy_path, policy, message));
            }
        }
    }
    let named = spec["ipFamilies"].items().len();
    for (i, ip) in spec["clusterIPs"].items().iter().enumerate().skip(named) {
        let family = family_of(ip.text());
        if ip != "None" && !available.contains(&family) {
            let path = path.child("clusterIPs").index(i);
            let message = format!("{family} is not configured on this cluster");
            errors.push(field::invalid(&path, &spec["clusterIPs"], message));
        }
    }
    if selectorless || !errors.is_empty() {
        return;
    }
    if policy == "RequireDualStack" && available.len() < 2 {
        let message = "this cluster is not configured for dual-stack services";
        errors.push(field::invalid(&policy_path, policy, message));
    }
    for (i, family) in spec["ipFamilies"].items().iter().enumerate() {
        if !available.contains(&family.text()) {
            let path = path.child("ipFamilies").index(i);
            errors.push(field::invalid(
                &path,
                family,
                "not configured on this cluster",
            ));
        }
    }
}

fn shorten(spec: &mut Value, field: &str) {
    if let Some(list) = spec.get_mut(field).and_then(Value::as_array_mut) {
        list.truncate(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headless_service_without_selector_claims_both_families() {
        let mut s = json!({"spec": {"type": "ClusterIP", "clusterIP": "None"}});
        normalize_cluster_ips(&mut s, None);
        default_ip_families(&mut s, None, &["IPv4"]);
        assert_eq!(s["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
        assert_eq!(s["spec"]["ipFamilyPolicy"], "RequireDualStack");
        assert_eq!(s["spec"]["clusterIPs"], json!(["None"]));
        assert!(wanted_cluster_ips(&s, None).is_empty());
    }

    #[test]
    fn a_plain_service_wants_one_address_and_keeps_it_on_update() {
        let mut s = json!({"spec": {"type": "ClusterIP", "ports": [{"port": 80}]}});
        default_ip_families(&mut s, None, &["IPv4"]);
        let wanted = wanted_cluster_ips(&s, None);
        assert_eq!(wanted.len(), 1);
        put_cluster_ip(&mut s, wanted[0].index, "10.0.0.7");
        let mut next = json!({"spec": {"type": "ClusterIP", "ports": [{"port": 81}]}});
        keep_allocated(&mut next, &s);
        normalize_cluster_ips(&mut next, Some(&s));
        default_ip_families(&mut next, Some(&s), &["IPv4"]);
        assert_eq!(next["spec"]["clusterIPs"], json!(["10.0.0.7"]));
        assert!(wanted_cluster_ips(&next, Some(&s)).is_empty());
        assert!(released_cluster_ips(Some(&next), &s).is_empty());
        assert_eq!(released_cluster_ips(None, &s), ["10.0.0.7"]);
    }

    #[test]
    fn one_port_number_of_two_protocols_shares_a_node_port() {
        let mut s = json!({"spec": {"type": "NodePort", "ports": [
            {"name": "t", "port": 53, "protocol": "TCP"},
            {"name": "u", "port": 53, "protocol": "UDP"},
        ]}});
        assert_eq!(
            wanted_node_ports(&s, None),
            [WantedPort {
                index: Some(0),
                port: None
            }]
        );
        put_node_port(&mut s, Some(0), 30001, PortSharing::Shared);
        assert_eq!(s["spec"]["ports"][1]["nodePort"], 30001);
        assert_eq!(released_node_ports(None, &s), [30001]);
    }
}
