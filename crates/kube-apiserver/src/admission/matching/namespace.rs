//! [`RequestNamespace`]: the namespace of a request, read when it is first needed.

use kubewright_machinery::{Status, gvk::GroupResource, status};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::admission::stored::Stored;

/// The stored namespace of a request.
pub(crate) struct RequestNamespace<'a> {
    stored: &'a Stored,
    name: &'a str,
    read: OnceCell<Result<Value, Status>>,
}

impl<'a> RequestNamespace<'a> {
    pub(crate) fn new(stored: &'a Stored, name: &'a str) -> Self {
        Self {
            stored,
            name,
            read: OnceCell::new(),
        }
    }

    /// Returns the namespace.
    ///
    /// # Errors
    ///
    /// Fails with 404 if there is none.
    pub(crate) async fn get(&self) -> Result<&Value, Status> {
        let read = async {
            let found = self.stored.get("namespaces", self.name).await?;
            let namespaces = GroupResource::new("", "namespaces");
            found.ok_or_else(|| status::not_found(&namespaces, self.name))
        };
        let namespace = self.read.get_or_init(|| read).await;
        namespace.as_ref().map_err(Clone::clone)
    }
}
