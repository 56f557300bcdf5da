//! Credentials that run out: a plugin has to give new ones.

use std::fs;
use std::path::PathBuf;

use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;

use super::Front;
use super::survives;

/// A file that a plugin reads its credential from.
struct Credential(PathBuf);

impl Credential {
    fn new(name: &str) -> Self {
        let file = format!("kubewright-{name}-{}", std::process::id());
        let credential = Self(std::env::temp_dir().join(file));
        credential.set("one");
        credential
    }

    /// A token that has run out as soon as it is given, so that the plugin is asked for every request.
    fn set(&self, token: &str) {
        let text = json!({
            "kind": "ExecCredential",
            "apiVersion": "client.authentication.k8s.io/v1",
            "status": {"token": token, "expirationTimestamp": "2020-01-01T00:00:00Z"},
        });
        // In one step: a plugin that runs meanwhile reads the one or the other.
        let next = self.0.with_extension("next");
        fs::write(&next, text.to_string()).expect("a file");
        fs::rename(&next, &self.0).expect("a file");
    }

    async fn client(&self, front: &Front) -> kube::Client {
        let kubeconfig: Kubeconfig = serde_json::from_value(json!({
            "clusters": [{"name": "c", "cluster": {"server": format!("http://{}", front.address())}}],
            "users": [{"name": "u", "user": {"exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "cat",
                "args": [self.0],
            }}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }))
        .expect("a kubeconfig");
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
        kube::Client::try_from(config.expect("a configuration")).expect("a client")
    }
}

impl Drop for Credential {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The token that a watch was begun with is no longer good: the server ends the watch and refuses whoever comes with it.
/// The plugin goes on giving it for a while; once it gives the new one, the cache catches up.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_expire_in_the_middle() {
    let credential = Credential::new("expiring");
    survives(
        |front| {
            credential.set("one");
            front.demand("one");
        },
        async |front| credential.client(front).await,
        async |front, round| {
            let token = format!("token-{round}");
            let refused = front.refused();
            front.demand(&token);
            // It is tried with the old one.
            while front.refused() < refused + 3 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            credential.set(&token);
        },
    )
    .await;
}
