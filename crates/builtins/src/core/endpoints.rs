//! Endpoints, the older sibling of endpoint slices.

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::{
    KindRules, address, checks,
    json::{Read, Write, same},
    meta,
};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

pub(crate) static RULES: KindRules = KindRules {
    default,
    validate_create,
    validate_update,
    warnings_on_create: warnings,
    warnings_on_update: |new, _| warnings(new),
    allow_create_on_update: true,
    deprecation: Some(
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
    ..KindRules::GENERAL
};

fn default(endpoints: &mut Value) {
    endpoints.each("subsets", |s| {
        s.each("ports", |p| p.put_if_blank("protocol", "TCP"));
    });
}

fn validate_create(endpoints: &Value) -> ErrorList {
    let mut errors = meta::validate(endpoints, true, meta::subdomain);
    validate_subsets(endpoints, &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    errors.extend(meta::validate(new, true, meta::subdomain));
    if !same(&new["subsets"], &old["subsets"]) {
        validate_subsets(new, &mut errors);
    }
    errors
}

fn validate_subsets(endpoints: &Value, errors: &mut ErrorList) {
    for (i, subset) in endpoints["subsets"].items().iter().enumerate() {
        let path = Path::new("subsets").index(i);
        if subset["addresses"].is_blank() && subset["notReadyAddresses"].is_blank() {
            let message = "must specify `addresses` or `notReadyAddresses`";
            errors.push(field::required(&path, message));
        }
        for list in ["addresses", "notReadyAddresses"] {
            for (j, address) in subset[list].items().iter().enumerate() {
                validate_address(address, &path.child(list).index(j), errors);
            }
        }
        let ports = subset["ports"].items();
        for (j, port) in ports.iter().enumerate() {
            let path = path.child("ports").index(j);
            match port["name"].text() {
                "" if ports.len() > 1 => errors.push(field::required(&path.child("name"), "")),
                "" => {}
                name => checks::dns_label(name, &path.child("name"), errors),
            }
            checks::port(port["port"].int(), &path.child("port"), errors);
            checks::one_of(
                &port["protocol"],
                &PROTOCOLS,
                &path.child("protocol"),
                errors,
            );
            if port["appProtocol"].is_set() {
                checks::qualified_name(
                    port["appProtocol"].text(),
                    &path.child("appProtocol"),
                    errors,
                );
            }
        }
    }
}

fn validate_address(address: &Value, path: &Path, errors: &mut ErrorList) {
    let ip = address["ip"].text();
    checks::legacy_ip(ip, &[], &path.child("ip"), errors);
    if !address["hostname"].is_blank() {
        checks::dns_label(address["hostname"].text(), &path.child("hostname"), errors);
    }
    if address["nodeName"].is_set() {
        checks::dns_subdomain(address["nodeName"].text(), &path.child("nodeName"), errors);
    }
    address::validate_endpoint(ip, &path.child("ip"), errors);
}

fn warnings(endpoints: &Value) -> Vec<String> {
    let manager = &endpoints["metadata"]["labels"]["endpoints.kubernetes.io/managed-by"];
    if manager == "endpoint-controller" {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (i, subset) in endpoints["subsets"].items().iter().enumerate() {
        for list in ["addresses", "notReadyAddresses"] {
            for (j, item) in subset[list].items().iter().enumerate() {
                let path = Path::new("subsets")
                    .index(i)
                    .child(list)
                    .index(j)
                    .child("ip");
                out.extend(address::warnings(item["ip"].text(), &path));
            }
        }
    }
    out
}
