//! `--runtime-config`: the versions of built-in APIs that kube-apiserver serves. Here these are the versions of the default.

use std::collections::BTreeMap;

use kubewright_catalog as catalog;

use super::flags::go_bool;

/// Keys that stand for many versions, with the value that leaves the default as it is.
const MATCHERS: [(&str, Option<&str>); 4] = [
    ("api/all", None),
    ("api/ga", Some("true")),
    ("api/beta", Some("false")),
    ("api/alpha", Some("false")),
];

/// Checks the pairs of all `--runtime-config` flags. Returns a sentence if they enable versions that are missing here without
/// naming them.
///
/// # Errors
///
/// Returns the message of kube-apiserver for a pair that it rejects, and one of ours for a pair that names a version which is not
/// served or that disables one which is.
pub(super) fn check<'a>(pairs: impl Iterator<Item = &'a str>) -> Result<Option<String>, String> {
    let pairs: BTreeMap<&str, &str> = pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (core_version(key.trim()), value.trim()))
        // kube-apiserver ignores it, too.
        .filter(|(key, _)| *key != "api/legacy")
        .collect();
    if pairs.len() == 1 && pairs.get("api/all") == Some(&"false") {
        return Err("invalid runtime-config with only api/all=false".to_owned());
    }
    let unsupported = |key: &str, value: &str| {
        format!(
            "--runtime-config={key}={value} is not supported by kubewright, which serves the versions that Kubernetes 1.36 serves \
             by default; omit it, or run this test with the real program"
        )
    };
    let mut widened = Vec::new();
    for (key, value) in pairs {
        if let Some((_, default)) = MATCHERS.iter().find(|(matcher, _)| *matcher == key) {
            match value {
                "true" | "false" if *default == Some(value) => {}
                "true" => widened.push(key),
                "false" => return Err(unsupported(key, value)),
                _ => return Err(format!("invalid value {key}={value}")),
            }
            continue;
        }
        let is_served = is_served(key)?;
        let is_enabled = match value {
            "" => true,
            value => go_bool(value)
                .map_err(|why| format!("invalid value of {key}: {value}, err: {why}"))?,
        };
        if is_enabled != is_served {
            return Err(unsupported(key, value));
        }
    }
    Ok((!widened.is_empty()).then(|| {
        format!(
            "--runtime-config={}=true enables no alpha or beta version: kubewright serves the versions that Kubernetes 1.36 serves \
             by default",
            widened.join("=true,")
        )
    }))
}

/// Returns the key for which older forms of a key of the core group stand, or the key itself.
fn core_version(key: &str) -> &str {
    let version = key.strip_prefix("api/").unwrap_or(key);
    match version == "v1" || version.starts_with("v1/") {
        true => "/v1",
        false => key,
    }
}

/// Returns whether a version, as `group/version`, or a resource, as `group/version/plural`, is served.
fn is_served(key: &str) -> Result<bool, String> {
    let parts: Vec<&str> = key.split('/').collect();
    let (group, version, plural) = match parts[..] {
        [group, version] => (group, version, None),
        [group, version, plural] => (group, version, Some(plural)),
        _ => return Err(format!("runtime-config invalid key {key}")),
    };
    // Kubernetes knows this group and serves nothing of it by default.
    if group == "internal.apiserver.k8s.io" {
        return Ok(false);
    }
    let known = catalog::groups().iter().find(|known| known.name == group);
    let Some(known) = known else {
        return Err(format!("unknown api groups {group}/{version}"));
    };
    Ok(match plural {
        None => known
            .versions
            .iter()
            .any(|served| served.version == version),
        Some(plural) => catalog::resource(group, version, plural).is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(value: &str) -> Result<Option<String>, String> {
        check(value.split(',').filter(|pair| !pair.is_empty()))
    }

    #[test]
    fn versions_that_are_served_may_be_enabled_and_others_disabled() {
        for value in [
            "",
            "apps/v1=true",
            "apps/v1",
            "/v1=true",
            "v1=true,api/v1/pods=true",
            "batch/v1/cronjobs=true",
            "resource.k8s.io/v1beta1=false",
            "internal.apiserver.k8s.io/v1alpha1=false",
            "api/ga=true,api/beta=false,api/alpha=false,api/legacy=true",
        ] {
            assert_eq!(checked(value), Ok(None), "{value}");
        }
        for value in [
            "apps/v1=false",
            "resource.k8s.io/v1beta1=true",
            "resource.k8s.io/v1beta1",
            "batch/v1/cronjobs=false",
            "internal.apiserver.k8s.io/v1alpha1=true",
            "api/ga=false",
            "api/all=false,apps/v1=true",
        ] {
            let error = checked(value).unwrap_err();
            assert!(error.contains("is not supported by kubewright"), "{error}");
        }
    }

    #[test]
    fn enabling_every_version_is_a_warning() {
        for (value, expected) in [
            ("api/all=true", "--runtime-config=api/all=true enables no"),
            (
                "api/alpha=true,api/beta=true,apps/v1=true",
                "--runtime-config=api/alpha=true,api/beta=true enables no",
            ),
        ] {
            let warning = checked(value).unwrap().unwrap();
            assert!(warning.starts_with(expected), "{warning}");
        }
    }

    #[test]
    fn errors_about_versions_are_those_of_kube_apiserver() {
        for (value, expected) in [
            (
                "api/all=false",
                "invalid runtime-config with only api/all=false",
            ),
            ("api/all=yes", "invalid value api/all=yes"),
            ("api/all", "invalid value api/all="),
            ("apps=true", "runtime-config invalid key apps"),
            ("nope/v1=true", "unknown api groups nope/v1"),
            (
                "apps/v1=yes",
                "invalid value of apps/v1: yes, err: strconv.ParseBool: parsing \"yes\": invalid syntax",
            ),
        ] {
            assert_eq!(checked(value).unwrap_err(), expected);
        }
    }
}
