//! `/etc/hosts` and `/etc/resolv.conf`, as a kubelet writes them.

use std::fmt::Write as _;

use crate::{network::search_path, pod::plan::Plan};

/// The address of the DNS service of the cluster.
const SERVER: &str = "10.96.0.10";

/// The beginning of every hosts file.
const HOSTS: &str = "\
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::\tip6-localnet
fe00::\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
";

/// Returns the hosts file of a pod.
pub(super) fn hosts(plan: &Plan, ip: Option<&str>) -> String {
    let host = plan.hostname();
    let mut text = match plan.spec.host_network {
        true => "# Kubernetes-managed hosts file (host network).\n",
        false => "# Kubernetes-managed hosts file.\n",
    }
    .to_owned();
    text.push_str(HOSTS);
    let ip = ip.unwrap_or("127.0.0.1");
    // Writing to a string cannot fail.
    let _ = match plan.host_domain() {
        None => writeln!(text, "{ip}\t{host}"),
        Some(domain) => writeln!(text, "{ip}\t{host}.{domain}\t{host}"),
    };
    if !plan.spec.host_aliases.is_empty() {
        text.push_str("\n# Entries added by HostAliases.\n");
    }
    for alias in &plan.spec.host_aliases {
        let _ = writeln!(text, "{}\t{}", alias.ip, alias.hostnames.join("\t"));
    }
    text
}

/// Returns the configuration of the resolver of a pod.
pub(super) fn resolver(plan: &Plan) -> String {
    let config = &plan.spec.dns_config;
    let (mut servers, mut domains, mut options) = (Vec::new(), Vec::new(), Vec::new());
    match plan.spec.dns_policy.as_str() {
        "None" => {}
        "Default" => servers.push("127.0.0.53".to_owned()),
        "ClusterFirst" if plan.spec.host_network => servers.push("127.0.0.53".to_owned()),
        _ => {
            servers.push(SERVER.to_owned());
            domains.extend(search_path(plan.namespace()));
            options.push("ndots:5".to_owned());
        }
    }
    servers.extend(config.nameservers.iter().cloned());
    domains.extend(config.searches.iter().cloned());
    for option in &config.options {
        let name = &option.name;
        // An option of the pod replaces one of the policy.
        options.retain(|known| known.split(':').next() != Some(name));
        options.push(match &option.value {
            Some(value) => format!("{name}:{value}"),
            None => name.clone(),
        });
    }
    let mut text = String::new();
    if !domains.is_empty() {
        let _ = writeln!(text, "search {}", domains.join(" "));
    }
    for server in &servers {
        let _ = writeln!(text, "nameserver {server}");
    }
    if !options.is_empty() {
        let _ = writeln!(text, "options {}", options.join(" "));
    }
    text
}
