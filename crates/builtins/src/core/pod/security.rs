//! Security contexts of pods and containers.

use std::collections::BTreeSet;

use kubewright_machinery::field::{self, ErrorList, Path};
use serde_json::Value;

use crate::{checks, json::Read};

const SYSCTL_REGEX: &str =
    "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

pub(super) fn validate_pod(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let context = &spec["securityContext"];
    for id in ["fsGroup", "runAsUser", "runAsGroup"] {
        checks::user_id(&context[id], &path.child(id), errors);
    }
    for (i, group) in context["supplementalGroups"].items().iter().enumerate() {
        checks::user_id(group, &path.child("supplementalGroups").index(i), errors);
    }
    if spec["shareProcessNamespace"].flag() && spec["hostPID"].flag() {
        let message = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(field::invalid(
            &path.child("shareProcessNamespace"),
            &true.into(),
            message,
        ));
    }
    validate_sysctls(spec, &path.child("sysctls"), errors);
    let known = ["Always", "OnRootMismatch"];
    checks::one_of_if_set(
        &context["fsGroupChangePolicy"],
        &known,
        &path.child("fsGroupChangePolicy"),
        errors,
    );
    validate_seccomp(
        &context["seccompProfile"],
        &path.child("seccompProfile"),
        errors,
    );
    validate_app_armor(
        &context["appArmorProfile"],
        &path.child("appArmorProfile"),
        errors,
    );
    let known = ["Merge", "Strict"];
    let policy = &context["supplementalGroupsPolicy"];
    checks::one_of_if_set(
        policy,
        &known,
        &path.child("supplementalGroupsPolicy"),
        errors,
    );
    let known = ["MountOption", "Recursive"];
    checks::one_of_if_set(
        &context["seLinuxChangePolicy"],
        &known,
        &path.child("seLinuxChangePolicy"),
        errors,
    );
}

pub(super) fn validate_container(
    context: &Value,
    host_users: bool,
    path: &Path,
    errors: &mut ErrorList,
) {
    if !context.is_set() {
        return;
    }
    for id in ["runAsUser", "runAsGroup"] {
        checks::user_id(&context[id], &path.child(id), errors);
    }
    let proc_mount = &context["procMount"];
    let mount_path = path.child("procMount");
    checks::one_of_if_set(proc_mount, &["Default", "Unmasked"], &mount_path, errors);
    if host_users && proc_mount == "Unmasked" {
        let message = "`hostUsers` must be false to use `Unmasked`";
        errors.push(field::invalid(&mount_path, proc_mount, message));
    }
    validate_seccomp(
        &context["seccompProfile"],
        &path.child("seccompProfile"),
        errors,
    );
    let escalation = &context["allowPrivilegeEscalation"];
    if escalation.is_set() && !escalation.flag() {
        if context["privileged"].flag() {
            let message = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            errors.push(field::invalid_raw(path, internal_form(context), message));
        }
        for capability in context["capabilities"]["add"].items() {
            if capability == "CAP_SYS_ADMIN" {
                let message = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
                errors.push(field::invalid_raw(path, internal_form(context), message));
            }
        }
    }
    validate_app_armor(
        &context["appArmorProfile"],
        &path.child("appArmorProfile"),
        errors,
    );
}

fn validate_seccomp(profile: &Value, path: &Path, errors: &mut ErrorList) {
    if !profile.is_set() {
        return;
    }
    let kind = profile["type"].text();
    match kind {
        "" => errors.push(field::required(
            &path.child("type"),
            "type is required when seccompProfile is set",
        )),
        "Localhost" | "RuntimeDefault" | "Unconfined" => {}
        _ => {
            let known = ["Localhost", "RuntimeDefault", "Unconfined"];
            errors.push(field::not_supported(&path.child("type"), kind, &known));
        }
    }
    validate_local_profile(profile, kind, "seccomp", path, errors);
}

fn validate_app_armor(profile: &Value, path: &Path, errors: &mut ErrorList) {
    if !profile.is_set() {
        return;
    }
    let kind = profile["type"].text();
    match kind {
        "" => errors.push(field::required(
            &path.child("type"),
            "type is required when appArmorProfile is set",
        )),
        "Localhost" | "RuntimeDefault" | "Unconfined" => {}
        _ => {
            let known = ["Localhost", "RuntimeDefault", "Unconfined"];
            errors.push(field::not_supported(&path.child("type"), kind, &known));
        }
    }
    let local = &profile["localhostProfile"];
    let path = path.child("localhostProfile");
    if kind == "Localhost" {
        if local.is_blank() {
            errors.push(field::required(
                &path,
                "must be set when AppArmor type is Localhost",
            ));
        } else if local.text().trim().len() != local.text().len() {
            errors.push(field::invalid(
                &path,
                local,
                "must not be padded with whitespace",
            ));
        }
    } else if local.is_set() {
        errors.push(field::invalid(
            &path,
            local,
            "can only be set when AppArmor type is Localhost",
        ));
    }
}

fn validate_local_profile(
    profile: &Value,
    kind: &str,
    what: &str,
    path: &Path,
    errors: &mut ErrorList,
) {
    let local = &profile["localhostProfile"];
    let path = path.child("localhostProfile");
    if kind == "Localhost" {
        if local.is_set() {
            checks::descending_path(local.text(), &path, errors);
        } else {
            errors.push(field::required(
                &path,
                format!("must be set when {what} type is Localhost"),
            ));
        }
    } else if local.is_set() {
        let text = format!("{{\"Type\":\"{kind}\",\"LocalhostProfile\":{local}}}");
        errors.push(field::invalid_raw(
            &path,
            text,
            format!("can only be set when {what} type is Localhost"),
        ));
    }
}

fn validate_sysctls(spec: &Value, path: &Path, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (i, sysctl) in spec["securityContext"]["sysctls"]
        .items()
        .iter()
        .enumerate()
    {
        let path = path.index(i).child("name");
        let name = sysctl["name"].text();
        if name.is_empty() {
            errors.push(field::required(&path, ""));
        } else if name.len() > 253 || !is_sysctl(name) {
            let message =
                format!("must have at most 253 characters and match regex {SYSCTL_REGEX}");
            errors.push(field::invalid_str(&path, name, message));
        } else if seen.contains(name) {
            errors.push(field::duplicate(&path, &name.into()));
        }
        seen.insert(name);
        let dotted = name.replace('/', ".");
        if spec["hostNetwork"].flag() && dotted.starts_with("net.") {
            let message = "may not be specified when 'hostNetwork' is true";
            errors.push(field::invalid_str(&path, name, message));
        } else if spec["hostIPC"].flag() && is_ipc(&dotted) {
            let message = "may not be specified when 'hostIPC' is true";
            errors.push(field::invalid_str(&path, name, message));
        }
    }
}

fn is_ipc(name: &str) -> bool {
    ["kernel.msg", "kernel.sem", "kernel.shm", "fs.mqueue."]
        .iter()
        .any(|p| name.starts_with(p))
}

/// Reports whether a text consists of segments of lower case letters, digits, `-` and `_`, separated by `.` or `/`,
/// that start and end with a letter or digit.
fn is_sysctl(name: &str) -> bool {
    let word = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    name.split(['.', '/']).all(|part| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(word)
            && bytes.last().is_some_and(word)
            && bytes.iter().all(|b| word(b) || matches!(b, b'-' | b'_'))
    })
}

/// The context as messages print it: every field of the unversioned type, set or not.
fn internal_form(context: &Value) -> String {
    const FIELDS: [(&str, &str); 12] = [
        ("Capabilities", "capabilities"),
        ("Privileged", "privileged"),
        ("SELinuxOptions", "seLinuxOptions"),
        ("WindowsOptions", "windowsOptions"),
        ("RunAsUser", "runAsUser"),
        ("RunAsGroup", "runAsGroup"),
        ("RunAsNonRoot", "runAsNonRoot"),
        ("ReadOnlyRootFilesystem", "readOnlyRootFilesystem"),
        ("AllowPrivilegeEscalation", "allowPrivilegeEscalation"),
        ("ProcMount", "procMount"),
        ("SeccompProfile", "seccompProfile"),
        ("AppArmorProfile", "appArmorProfile"),
    ];
    let mut out = crate::go_json::Writer::new();
    for (name, field) in FIELDS {
        let profile = &context[field];
        if name.ends_with("Profile") && profile.is_set() {
            let mut inner = crate::go_json::Writer::new();
            inner.put("Type", &profile["type"]);
            inner.put("LocalhostProfile", &profile["localhostProfile"]);
            out.put_text(name, inner.finish());
        } else if field == "capabilities" && context[field].is_set() {
            let mut inner = crate::go_json::Writer::new();
            inner.put("Add", &context[field]["add"]);
            inner.put("Drop", &context[field]["drop"]);
            out.put_text(name, inner.finish());
        } else {
            out.put(name, &context[field]);
        }
    }
    out.finish()
}
