//! [`Conversions`]: in-process conversion of custom resources.
//!
//! Tests use the conversion functions of their operator without an endpoint and certificates, or call a service
//! regardless of what the CRD says. The replies are checked as those of a webhook are.

use std::{collections::BTreeMap, sync::Arc};

use kubewright_apiserver::boxed_async;
use kubewright_custom_kinds::Conversion;
use kubewright_machinery::{Status, status};
use parking_lot::RwLock;
use serde_json::{Value, json};

use super::webhook::{self, Webhook};
use crate::outgoing::{Endpoint, Outgoing};

/// The path of conversion reviews at a service.
const PATH: &str = "/convert";

/// Converts an object to an `apiVersion`. The error is the reason why it cannot.
type Convert = dyn Fn(&Value, &str) -> Result<Value, String> + Send + Sync;

/// The conversion of a CRD.
#[derive(Clone)]
enum Converter {
    Function(Arc<Convert>),
    Service(Endpoint),
}

/// Conversions by the names of CRDs, in place of those that the CRDs ask for. Clones share them.
///
/// ```
/// use kubewright_kube_apiserver::Conversions;
/// use serde_json::json;
///
/// let conversions = Conversions::default();
/// conversions.set("captains.crew.example.com", |captain, api_version| {
///     let mut captain = captain.clone();
///     captain["apiVersion"] = json!(api_version);
///     Ok(captain)
/// });
/// // The reviews of these objects are sent to a service, which may be code in this process.
/// conversions.set_service("ships.crew.example.com", "crew-system", "crew-webhook-service", 443);
/// ```
#[derive(Clone, Default)]
pub struct Conversions(Arc<RwLock<BTreeMap<String, Converter>>>);

impl Conversions {
    /// Sets the function that converts the objects of a CRD, such as `captains.crew.example.com`.
    pub fn set(
        &self,
        crd: impl Into<String>,
        convert: impl Fn(&Value, &str) -> Result<Value, String> + Send + Sync + 'static,
    ) {
        let converter = Converter::Function(Arc::new(convert));
        self.0.write().insert(crd.into(), converter);
    }

    /// Sends the conversion reviews of a CRD to the path `/convert` of a service, such as one of [`Services`](crate::Services).
    pub fn set_service(&self, crd: impl Into<String>, namespace: &str, name: &str, port: u16) {
        let reference = json!({"namespace": namespace, "name": name, "port": port, "path": PATH});
        let endpoint = Endpoint::read(&json!({"service": reference}));
        let converter = Converter::Service(endpoint);
        self.0.write().insert(crd.into(), converter);
    }

    fn get(&self, crd: &str) -> Option<Converter> {
        self.0.read().get(crd).cloned()
    }

    /// Returns the conversion of a CRD if there is one here, otherwise its own.
    pub(super) fn or(
        &self,
        crd: &str,
        own: Arc<dyn Conversion>,
        outgoing: &Outgoing,
    ) -> Arc<dyn Conversion> {
        Arc::new(Chosen {
            crd: crd.to_owned(),
            conversions: self.clone(),
            own,
            outgoing: outgoing.clone(),
        })
    }
}

struct Chosen {
    crd: String,
    conversions: Conversions,
    own: Arc<dyn Conversion>,
    outgoing: Outgoing,
}

#[boxed_async]
impl Conversion for Chosen {
    async fn convert(&self, objects: Vec<Value>, api_version: &str) -> Result<Vec<Value>, Status> {
        let convert = match self.conversions.get(&self.crd) {
            None => return self.own.convert(objects, api_version).await,
            Some(Converter::Service(endpoint)) => {
                let webhook = Webhook::at(endpoint, &self.outgoing);
                return webhook.convert(objects, api_version).await;
            }
            Some(Converter::Function(convert)) => convert,
        };
        let converted = objects.iter().map(|object| convert(object, api_version));
        let checked = converted
            .collect::<Result<Vec<Value>, String>>()
            .map_err(|why| webhook::failed(&objects, &why))
            .and_then(|converted| webhook::checked(&objects, converted, api_version));
        checked.map_err(status::unknown)
    }
}
