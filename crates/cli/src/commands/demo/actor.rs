//! [`Actor`]: changes the cluster as a user with kubectl would, and checks the result.

use anyhow::{Context, ensure};
use k8s_openapi::api::{
    core::v1::{ResourceQuota, Service},
    networking::v1::Ingress,
};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::{
    controller::{ANNOTATION, HOST, backend, is_ours},
    event::DemoEvent,
    screen::Screen,
};

/// The name of the quota.
const QUOTA: &str = "no-ingresses";

/// The resource that the quota limits.
const COUNT: &str = "count/ingresses.networking.k8s.io";

/// A user with kubectl.
pub(super) struct Actor {
    screen: Screen,
    services: Api<Service>,
    ingresses: Api<Ingress>,
    quotas: Api<ResourceQuota>,
}

impl Actor {
    pub(super) fn new(client: &Client, screen: &Screen) -> Self {
        Self {
            screen: screen.clone(),
            services: Api::default_namespaced(client.clone()),
            ingresses: Api::default_namespaced(client.clone()),
            quotas: Api::default_namespaced(client.clone()),
        }
    }

    /// Removes objects that an earlier round may have left.
    pub(super) async fn clean_up(&self) {
        let how = DeleteParams::default();
        // Objects that do not exist need not be removed.
        let _ = self.quotas.delete(QUOTA, &how).await;
        for name in ["web", "shop", "api"] {
            let _ = self.services.delete(name, &how).await;
            let _ = self.ingresses.delete(name, &how).await;
        }
    }

    pub(super) async fn create_service(&self, name: &str, annotated: bool) -> anyhow::Result<()> {
        let with = if annotated { "annotated-" } else { "" };
        self.log(format!(
            "kubectl create -f {with}service.yaml  # {name}, port 80"
        ));
        let mut service = json!({"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}});
        if annotated {
            service["metadata"]["annotations"] = json!({ANNOTATION: "true"});
        }
        let service = serde_json::from_value(service)?;
        self.services
            .create(&PostParams::default(), &service)
            .await?;
        Ok(())
    }

    pub(super) async fn annotate(&self, name: &str, annotated: bool) -> anyhow::Result<()> {
        let (word, value) = if annotated {
            ("=true", json!("true"))
        } else {
            ("-", Value::Null)
        };
        self.log(format!(
            "kubectl annotate service {name} {ANNOTATION}{word}"
        ));
        let patch = json!({"metadata": {"annotations": {ANNOTATION: value}}});
        self.patch_service(name, patch).await
    }

    pub(super) async fn set_port(&self, name: &str, port: i32) -> anyhow::Result<()> {
        let patch = json!({"spec": {"ports": [{"port": port}]}});
        self.log(format!("kubectl patch service {name} -p '{patch}'"));
        self.patch_service(name, patch).await
    }

    pub(super) async fn set_host(&self, name: &str, host: &str) -> anyhow::Result<()> {
        let patch = json!({"spec": {"rules": [{"host": host}]}});
        self.log(format!(
            "kubectl patch ingress {name} --type merge -p '{patch}'"
        ));
        self.ingresses
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    pub(super) async fn create_foreign_ingress(&self, name: &str) -> anyhow::Result<Ingress> {
        self.log(format!(
            "kubectl create ingress {name} --default-backend other:1"
        ));
        let ingress = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {"defaultBackend": {"service": {"name": "other", "port": {"number": 1}}}},
        }))?;
        Ok(self
            .ingresses
            .create(&PostParams::default(), &ingress)
            .await?)
    }

    pub(super) async fn create_quota(&self) -> anyhow::Result<()> {
        self.log(format!("kubectl create quota {QUOTA} --hard {COUNT}=0"));
        let hard = json!({COUNT: "0"});
        let quota = json!({
            "apiVersion": "v1", "kind": "ResourceQuota",
            "metadata": {"name": QUOTA}, "spec": {"hard": hard},
        });
        self.quotas
            .create(&PostParams::default(), &serde_json::from_value(quota)?)
            .await?;
        Ok(())
    }

    pub(super) async fn delete_service(&self, name: &str) -> anyhow::Result<()> {
        self.log(format!("kubectl delete service {name}"));
        self.services.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    pub(super) async fn delete_ingress(&self, name: &str) -> anyhow::Result<()> {
        self.log(format!("kubectl delete ingress {name}"));
        let how = DeleteParams::default();
        self.ingresses.delete(name, &how).await?;
        Ok(())
    }

    pub(super) async fn delete_quota(&self) -> anyhow::Result<()> {
        self.log(format!("kubectl delete quota {QUOTA}"));
        self.quotas.delete(QUOTA, &DeleteParams::default()).await?;
        Ok(())
    }

    pub(super) async fn ingress(&self, name: &str) -> anyhow::Result<Option<Ingress>> {
        Ok(self.ingresses.get_opt(name).await?)
    }

    /// Checks that the Ingress belongs to the Service of its name and routes to that port.
    pub(super) async fn leads_to(&self, name: &str, port: i32) -> anyhow::Result<String> {
        let ingress = self.ingress(name).await?.context("there is no Ingress")?;
        ensure!(is_ours(&ingress, name), "the Service does not own it");
        let found = backend(&ingress);
        ensure!(
            found == Some((HOST, name, port)),
            "the Ingress routes to {found:?}"
        );
        Ok(format!("{HOST}/ routes to {name}:{port}"))
    }

    async fn patch_service(&self, name: &str, patch: Value) -> anyhow::Result<()> {
        self.services
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    fn log(&self, command: String) {
        self.screen.show(DemoEvent::Act(command));
    }
}
