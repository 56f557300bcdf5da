//! The objects of a CRD as the server itself reads and deletes them: in the stored version, whether or not it is served, and
//! without admission.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::TryStreamExt;
use kubewright_apiserver::{
    admission::AdmissionChain,
    auth::AlwaysAllow,
    registry::{DeleteCollection, Generic, Items, List, Resource},
    request::{
        Annotations, DeleteOptions, ListOptions, RequestContext, RequestInfo, UserInfo, Verb,
        Warnings,
    },
};
use kubewright_machinery::Status;

use super::MANAGER;

/// The objects of a CRD.
pub(super) struct Instances {
    pub(super) objects: Generic,
    pub(super) resource: Arc<Resource>,
}

impl Instances {
    /// Returns the namespaces that have objects; the empty one for cluster-scoped objects.
    pub(super) async fn namespaces(&self) -> Result<BTreeSet<String>, Status> {
        let cx = self.context("");
        let list = self.objects.list(&cx, &ListOptions::default()).await?;
        let mut found = BTreeSet::new();
        let mut pages = list.items.read();
        while let Some(page) = pages.try_next().await? {
            for object in page {
                if !found.contains(&*object.summary.namespace) {
                    found.insert(object.summary.namespace.to_string());
                }
            }
        }
        Ok(found)
    }

    /// Returns whether there are no objects.
    pub(super) async fn are_gone(&self) -> Result<bool, Status> {
        let cx = self.context("");
        let list = self.objects.list(&cx, &ListOptions::default()).await?;
        // The first page is in memory, and a page has at least one object.
        Ok(matches!(list.items, Items::All(objects) if objects.is_empty()))
    }

    /// Deletes the objects of a namespace, or marks those with finalizers.
    pub(super) async fn delete_in(&self, namespace: &str) -> Result<(), Status> {
        let cx = self.context(namespace);
        let (options, all) = (DeleteOptions::default(), ListOptions::default());
        self.objects.delete_collection(&cx, &options, &all).await?;
        Ok(())
    }

    fn context(&self, namespace: &str) -> RequestContext {
        let resource = self.resource.clone();
        let info = RequestInfo {
            path: String::new(),
            is_resource: true,
            verb: Verb::DeleteCollection,
            method: "delete".into(),
            verb_in_path: false,
            group: resource.spec().group_version.group.clone(),
            version: resource.spec().group_version.version.clone(),
            namespace: namespace.to_owned(),
            resource: resource.spec().plural.clone(),
            name: String::new(),
            selected_name: String::new(),
            subresource: String::new(),
            rest: Vec::new(),
        };
        RequestContext {
            info: Arc::new(info),
            query: Arc::default(),
            user: Arc::new(UserInfo {
                name: "system:apiserver".into(),
                groups: vec!["system:masters".into()],
                ..UserInfo::default()
            }),
            user_agent: MANAGER.into(),
            warnings: Warnings::default(),
            admission: AdmissionChain::default(),
            authorizer: Arc::new(AlwaysAllow),
            annotations: Annotations::default(),
            deadline: None,
            resource,
        }
    }
}
