//! The host name of a pod.

use std::borrow::Cow;

use crate::{network::ZONE, pod::plan::Plan};

/// The length of the longest host name of a pod.
const LONGEST: usize = 63;

impl Plan {
    /// Returns the host name of the pod, without its domain.
    pub(crate) fn hostname(&self) -> &str {
        let spec = &self.spec;
        let name = match (spec.hostname_override.as_str(), spec.hostname.as_str()) {
            _ if spec.host_network => &spec.node_name,
            ("", "") => self.key.name(),
            ("", name) | (name, _) => name,
        };
        match name.get(..LONGEST) {
            Some(start) if name.len() > LONGEST => start.trim_end_matches(['-', '.']),
            _ => name,
        }
    }

    /// Returns the domain of the pod, if its names are in the DNS of the cluster.
    pub(super) fn host_domain(&self) -> Option<String> {
        let spec = &self.spec;
        let has_domain = spec.hostname_override.is_empty() && !spec.subdomain.is_empty();
        has_domain.then(|| format!("{}.{}.svc.{ZONE}", spec.subdomain, self.namespace()))
    }

    /// Returns the host name that processes of the pod see.
    pub(super) fn kernel_hostname(&self) -> Cow<'_, str> {
        match self.host_domain() {
            Some(domain) if self.spec.set_hostname_as_fqdn => {
                format!("{}.{domain}", self.hostname()).into()
            }
            _ => self.hostname().into(),
        }
    }
}
