//! [`PodSecurityConfiguration`]: the policy of namespaces without labels, and who is exempt.

use kubewright_machinery::{
    field::{self, FieldError, Path},
    json::Read,
    validation::names::{is_dns1123_label, is_dns1123_subdomain},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::policy::{PodSecurityLevel, PodSecurityVersion, Policy, Standard};

/// The group of the document.
const GROUP: &str = "pod-security.admission.config.k8s.io";

/// The configuration of the admission plugin `PodSecurity`. By default everything is allowed in namespaces without labels, and
/// nobody is exempt.
///
/// ```
/// use kubewright_kube_apiserver::{KubeApiServer, PodSecurityConfiguration, PodSecurityLevel, PodSecurityVersion};
///
/// let configuration = PodSecurityConfiguration::default()
///     .enforce(PodSecurityLevel::Baseline, PodSecurityVersion::Latest)
///     .exempt_namespace("kube-system");
/// let server = KubeApiServer::builder().pod_security(configuration);
/// # let _ = server;
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodSecurityConfiguration {
    pub(super) defaults: Policy,
    namespaces: Vec<String>,
    users: Vec<String>,
    runtime_classes: Vec<String>,
}

/// A document that is not a valid configuration of an admission plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPluginConfiguration(String);

impl PodSecurityConfiguration {
    /// Reads a `PodSecurityConfiguration` of `pod-security.admission.config.k8s.io`.
    ///
    /// ```
    /// use kubewright_kube_apiserver::PodSecurityConfiguration;
    /// use serde_json::json;
    ///
    /// let document = json!({
    ///     "apiVersion": "pod-security.admission.config.k8s.io/v1",
    ///     "kind": "PodSecurityConfiguration",
    ///     "defaults": {"enforce": "strict"},
    /// });
    /// let error = PodSecurityConfiguration::from_document(&document).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "defaults.enforce: Invalid value: \"strict\": must be one of privileged, baseline, restricted"
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the unknown field, or every value that is not valid.
    pub fn from_document(document: &Value) -> Result<Self, InvalidPluginConfiguration> {
        let document = Document::deserialize(document);
        let document = document.map_err(|e| InvalidPluginConfiguration(e.to_string()))?;
        let (group, version) = document.api_version.split_once('/').unwrap_or_default();
        let is_known = group == GROUP && matches!(version, "v1" | "v1beta1" | "v1alpha1");
        if !is_known || document.kind != "PodSecurityConfiguration" {
            let Document {
                api_version, kind, ..
            } = &document;
            let error = format!("no kind {kind:?} is registered for version {api_version:?}");
            return Err(InvalidPluginConfiguration(error));
        }
        let mut errors = Vec::new();
        let configuration = document.into_configuration(&mut errors);
        match errors.is_empty() {
            true => Ok(configuration),
            false => Err(InvalidPluginConfiguration(field::aggregate(&errors))),
        }
    }

    /// Sets the enforced level of namespaces without labels.
    #[must_use]
    pub fn enforce(mut self, level: PodSecurityLevel, version: PodSecurityVersion) -> Self {
        self.defaults.enforce = Standard { level, version };
        self
    }

    /// Sets the level whose violations are recorded in audit events, in namespaces without labels.
    #[must_use]
    pub fn audit(mut self, level: PodSecurityLevel, version: PodSecurityVersion) -> Self {
        self.defaults.audit = Standard { level, version };
        self
    }

    /// Sets the level whose violations are answered with a warning, in namespaces without labels.
    #[must_use]
    pub fn warn(mut self, level: PodSecurityLevel, version: PodSecurityVersion) -> Self {
        self.defaults.warn = Standard { level, version };
        self
    }

    /// Exempts the pods of a namespace.
    #[must_use]
    pub fn exempt_namespace(mut self, name: impl Into<String>) -> Self {
        self.namespaces.push(name.into());
        self
    }

    /// Exempts the requests of a user.
    #[must_use]
    pub fn exempt_user(mut self, name: impl Into<String>) -> Self {
        self.users.push(name.into());
        self
    }

    /// Exempts the pods of a runtime class.
    #[must_use]
    pub fn exempt_runtime_class(mut self, name: impl Into<String>) -> Self {
        self.runtime_classes.push(name.into());
        self
    }

    pub(super) fn exempts_namespace(&self, name: &str) -> bool {
        !name.is_empty() && self.namespaces.iter().any(|exempt| exempt == name)
    }

    pub(super) fn exempts_user(&self, name: &str) -> bool {
        !name.is_empty() && self.users.iter().any(|exempt| exempt == name)
    }

    pub(super) fn exempts_runtime_class(&self, spec: &Value) -> bool {
        self.is_exempt_class(spec["runtimeClassName"].text())
    }

    pub(super) fn is_exempt_class(&self, name: &str) -> bool {
        !name.is_empty() && self.runtime_classes.iter().any(|exempt| exempt == name)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    defaults: Defaults,
    #[serde(default)]
    exemptions: Exemptions,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
struct Defaults {
    enforce: String,
    enforce_version: String,
    audit: String,
    audit_version: String,
    warn: String,
    warn_version: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Exemptions {
    usernames: Vec<String>,
    namespaces: Vec<String>,
    runtime_classes: Vec<String>,
}

impl Document {
    fn into_configuration(self, errors: &mut Vec<FieldError>) -> PodSecurityConfiguration {
        let Defaults {
            enforce,
            enforce_version,
            audit,
            audit_version,
            warn,
            warn_version,
        } = &self.defaults;
        let defaults = Policy {
            enforce: standard("enforce", enforce, enforce_version, errors),
            warn: standard("warn", warn, warn_version, errors),
            audit: standard("audit", audit, audit_version, errors),
        };
        let Exemptions {
            usernames,
            namespaces,
            runtime_classes,
        } = self.exemptions;
        let subdomain = |name: &str| is_dns1123_subdomain(name).join(", ");
        let label = |name: &str| is_dns1123_label(name).join(", ");
        check_names("namespaces", &namespaces, label, errors);
        check_names("runtimeClasses", &runtime_classes, subdomain, errors);
        let user = |name: &str| match name {
            "" => "username must not be empty".to_owned(),
            _ => String::new(),
        };
        check_names("usernames", &usernames, user, errors);
        PodSecurityConfiguration {
            defaults,
            namespaces,
            users: usernames,
            runtime_classes,
        }
    }
}

/// Returns the standard of a mode; empty texts are the defaults.
fn standard(mode: &str, level: &str, version: &str, errors: &mut Vec<FieldError>) -> Standard {
    let path = Path::new("defaults");
    let mut read = Standard::default();
    match level.parse() {
        Ok(level) => read.level = level,
        Err(_) if level.is_empty() => {}
        Err(error) => {
            let path = path.child(mode);
            errors.push(field::invalid_str(&path, level, error.to_string()));
        }
    }
    match version.parse() {
        Ok(version) => read.version = version,
        Err(_) if version.is_empty() => {}
        Err(error) => {
            let path = path.child(&format!("{mode}-version"));
            errors.push(field::invalid_str(&path, version, error.to_string()));
        }
    }
    read
}

fn check_names(
    list: &str,
    names: &[String],
    check: impl Fn(&str) -> String,
    errors: &mut Vec<FieldError>,
) {
    for (i, name) in names.iter().enumerate() {
        let path = Path::new("exemptions").child(list).index(i);
        let error = check(name);
        if !error.is_empty() {
            errors.push(field::invalid_str(&path, name, error));
        } else if names.iter().take(i).any(|before| before == name) {
            errors.push(field::duplicate(&path, &json!(name)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_says_what_the_methods_say() {
        let document = json!({
            "apiVersion": "pod-security.admission.config.k8s.io/v1",
            "kind": "PodSecurityConfiguration",
            "defaults": {"enforce": "baseline", "warn": "restricted", "warn-version": "v1.30"},
            "exemptions": {"usernames": ["u"], "namespaces": ["kube-system"], "runtimeClasses": ["kata"]},
        });
        let expected = PodSecurityConfiguration::default()
            .enforce(PodSecurityLevel::Baseline, PodSecurityVersion::Latest)
            .warn(PodSecurityLevel::Restricted, PodSecurityVersion::Minor(30))
            .exempt_user("u")
            .exempt_namespace("kube-system")
            .exempt_runtime_class("kata");
        let read = PodSecurityConfiguration::from_document(&document);
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn a_document_with_errors_is_refused() {
        let error = |change: Value| {
            let mut document = json!({
                "apiVersion": "pod-security.admission.config.k8s.io/v1",
                "kind": "PodSecurityConfiguration",
            });
            for (key, value) in change.as_object().into_iter().flatten() {
                document[key] = value.clone();
            }
            let error = PodSecurityConfiguration::from_document(&document).unwrap_err();
            error.to_string()
        };
        assert_eq!(
            error(json!({"defaults": {"audit-version": "1"}})),
            "defaults.audit-version: Invalid value: \"1\": must be \"latest\" or \"v1.x\""
        );
        assert_eq!(
            error(json!({"exemptions": {"namespaces": ["a", "a"], "usernames": [""]}})),
            "[exemptions.namespaces[1]: Duplicate value: \"a\", \
             exemptions.usernames[0]: Invalid value: \"\": username must not be empty]"
        );
        assert_eq!(
            error(json!({"kind": "Other"})),
            "no kind \"Other\" is registered for version \"pod-security.admission.config.k8s.io/v1\""
        );
        assert!(error(json!({"default": {}})).starts_with("unknown field `default`"));
    }
}
