//! The objects of a namespace, counted. They are listed from the server and not read from a cache: usage that admission has
//! added for an object must not be taken back because a cache does not show the object yet.

use kube::{
    Api,
    api::{DynamicObject, ListParams},
    core::{ApiResource, PartialObjectMeta},
};
use kubewright_builtins::usage::{
    Selector, number,
    resource_list::{self, ResourceList},
};
use kubewright_controller::{Client, Result};
use serde_json::Value;

use super::counted::Counted;

/// The number of objects in a page.
const PAGE: u32 = 500;

/// The parameters of a count.
pub(super) struct Count<'a> {
    pub(super) client: &'a Client,
    pub(super) namespace: &'a str,
    pub(super) hard: &'a ResourceList,
    pub(super) selectors: &'a [Selector],
    /// The time, in seconds since 1970.
    pub(super) now: i64,
}

impl Count<'_> {
    /// Returns the usage of the objects of a resource, for limited quantities only.
    pub(super) async fn of(
        &self,
        counted: &Counted,
        resource: &ApiResource,
    ) -> Result<ResourceList> {
        let evaluator = counted.evaluator();
        let limited = self.hard.keys().filter(|name| evaluator.measures(name));
        let mut used: ResourceList = limited.map(|name| (name.clone(), number(0))).collect();
        if counted.is_plain() {
            // Only pods and claims have scopes.
            if self.selectors.is_empty() {
                let count = self.number(resource).await?;
                used.values_mut().for_each(|amount| *amount = number(count));
            }
            return Ok(used);
        }
        let objects: Api<DynamicObject> =
            Api::namespaced_with(self.client.live(), self.namespace, resource);
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let page = objects.list(&params).await?;
            for object in &page.items {
                let json = serde_json::to_value(object)?;
                if self
                    .selectors
                    .iter()
                    .all(|selector| evaluator.in_scope(selector, &json))
                {
                    let usage = evaluator.usage(&json, self.now);
                    let usage = resource_list::only(&usage, |name| used.contains_key(name));
                    resource_list::add(&mut used, &usage);
                }
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(used),
            }
        }
    }

    /// Returns the number of objects.
    async fn number(&self, resource: &ApiResource) -> Result<i64> {
        let objects: Api<PartialObjectMeta<DynamicObject>> =
            Api::namespaced_with(self.client.live(), self.namespace, resource);
        let mut params = ListParams::default().limit(PAGE);
        let mut count = 0;
        loop {
            let page = objects.list_metadata(&params).await?;
            count += i64::try_from(page.items.len()).unwrap_or(i64::MAX);
            let token = page.metadata.continue_.filter(|token| !token.is_empty());
            match (token, page.metadata.remaining_item_count) {
                (None, _) => return Ok(count),
                (Some(_), Some(rest)) => return Ok(count.saturating_add(rest)),
                (Some(token), None) => params = params.continue_token(&token),
            }
        }
    }
}

/// Returns the limits in a part of a quota.
pub(super) fn limits(part: &Value) -> ResourceList {
    resource_list::read(&part["hard"])
}
