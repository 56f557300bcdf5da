//! The environment of a container.

use std::collections::BTreeMap;

use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Secret, Service},
};
use kube::{Api, api::ListParams};

use crate::{
    nodes::{Known, Shared},
    pod::plan::{ContainerPlan, EnvVar, Plan},
};

/// The search path of programs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl Shared {
    /// Returns the environment of a container: the variables of its spec, and those of the services of the namespace.
    pub(crate) async fn environment(
        &self,
        (plan, known): (&Plan, &Known),
        container: &ContainerPlan,
        ip: Option<&str>,
    ) -> BTreeMap<String, String> {
        let mut env = BTreeMap::from([
            ("PATH".to_owned(), PATH.to_owned()),
            ("HOSTNAME".to_owned(), plan.kernel_hostname().into_owned()),
            ("HOME".to_owned(), "/root".to_owned()),
        ]);
        if container.raw.tty {
            env.insert("TERM".to_owned(), "xterm".to_owned());
        }
        self.add_services(plan, &mut env).await;
        for from in &container.raw.env_from {
            let map = from.config_map_ref.as_ref().map(|r| ("configmaps", r));
            let secret = from.secret_ref.as_ref().map(|r| ("secrets", r));
            if let Some((plural, reference)) = map.or(secret) {
                let data = self.data(plan.namespace(), plural, &reference.name).await;
                for (key, value) in data.unwrap_or_default() {
                    let value = String::from_utf8_lossy(&value).into_owned();
                    env.insert(format!("{}{key}", from.prefix), value);
                }
            }
        }
        for variable in &container.raw.env {
            if let Some(value) = self
                .value((plan, known), container, variable, ip, &env)
                .await
            {
                env.insert(variable.name.clone(), value);
            }
        }
        env
    }

    async fn value(
        &self,
        (plan, known): (&Plan, &Known),
        container: &ContainerPlan,
        variable: &EnvVar,
        ip: Option<&str>,
        env: &BTreeMap<String, String>,
    ) -> Option<String> {
        let from = &variable.value_from;
        if let Some(path) = variable.field() {
            return Some(plan.field(path, ip, self.address_of(&plan.spec.node_name)));
        }
        if let Some(resource) = &from.resource_field_ref {
            let allocatable = self.allocatable(&plan.spec.node_name);
            return Some(plan.resource(container, resource, &allocatable));
        }
        if let Some(file) = &from.file_key_ref {
            return known.state.lock().file_value(plan, file).ok().flatten();
        }
        let map = from.config_map_key_ref.as_ref().map(|r| ("configmaps", r));
        let secret = from.secret_key_ref.as_ref().map(|r| ("secrets", r));
        let Some((plural, reference)) = map.or(secret) else {
            return Some(expanded(&variable.value, env));
        };
        let data = self.data(plan.namespace(), plural, &reference.name).await;
        let value = data?.remove(&reference.key)?;
        Some(String::from_utf8_lossy(&value).into_owned())
    }

    /// Returns the data of a config map or secret.
    pub(crate) async fn data(
        &self,
        namespace: &str,
        plural: &str,
        name: &str,
    ) -> Option<BTreeMap<String, Vec<u8>>> {
        let client = self.network.client()?;
        if plural == "secrets" {
            let secrets: Api<Secret> = client.api(namespace);
            let secret = secrets.get_opt(name).await.ok()??;
            let data = secret.data.unwrap_or_default().into_iter();
            return Some(data.map(|(key, ByteString(value))| (key, value)).collect());
        }
        let maps: Api<ConfigMap> = client.api(namespace);
        let map = maps.get_opt(name).await.ok()??;
        let binary = map.binary_data.unwrap_or_default().into_iter();
        let binary = binary.map(|(key, ByteString(value))| (key, value));
        let texts = map.data.unwrap_or_default().into_iter();
        let texts = texts.map(|(key, value)| (key, value.into_bytes()));
        Some(binary.chain(texts).collect())
    }

    /// Adds the variables of the services of the namespace, and of the API server.
    async fn add_services(&self, plan: &Plan, env: &mut BTreeMap<String, String>) {
        let Some(client) = self.network.client() else {
            return;
        };
        let all: Api<Service> = Api::all(client.live());
        let Ok(services) = all.list(&ListParams::default()).await else {
            return;
        };
        for service in services.items {
            let metadata = &service.metadata;
            let namespace = metadata.namespace.as_deref().unwrap_or_default();
            let name = metadata.name.as_deref().unwrap_or_default();
            let is_master = (namespace, name) == ("default", "kubernetes");
            if !is_master && (namespace != plan.namespace() || !plan.spec.enable_service_links) {
                continue;
            }
            let Some(spec) = &service.spec else { continue };
            let address = spec.cluster_ip.as_deref().unwrap_or_default();
            if address.is_empty() || address == "None" {
                continue;
            }
            let prefix = name.to_uppercase().replace('-', "_");
            env.insert(format!("{prefix}_SERVICE_HOST"), address.to_owned());
            for (i, port) in spec.ports.iter().flatten().enumerate() {
                let number = port.port;
                let protocol = port.protocol.as_deref().unwrap_or("TCP");
                let (upper, lower) = (protocol.to_uppercase(), protocol.to_lowercase());
                let url = format!("{lower}://{address}:{number}");
                if i == 0 {
                    env.insert(format!("{prefix}_SERVICE_PORT"), number.to_string());
                    env.insert(format!("{prefix}_PORT"), url.clone());
                }
                let link = format!("{prefix}_PORT_{number}_{upper}");
                env.insert(format!("{link}_PROTO"), lower);
                env.insert(format!("{link}_PORT"), number.to_string());
                env.insert(format!("{link}_ADDR"), address.to_owned());
                env.insert(link, url);
                if let Some(name) = port.name.as_deref().filter(|name| !name.is_empty()) {
                    let name = name.to_uppercase().replace('-', "_");
                    env.insert(format!("{prefix}_SERVICE_PORT_{name}"), number.to_string());
                }
            }
        }
    }
}

/// Replaces `$(NAME)`; `$$` is a dollar sign.
pub(crate) fn expanded(text: &str, env: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some(inner) = rest.strip_prefix('(')
            && let Some((name, after)) = inner.split_once(')')
            && let Some(value) = env.get(name)
        {
            out.push_str(value);
            rest = after;
        } else {
            out.push('$');
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_to_variables_are_replaced() {
        let env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        for (text, expected) in [
            ("$(A)-$(B)-$$(A)", "1-$(B)-$(A)"),
            ("$A $", "$A $"),
            ("$(A", "$(A"),
        ] {
            assert_eq!(expanded(text, &env), expected);
        }
    }
}
