//! Admission plugins by name: which run, and which do not.

use std::{fmt, str::FromStr};

/// The name of an admission plugin of kube-apiserver.
///
/// ```
/// use kubewright_kube_apiserver::PluginName;
///
/// let name: PluginName = "LimitRanger".parse()?;
/// assert!(name.is_implemented());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginName(&'static str);

/// A name that no plugin of kube-apiserver has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("admission plugin {0:?} is unknown")]
pub struct UnknownPlugin(String);

/// The plugins of this server, in order.
pub(super) const IMPLEMENTED: [&str; 39] = [
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceLifecycle",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "AlwaysPullImages",
    "PodSecurity",
    "PodNodeSelector",
    "Priority",
    "DefaultTolerationSeconds",
    "PodTolerationRestriction",
    "ExtendedResourceToleration",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PodGroupProtection",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DenyServiceExternalIPs",
    "PodTopologyLabels",
    "PodGroupWorkloadExists",
    "NodeDeclaredFeatureValidator",
    "JobValidation",
    "PodResizeValidator",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
];

/// The plugins of this server that run only if they are enabled. `ServiceAccount` needs a controller that creates the account
/// `default`; without one, no pod could be created. The others are off in kube-apiserver too.
const OFF_BY_DEFAULT: [&str; 13] = [
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "ServiceAccount",
    "NodeRestriction",
    "AlwaysPullImages",
    "PodNodeSelector",
    "PodTolerationRestriction",
    "ExtendedResourceToleration",
    "OwnerReferencesPermissionEnforcement",
    "DenyServiceExternalIPs",
    "AlwaysDeny",
];

/// The plugins that do nothing: `AlwaysAdmit` never does, and those of alpha and beta features that are off by default do
/// nothing in kube-apiserver either.
#[cfg(test)]
const IDLE: [&str; 5] = [
    "AlwaysAdmit",
    "PodGroupProtection",
    "ClusterTrustBundleAttest",
    "PodGroupWorkloadExists",
    "JobValidation",
];

/// The plugins that cannot be enabled: they do nothing without a configuration, which this server does not take.
const UNCONFIGURABLE: [&str; 2] = ["ImagePolicyWebhook", "EventRateLimit"];

/// A plugin that needs a configuration file, which this server does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "admission plugin {0} is not supported: it needs a configuration that this server does not take"
)]
pub struct UnsupportedPlugin(&'static str);

impl PluginName {
    /// Returns the name as kube-apiserver spells it.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// Reports whether this server has the plugin.
    pub fn is_implemented(self) -> bool {
        IMPLEMENTED.contains(&self.0)
    }

    /// Returns an error if the plugin cannot be enabled here because it lacks its configuration.
    ///
    /// # Errors
    ///
    /// Names the plugin.
    pub fn check_enabled(self) -> Result<(), UnsupportedPlugin> {
        match UNCONFIGURABLE.contains(&self.0) {
            true => Err(UnsupportedPlugin(self.0)),
            false => Ok(()),
        }
    }

    fn is_on_by_default(self) -> bool {
        !OFF_BY_DEFAULT.contains(&self.0)
    }
}

impl FromStr for PluginName {
    type Err = UnknownPlugin;

    fn from_str(text: &str) -> Result<Self, UnknownPlugin> {
        IMPLEMENTED
            .iter()
            .chain(&UNCONFIGURABLE)
            .find(|name| **name == text)
            .map(|name| Self(name))
            .ok_or_else(|| UnknownPlugin(text.to_owned()))
    }
}

impl fmt::Display for PluginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The plugins that were switched on and off. A plugin in both lists is off.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) enabled: Vec<PluginName>,
    pub(crate) disabled: Vec<PluginName>,
}

impl Selection {
    /// Returns an error if a plugin is enabled that cannot be.
    pub(crate) fn check(&self) -> Result<(), UnsupportedPlugin> {
        let mut running = self
            .enabled
            .iter()
            .filter(|name| !self.disabled.contains(name));
        running.try_for_each(|name| name.check_enabled())
    }

    /// Reports whether a plugin of this server runs.
    pub(crate) fn has(&self, name: &'static str) -> bool {
        let name = PluginName(name);
        debug_assert!(name.is_implemented(), "{name}");
        !self.disabled.contains(&name) && (name.is_on_by_default() || self.enabled.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kubewright_store::MemoryStore;

    use super::*;
    use crate::admission::{PodSecurityConfiguration, stored::Stored};

    #[test]
    fn names_are_those_of_kube_apiserver() {
        assert_eq!(IMPLEMENTED.len() + UNCONFIGURABLE.len(), 41);
        let quota: PluginName = "ResourceQuota".parse().unwrap();
        assert!(quota.is_implemented());
        let absent: PluginName = "EventRateLimit".parse().unwrap();
        assert!(!absent.is_implemented());
        assert_eq!(
            "Quota".parse::<PluginName>().unwrap_err().to_string(),
            "admission plugin \"Quota\" is unknown"
        );
    }

    #[test]
    fn plugins_that_need_a_configuration_cannot_be_enabled() {
        let mut selection = Selection::default();
        assert_eq!(selection.check(), Ok(()));
        let limit: PluginName = "EventRateLimit".parse().unwrap();
        selection.enabled.push(limit);
        assert_eq!(
            selection.check().unwrap_err().to_string(),
            "admission plugin EventRateLimit is not supported: it needs a configuration that this server does not take"
        );
        selection.disabled.push(limit);
        assert_eq!(selection.check(), Ok(()));
    }

    #[test]
    fn every_plugin_is_built_or_idle() {
        let elsewhere = [
            "NamespaceLifecycle",
            "NamespaceAutoProvision",
            "MutatingAdmissionPolicy",
            "MutatingAdmissionWebhook",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionWebhook",
            "ResourceQuota",
            "AlwaysDeny",
        ];
        let configuration = PodSecurityConfiguration::default();
        let metrics = super::super::AdmissionMetrics::default();
        for name in IMPLEMENTED {
            let store = Stored(Arc::new(MemoryStore::new()));
            let built = super::super::plugin(name, store, &configuration, &metrics).is_some();
            let other = elsewhere.contains(&name) || IDLE.contains(&name);
            assert!(built != other, "{name}");
        }
    }

    #[test]
    fn plugins_are_on_unless_switched_off() {
        let ranger: PluginName = "LimitRanger".parse().unwrap();
        let mut selection = Selection::default();
        for name in IMPLEMENTED {
            assert_eq!(
                selection.has(name),
                !OFF_BY_DEFAULT.contains(&name),
                "{name}"
            );
        }
        selection.enabled.push("ServiceAccount".parse().unwrap());
        assert!(selection.has("ServiceAccount"));
        selection.enabled.push(ranger);
        selection.disabled.push(ranger);
        assert!(!selection.has("LimitRanger"));
        assert!(selection.has("StorageObjectInUseProtection"));
    }
}
