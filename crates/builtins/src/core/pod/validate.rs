//! Validates pods, and pod specs inside templates.

use std::collections::BTreeSet;

use kubewright_machinery::{
    field::{self, ErrorList, Path},
    validation::{self, NameForm, names},
};
use serde_json::Value;

use super::{
    annotations,
    container::{self, Context},
    env, scheduling, security, volume,
};
use crate::{checks, core::resources, json::Read, meta};

/// Checks a new pod.
pub(crate) fn create(pod: &Value) -> ErrorList {
    let mut errors = metadata_and_spec(pod);
    let (spec, path) = (&pod["spec"], Path::new("spec"));
    if !spec["ephemeralContainers"].is_blank() {
        errors.push(field::forbidden(
            &path.child("ephemeralContainers"),
            "cannot be set on create",
        ));
    }
    if !spec["nodeName"].is_blank() && !spec["schedulingGates"].is_blank() {
        let message = "cannot be set until all schedulingGates have been cleared";
        errors.push(field::forbidden(&path.child("nodeName"), message));
    }
    errors
}

/// Validates what creates and updates have in common.
pub(super) fn metadata_and_spec(pod: &Value) -> ErrorList {
    let mut errors = meta::validate(pod, true, meta::subdomain);
    annotations::validate(
        pod,
        &Path::new("metadata").child("annotations"),
        &mut errors,
    );
    let (spec, path) = (&pod["spec"], Path::new("spec"));
    validate_spec(
        spec,
        pod["metadata"]["name"].text(),
        true,
        &path,
        &mut errors,
    );
    if spec["serviceAccountName"].is_blank() {
        for (i, volume) in spec["volumes"].items().iter().enumerate() {
            for (j, source) in volume["projected"]["sources"].items().iter().enumerate() {
                if source["serviceAccountToken"].is_set() {
                    let path = path
                        .child("volumes")
                        .index(i)
                        .child("projected")
                        .child("sources");
                    let message = "must not be specified when serviceAccountName is not set";
                    errors.push(field::forbidden(
                        &path.index(j).child("serviceAccountToken"),
                        message,
                    ));
                }
            }
        }
    }
    for list in ["containers", "initContainers"] {
        for (i, c) in spec[list].items().iter().enumerate() {
            container::validate_image_text(c, &path.child(list).index(i), &mut errors);
        }
    }
    errors
}

/// Checks the template of a workload, metadata included.
pub(crate) fn template(template: &Value, path: &Path, errors: &mut ErrorList) {
    template_metadata(template, path, errors);
    let spec_path = path.child("spec");
    validate_spec(&template["spec"], "", false, &spec_path, errors);
    if !template["spec"]["ephemeralContainers"].is_blank() {
        let message = "ephemeral containers not allowed in pod template";
        errors.push(field::forbidden(
            &spec_path.child("ephemeralContainers"),
            message,
        ));
    }
}

/// Checks the labels and annotations of a template.
pub(crate) fn template_metadata(template: &Value, path: &Path, errors: &mut ErrorList) {
    let metadata = &template["metadata"];
    let labels_path = path.child("labels");
    errors.extend(validation::validate_labels(
        &metadata["labels"],
        &labels_path,
    ));
    let annotations_path = path.child("annotations");
    errors.extend(validation::validate_annotations(
        &metadata["annotations"],
        &annotations_path,
    ));
    annotations::validate(template, &annotations_path, errors);
}

/// Checks a pod spec; `pod_name` is empty and `is_pod` false for templates.
fn validate_spec(spec: &Value, pod_name: &str, is_pod: bool, path: &Path, errors: &mut ErrorList) {
    if !spec["terminationGracePeriodSeconds"].is_set() {
        errors.push(field::required(
            &path.child("terminationGracePeriodSeconds"),
            "",
        ));
    }
    let volumes = volume::validate(spec, pod_name, &path.child("volumes"), errors);
    let claims = spec["resourceClaims"]
        .items()
        .iter()
        .map(|c| c["name"].text())
        .collect();
    validate_claims(
        &spec["resourceClaims"],
        &path.child("resourceClaims"),
        errors,
    );
    let context = Context {
        spec,
        volumes: &volumes,
        claims,
    };
    container::validate_containers(&context, &path.child("containers"), errors);
    container::validate_init_containers(&context, &path.child("initContainers"), errors);
    container::validate_ephemeral_containers(&context, &path.child("ephemeralContainers"), errors);
    validate_pod_resources(spec, &context.claims, &path.child("resources"), errors);
    validate_host_network(spec, is_pod, &path.child("containers"), errors);
    let known = ["Always", "OnFailure", "Never"];
    checks::one_of(
        &spec["restartPolicy"],
        &known,
        &path.child("restartPolicy"),
        errors,
    );
    let known = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    checks::one_of(&spec["dnsPolicy"], &known, &path.child("dnsPolicy"), errors);
    let selector_path = path.child("nodeSelector");
    errors.extend(validation::validate_labels(
        &spec["nodeSelector"],
        &selector_path,
    ));
    security::validate_pod(spec, &path.child("securityContext"), errors);
    scheduling::validate_affinity(&spec["affinity"], &path.child("affinity"), errors);
    validate_dns_config(spec, &path.child("dnsConfig"), errors);
    for (i, gate) in spec["readinessGates"].items().iter().enumerate() {
        let path = path.child("readinessGates").index(i).child("conditionType");
        checks::qualified_name(gate["conditionType"].text(), &path, errors);
    }
    scheduling::validate_gates(
        &spec["schedulingGates"],
        &path.child("schedulingGates"),
        errors,
    );
    let spread_path = path.child("topologySpreadConstraints");
    scheduling::validate_spread(&spec["topologySpreadConstraints"], &spread_path, errors);
    validate_host_users(spec, path, errors);
    validate_names(spec, path, errors);
    scheduling::validate_tolerations(&spec["tolerations"], &path.child("tolerations"), errors);
    validate_host_aliases(&spec["hostAliases"], &path.child("hostAliases"), errors);
    for name in ["priorityClassName", "runtimeClassName"] {
        if spec[name].is_set() && !(name == "priorityClassName" && spec[name].is_blank()) {
            let text = spec[name].text();
            checks::messages(
                text,
                names::name_is_dns_subdomain(text, NameForm::Whole),
                &path.child(name),
                errors,
            );
        }
    }
    let known = ["PreemptLowerPriority", "Never"];
    if spec["preemptionPolicy"].is_set() {
        checks::one_of(
            &spec["preemptionPolicy"],
            &known,
            &path.child("preemptionPolicy"),
            errors,
        );
    }
    validate_os(spec, &path.child("os"), errors);
    env::validate_file_volumes(spec, path, errors);
}

/// Validates that resource claims have unique names and one source each.
fn validate_claims(claims: &Value, path: &Path, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (i, claim) in claims.items().iter().enumerate() {
        let path = path.index(i);
        let (name, at) = (claim["name"].text(), path.child("name"));
        if name.is_empty() {
            errors.push(field::required(&at, ""));
        } else {
            checks::dns_label(name, &at, errors);
            if !seen.insert(name) {
                errors.push(field::duplicate(&at, &claim["name"]));
            }
        }
        let (given, template) = (
            &claim["resourceClaimName"],
            &claim["resourceClaimTemplateName"],
        );
        let message = match (given.is_set(), template.is_set()) {
            (true, true) => {
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            }
            (false, false) => {
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            }
            _ => "",
        };
        if !message.is_empty() {
            let text = format!(
                "{{\"Name\":{},\"ResourceClaimName\":{given},\"ResourceClaimTemplateName\":{template}}}",
                claim["name"]
            );
            errors.push(field::invalid_raw(&path, text, message));
        }
        for name in ["resourceClaimName", "resourceClaimTemplateName"] {
            if claim[name].is_set() {
                checks::dns_subdomain(claim[name].text(), &path.child(name), errors);
            }
        }
    }
}

fn validate_pod_resources(spec: &Value, claims: &[&str], path: &Path, errors: &mut ErrorList) {
    let own = &spec["resources"];
    if !own.is_set() {
        return;
    }
    if own["claims"].is_set() {
        let message = "claims may not be set for Resources at pod-level";
        errors.push(field::forbidden(&path.child("claims"), message));
    }
    resources::validate_requirements(own, resources::Names::Pod, claims, path, errors);
    for (name, sum) in resources::container_sum(spec, "requests") {
        let Some(request) = resources::quantity(&own["requests"][&name]) else {
            continue;
        };
        if resources::quantity(&Value::String(sum.clone())).is_some_and(|s| s > request) {
            let message =
                format!("must be greater than or equal to aggregate container requests of {sum}");
            let path = path.child("requests").key(&name);
            errors.push(field::invalid_str(&path, &request.to_string(), message));
        }
    }
    for (i, c) in spec["containers"].items().iter().enumerate() {
        for (name, value) in c["resources"]["limits"].entries() {
            let limits = (
                resources::quantity(value),
                resources::quantity(&own["limits"][name]),
            );
            if let (Some(limit), Some(most)) = limits
                && limit > most
            {
                let path = path.child("containers").index(i).key(name).child("limits");
                let message = format!("must be less than or equal to pod limits of {most}");
                errors.push(field::invalid_str(&path, &limit.to_string(), message));
            }
        }
    }
}

fn validate_host_network(spec: &Value, is_pod: bool, path: &Path, errors: &mut ErrorList) {
    if !spec["hostNetwork"].flag() {
        return;
    }
    for (i, c) in spec["containers"].items().iter().enumerate() {
        for (j, port) in c["ports"].items().iter().enumerate() {
            let host = port["hostPort"].int();
            if (is_pod || host != 0) && host != port["containerPort"].int() {
                let path = path.index(i).child("ports").index(j).child("hostPort");
                let message = "must match `containerPort` when `hostNetwork` is true";
                errors.push(field::invalid(&path, &host.into(), message));
            }
        }
    }
}

fn validate_dns_config(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let config = &spec["dnsConfig"];
    let servers = config["nameservers"].items();
    if spec["dnsPolicy"] == "None" {
        if !config.is_set() {
            errors.push(field::required(
                path,
                "must provide `dnsConfig` when `dnsPolicy` is None",
            ));
            return;
        }
        if servers.is_empty() {
            let message = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.push(field::required(&path.child("nameservers"), message));
            return;
        }
    }
    let servers_path = path.child("nameservers");
    if servers.len() > 3 {
        let message = "must not have more than 3 nameservers";
        errors.push(field::invalid(
            &servers_path,
            &config["nameservers"],
            message,
        ));
    }
    for (i, server) in servers.iter().enumerate() {
        checks::legacy_ip(server.text(), &[], &servers_path.index(i), errors);
    }
    let searches = config["searches"].items();
    let searches_path = path.child("searches");
    if searches.len() > 32 {
        let message = "must not have more than 32 search paths";
        errors.push(field::invalid(&searches_path, &config["searches"], message));
    }
    let length: usize = searches.iter().map(|s| s.text().len() + 1).sum();
    if length > 2049 {
        let message =
            "must not have more than 2048 characters (including spaces) in the search list";
        errors.push(field::invalid(&searches_path, &config["searches"], message));
    }
    for (i, search) in searches.iter().enumerate().filter(|(_, s)| *s != ".") {
        let text = search.text();
        let text = text.strip_suffix('.').unwrap_or(text);
        let found = names::is_dns1123_subdomain_with_underscore(text);
        checks::messages(text, found, &searches_path.index(i), errors);
    }
    for (i, option) in config["options"].items().iter().enumerate() {
        if option["name"].is_blank() {
            errors.push(field::required(
                &path.child("options").index(i),
                "must not be empty",
            ));
        }
    }
}

fn validate_host_users(spec: &Value, path: &Path, errors: &mut ErrorList) {
    if !spec["hostUsers"].is_set() || spec["hostUsers"].flag() {
        return;
    }
    for (field_name, shown) in [
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ] {
        if spec[field_name].flag() {
            errors.push(field::forbidden(
                &path.child(shown),
                "when `hostUsers` is false",
            ));
        }
    }
}

fn validate_names(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let name = &spec["hostnameOverride"];
    if name.is_set() {
        let path = path.child("hostnameOverride");
        if spec["setHostnameAsFQDN"].flag() {
            errors.push(field::forbidden(
                &path,
                "may not be specified when setHostnameAsFQDN is true",
            ));
        }
        if spec["hostNetwork"].flag() {
            errors.push(field::forbidden(
                &path,
                "may not be specified when hostNetwork is true",
            ));
        }
        if name.text().len() > 64 {
            errors.push(field::too_long(&path, 64));
        }
        checks::dns_subdomain(name.text(), &path, errors);
    }
    for name in ["serviceAccountName", "nodeName"] {
        let text = spec[name].text();
        if !text.is_empty() {
            checks::messages(
                text,
                names::name_is_dns_subdomain(text, NameForm::Whole),
                &path.child(name),
                errors,
            );
        }
    }
    let deadline = &spec["activeDeadlineSeconds"];
    if deadline.is_set() {
        let path = path.child("activeDeadlineSeconds");
        checks::in_range(deadline.int(), 1, i64::from(i32::MAX), &path, errors);
    }
    for name in ["hostname", "subdomain"] {
        if !spec[name].is_blank() {
            checks::dns_label(spec[name].text(), &path.child(name), errors);
        }
    }
}

fn validate_host_aliases(aliases: &Value, path: &Path, errors: &mut ErrorList) {
    for (i, alias) in aliases.items().iter().enumerate() {
        let path = path.index(i);
        checks::legacy_ip(alias["ip"].text(), &[], &path.child("ip"), errors);
        for (j, name) in alias["hostnames"].items().iter().enumerate() {
            checks::dns_subdomain(name.text(), &path.child("hostnames").index(j), errors);
        }
    }
}

fn validate_os(spec: &Value, path: &Path, errors: &mut ErrorList) {
    if !spec["os"].is_set() {
        return;
    }
    let name = spec["os"]["name"].text();
    if name.is_empty() {
        errors.push(field::required(&path.child("name"), ""));
    } else if !matches!(name, "linux" | "windows") {
        errors.push(field::not_supported(path, name, &["linux", "windows"]));
    }
}
