//! Validates services, after addresses and ports have been allocated.

use std::collections::BTreeSet;

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{self, names},
};
use serde_json::{Value, json};

use super::{
    cluster_ips,
    strategy::{externally_accessible, needs_health_check_port},
};
use crate::{address, checks, json::Read, meta};

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const BALANCER_ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
const MAX_AFFINITY_SECONDS: i64 = 86400;

pub(crate) fn create(service: &Value) -> ErrorList {
    let mut errors = meta::validate(service, true, meta::label);
    validate(service, &Value::Null, &mut errors);
    errors
}

pub(crate) fn update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    cluster_ips::validate_change(new, old, &mut errors);
    let path = Path::new("spec");
    let class_path = path.child("loadBalancerClass");
    let (class, before) = (
        &new["spec"]["loadBalancerClass"],
        &old["spec"]["loadBalancerClass"],
    );
    if balanced(new) && balanced(old) && class != before {
        errors.push(field::invalid(
            &class_path,
            class,
            "may not change once set",
        ));
    }
    validate_class(new, &class_path, &mut errors);
    let port = "healthCheckNodePort";
    let kept = needs_health_check_port(new) && needs_health_check_port(old);
    if kept && new["spec"][port] != old["spec"][port] {
        errors.push(field::forbidden(&path.child(port), "field is immutable"));
    }
    validate(new, old, &mut errors);
    errors
}

pub(crate) fn status(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    let path = Path::new("status").child("loadBalancer").child("ingress");
    let ingress = new["status"]["loadBalancer"]["ingress"].items();
    if !balanced(new) {
        if !ingress.is_empty() {
            let message = "may only be used when `spec.type` is 'LoadBalancer'";
            errors.push(field::forbidden(&path, message));
        }
        return errors;
    }
    let before = old["status"]["loadBalancer"]["ingress"].items();
    let known: Vec<&str> = before.iter().map(|i| i["ip"].text()).collect();
    for (i, item) in ingress.iter().enumerate() {
        validate_ingress(item, &known, &path.index(i), &mut errors);
    }
    errors
}

fn validate_ingress(item: &Value, known: &[&str], path: &Path, errors: &mut ErrorList) {
    let (ip, mode) = (item["ip"].text(), &item["ipMode"]);
    let mode_path = path.child("ipMode");
    if !ip.is_empty() {
        checks::legacy_ip(ip, known, &path.child("ip"), errors);
    }
    if !mode.is_set() {
        if !ip.is_empty() {
            errors.push(field::required(
                &mode_path,
                "must be specified when `ip` is set",
            ));
        }
    } else if ip.is_empty() {
        errors.push(field::forbidden(
            &mode_path,
            "may not be specified when `ip` is not set",
        ));
    } else {
        checks::one_of_if_set(mode, &["Proxy", "VIP"], &mode_path, errors);
    }
    let host = item["hostname"].text();
    if !host.is_empty() {
        let path = path.child("hostname");
        checks::dns_subdomain(host, &path, errors);
        if address::parse(host).is_some() {
            errors.push(field::invalid_str(
                &path,
                host,
                "must be a DNS name, not an IP address",
            ));
        }
    }
}

fn validate(service: &Value, old: &Value, errors: &mut ErrorList) {
    let spec = &service["spec"];
    let path = Path::new("spec");
    let annotations = &service["metadata"]["annotations"];
    let annotations_path = Path::new("metadata").child("annotations");
    if let (Some(mode), Some(hints)) = (annotations.get(MODE), annotations.get(HINTS))
        && mode != hints
    {
        let message = format!("must match annotations[{HINTS}] when both are specified");
        errors.push(field::invalid(&annotations_path.key(MODE), mode, message));
    }
    let kind = spec["type"].text();
    let headless = cluster_ips::is_headless(service);
    if spec["ports"].is_blank() && !headless && kind != "ExternalName" {
        errors.push(field::required(&path.child("ports"), ""));
    }
    validate_type_fields(spec, headless, &path, errors);
    let mut seen = BTreeSet::new();
    let ports = spec["ports"].items();
    for (i, port) in ports.iter().enumerate() {
        validate_port(
            port,
            ports.len() > 1,
            &mut seen,
            &path.child("ports").index(i),
            errors,
        );
    }
    if spec["selector"].is_set() {
        let path = path.child("selector");
        errors.extend(validation::validate_labels(&spec["selector"], &path));
    }
    validate_affinity(spec, &path, errors);
    cluster_ips::validate(service, old, errors);
    let before: Vec<&str> = old["spec"]["externalIPs"]
        .items()
        .iter()
        .map(Read::text)
        .collect();
    for (i, ip) in spec["externalIPs"].items().iter().enumerate() {
        let path = path.child("externalIPs").index(i);
        let count = errors.len();
        checks::legacy_ip(ip.text(), &before, &path, errors);
        if errors.len() == count {
            address::validate_endpoint(ip.text(), &path, errors);
        }
    }
    checks::one_of(&spec["type"], &TYPES, &path.child("type"), errors);
    validate_unique_ports(spec, &path.child("ports"), errors);
    validate_source_ranges(
        service,
        old,
        &path.child("LoadBalancerSourceRanges"),
        errors,
    );
    if spec["allocateLoadBalancerNodePorts"].is_set() && kind != "LoadBalancer" {
        errors.push(field::forbidden(
            &path.child("allocateLoadBalancerNodePorts"),
            BALANCER_ONLY,
        ));
    }
    validate_class(service, &path.child("loadBalancerClass"), errors);
    validate_traffic(service, &path, errors);
}

fn validate_type_fields(spec: &Value, headless: bool, path: &Path, errors: &mut ErrorList) {
    let kind = spec["type"].text();
    if headless && matches!(kind, "LoadBalancer" | "NodePort") {
        let path = path.child("clusterIPs").index(0);
        let message = format!("may not be set to 'None' for {kind} services");
        errors.push(field::invalid_str(&path, "None", message));
    }
    if kind != "ExternalName" {
        return;
    }
    for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !spec[name].is_blank() {
            errors.push(field::forbidden(
                &path.child(name),
                "may not be set for ExternalName services",
            ));
        }
    }
    let name = spec["externalName"].text();
    match name.strip_suffix('.').unwrap_or(name) {
        "" => errors.push(field::required(&path.child("externalName"), "")),
        name => checks::dns_subdomain(name, &path.child("externalName"), errors),
    }
}

fn validate_port<'a>(
    port: &'a Value,
    named: bool,
    seen: &mut BTreeSet<&'a str>,
    path: &Path,
    errors: &mut ErrorList,
) {
    let name = port["name"].text();
    if !name.is_empty() {
        checks::dns_label(name, &path.child("name"), errors);
        if !seen.insert(name) {
            errors.push(field::duplicate(&path.child("name"), &port["name"]));
        }
    } else if named {
        errors.push(field::required(&path.child("name"), ""));
    }
    checks::port(port["port"].int(), &path.child("port"), errors);
    checks::one_of(
        &port["protocol"],
        &PROTOCOLS,
        &path.child("protocol"),
        errors,
    );
    checks::port_or_name(&port["targetPort"], &path.child("targetPort"), errors);
    if port["appProtocol"].is_set() {
        checks::qualified_name(
            port["appProtocol"].text(),
            &path.child("appProtocol"),
            errors,
        );
    }
}

fn validate_affinity(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let kind = &spec["sessionAffinity"];
    checks::one_of(
        kind,
        &["ClientIP", "None"],
        &path.child("sessionAffinity"),
        errors,
    );
    let path = path.child("sessionAffinityConfig");
    let config = &spec["sessionAffinityConfig"];
    if kind == "None" && config.is_set() {
        errors.push(field::forbidden(
            &path,
            "must not be set when session affinity is None",
        ));
    }
    if kind != "ClientIP" {
        return;
    }
    let seconds = &config["clientIP"]["timeoutSeconds"];
    let path = path.child("clientIP").child("timeoutSeconds");
    if !seconds.is_set() {
        errors.push(field::required(
            &path,
            "when session affinity type is ClientIP",
        ));
    } else if !(1..=MAX_AFFINITY_SECONDS).contains(&seconds.int()) {
        let message = format!("must be greater than 0 and less than {MAX_AFFINITY_SECONDS}");
        errors.push(field::invalid(&path, seconds, message));
    }
}

fn validate_unique_ports(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let ports = spec["ports"].items();
    if spec["type"] == "ClusterIP" {
        for (i, port) in ports.iter().enumerate() {
            if port["nodePort"].int() != 0 {
                let path = path.index(i).child("nodePort");
                errors.push(field::forbidden(
                    &path,
                    "may not be used when `type` is 'ClusterIP'",
                ));
            }
        }
    }
    let (mut node_ports, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    for (i, port) in ports.iter().enumerate() {
        let node_port = port["nodePort"].int();
        if node_port != 0 && !node_ports.insert((port["protocol"].text(), node_port)) {
            errors.push(field::duplicate(
                &path.index(i).child("nodePort"),
                &node_port.into(),
            ));
        }
    }
    for (i, port) in ports.iter().enumerate() {
        let (protocol, number) = (port["protocol"].text(), port["port"].int());
        if !numbers.insert((protocol, number)) {
            let mut error = field::duplicate(&path.index(i), &json!(null));
            error.value = Some(format!(
                "{{\"Name\":\"\",\"Protocol\":\"{protocol}\",\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}"
            ));
            errors.push(error);
        }
    }
}

fn validate_source_ranges(service: &Value, old: &Value, path: &Path, errors: &mut ErrorList) {
    let ranges = service["spec"]["loadBalancerSourceRanges"].items();
    if !ranges.is_empty() {
        if !balanced(service) {
            errors.push(field::forbidden(path, BALANCER_ONLY));
        }
        let before = old["spec"]["loadBalancerSourceRanges"].items();
        let before: Vec<&str> = before.iter().map(|r| r.text().trim()).collect();
        for (i, range) in ranges.iter().enumerate() {
            address::validate_legacy_cidr(range.text().trim(), &before, &path.index(i), errors);
        }
        return;
    }
    let Some(ranges) = service["metadata"]["annotations"].get(SOURCE_RANGES) else {
        return;
    };
    let path = Path::new("metadata")
        .child("annotations")
        .key(SOURCE_RANGES);
    if !balanced(service) {
        errors.push(field::forbidden(&path, BALANCER_ONLY));
    }
    if old["metadata"]["annotations"].get(SOURCE_RANGES) != Some(ranges) {
        for range in ranges.text().trim().split(',').filter(|r| !r.is_empty()) {
            address::validate_legacy_cidr(range.trim(), &[], &path, errors);
        }
    }
}

fn validate_class(service: &Value, path: &Path, errors: &mut ErrorList) {
    let class = &service["spec"]["loadBalancerClass"];
    if !class.is_set() {
        return;
    }
    if balanced(service) {
        checks::messages(
            class.text(),
            names::is_qualified_name(class.text()),
            path,
            errors,
        );
    } else {
        errors.push(field::forbidden(path, BALANCER_ONLY));
    }
}

fn validate_traffic(service: &Value, path: &Path, errors: &mut ErrorList) {
    let spec = &service["spec"];
    let policy = &spec["externalTrafficPolicy"];
    let policy_path = path.child("externalTrafficPolicy");
    if externally_accessible(spec) {
        checks::one_of(policy, &["Cluster", "Local"], &policy_path, errors);
    } else if !policy.is_blank() {
        let message = "may only be set for externally-accessible services";
        errors.push(field::invalid(&policy_path, policy, message));
    }
    let port = &spec["healthCheckNodePort"];
    let port_path = path.child("healthCheckNodePort");
    if !needs_health_check_port(service) {
        if port.int() != 0 {
            let message = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.push(field::invalid(&port_path, port, message));
        }
    } else if port.int() == 0 {
        errors.push(field::required(&port_path, ""));
    } else {
        checks::port(port.int(), &port_path, errors);
    }
    let internal = &spec["internalTrafficPolicy"];
    let internal_path = path.child("internalTrafficPolicy");
    if matches!(
        spec["type"].text(),
        "NodePort" | "LoadBalancer" | "ClusterIP"
    ) && !internal.is_set()
    {
        errors.push(field::required(&internal_path, ""));
    }
    checks::one_of_if_set(internal, &["Cluster", "Local"], &internal_path, errors);
    let known = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    checks::one_of_if_set(
        &spec["trafficDistribution"],
        &known,
        &path.child("trafficDistribution"),
        errors,
    );
}

fn balanced(service: &Value) -> bool {
    service["spec"]["type"] == "LoadBalancer"
}
