//! Endpoint slices.

use std::collections::BTreeSet;

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::Value;

use crate::{
    KindRules, address, checks, general,
    json::{Read, Write, same},
    meta,
};

const MAX_ADDRESSES: usize = 100;
const MAX_ENDPOINTS: usize = 1000;
const MAX_PORTS: usize = 20000;
const MAX_HINTS: usize = 8;
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create,
    prepare_update,
    validate_create,
    validate_update,
    warnings_on_create: |slice| {
        let mut out = Vec::new();
        if slice["addressType"] == "FQDN" {
            out.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
        }
        out.extend(address_warnings(slice));
        out
    },
    warnings_on_update: |new, _| address_warnings(new),
    ..KindRules::GENERAL
};

fn default(slice: &mut Value) {
    slice.each("ports", |port| {
        port.put_if_unset("name", "");
        port.put_if_unset("protocol", "TCP");
    });
}

fn prepare_create(slice: &mut Value) {
    general::start_generation(slice);
    drop_topology(slice);
}

/// Increments the generation on changes, also of labels, because they name the service of the slice.
fn prepare_update(new: &mut Value, old: &Value) {
    let labels = |slice: &Value| slice["metadata"]["labels"].clone();
    let fields = ["addressType", "endpoints", "ports"];
    let changed = fields.iter().any(|f| !same(&new[*f], &old[*f]));
    if changed || !same(&labels(new), &labels(old)) {
        general::next_generation(new, old);
    }
    if !same(&new["endpoints"], &old["endpoints"]) {
        drop_topology(new);
    }
}

fn drop_topology(slice: &mut Value) {
    slice.each("endpoints", |e| e.forget("deprecatedTopology"));
}

fn validate_create(slice: &Value) -> ErrorList {
    let mut errors = validate_head(slice);
    validate_endpoints(slice, &Path::new("endpoints"), &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(validate_head(new));
    if !same(&new["endpoints"], &old["endpoints"]) {
        validate_endpoints(new, &Path::new("endpoints"), &mut errors);
    }
    let path = Path::new("addressType");
    checks::immutable(&new["addressType"], &old["addressType"], &path, &mut errors);
    errors
}

fn validate_head(slice: &Value) -> ErrorList {
    let mut errors = meta::validate(slice, true, meta::subdomain);
    let known = ["FQDN", "IPv4", "IPv6"];
    checks::one_of(
        &slice["addressType"],
        &known,
        &Path::new("addressType"),
        &mut errors,
    );
    validate_ports(slice["ports"].items(), &Path::new("ports"), &mut errors);
    errors
}

fn validate_ports(ports: &[Value], path: &Path, errors: &mut ErrorList) {
    if ports.len() > MAX_PORTS {
        errors.push(field::too_many(path, ports.len(), MAX_PORTS));
        return;
    }
    let mut seen = BTreeSet::new();
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        let name = port["name"].text();
        if !name.is_empty() {
            checks::dns_label(name, &path.child("name"), errors);
        }
        if !seen.insert(name) {
            errors.push(field::duplicate(&path.child("name"), &name.into()));
        }
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

fn validate_endpoints(slice: &Value, path: &Path, errors: &mut ErrorList) {
    let endpoints = slice["endpoints"].items();
    if endpoints.len() > MAX_ENDPOINTS {
        errors.push(field::too_many(path, endpoints.len(), MAX_ENDPOINTS));
        return;
    }
    for (i, endpoint) in endpoints.iter().enumerate() {
        let path = path.index(i);
        let addresses = endpoint["addresses"].items();
        let addresses_path = path.child("addresses");
        if addresses.is_empty() {
            errors.push(field::required(
                &addresses_path,
                "must contain at least 1 address",
            ));
        } else if addresses.len() > MAX_ADDRESSES {
            errors.push(field::too_many(
                &addresses_path,
                addresses.len(),
                MAX_ADDRESSES,
            ));
        }
        for (j, address) in addresses.iter().enumerate() {
            let kind = slice["addressType"].text();
            validate_address(address.text(), kind, &addresses_path, j, errors);
        }
        if endpoint["nodeName"].is_set() {
            checks::dns_subdomain(endpoint["nodeName"].text(), &path.child("nodeName"), errors);
        }
        if endpoint["hostname"].is_set() {
            checks::dns_label(endpoint["hostname"].text(), &path.child("hostname"), errors);
        }
        for hints in ["forZones", "forNodes"] {
            let list = endpoint["hints"][hints].items();
            if list.len() > MAX_HINTS {
                let path = path.child("hints").child(hints);
                errors.push(field::too_many(&path, list.len(), MAX_HINTS));
            }
        }
    }
}

fn validate_address(text: &str, kind: &str, list: &Path, index: usize, errors: &mut ErrorList) {
    let path = list.index(index);
    let before = errors.len();
    match kind {
        "IPv4" => checks::legacy_ip(text, &[], &path, errors),
        "IPv6" => checks::messages(text, names::is_ip(text), &path, errors),
        _ => return,
    }
    if errors.len() > before {
        return;
    }
    if text.contains(':') != (kind == "IPv6") {
        errors.push(field::invalid_str(
            list,
            text,
            format!("must be an {kind} address"),
        ));
    }
    address::validate_endpoint(text, &path, errors);
}

fn address_warnings(slice: &Value) -> Vec<String> {
    let manager = slice["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"].text();
    if matches!(
        manager,
        "endpointslice-controller.k8s.io" | "endpointslicemirroring-controller.k8s.io"
    ) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (i, endpoint) in slice["endpoints"].items().iter().enumerate() {
        for (j, item) in endpoint["addresses"].items().iter().enumerate() {
            let path = Path::new("endpoints").index(i).child("addresses").index(j);
            out.extend(address::warnings(item.text(), &path));
        }
    }
    out
}
