//! [`Bundles`]: the `caBundle`s of objects that refer to a Service.

use base64::{Engine, engine::general_purpose::STANDARD};
use kube::{
    Api, Client,
    api::PostParams,
    core::{ApiResource, DynamicObject, GroupVersionKind},
};
use kubewright_client::ErrorExt;
use serde_json::{Value, json};

/// The maximum attempts after conflicts.
const ATTEMPTS: usize = 5;

/// The objects that refer to a Service, and their `caBundle`s.
#[derive(Clone, Debug)]
pub(super) struct Bundles {
    pub(super) namespace: String,
    service: String,
    /// The kinds and names of the objects.
    objects: Vec<(&'static str, String)>,
}

/// The result of writing the bundles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Written {
    /// All objects have the bundle.
    All,
    /// Some objects do not exist; the others have the bundle.
    Some,
    /// An object could not be written.
    Failed,
}

impl Bundles {
    pub(super) fn new(namespace: &str, service: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            service: service.to_owned(),
            objects: Vec::new(),
        }
    }

    /// Adds an object by its kind and name.
    pub(super) fn add(&mut self, kind: &'static str, name: &str) {
        self.objects.push((kind, name.to_owned()));
    }

    /// Returns the names that API servers call the Service by.
    pub(super) fn dns_names(&self) -> Vec<String> {
        let base = format!("{}.{}", self.service, self.namespace);
        ["", ".svc", ".svc.cluster.local"]
            .map(|suffix| format!("{base}{suffix}"))
            .to_vec()
    }

    /// Writes the bundle into all objects.
    pub(super) async fn write(&self, client: &Client, bundle: &str) -> Written {
        let bundle = STANDARD.encode(bundle);
        let mut written = Written::All;
        for (kind, name) in &self.objects {
            written = written.max(self.write_one(client, kind, name, &bundle).await);
        }
        written
    }

    async fn write_one(&self, client: &Client, kind: &str, name: &str, bundle: &str) -> Written {
        let group = match kind {
            "CustomResourceDefinition" => "apiextensions.k8s.io",
            "APIService" => "apiregistration.k8s.io",
            _ => "admissionregistration.k8s.io",
        };
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let attempt = async || -> kube::Result<Written> {
            let Some(mut object) = api.get_opt(name).await? else {
                return Ok(Written::Some);
            };
            if self.set(&mut object.data, bundle) {
                api.replace(name, &PostParams::default(), &object).await?;
            }
            Ok(Written::All)
        };
        for _ in 0..ATTEMPTS {
            match attempt().await {
                Ok(written) => return written,
                Err(error) if error.is_conflict() => {}
                Err(error) => {
                    tracing::warn!(kind, name, %error, "cannot write caBundle");
                    return Written::Failed;
                }
            }
        }
        Written::Failed
    }

    /// Sets the bundle wherever an object refers to the Service. Returns whether the object changed.
    fn set(&self, object: &mut Value, bundle: &str) -> bool {
        let mut changed = false;
        let mut visit = |config: &mut Value| {
            let service = &config["service"];
            if service["name"] == *self.service
                && service["namespace"] == *self.namespace
                && config["caBundle"] != *bundle
            {
                config["caBundle"] = json!(bundle);
                changed = true;
            }
        };
        if let Some(webhooks) = object.get_mut("webhooks").and_then(Value::as_array_mut) {
            for webhook in webhooks {
                if let Some(config) = webhook.get_mut("clientConfig") {
                    visit(config);
                }
            }
        }
        if let Some(config) = object.pointer_mut("/spec/conversion/webhook/clientConfig") {
            visit(config);
        }
        // The spec of an APIService refers to the Service directly.
        if let Some(spec) = object
            .get_mut("spec")
            .filter(|spec| spec["service"].is_object())
        {
            visit(spec);
        }
        changed
    }
}
