//! Conversions of custom objects, which may take a call of a webhook.
//!
//! The owners of fields are computed without waiting. A conversion that they need is noted, done, and they are computed again.

use std::cell::RefCell;

use kubewright_merge::managed::{ConvertError, Endpoint};
use serde_json::Value;

use super::{FieldManager, Other, TypeSchema};
use crate::registry::Versions;

/// The conversions of objects during one write.
#[derive(Default)]
pub(super) struct Conversions {
    known: Vec<Known>,
    missing: RefCell<Vec<(Value, String)>>,
}

struct Known {
    object: Value,
    api_version: String,
    converted: Result<Value, String>,
}

impl Conversions {
    /// Returns an object in another version. Notes the conversion if it has not been done.
    pub(super) fn get(&self, object: &Value, api_version: &str) -> Result<Value, ConvertError> {
        if object["apiVersion"] == api_version {
            return Ok(object.clone());
        }
        let is_wanted =
            |known: &&Known| known.api_version == api_version && known.object == *object;
        if let Some(known) = self.known.iter().find(is_wanted) {
            return known.converted.clone().map_err(ConvertError::Failed);
        }
        let wanted = (object.clone(), api_version.to_owned());
        self.missing.borrow_mut().push(wanted);
        Err(ConvertError::Failed("not converted yet".to_owned()))
    }

    /// Does the conversions that are missing. Returns false if there are none.
    async fn complete(&mut self, versions: &dyn Versions) -> bool {
        let missing = std::mem::take(self.missing.get_mut());
        let is_any = !missing.is_empty();
        for (object, api_version) in missing {
            let converted = versions.convert(object.clone(), &api_version).await;
            self.known.push(Known {
                object,
                api_version,
                converted: converted.map_err(|status| status.message),
            });
        }
        is_any
    }
}

impl FieldManager {
    /// Computes with every conversion that it needs.
    pub(super) async fn converting<T: Send>(
        &self,
        versions: &dyn Versions,
        compute: impl Fn(&Endpoint<'_, TypeSchema<'_>>) -> T + Send,
    ) -> T {
        let mut conversions = Conversions::default();
        loop {
            let computed = {
                let other = Other {
                    manager: self,
                    conversions: Some(&conversions),
                };
                compute(&self.endpoint(&other))
            };
            if !conversions.complete(versions).await {
                return computed;
            }
        }
    }

    /// Returns the conversion of a custom kind if one of the objects has owners of fields in another version.
    pub(super) fn conversion_for(&self, objects: &[&Value]) -> Option<&dyn Versions> {
        let versions = self.versions.as_deref()?;
        let entries = objects.iter().flat_map(|object| {
            let entries = object["metadata"]["managedFields"].as_array();
            entries.into_iter().flatten()
        });
        let mut others = entries.filter_map(|entry| entry["apiVersion"].as_str());
        others
            .any(|version| version != self.api_version && self.custom_schema(version).is_some())
            .then_some(versions)
    }
}
