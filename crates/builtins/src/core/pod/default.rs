//! Defaults of pods and of every pod template.
//!
//! [`spec`] is what templates get; [`pod`] adds what only a pod itself gets, such as requests taken from limits.

use serde_json::{Value, json};

use super::image;
use crate::{
    core::{persistent_volume_claim, resources},
    json::{Read, Write},
};

/// The defaults of a pod.
pub(crate) fn pod(obj: &mut Value) {
    let spec = obj.field("spec");
    for list in ["containers", "initContainers"] {
        spec.each(list, requests_from_limits);
    }
    pod_level_requests(spec);
    spec.put_if_unset("enableServiceLinks", true);
    if spec["hostNetwork"].flag() {
        for list in ["containers", "initContainers"] {
            spec.each(list, host_ports);
        }
    }
    if spec["terminationGracePeriodSeconds"].int() < 0 {
        spec.put("terminationGracePeriodSeconds", 1);
    }
    self::spec(spec);
    obj.with("status", |status| {
        pod_ips(status);
        for list in [
            "initContainerStatuses",
            "containerStatuses",
            "ephemeralContainerStatuses",
        ] {
            status.each(list, |c| {
                c.with("allocatedResources", resources::round_up);
                c.with("resources", resources::default_requirements);
            });
        }
    });
}

/// The defaults of the template of a workload.
pub(crate) fn template(template: &mut Value) {
    spec(template.field("spec"));
}

/// The defaults of a pod spec.
pub(crate) fn spec(spec: &mut Value) {
    spec.put_if_blank("dnsPolicy", "ClusterFirst");
    spec.put_if_blank("restartPolicy", "Always");
    spec.put_if_unset("securityContext", json!({}));
    spec.put_if_unset("terminationGracePeriodSeconds", 30);
    spec.put_if_blank("schedulerName", "default-scheduler");
    service_account_alias(spec);
    spec.each("volumes", volume);
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        spec.each(list, container);
    }
    spec.with("overhead", resources::round_up);
    spec.with("resources", resources::default_requirements);
}

/// `serviceAccount` is the old name of `serviceAccountName`; both are written, the new name wins.
fn service_account_alias(spec: &mut Value) {
    let name = match spec["serviceAccountName"].text() {
        "" => spec["serviceAccount"].text().to_owned(),
        name => name.to_owned(),
    };
    if name.is_empty() {
        return;
    }
    spec.put("serviceAccountName", name.as_str());
    spec.put("serviceAccount", name);
}

fn requests_from_limits(container: &mut Value) {
    let limits = container["resources"]["limits"].clone();
    let Value::Object(limits) = limits else {
        return;
    };
    let requests = container.field("resources").field("requests");
    for (name, quantity) in limits {
        requests.put_if_unset(&name, quantity);
    }
}

/// Sets pod-level requests from pod-level limits and from the requests of the containers.
fn pod_level_requests(spec: &mut Value) {
    if !spec["resources"].is_set() {
        return;
    }
    let requested = !spec["resources"]["requests"].is_blank();
    if requested || !spec["resources"]["limits"].is_blank() {
        let sums = resources::container_sum(spec, "limits");
        for (name, sum) in sums {
            let set = spec["resources"]["requests"].get(&name).is_some();
            if name.starts_with("hugepages-") && !set {
                let limits = spec.field("resources").field("limits");
                limits.put_if_unset(&name, sum);
            }
        }
    }
    let Some(limits) = spec["resources"]["limits"].as_object().cloned() else {
        return;
    };
    if limits.is_empty() {
        return;
    }
    let sums = resources::container_sum(spec, "requests");
    let requests = spec.field("resources").field("requests");
    for (name, sum) in sums {
        if matches!(name.as_str(), "cpu" | "memory") {
            requests.put_if_unset(&name, sum);
        }
    }
    for (name, limit) in limits {
        if matches!(name.as_str(), "cpu" | "memory") || name.starts_with("hugepages-") {
            requests.put_if_unset(&name, limit);
        }
    }
}

fn host_ports(container: &mut Value) {
    container.each("ports", |port| {
        let number = port["containerPort"].clone();
        port.put_if_blank("hostPort", number);
    });
}

fn pull_policy(image_name: &str) -> &'static str {
    if image::is_latest(image_name) {
        "Always"
    } else {
        "IfNotPresent"
    }
}

fn container(c: &mut Value) {
    let policy = pull_policy(c["image"].text());
    c.put_if_blank("imagePullPolicy", policy);
    c.put_if_blank("terminationMessagePath", "/dev/termination-log");
    c.put_if_blank("terminationMessagePolicy", "File");
    c.each("ports", |p| p.put_if_blank("protocol", "TCP"));
    c.each("env", |e| {
        e.with("valueFrom", |from| {
            from.with("fieldRef", field_ref);
            from.with("fileKeyRef", |r| r.put_if_unset("optional", false));
        });
    });
    c.with("resources", resources::default_requirements);
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        c.with(name, probe);
    }
    c.with("lifecycle", |lifecycle| {
        for hook in ["postStart", "preStop"] {
            lifecycle.with(hook, |h| h.with("httpGet", http_get));
        }
    });
}

fn field_ref(field_ref: &mut Value) {
    field_ref.put_if_blank("apiVersion", "v1");
}

fn http_get(action: &mut Value) {
    action.put_if_blank("path", "/");
    action.put_if_blank("scheme", "HTTP");
}

fn probe(probe: &mut Value) {
    probe.put_if_blank("timeoutSeconds", 1);
    probe.put_if_blank("periodSeconds", 10);
    probe.put_if_blank("successThreshold", 1);
    probe.put_if_blank("failureThreshold", 3);
    probe.with("httpGet", http_get);
    probe.with("grpc", |g| g.put_if_unset("service", ""));
}

fn volume(volume: &mut Value) {
    let has_source = volume
        .as_object()
        .is_some_and(|v| v.iter().any(|(k, v)| k != "name" && v.is_set()));
    if !has_source {
        volume.put("emptyDir", json!({}));
    }
    volume.with("image", |image| {
        let policy = pull_policy(image["reference"].text());
        image.put_if_blank("pullPolicy", policy);
    });
    for source in ["configMap", "secret"] {
        volume.with(source, |s| s.put_if_unset("defaultMode", 0o644));
    }
    volume.with("downwardAPI", |d| {
        d.put_if_unset("defaultMode", 0o644);
        d.each("items", |i| i.with("fieldRef", field_ref));
    });
    volume.with("projected", |p| {
        p.put_if_unset("defaultMode", 0o644);
        p.each("sources", |source| {
            source.with("serviceAccountToken", |t| {
                t.put_if_unset("expirationSeconds", 3600)
            });
            source.with("downwardAPI", |d| {
                d.each("items", |i| i.with("fieldRef", field_ref));
            });
        });
    });
    volume.with("ephemeral", |e| {
        e.with("volumeClaimTemplate", |t| {
            persistent_volume_claim::default_spec(t.field("spec"))
        });
    });
    volume_source(volume);
}

/// The defaults that volumes of pods and persistent volumes share.
pub(crate) fn volume_source(source: &mut Value) {
    source.with("hostPath", |h| h.put_if_unset("type", ""));
    source.with("iscsi", |s| s.put_if_blank("iscsiInterface", "default"));
    source.with("rbd", |s| {
        s.put_if_blank("pool", "rbd");
        s.put_if_blank("user", "admin");
        s.put_if_blank("keyring", "/etc/ceph/keyring");
    });
    source.with("azureDisk", |s| {
        s.put_if_unset("cachingMode", "ReadWrite");
        s.put_if_unset("fsType", "ext4");
        s.put_if_unset("readOnly", false);
        s.put_if_unset("kind", "Shared");
    });
    source.with("scaleIO", |s| {
        s.put_if_blank("storageMode", "ThinProvisioned");
        s.put_if_blank("fsType", "xfs");
    });
}

/// `podIP` and the first of `podIPs` are one; the single one wins.
fn pod_ips(status: &mut Value) {
    let ip = status["podIP"].clone();
    let first = status["podIPs"][0]["ip"].clone();
    if ip.is_blank() {
        if !first.is_blank() {
            status.put("podIP", first);
        }
    } else if ip != first {
        status.put("podIPs", json!([{"ip": ip}]));
    }
}
