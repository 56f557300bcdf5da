//! The ConfigMap `kube-system/extension-apiserver-authentication`: the authorities that this server trusts, for
//! extension servers.

use std::{collections::BTreeMap, time::Duration};

use http::Method;
use kubewright_apiserver::{ApiServer, WeakApiServer};
use kubewright_machinery::{Status, json::Read, status};
use kubewright_store::Watch;
use kubewright_x509::{Certificate, pem};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::send;
use crate::{authentication::FrontProxy, kinds::Environment};

const PATH: &str = "/api/v1/namespaces/kube-system/configmaps";
const NAME: &str = "extension-apiserver-authentication";
const CLIENT_CA: &str = "client-ca-file";
const PROXY_CA: &str = "requestheader-client-ca-file";
/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// The authorities that a server trusts: the data of the ConfigMap.
#[derive(Default)]
pub(crate) struct Trust(BTreeMap<&'static str, Contents>);

/// The result of a step of keeping the ConfigMap.
enum Kept {
    Published,
    ServerGone,
}

enum Contents {
    /// Certificates, as PEM.
    Bundle(Vec<u8>),
    List(Vec<String>),
}

impl Trust {
    /// Returns the trust in users and in proxies with certificates of these authorities.
    pub(crate) fn new(client_ca: &[u8], proxies: &[FrontProxy]) -> Self {
        let mut data = BTreeMap::new();
        if !client_ca.is_empty() {
            data.insert(CLIENT_CA, Contents::Bundle(client_ca.to_vec()));
        }
        if !proxies.is_empty() {
            let list = |values: fn(&FrontProxy) -> &Vec<String>| {
                Contents::List(proxies.iter().flat_map(values).cloned().collect())
            };
            let authorities = proxies.iter().flat_map(|proxy| [&*proxy.ca_pem, b"\n"]);
            data.insert(
                PROXY_CA,
                Contents::Bundle(authorities.flatten().copied().collect()),
            );
            data.insert("requestheader-allowed-names", list(|p| &p.allowed_names));
            data.insert("requestheader-username-headers", list(|p| &p.headers.user));
            data.insert("requestheader-group-headers", list(|p| &p.headers.group));
            data.insert(
                "requestheader-extra-headers-prefix",
                list(|p| &p.headers.extra_prefix),
            );
            if proxies.iter().any(|proxy| !proxy.headers.uid.is_empty()) {
                data.insert("requestheader-uid-headers", list(|p| &p.headers.uid));
            }
        }
        Self(data)
    }

    /// Publishes it, and then again whenever the ConfigMap was changed or deleted, until the server is gone.
    pub(crate) async fn keep(self, server: WeakApiServer, environment: Environment) {
        let mut changes = None;
        loop {
            let kept = self.keep_once(&mut changes, &server, &environment).await;
            match kept {
                Ok(Kept::Published) => {}
                Ok(Kept::ServerGone) => return,
                Err(error) => {
                    tracing::warn!(%error, "cannot restore the ConfigMap {NAME}");
                    changes = None;
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Waits for a change, beginning to watch if nobody does, and publishes it.
    async fn keep_once(
        &self,
        changes: &mut Option<Box<dyn Watch>>,
        server: &WeakApiServer,
        environment: &Environment,
    ) -> Result<Kept, Status> {
        match changes {
            Some(changes) => drop(changes.next().await.map_err(status::internal)?),
            None => {
                let store = &environment.store;
                let current = store.current().await.map_err(status::internal)?;
                let path = format!("kube-system/{NAME}");
                let watch = store.watch("configmaps", &path, current);
                *changes = Some(watch.await.map_err(status::internal)?);
            }
        }
        let Some(server) = server.upgrade() else {
            return Ok(Kept::ServerGone);
        };
        self.publish(&server, environment).await?;
        Ok(Kept::Published)
    }

    /// Reports whether there is nothing to publish.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Publishes it. Certificates of earlier servers are kept until they expire.
    pub(crate) async fn publish(
        &self,
        server: &ApiServer,
        environment: &Environment,
    ) -> Result<(), Status> {
        if self.0.is_empty() {
            return Ok(());
        }
        let now = environment.clock.now().as_second();
        let media = "application/json";
        let object = json!({"metadata": {"name": NAME}, "data": self.with(&Value::Null, now)});
        if send(server, Method::POST, PATH, media, &object)
            .await?
            .is_some()
        {
            return Ok(());
        }
        let path = format!("{PATH}/{NAME}");
        let found = send(server, Method::GET, &path, media, &Value::Null).await?;
        let mut found = found.unwrap_or_default();
        let data = self.with(&found["data"], now);
        if found["data"] == data {
            return Ok(());
        }
        found["data"] = data;
        // A server that starts at the same time may be faster, and has written the same.
        send(server, Method::PUT, &path, media, &found)
            .await
            .map(drop)
    }

    /// Adds it to published data.
    fn with(&self, published: &Value, now: i64) -> Value {
        let mut data = published.as_object().cloned().unwrap_or_default();
        for (key, contents) in &self.0 {
            let before = published[*key].text();
            let text = match contents {
                Contents::Bundle(pem) => bundle(&[before.as_bytes(), pem].concat(), now),
                Contents::List(values) => list(before, values),
            };
            data.insert((*key).to_owned(), text.into());
        }
        data.into()
    }
}

/// Returns the certificates of a bundle that have not expired, each once.
fn bundle(text: &[u8], now: i64) -> String {
    let mut kept = Vec::new();
    for block in pem::blocks(text).filter(|block| block.label == "CERTIFICATE") {
        let certificate = Certificate::from_der(&block.contents);
        let expired = certificate.is_ok_and(|c| c.validity().not_after < now);
        if !expired && !kept.contains(&block.contents) {
            kept.push(block.contents);
        }
    }
    kept.iter()
        .map(|der| pem::encode("CERTIFICATE", der))
        .collect()
}

/// Adds values to a list that is written as JSON.
fn list(before: &str, values: &[String]) -> String {
    let mut all: Vec<String> = serde_json::from_str(before).unwrap_or_default();
    for value in values {
        if !all.contains(value) {
            all.push(value.clone());
        }
    }
    json!(all).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority() -> String {
        let key = rcgen::KeyPair::generate().unwrap();
        rcgen::CertificateParams::default()
            .self_signed(&key)
            .unwrap()
            .pem()
    }

    #[test]
    fn the_trust_of_earlier_servers_stays() {
        let (first, second) = (authority(), authority());
        let proxy = |name: &str| FrontProxy {
            allowed_names: vec![name.to_owned()],
            ..FrontProxy::new(authority())
        };
        let data = Trust::new(first.as_bytes(), &[proxy("a")]).with(&Value::Null, 0);
        assert_eq!(data[CLIENT_CA], first.replace('\r', ""));
        let trust = Trust::new(second.as_bytes(), &[proxy("b"), proxy("a")]);
        let data = trust.with(&data, 0);
        assert_eq!(
            data[CLIENT_CA],
            format!("{first}{second}").replace('\r', "")
        );
        assert_eq!(data["requestheader-allowed-names"], r#"["a","b"]"#);
        assert_eq!(
            data["requestheader-username-headers"],
            r#"["X-Remote-User"]"#
        );
        assert_eq!(pem::blocks(data[PROXY_CA].text().as_bytes()).count(), 3);
        assert_eq!(trust.with(&data, 0), data);
        // Everything that these tests make has expired in the end.
        assert_eq!(trust.with(&data, i64::MAX)[CLIENT_CA], "");
    }

    #[test]
    fn a_server_without_proxies_says_nothing_about_them() {
        let data = Trust::new(authority().as_bytes(), &[]).with(&Value::Null, 0);
        assert_eq!(data.as_object().unwrap().len(), 1);
        assert!(Trust::new(b"", &[]).0.is_empty());
    }
}
