//! `deletecollection`: a list, and a delete of each item.

use async_trait::async_trait;
use kubewright_machinery::Status;

use super::Generic;
use crate::{
    registry::{
        items::{Items, ObjectList},
        traits::{Delete, DeleteCollection, List},
    },
    request::{DeleteOptions, ListOptions, RequestContext},
};

#[async_trait]
impl DeleteCollection for Generic {
    async fn delete_collection(
        &self,
        cx: &RequestContext,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<ObjectList, Status> {
        let mut list = self.list(cx, selection).await?;
        let objects = list.items.collect().await?;
        for object in &objects {
            let mut info = (*cx.info).clone();
            info.namespace = object.summary.namespace.to_string();
            let cx = RequestContext {
                info: info.into(),
                ..cx.clone()
            };
            match self.delete(&cx, &object.summary.name, options).await {
                Ok(_) => {}
                // Another request has deleted it.
                Err(e) if e.code == 404 => {}
                Err(e) => return Err(e),
            }
        }
        list.items = Items::All(objects);
        Ok(list)
    }
}
