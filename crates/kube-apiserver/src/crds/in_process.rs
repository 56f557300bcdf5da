//! [`Conversions`]: functions of this process that convert, in place of what definitions say.
//!
//! A test has the conversions of its operator at hand: no endpoint, no certificate, and the same rules for what may change.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use kubewright_machinery::{Status, status};
use parking_lot::RwLock;
use serde_json::Value;

use super::{convert::Conversion, webhook};

/// Converts an object to an `apiVersion`. The error says why not.
type Convert = dyn Fn(&Value, &str) -> Result<Value, String> + Send + Sync;

/// Functions that convert, by the names of definitions. Clones share them.
#[derive(Clone, Default)]
pub struct Conversions(Arc<RwLock<BTreeMap<String, Arc<Convert>>>>);

impl Conversions {
    /// From now on, objects of a definition (`captains.crew.example.com`) are converted by this function.
    pub fn set(
        &self,
        definition: impl Into<String>,
        convert: impl Fn(&Value, &str) -> Result<Value, String> + Send + Sync + 'static,
    ) {
        self.0.write().insert(definition.into(), Arc::new(convert));
    }

    fn get(&self, definition: &str) -> Option<Arc<Convert>> {
        self.0.read().get(definition).cloned()
    }

    /// The function of a definition while there is one, and otherwise what the definition says.
    pub(super) fn or(
        &self,
        definition: &str,
        declared: Arc<dyn Conversion>,
    ) -> Arc<dyn Conversion> {
        Arc::new(Chosen {
            definition: definition.to_owned(),
            conversions: self.clone(),
            declared,
        })
    }
}

struct Chosen {
    definition: String,
    conversions: Conversions,
    declared: Arc<dyn Conversion>,
}

#[async_trait]
impl Conversion for Chosen {
    async fn convert(&self, objects: Vec<Value>, api_version: &str) -> Result<Vec<Value>, Status> {
        let Some(convert) = self.conversions.get(&self.definition) else {
            return self.declared.convert(objects, api_version).await;
        };
        let converted = objects.iter().map(|object| convert(object, api_version));
        let checked = converted
            .collect::<Result<Vec<Value>, String>>()
            .map_err(|why| webhook::failed(&objects, &why))
            .and_then(|converted| webhook::checked(&objects, converted, api_version));
        checked.map_err(status::unknown)
    }
}
