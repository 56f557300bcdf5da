//! Containers: regular, init and ephemeral.

use std::collections::BTreeSet;

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::names,
};
use serde_json::Value;

use super::{env, mount, probe, security, volume::Volumes};
use crate::{checks, core::resources, json::Read};

const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const SIDECAR_ONLY: &str = "may not be set for init containers without restartPolicy=Always";
const NOT_EPHEMERAL: &str = "cannot be set for an Ephemeral Container";
const EPHEMERAL_FORBIDDEN: [&str; 9] = [
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

/// The context in which the containers of a pod are validated.
pub(super) struct Context<'a> {
    pub(super) spec: &'a Value,
    pub(super) volumes: &'a Volumes<'a>,
    pub(super) claims: Vec<&'a str>,
}

impl Context<'_> {
    fn grace(&self) -> &Value {
        &self.spec["terminationGracePeriodSeconds"]
    }

    fn host_users(&self) -> bool {
        !self.spec["hostUsers"].is_set() || self.spec["hostUsers"].flag()
    }
}

pub(super) fn validate_containers(context: &Context, path: &Path, errors: &mut ErrorList) {
    let containers = context.spec["containers"].items();
    if containers.is_empty() {
        errors.push(field::required(path, ""));
        return;
    }
    let mut seen = BTreeSet::new();
    for (i, c) in containers.iter().enumerate() {
        let path = path.index(i);
        validate_common(c, context, &path, errors);
        if !seen.insert(c["name"].text()) {
            errors.push(field::duplicate(&path.child("name"), &c["name"]));
        }
        validate_running(c, context, &path, errors);
        validate_restart_policy(c, &path, errors);
    }
    let mut ports = BTreeSet::new();
    for (i, c) in containers.iter().enumerate() {
        validate_host_ports(c, &mut ports, &path.index(i), errors);
    }
}

pub(super) fn validate_init_containers(context: &Context, path: &Path, errors: &mut ErrorList) {
    let regular = context.spec["containers"].items().iter();
    let mut seen: BTreeSet<&str> = regular.map(|c| c["name"].text()).collect();
    for (i, c) in context.spec["initContainers"].items().iter().enumerate() {
        let at = path.index(i);
        validate_common(c, context, &at, errors);
        if c["restartPolicy"].is_set() {
            validate_restart_policy(c, &at, errors);
        } else if !c["restartPolicyRules"].is_blank() {
            let message = "must specify restartPolicy when restart rules are used";
            errors.push(field::required(&at.child("restartPolicy"), message));
        }
        let name = c["name"].text();
        if seen.contains(name) {
            errors.push(field::duplicate(&at.child("name"), &c["name"]));
        } else if !name.is_empty() {
            seen.insert(name);
        }
        validate_host_ports(c, &mut BTreeSet::new(), &path.index(0), errors);
        let sidecar = c["restartPolicy"] == "Always";
        if sidecar {
            validate_running(c, context, &at, errors);
        } else {
            for name in [
                "lifecycle",
                "livenessProbe",
                "readinessProbe",
                "startupProbe",
            ] {
                if c[name].is_set() {
                    errors.push(field::forbidden(&at.child(name), SIDECAR_ONLY));
                }
            }
            for (j, policy) in c["resizePolicy"].items().iter().enumerate() {
                if policy["restartPolicy"] == "RestartContainer" {
                    let path = at.child("resizePolicy").index(j).child("restartPolicy");
                    let message =
                        "must not be set to 'RestartContainer' for non-sidecar initContainers";
                    errors.push(field::invalid(&path, &policy["restartPolicy"], message));
                }
            }
        }
    }
}

pub(super) fn validate_ephemeral_containers(
    context: &Context,
    path: &Path,
    errors: &mut ErrorList,
) {
    let spec = context.spec;
    let others = spec["containers"]
        .items()
        .iter()
        .chain(spec["initContainers"].items());
    let others: BTreeSet<&str> = others.map(|c| c["name"].text()).collect();
    let mut seen = others.clone();
    for (i, c) in spec["ephemeralContainers"].items().iter().enumerate() {
        let path = path.index(i);
        validate_common(c, context, &path, errors);
        validate_image_text(c, &path, errors);
        if !seen.insert(c["name"].text()) {
            errors.push(field::duplicate(&path.child("name"), &c["name"]));
        }
        let target = &c["targetContainerName"];
        if !target.is_blank() && !others.contains(target.text()) {
            errors.push(field::not_found(&path.child("targetContainerName"), target));
        }
        for name in EPHEMERAL_FORBIDDEN {
            if !c[name].is_blank() {
                errors.push(field::forbidden(&path.child(name), NOT_EPHEMERAL));
            }
        }
        for (j, mount) in c["volumeMounts"].items().iter().enumerate() {
            for name in ["subPath", "subPathExpr"] {
                if !mount[name].is_blank() {
                    let path = path.child("volumeMounts").index(j).child(name);
                    errors.push(field::forbidden(&path, NOT_EPHEMERAL));
                }
            }
        }
    }
}

/// An image without white space around it, which only pods insist on, not templates.
pub(super) fn validate_image_text(c: &Value, path: &Path, errors: &mut ErrorList) {
    let image = c["image"].text();
    if image.trim().len() != image.len() {
        let message = "must not have leading or trailing whitespace";
        errors.push(field::invalid_str(&path.child("image"), image, message));
    }
}

fn validate_common(c: &Value, context: &Context, path: &Path, errors: &mut ErrorList) {
    match c["name"].text() {
        "" => errors.push(field::required(&path.child("name"), "")),
        name => checks::dns_label(name, &path.child("name"), errors),
    }
    checks::required(&c["image"], &path.child("image"), errors);
    let known = ["File", "FallbackToLogsOnError"];
    let policy_path = path.child("terminationMessagePolicy");
    checks::one_of(&c["terminationMessagePolicy"], &known, &policy_path, errors);
    validate_ports(&c["ports"], &path.child("ports"), errors);
    env::validate_env(&c["env"], &path.child("env"), errors);
    env::validate_env_from(&c["envFrom"], &path.child("envFrom"), errors);
    mount::validate_mounts(c, context.volumes, &path.child("volumeMounts"), errors);
    mount::validate_devices(c, context.volumes, &path.child("volumeDevices"), errors);
    checks::one_of(
        &c["imagePullPolicy"],
        &PULL_POLICIES,
        &path.child("imagePullPolicy"),
        errors,
    );
    let resources_path = path.child("resources");
    resources::validate_requirements(
        &c["resources"],
        resources::Names::Container,
        &context.claims,
        &resources_path,
        errors,
    );
    validate_resize_policy(c, context, &path.child("resizePolicy"), errors);
    let security_path = path.child("securityContext");
    security::validate_container(
        &c["securityContext"],
        context.host_users(),
        &security_path,
        errors,
    );
}

fn validate_running(c: &Value, context: &Context, path: &Path, errors: &mut ErrorList) {
    if c["lifecycle"].is_set() {
        let os = &context.spec["os"];
        probe::validate_lifecycle(
            &c["lifecycle"],
            context.grace(),
            os,
            &path.child("lifecycle"),
            errors,
        );
    }
    probe::validate_probes(c, context.grace(), path, errors);
}

fn validate_ports(ports: &Value, path: &Path, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (i, port) in ports.items().iter().enumerate() {
        let path = path.index(i);
        let name = port["name"].text();
        if !name.is_empty() {
            let found = names::is_port_name(name);
            if !found.is_empty() {
                checks::messages(name, found, &path.child("name"), errors);
            } else if !seen.insert(name) {
                errors.push(field::duplicate(&path.child("name"), &port["name"]));
            }
        }
        match port["containerPort"].int() {
            0 => errors.push(field::required(&path.child("containerPort"), "")),
            number => checks::port(number, &path.child("containerPort"), errors),
        }
        if port["hostPort"].int() != 0 {
            checks::port(port["hostPort"].int(), &path.child("hostPort"), errors);
        }
        checks::one_of(
            &port["protocol"],
            &PROTOCOLS,
            &path.child("protocol"),
            errors,
        );
    }
}

fn validate_host_ports(
    c: &Value,
    seen: &mut BTreeSet<String>,
    path: &Path,
    errors: &mut ErrorList,
) {
    for (i, port) in c["ports"].items().iter().enumerate() {
        let number = port["hostPort"].int();
        if number == 0 {
            continue;
        }
        let (protocol, ip) = (port["protocol"].text(), port["hostIP"].text());
        let key = format!("{protocol}/{ip}/{number}");
        if !seen.insert(key.clone()) {
            let path = path.child("ports").index(i).child("hostPort");
            errors.push(field::duplicate(&path, &key.into()));
        }
    }
}

fn validate_resize_policy(c: &Value, context: &Context, path: &Path, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    let never = context.spec["restartPolicy"] == "Never";
    for (i, policy) in c["resizePolicy"].items().iter().enumerate() {
        if !seen.insert(policy["resourceName"].text()) {
            errors.push(field::duplicate(&path.index(i), &policy["resourceName"]));
        }
        checks::one_of(&policy["resourceName"], &["cpu", "memory"], path, errors);
        checks::one_of(
            &policy["restartPolicy"],
            &["NotRequired", "RestartContainer"],
            path,
            errors,
        );
        if never && policy["restartPolicy"] != "NotRequired" {
            let message = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push(field::invalid(path, &policy["restartPolicy"], message));
        }
    }
}

fn validate_restart_policy(c: &Value, path: &Path, errors: &mut ErrorList) {
    let rules = c["restartPolicyRules"].items();
    let policy_path = path.child("restartPolicy");
    if !c["restartPolicy"].is_set() {
        if rules.is_empty() {
            return;
        }
        let message = "must specify restartPolicy when restart rules are used";
        errors.push(field::required(&policy_path, message));
    } else {
        checks::one_of_if_set(
            &c["restartPolicy"],
            &["Always", "Never", "OnFailure"],
            &policy_path,
            errors,
        );
    }
    let rules_path = path.child("restartPolicyRules");
    if rules.len() > 20 {
        errors.push(field::too_many(&rules_path, rules.len(), 20));
    }
    for (i, rule) in rules.iter().enumerate() {
        let path = rules_path.index(i);
        let action = rule["action"].text();
        if !matches!(action, "Restart" | "RestartAllContainers") {
            let known = ["Restart", "RestartAllContainers"];
            errors.push(field::not_supported(&path.child("action"), action, &known));
        }
        let codes = &rule["exitCodes"];
        let codes_path = path.child("exitCodes");
        if !codes.is_set() {
            errors.push(field::required(&codes_path, "must be specified"));
            continue;
        }
        let operator = codes["operator"].text();
        if !matches!(operator, "In" | "NotIn") {
            errors.push(field::not_supported(
                &codes_path.child("operator"),
                operator,
                &["In", "NotIn"],
            ));
        }
        let count = codes["values"].items().len();
        if count > 255 {
            errors.push(field::too_many(&codes_path.child("values"), count, 255));
        }
    }
}
