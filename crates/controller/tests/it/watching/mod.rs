//! Sources: predicates, handlers, watches that come and go, kinds that come later.

mod caches;
mod events;
mod sources;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, api::PostParams};
use kubewright_controller::{Action, Context, Request};
use kubewright_testing::TestCluster;
use parking_lot::Mutex;

use crate::managing::Managed;

/// Requests as they ran since somebody looked.
#[derive(Clone, Default)]
struct Ran(Arc<Mutex<Vec<String>>>);

impl Ran {
    fn reconciler(
        &self,
    ) -> impl Fn(Context, Request) -> std::future::Ready<kubewright_controller::Result<Action>>
    + Send
    + Sync
    + 'static {
        let ran = self.0.clone();
        move |_, request| {
            ran.lock().push(request.to_string());
            std::future::ready(Ok(Action::done()))
        }
    }

    async fn since(&self, managed: &Managed) -> Vec<String> {
        managed.settled().await;
        let mut ran = std::mem::take(&mut *self.0.lock());
        ran.sort();
        ran
    }
}

fn secret(name: &str) -> Secret {
    let mut secret = Secret::default();
    secret.metadata.name = Some(name.into());
    secret.metadata.namespace = Some("default".into());
    secret
}

async fn create_secret(cluster: &TestCluster, secret: &Secret) {
    let secrets: Api<Secret> = Api::default_namespaced(cluster.client());
    secrets
        .create(&PostParams::default(), secret)
        .await
        .unwrap();
}
