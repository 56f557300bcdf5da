//! [`LocalApis`]: the kinds that an operator on this machine serves itself, behind a cluster.
//!
//! A Service of the type ExternalName leads the API server of the cluster to this machine. The APIServices of a deployed operator get
//! their Service back at the end.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use kubewright_operator::Model;
use kubewright_scaffold::Error;
use serde_json::{Value, json};

use super::{endpoint::Endpoint, prefix};
use crate::cluster::{
    apply::{Action, Applier, Outcome, Report},
    refused,
};

/// The namespace of the Service, which every cluster has.
const NAMESPACE: &str = "default";
/// The time limit for an APIService to become available.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The kinds that an operator on this machine serves itself.
pub(super) struct LocalApis {
    client: Client,
    directory: PathBuf,
    endpoint: Option<Endpoint>,
    /// The registered APIServices, and the Services that they led to before.
    registered: Vec<(String, Option<Value>)>,
    service: String,
}

impl LocalApis {
    pub(super) fn new(client: Client, directory: PathBuf) -> Self {
        Self {
            client,
            directory,
            endpoint: None,
            registered: Vec::new(),
            service: String::new(),
        }
    }

    /// Returns the flags that make the operator serve its kinds.
    pub(super) async fn configure(&mut self, model: &Model) -> Result<Vec<OsString>, Error> {
        if !model.serves_aggregated_apis() {
            return Ok(Vec::new());
        }
        self.service = format!("{}-local-apiserver", prefix(&model.name));
        if self.endpoint.is_none() {
            let host = format!("{}.{NAMESPACE}.svc", self.service);
            self.endpoint = Some(Endpoint::prepare(&self.directory, Some(&host)).await?);
        }
        let endpoint = self.endpoint.iter();
        Ok(endpoint.flat_map(|it| it.flags("apiserver")).collect())
    }

    /// Returns the endpoint, if the operator has such kinds.
    pub(super) fn endpoint(&self) -> Option<&Endpoint> {
        self.endpoint.as_ref()
    }

    /// Registers an operator that serves its own kinds with the cluster, and waits until it takes effect. Returns the changes.
    pub(super) async fn register(&mut self, model: &Model) -> Result<Vec<Outcome>, Error> {
        let Some(endpoint) = &self.endpoint else {
            return Ok(Vec::new());
        };
        let port = endpoint.address.port();
        let mut objects = vec![json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": self.service,
                "namespace": NAMESPACE,
                "labels": {"app.kubernetes.io/managed-by": "kubewright"},
            },
            "spec": {
                "type": "ExternalName",
                "externalName": endpoint.address.ip().to_string(),
                "ports": [{"port": port, "protocol": "TCP"}],
            },
        })];
        let bundle = endpoint.ca_bundle();
        let services = model.api_services(NAMESPACE, &self.service);
        for mut service in services {
            service["spec"]["service"]["port"] = json!(port);
            service["spec"]["caBundle"] = json!(bundle);
            let name = service["metadata"]["name"].as_str().unwrap_or_default();
            if !self.registered.iter().any(|(known, _)| known == name) {
                let before = self.led_to(name).await?;
                self.registered.push((name.to_owned(), before));
            }
            objects.push(service);
        }
        let objects = objects.into_iter().map(serde_json::from_value);
        let objects: Vec<DynamicObject> = objects
            .collect::<Result<_, _>>()
            .map_err(|e| Error::new(e, "check the kinds of the operator"))?;
        let report = Report::silent();
        let mut applier = Applier::new(self.client.clone(), &model.name, TIMEOUT, &report);
        let outcomes = applier.apply(objects).await?;
        let changed = |it: &Outcome| it.kind == "APIService" && it.action != Action::Unchanged;
        Ok(outcomes.into_iter().filter(changed).collect())
    }

    /// Removes all registrations of this machine from the cluster. Returns those that could not be removed.
    pub(super) async fn end(&mut self) -> Vec<Error> {
        let mut failed = Vec::new();
        if self.registered.is_empty() {
            return failed;
        }
        let services = api_services(&self.client);
        for (name, before) in std::mem::take(&mut self.registered) {
            // Somebody else may have led it elsewhere meanwhile.
            let ended = match (services.get_opt(&name).await, before) {
                (Ok(Some(now)), _) if !self.is_led_here(&now) => Ok(()),
                (Ok(None), _) => Ok(()),
                (Ok(Some(_)), Some(before)) => {
                    let patch = Patch::Merge(json!({"spec": before}));
                    let params = PatchParams::default();
                    services.patch(&name, &params, &patch).await.map(drop)
                }
                (Ok(Some(_)), None) => {
                    let params = DeleteParams::default();
                    services.delete(&name, &params).await.map(drop)
                }
                (Err(error), _) => Err(error),
            };
            if let Err(error) = ended {
                failed.push(refused(format_args!("reset the APIService {name}"), &error));
            }
        }
        let kind = GroupVersionKind::gvk("", "v1", "Service");
        let api: Api<DynamicObject> = Api::namespaced_with(
            self.client.clone(),
            NAMESPACE,
            &ApiResource::from_gvk(&kind),
        );
        match api.delete(&self.service, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => {
                let service = &self.service;
                failed.push(refused(
                    format_args!("delete the Service {service}"),
                    &error,
                ));
            }
        }
        failed
    }

    /// Returns the service of an APIService, unless it is this machine, possibly registered by a program that was killed.
    async fn led_to(&self, name: &str) -> Result<Option<Value>, Error> {
        let found = api_services(&self.client).get_opt(name).await;
        let found = found.map_err(|e| refused(format_args!("read the APIService {name}"), &e))?;
        let Some(found) = found.filter(|it| !self.is_led_here(it)) else {
            return Ok(None);
        };
        let spec = &found.data["spec"];
        Ok(Some(json!({
            "service": spec["service"],
            "caBundle": spec["caBundle"],
            "insecureSkipTLSVerify": spec["insecureSkipTLSVerify"],
        })))
    }

    fn is_led_here(&self, service: &DynamicObject) -> bool {
        service.data["spec"]["service"]["name"] == self.service.as_str()
    }
}

/// Returns the names of the APIServices of an operator.
pub(crate) fn names(model: &Model) -> Vec<String> {
    let services = model.api_services("", "").into_iter();
    let objects = services.filter_map(|it| serde_json::from_value::<DynamicObject>(it).ok());
    objects.map(|it| it.name_any()).collect()
}

fn api_services(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apiregistration.k8s.io", "v1", "APIService");
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}
