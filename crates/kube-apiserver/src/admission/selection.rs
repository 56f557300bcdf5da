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

/// The plugins of this server.
const IMPLEMENTED: [&str; 18] = [
    "NamespaceLifecycle",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "Priority",
    "DefaultTolerationSeconds",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "PodTopologyLabels",
    "PodResizeValidator",
    "ResourceQuota",
];

/// The plugins of this server that run only if they are enabled. `ServiceAccount` needs a controller that creates the account
/// `default`; without one, no pod could be created. `NodeRestriction` is off in kube-apiserver too.
const OFF_BY_DEFAULT: [&str; 2] = ["ServiceAccount", "NodeRestriction"];

/// The plugins that only kube-apiserver has.
const OTHERS: [&str; 23] = [
    "AlwaysAdmit",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodSecurity",
    "PodNodeSelector",
    "PodTolerationRestriction",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "PodGroupProtection",
    "OwnerReferencesPermissionEnforcement",
    "ClusterTrustBundleAttest",
    "DenyServiceExternalIPs",
    "PodGroupWorkloadExists",
    "NodeDeclaredFeatureValidator",
    "JobValidation",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "AlwaysDeny",
];

impl PluginName {
    /// Returns the name as kube-apiserver spells it.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// Reports whether this server has the plugin.
    pub fn is_implemented(self) -> bool {
        IMPLEMENTED.contains(&self.0)
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
            .chain(&OTHERS)
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
    /// Reports whether a plugin of this server runs.
    pub(crate) fn has(&self, name: &'static str) -> bool {
        let name = PluginName(name);
        debug_assert!(name.is_implemented(), "{name}");
        !self.disabled.contains(&name) && (name.is_on_by_default() || self.enabled.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_kube_apiserver() {
        assert_eq!(IMPLEMENTED.len() + OTHERS.len(), 41);
        let quota: PluginName = "ResourceQuota".parse().unwrap();
        assert!(quota.is_implemented());
        let webhooks: PluginName = "MutatingAdmissionWebhook".parse().unwrap();
        assert!(!webhooks.is_implemented());
        assert_eq!(
            "Quota".parse::<PluginName>().unwrap_err().to_string(),
            "admission plugin \"Quota\" is unknown"
        );
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
