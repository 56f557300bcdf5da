//! [`Actor`]: does to the cluster what people do with kubectl, and looks at it as they do.

use anyhow::{Context, ensure};
use ingress_manager::ingress::{ANNOTATION, HOST, backend, is_ours};
use k8s_openapi::api::{
    core::v1::{ResourceQuota, Service},
    networking::v1::Ingress,
};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::{happening::Happening, screen::Screen};

/// The quota's name.
const QUOTA: &str = "no-ingresses";

/// What the quota counts.
const COUNT: &str = "count/ingresses.networking.k8s.io";

/// Somebody with kubectl.
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

    /// Removes what an earlier round may have left.
    pub(super) async fn clean_up(&self) {
        let how = DeleteParams::default();
        // What is not there need not be removed.
        let _ = self.quotas.delete(QUOTA, &how).await;
        for name in ["web", "shop", "api"] {
            let _ = self.services.delete(name, &how).await;
            let _ = self.ingresses.delete(name, &how).await;
        }
    }

    pub(super) async fn create_service(&self, name: &str, annotated: bool) -> anyhow::Result<()> {
        let with = if annotated { "annotated-" } else { "" };
        self.says(format!(
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
        self.says(format!(
            "kubectl annotate service {name} {ANNOTATION}{word}"
        ));
        let patch = json!({"metadata": {"annotations": {ANNOTATION: value}}});
        self.patch_service(name, patch).await
    }

    pub(super) async fn set_port(&self, name: &str, port: i32) -> anyhow::Result<()> {
        let patch = json!({"spec": {"ports": [{"port": port}]}});
        self.says(format!("kubectl patch service {name} -p '{patch}'"));
        self.patch_service(name, patch).await
    }

    pub(super) async fn set_host(&self, name: &str, host: &str) -> anyhow::Result<()> {
        let patch = json!({"spec": {"rules": [{"host": host}]}});
        self.says(format!(
            "kubectl patch ingress {name} --type merge -p '{patch}'"
        ));
        self.ingresses
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    pub(super) async fn create_foreign_ingress(&self, name: &str) -> anyhow::Result<Ingress> {
        self.says(format!(
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

    /// A quota counts when a controller has written its status: here it is the actor who does.
    pub(super) async fn create_quota(&self) -> anyhow::Result<()> {
        self.says(format!("kubectl create quota {QUOTA} --hard {COUNT}=0"));
        let hard = json!({COUNT: "0"});
        let quota = json!({
            "apiVersion": "v1", "kind": "ResourceQuota",
            "metadata": {"name": QUOTA}, "spec": {"hard": hard},
        });
        let status = json!({"status": {"hard": hard, "used": {COUNT: "0"}}});
        self.quotas
            .create(&PostParams::default(), &serde_json::from_value(quota)?)
            .await?;
        self.quotas
            .patch_status(QUOTA, &PatchParams::default(), &Patch::Merge(status))
            .await?;
        Ok(())
    }

    pub(super) async fn delete_service(&self, name: &str) -> anyhow::Result<()> {
        self.says(format!("kubectl delete service {name}"));
        self.services.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    pub(super) async fn delete_ingress(&self, name: &str) -> anyhow::Result<()> {
        self.says(format!("kubectl delete ingress {name}"));
        let how = DeleteParams::default();
        self.ingresses.delete(name, &how).await?;
        Ok(())
    }

    pub(super) async fn delete_quota(&self) -> anyhow::Result<()> {
        self.says(format!("kubectl delete quota {QUOTA}"));
        self.quotas.delete(QUOTA, &DeleteParams::default()).await?;
        Ok(())
    }

    pub(super) async fn ingress(&self, name: &str) -> anyhow::Result<Option<Ingress>> {
        Ok(self.ingresses.get_opt(name).await?)
    }

    /// Makes sure that the Ingress is the controller's and leads to that port of the Service of its name.
    pub(super) async fn leads_to(&self, name: &str, port: i32) -> anyhow::Result<String> {
        let ingress = self.ingress(name).await?.context("there is no Ingress")?;
        ensure!(is_ours(&ingress, name), "the Service does not own it");
        let found = backend(&ingress);
        ensure!(
            found == Some((HOST, name, port)),
            "the Ingress leads to {found:?}"
        );
        Ok(format!("{HOST}/ leads to {name}:{port}"))
    }

    async fn patch_service(&self, name: &str, patch: Value) -> anyhow::Result<()> {
        self.services
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    fn says(&self, command: String) {
        self.screen.tell(Happening::Act(command));
    }
}
