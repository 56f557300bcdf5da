//! [`Reads`]: `get` and `list` of a [`Storage`], with the selectors and pages of the request.

use std::sync::Arc;

use async_trait::async_trait;
use kubewright_apiserver::{
    Object,
    registry::{Generic, Get, Items, List, ObjectList},
    request::{GetOptions, ListOptions, Match, RequestContext},
};
use kubewright_machinery::{Status, status};
use serde_json::Value;

use crate::{
    storage::{ListQuery, ServedKind, Storage},
    store::check_path,
};

/// Reads a storage directly.
pub(crate) struct Reads<K> {
    storage: Arc<dyn Storage<K>>,
    /// Shows objects in the served version.
    generic: Generic,
}

impl<K: ServedKind> Reads<K> {
    pub(crate) fn new(storage: Arc<dyn Storage<K>>, generic: Generic) -> Self {
        Self { storage, generic }
    }
}

#[async_trait]
impl<K: ServedKind> Get for Reads<K> {
    async fn get(
        &self,
        cx: &RequestContext,
        name: &str,
        _options: &GetOptions,
    ) -> Result<Object, Status> {
        let spec = self.generic.spec();
        let not_found = || status::not_found(&spec.group_resource(), name);
        let found = self.storage.get(cx.namespace(), name).await?;
        let found = found.ok_or_else(not_found)?;
        check_path(&found, &self.generic.key(cx.namespace(), name).path)?;
        let value = serde_json::to_value(&found).map_err(status::internal)?;
        let served = self.generic.served(vec![value]).await?;
        served.into_iter().next().ok_or_else(not_found)
    }
}

#[async_trait]
impl<K: ServedKind> List for Reads<K> {
    async fn list(&self, cx: &RequestContext, options: &ListOptions) -> Result<ObjectList, Status> {
        let query = ListQuery {
            namespace: Some(cx.namespace().to_owned()).filter(|n| !n.is_empty()),
            labels: options.labels.clone(),
            fields: options.fields.clone(),
            limit: (options.limit > 0).then_some(options.limit),
            start: Some(options.continue_token.clone()).filter(|token| !token.is_empty()),
        };
        let listing = self.storage.list(&query).await?;
        let resource_version = match listing.version {
            0 => String::new(),
            version => version.to_string(),
        };
        let exact = options.resource_version_match == Some(Match::Exact);
        if exact && options.resource_version != resource_version {
            return Err(status::expired(
                "The resourceVersion for the provided list is too old.",
            ));
        }
        let values = listing.items.iter().map(serde_json::to_value);
        let values: Vec<Value> = values.collect::<Result<_, _>>().map_err(status::internal)?;
        let mut objects = self.generic.served(values).await?;
        let namespace = query.namespace.as_deref();
        objects.retain(|object| {
            namespace.is_none_or(|namespace| *object.summary.namespace == *namespace)
                && self.generic.selects(options, object)
        });
        Ok(ObjectList {
            resource_version,
            continue_token: listing.next.unwrap_or_default(),
            remaining: listing.remaining,
            items: Items::All(objects),
        })
    }
}
