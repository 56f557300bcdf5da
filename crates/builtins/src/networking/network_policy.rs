//! Network policies.

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::{Value, json};

use crate::{
    KindRules, address, checks, general,
    json::{Read, Write},
    meta,
};

pub(crate) static RULES: KindRules = KindRules {
    default,
    prepare_create: general::start_generation,
    prepare_update: general::count_spec_changes,
    validate_create,
    validate_update,
    ..KindRules::GENERAL
};

/// Sets the policy types: ingress, and egress if the policy has egress rules.
fn default(policy: &mut Value) {
    let spec = policy.field("spec");
    let types = match spec["egress"].is_blank() {
        true => json!(["Ingress"]),
        false => json!(["Ingress", "Egress"]),
    };
    spec.put_if_blank("policyTypes", types);
    for direction in ["ingress", "egress"] {
        spec.each(direction, |rule| {
            rule.each("ports", |port| port.put_if_unset("protocol", "TCP"));
        });
    }
}

fn validate_create(policy: &Value) -> ErrorList {
    let mut errors = meta::validate(policy, true, meta::subdomain);
    validate_spec(&policy["spec"], &[], &mut errors);
    errors
}

fn validate_update(new: &Value, old: &Value) -> ErrorList {
    let mut errors = meta::common(new, old, true);
    errors.extend(meta::validate_update(new, old));
    let mut known = Vec::new();
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in old["spec"][rules].items() {
            for peer in rule[peers].items() {
                known.push(peer["ipBlock"]["cidr"].text());
                known.extend(peer["ipBlock"]["except"].items().iter().map(Read::text));
            }
        }
    }
    validate_spec(&new["spec"], &known, &mut errors);
    errors
}

fn validate_spec(spec: &Value, known: &[&str], errors: &mut ErrorList) {
    let path = Path::new("spec");
    checks::selector(&spec["podSelector"], &path.child("podSelector"), errors);
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for (i, rule) in spec[rules].items().iter().enumerate() {
            let path = path.child(rules).index(i);
            for (j, port) in rule["ports"].items().iter().enumerate() {
                validate_port(port, &path.child("ports").index(j), errors);
            }
            for (j, peer) in rule[peers].items().iter().enumerate() {
                validate_peer(peer, known, &path.child(peers).index(j), errors);
            }
        }
    }
    let types = spec["policyTypes"].items();
    let types_path = path.child("policyTypes");
    if types.len() > 2 {
        let message = "may not specify more than two policyTypes";
        errors.push(field::invalid(&types_path, &spec["policyTypes"], message));
        return;
    }
    for (i, kind) in types.iter().enumerate() {
        checks::one_of_if_set(kind, &["Ingress", "Egress"], &types_path.index(i), errors);
    }
}

fn validate_port(port: &Value, path: &Path, errors: &mut ErrorList) {
    checks::one_of_if_set(
        &port["protocol"],
        &["TCP", "UDP", "SCTP"],
        &path.child("protocol"),
        errors,
    );
    let (number, end) = (&port["port"], &port["endPort"]);
    let end_path = path.child("endPort");
    match number {
        Value::Null if end.is_set() => {
            let message = "may not be specified when `port` is not specified";
            errors.push(field::invalid(&end_path, end, message));
        }
        Value::Null => {}
        Value::String(name) => {
            if end.is_set() {
                let message = "may not be specified when `port` is non-numeric";
                errors.push(field::invalid(&end_path, end, message));
            }
            checks::messages(name, names::is_port_name(name), &path.child("port"), errors);
        }
        _ => {
            checks::port(number.int(), &path.child("port"), errors);
            if end.is_set() {
                if end.int() < number.int() {
                    let message = "must be greater than or equal to `port`";
                    errors.push(field::invalid(&end_path, number, message));
                }
                checks::port(end.int(), &end_path, errors);
            }
        }
    }
}

fn validate_peer(peer: &Value, known: &[&str], path: &Path, errors: &mut ErrorList) {
    let mut count = 0;
    for name in ["podSelector", "namespaceSelector"] {
        if peer[name].is_set() {
            count += 1;
            checks::selector(&peer[name], &path.child(name), errors);
        }
    }
    if peer["ipBlock"].is_set() {
        count += 1;
        validate_block(&peer["ipBlock"], known, &path.child("ipBlock"), errors);
    }
    if count == 0 {
        errors.push(field::required(path, "must specify a peer"));
    } else if count > 1 && peer["ipBlock"].is_set() {
        errors.push(field::forbidden(
            path,
            "may not specify both ipBlock and another peer",
        ));
    }
}

fn validate_block(block: &Value, known: &[&str], path: &Path, errors: &mut ErrorList) {
    let cidr = block["cidr"].text();
    if cidr.is_empty() {
        errors.push(field::required(&path.child("cidr"), ""));
        return;
    }
    address::validate_legacy_cidr(cidr, known, &path.child("cidr"), errors);
    let Some((ip, bits)) = address::parse_cidr(cidr) else {
        return;
    };
    for (i, except) in block["except"].items().iter().enumerate() {
        let path = path.child("except").index(i);
        let text = except.text();
        address::validate_legacy_cidr(text, known, &path, errors);
        let Some((inner, inner_bits)) = address::parse_cidr(text) else {
            continue;
        };
        let inside = inner.is_ipv4() == ip.is_ipv4()
            && address::network(inner, bits) == address::network(ip, bits);
        if !inside || bits >= inner_bits {
            errors.push(field::invalid_str(
                &path,
                text,
                "must be a strict subset of `cidr`",
            ));
        }
    }
}
