//! [`Reads`]: `get` and `list` of a [`Storage`], with the selectors and pages of the request.

use std::sync::Arc;

use kubewright_apiserver::{
    Object, boxed_async,
    registry::{Generic, Get, Items, List, ObjectList},
    request::{GetOptions, ListOptions, Match, RequestContext},
};
use kubewright_machinery::{Status, status};
use serde_json::Value;

use crate::{
    encoded::Encoded,
    storage::{ListQuery, ServedKind, Storage},
    store::check_path,
};

/// Reads a storage directly.
pub(crate) struct Reads<K> {
    storage: Arc<dyn Storage<K>>,
    /// Shows objects in the served version.
    generic: Generic,
    encoded: Encoded<K>,
}

impl<K: ServedKind> Reads<K> {
    pub(crate) fn new(storage: Arc<dyn Storage<K>>, generic: Generic) -> Self {
        Self {
            storage,
            generic,
            encoded: Encoded::default(),
        }
    }
}

#[boxed_async]
impl<K: ServedKind> Get for Reads<K> {
    async fn get(
        &self,
        cx: &RequestContext,
        name: &str,
        _options: &GetOptions,
    ) -> Result<Object, Status> {
        let spec = self.generic.spec();
        let not_found = || status::not_found(&spec.group_resource(), name);
        let found = self.storage.get_shared(cx.namespace(), name).await?;
        let found = found.ok_or_else(not_found)?;
        check_path(&*found, &self.generic.key(cx.namespace(), name).path)?;
        let served = self.encode(&[found]).await?;
        served.into_iter().next().ok_or_else(not_found)
    }
}

impl<K: ServedKind> Reads<K> {
    /// Returns the served form of objects.
    async fn encode(&self, items: &[Arc<K>]) -> Result<Vec<Object>, Status> {
        let known = self.encoded.known(items);
        let new: Vec<&Arc<K>> = items
            .iter()
            .zip(&known)
            .filter_map(|(item, known)| known.is_none().then_some(item))
            .collect();
        let values = new.iter().map(|item| serde_json::to_value(&***item));
        let values: Vec<Value> = values.collect::<Result<_, _>>().map_err(status::internal)?;
        let served = self.generic.served(values).await?;
        if served.len() != new.len() {
            return Err(status::internal("an object was lost in conversion"));
        }
        for (item, object) in new.iter().zip(&served) {
            self.encoded.remember(item, object);
        }
        let mut served = served.into_iter();
        let all = known
            .into_iter()
            .map(|known| known.or_else(|| served.next()));
        Ok(all.flatten().collect())
    }
}

#[boxed_async]
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
        let mut objects = self.encode(&listing.items).await?;
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
