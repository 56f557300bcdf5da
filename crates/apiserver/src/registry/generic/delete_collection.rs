//! `deletecollection`: a list, and a delete of each item.

use futures_util::TryStreamExt;
use kubewright_derive::boxed_async;
use kubewright_machinery::Status;

use super::Generic;
use crate::{
    object::Object,
    registry::{
        items::ObjectList,
        traits::{Delete, DeleteCollection, List},
    },
    request::{DeleteOptions, ListOptions, RequestContext},
};

#[boxed_async]
impl DeleteCollection for Generic {
    async fn delete_collection(
        &self,
        cx: &RequestContext,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<ObjectList, Status> {
        let list = self.list(cx, selection).await?;
        let mut pages = list.items.read();
        while let Some(page) = pages.try_next().await? {
            for object in page {
                self.delete_one(cx, &object, options).await?;
            }
        }
        Ok(list)
    }
}

impl Generic {
    async fn delete_one(
        &self,
        cx: &RequestContext,
        object: &Object,
        options: &DeleteOptions,
    ) -> Result<(), Status> {
        let mut info = (*cx.info).clone();
        info.namespace = object.summary.namespace.to_string();
        let cx = RequestContext {
            info: info.into(),
            ..cx.clone()
        };
        match self.delete(&cx, &object.summary.name, options).await {
            // Another request may have deleted it.
            Err(e) if e.code != 404 => Err(e),
            _ => Ok(()),
        }
    }
}
