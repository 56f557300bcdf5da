//! Printers of the `networking.k8s.io` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, text};
use super::core::load_balancer_addresses;
use super::text::selector;
use super::{PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "Ingress" => &INGRESS,
        "IngressClass" => &INGRESS_CLASS,
        "IPAddress" => &IP_ADDRESS,
        "NetworkPolicy" => &NETWORK_POLICY,
        "ServiceCIDR" => &SERVICE_CIDR,
        _ => return None,
    })
}

static INGRESS: Printer = Printer::new(
    &[
        NAME,
        text(
            "Class",
            "The ingress class that says which controller serves the ingress.",
        ),
        text("Hosts", "The hosts the rules match, cut short."),
        text("Address", "The addresses of the load balancer."),
        text(
            "Ports",
            "The ports that are open, depending on whether there is TLS.",
        ),
        AGE,
    ],
    ingress,
);

static INGRESS_CLASS: Printer = Printer::new(
    &[
        NAME,
        text(
            "Controller",
            "The controller that serves ingresses of the class.",
        ),
        text(
            "Parameters",
            "The object that holds parameters for the controller.",
        ),
        AGE,
    ],
    ingress_class,
);

/// The row has a third cell, the age, for which the server declares no column.
static IP_ADDRESS: Printer = Printer::new(
    &[
        NAME,
        text("ParentRef", "The object the address belongs to."),
    ],
    ip_address,
);

static NETWORK_POLICY: Printer = Printer::new(
    &[
        NAME,
        text(
            "Pod-Selector",
            "The label selector of the pods the policy applies to.",
        ),
        AGE,
    ],
    network_policy,
);

static SERVICE_CIDR: Printer = Printer::new(
    &[
        NAME,
        text(
            "CIDRs",
            "The ranges from which services get their cluster addresses.",
        ),
        AGE,
    ],
    service_cidr,
);

fn ingress(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    let ports = if spec["tls"].items().is_empty() {
        "80"
    } else {
        "80, 443"
    };
    row![
        fields::name(object),
        spec["ingressClassName"].as_str().unwrap_or("<none>"),
        hosts(spec["rules"].items()),
        load_balancer_addresses(&object["status"]),
        ports,
        age::of(object, options),
    ]
}

/// The first three hosts, and how many rules there are beyond three, whether or not those have hosts.
fn hosts(rules: &[Value]) -> String {
    const SHOWN: usize = 3;
    let mut shown = Vec::with_capacity(SHOWN);
    let mut has_more = false;
    for host in rules.iter().map(|rule| rule["host"].text()) {
        if shown.len() == SHOWN {
            has_more = true;
            break;
        }
        if !host.is_empty() {
            shown.push(host);
        }
    }
    match shown.join(",") {
        _ if shown.is_empty() => "*".to_owned(),
        hosts if has_more => format!("{hosts} + {} more...", rules.len().saturating_sub(SHOWN)),
        hosts => hosts,
    }
}

fn ingress_class(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    let is_default =
        fields::annotation(object, "ingressclass.kubernetes.io/is-default-class") == Some("true");
    let name = fields::name(object);
    let name = if is_default {
        format!("{name} (default)")
    } else {
        name.to_owned()
    };
    row![
        name,
        spec["controller"].text(),
        parameters(&spec["parameters"]),
        age::of(object, options),
    ]
}

fn parameters(reference: &Value) -> String {
    if !reference.is_object() {
        return "<none>".to_owned();
    }
    let (kind, name) = (reference["kind"].text(), reference["name"].text());
    match reference["apiGroup"].as_str() {
        Some(group) => format!("{kind}.{group}/{name}"),
        None => format!("{kind}/{name}"),
    }
}

fn ip_address(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        parent(&object["spec"]["parentRef"]),
        age::of(object, options)
    ]
}

fn parent(reference: &Value) -> String {
    if !reference.is_object() {
        return "<none>".to_owned();
    }
    let resource = reference["resource"].text();
    let resource = match reference["group"].text() {
        "" => resource.to_lowercase(),
        group => format!("{resource}.{group}").to_lowercase(),
    };
    let name = reference["name"].text();
    match reference["namespace"].text() {
        "" => format!("{resource}/{name}"),
        namespace => format!("{resource}/{namespace}/{name}"),
    }
}

fn network_policy(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        selector(&object["spec"]["podSelector"]),
        age::of(object, options)
    ]
}

fn service_cidr(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let cidrs = object["spec"]["cidrs"]
        .texts()
        .collect::<Vec<_>>()
        .join(",");
    row![fields::name(object), cidrs, age::of(object, options)]
}
