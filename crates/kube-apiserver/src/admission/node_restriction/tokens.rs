//! Tokens: a node requests those of its pods, for audiences that the pods name.

use kubewright_apiserver::{
    admission::Operation,
    auth::{Attributes, ResourceAttributes},
};
use kubewright_machinery::{Status, go, json::Read};
use serde_json::Value;

use super::{NodeWrite, not_found};
use crate::pod_references::volume_claim;

impl NodeWrite<'_> {
    pub(super) async fn token(&self) -> Result<(), Status> {
        let is_create = self.attributes.operation == Operation::Create;
        if !is_create || self.cx.info.subresource != "token" {
            return Ok(());
        }
        let bound = &self.object["spec"]["boundObjectRef"];
        let is_pod = bound["apiVersion"] == "v1" && bound["kind"] == "Pod";
        let (name, uid) = (bound["name"].text(), bound["uid"].text());
        if !is_pod || name.is_empty() {
            return Err(self.forbidden("node requested token not bound to a pod"));
        }
        if uid.is_empty() {
            return Err(self.forbidden("node requested token with a pod binding without a uid"));
        }
        let pod = self.stored_pod(name).await?;
        if pod["metadata"]["uid"].text() != uid {
            return Err(self.forbidden(format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
            )));
        }
        if pod["spec"]["nodeName"].text() != self.node {
            return Err(
                self.forbidden("node requested token bound to a pod scheduled on a different node")
            );
        }
        self.audience(&pod).await
    }

    /// Checks that the pod has a volume for the audience, or that the node may request it anyway.
    async fn audience(&self, pod: &Value) -> Result<(), Status> {
        let audiences: Vec<&str> = self.object["spec"]["audiences"].texts().collect();
        let audience = match audiences[..] {
            [] => "",
            [audience] => audience,
            _ => return Err(self.forbidden("node may only request 0 or 1 audiences")),
        };
        let quoted = go::quote(audience);
        match self.pod_names(pod, audience).await? {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(errors) => {
                let errors = go::aggregate(errors);
                let cause = format!("error validating audience {quoted}: {errors}");
                return Err(self.forbidden(cause));
            }
        }
        let user = &self.cx.user;
        let resource = ResourceAttributes {
            version: "v1",
            resource: audience,
            namespace: self.cx.namespace(),
            name: self.attributes.name,
            ..ResourceAttributes::default()
        };
        let verb = "request-serviceaccounts-token-audience";
        let asked = Attributes::of_resource(user, verb, resource);
        let decision = self.cx.authorize(&asked).await;
        if decision.is_allow() {
            return Ok(());
        }
        let name = &user.name;
        Err(self.forbidden(match decision.error {
            Some(error) => format!(
                "audience {quoted} not found in pod spec volume, error authorizing {name} to request tokens for this audience: {error}"
            ),
            None => format!(
                "audience {quoted} not found in pod spec volume, {name} is not authorized to request tokens for this audience"
            ),
        }))
    }

    /// Returns whether a volume of a pod takes tokens for an audience, or the errors met on the way.
    async fn pod_names(
        &self,
        pod: &Value,
        audience: &str,
    ) -> Result<Result<bool, Vec<String>>, Status> {
        let mut errors = Vec::new();
        for volume in pod["spec"]["volumes"].items() {
            let projected = volume["projected"]["sources"].items().iter();
            let mut tokens = projected.map(|source| &source["serviceAccountToken"]);
            if tokens.any(|token| token.is_set() && token["audience"].text() == audience) {
                return Ok(Ok(true));
            }
            let driver = match volume_claim(pod, volume) {
                Some(claim) => self.driver_of(&claim).await?,
                None => Ok(volume["csi"]["driver"].text().to_owned()),
            };
            match driver {
                Ok(driver) if driver.is_empty() => {}
                Ok(driver) => {
                    let path = "storage.k8s.io/csidrivers";
                    let found: Option<Value> = self.store.get(path, &driver).await?;
                    let Some(found) = found else {
                        let missing = not_found("storage.k8s.io", "csidriver", &driver);
                        errors.push(missing.message);
                        continue;
                    };
                    let mut requests = found["spec"]["tokenRequests"].items().iter();
                    if requests.any(|request| request["audience"].text() == audience) {
                        return Ok(Ok(true));
                    }
                }
                Err(error) => errors.push(error),
            }
        }
        Ok(match errors.is_empty() {
            true => Ok(false),
            false => Err(errors),
        })
    }

    /// Returns the CSI driver of a claim's volume; empty if it is of another kind.
    async fn driver_of(&self, claim: &str) -> Result<Result<String, String>, Status> {
        let path = format!("{}/{claim}", self.cx.namespace());
        let found: Option<Value> = self.store.get("persistentvolumeclaims", &path).await?;
        let Some(found) = found else {
            return Ok(Err(not_found("", "persistentvolumeclaim", claim).message));
        };
        let volume = found["spec"]["volumeName"].text();
        let found: Option<Value> = self.store.get("persistentvolumes", volume).await?;
        let Some(found) = found else {
            return Ok(Err(not_found("", "persistentvolume", volume).message));
        };
        Ok(Ok(found["spec"]["csi"]["driver"].text().to_owned()))
    }
}
