//! [`Conversions`]: in-process conversion of custom resources.
//!
//! Tests use the conversion functions of their operator without an endpoint and certificates. The replies are checked as those
//! of a webhook are.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use kubewright_machinery::{Status, status};
use parking_lot::RwLock;
use serde_json::Value;

use super::{convert::Conversion, webhook};

/// Converts an object to an `apiVersion`. The error is the reason why it cannot.
type Convert = dyn Fn(&Value, &str) -> Result<Value, String> + Send + Sync;

/// Conversion functions by the names of CRDs. Clones share them.
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
/// ```
#[derive(Clone, Default)]
pub struct Conversions(Arc<RwLock<BTreeMap<String, Arc<Convert>>>>);

impl Conversions {
    /// Sets the function that converts the objects of a CRD, such as `captains.crew.example.com`.
    pub fn set(
        &self,
        crd: impl Into<String>,
        convert: impl Fn(&Value, &str) -> Result<Value, String> + Send + Sync + 'static,
    ) {
        self.0.write().insert(crd.into(), Arc::new(convert));
    }

    fn get(&self, crd: &str) -> Option<Arc<Convert>> {
        self.0.read().get(crd).cloned()
    }

    /// Returns the function of a CRD if there is one, otherwise its own conversion.
    pub(super) fn or(&self, crd: &str, own: Arc<dyn Conversion>) -> Arc<dyn Conversion> {
        Arc::new(Chosen {
            crd: crd.to_owned(),
            conversions: self.clone(),
            own,
        })
    }
}

struct Chosen {
    crd: String,
    conversions: Conversions,
    own: Arc<dyn Conversion>,
}

#[async_trait]
impl Conversion for Chosen {
    async fn convert(&self, objects: Vec<Value>, api_version: &str) -> Result<Vec<Value>, Status> {
        let Some(convert) = self.conversions.get(&self.crd) else {
            return self.own.convert(objects, api_version).await;
        };
        let converted = objects.iter().map(|object| convert(object, api_version));
        let checked = converted
            .collect::<Result<Vec<Value>, String>>()
            .map_err(|why| webhook::failed(&objects, &why))
            .and_then(|converted| webhook::checked(&objects, converted, api_version));
        checked.map_err(status::unknown)
    }
}
