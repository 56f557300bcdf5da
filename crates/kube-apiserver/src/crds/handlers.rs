//! The handlers of CRDs: generic writes, after which the served resources are updated.

use std::{sync::Arc, time::Duration};

use kubewright_apiserver::{
    Object,
    admission::Attributes,
    boxed_async,
    registry::{
        Change, Create, Delete, DeleteCollection, Deleted, Draft, Handlers, Items, List,
        ObjectList, Resource, Update, Updated,
    },
    request::{DeleteOptions, ListOptions, RequestContext, WriteOptions},
    rfc3339,
};
use kubewright_machinery::{Status, gvk::GroupResource, status};
use serde_json::{Value, json};

use super::{Crds, GROUP, PLURAL, cleanup, conditions};

/// The time that a delete waits for the deletion of the objects, which continues without it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the resource with its handlers wrapped.
pub(super) fn wrap(crds: &Arc<Crds>, resource: &Resource) -> Resource {
    let mut handlers = resource.handlers().clone();
    handlers.create = handlers.create.take().map(|inner| {
        let crds = crds.clone();
        Arc::new(Created { crds, inner }) as _
    });
    if let (Some(delete), Some(list)) = (handlers.delete.take(), handlers.list.clone()) {
        let removed = Arc::new(Removed {
            crds: crds.clone(),
            inner: delete,
            list,
        });
        handlers.delete = Some(removed.clone());
        handlers.delete_collection = Some(removed);
    }
    let wrap_update = |handlers: &mut Handlers| {
        let update = handlers.update.take();
        handlers.update = update.map(|inner| changed(crds, inner));
    };
    wrap_update(&mut handlers);
    let resource = resource.clone().with_handlers(handlers);
    resource.map_subresources(|mut subresource| {
        wrap_update(&mut subresource.handlers);
        subresource
    })
}

fn changed(crds: &Arc<Crds>, inner: Arc<dyn Update>) -> Arc<dyn Update> {
    let crds = crds.clone();
    Arc::new(Replaced { crds, inner })
}

struct Created {
    crds: Arc<Crds>,
    inner: Arc<dyn Create>,
}

#[boxed_async]
impl Create for Created {
    async fn create(
        &self,
        cx: &RequestContext,
        name: &str,
        draft: Draft,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        let created = self.inner.create(cx, name, draft, options).await?;
        if !options.dry_run {
            self.crds.sync(&created.summary.name).await?;
        }
        Ok(created)
    }
}

struct Replaced {
    crds: Arc<Crds>,
    inner: Arc<dyn Update>,
}

#[boxed_async]
impl Update for Replaced {
    async fn update(
        &self,
        cx: &RequestContext,
        name: &str,
        change: &dyn Change,
        options: &WriteOptions,
    ) -> Result<Updated, Status> {
        let updated = self.inner.update(cx, name, change, options).await?;
        if !options.dry_run {
            self.crds.sync(name).await?;
        }
        Ok(updated)
    }
}

struct Removed {
    crds: Arc<Crds>,
    inner: Arc<dyn Delete>,
    list: Arc<dyn List>,
}

#[boxed_async]
impl Delete for Removed {
    /// The first delete marks the CRD; it is removed when its objects are deleted.
    async fn delete(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let crds = &self.crds;
        let crd = crds.stored.read_in("", name).await?;
        check_preconditions(name, options, &crd)?;
        if !crd["metadata"]["deletionTimestamp"].is_null() {
            return self.inner.delete(cx, name, options).await;
        }
        let attributes = Attributes::delete(name, &crd, options);
        cx.admission.admit(cx, &attributes, None).await?;
        let now = rfc3339(crds.environment.clock.now());
        let marking = |crd: &mut Value| {
            check_preconditions(name, options, crd)?;
            mark(crd, &now);
            Ok(())
        };
        let stored = &crds.stored;
        let object = stored
            .rewrite_in("", name, options.dry_run.into(), &marking)
            .await?;
        if !options.dry_run {
            crds.sync(name).await?;
            let going = cleanup::spawn(crds, name.to_owned());
            let _ = tokio::time::timeout(PATIENCE, going).await;
        }
        Ok(Deleted {
            object,
            gone: false,
        })
    }
}

#[boxed_async]
impl DeleteCollection for Removed {
    async fn delete_collection(
        &self,
        cx: &RequestContext,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<ObjectList, Status> {
        let mut list = self.list.list(cx, selection).await?;
        let objects = list.items.collect().await?;
        for object in &objects {
            match self.delete(cx, &object.summary.name, options).await {
                Ok(_) => {}
                Err(e) if e.code == 404 => {}
                Err(e) => return Err(e),
            }
        }
        list.items = Items::All(objects);
        Ok(list)
    }
}

fn mark(crd: &mut Value, now: &str) {
    if crd["metadata"]["deletionTimestamp"].is_null() {
        crd["metadata"]["deletionTimestamp"] = json!(now);
    }
    let finalizers = &mut crd["metadata"]["finalizers"];
    match finalizers.as_array_mut() {
        Some(all) if all.iter().any(|f| f == conditions::CLEANUP) => {}
        Some(all) => all.push(json!(conditions::CLEANUP)),
        None => *finalizers = json!([conditions::CLEANUP]),
    }
    conditions::set(crd, conditions::DELETION_PENDING, now);
}

fn check_preconditions(name: &str, options: &DeleteOptions, crd: &Value) -> Result<(), Status> {
    let resource = GroupResource::new(GROUP, PLURAL);
    let checks = [
        ("UID", options.uid.as_deref(), "uid"),
        (
            "ResourceVersion",
            options.resource_version.as_deref(),
            "resourceVersion",
        ),
    ];
    for (what, expected, key) in checks {
        let actual = crd["metadata"][key].as_str().unwrap_or_default();
        if let Some(expected) = expected.filter(|e| *e != actual) {
            let cause = format!(
                "Precondition failed: {what} in precondition: {expected}, {what} in object meta: {actual}"
            );
            return Err(status::conflict(&resource, name, cause));
        }
    }
    Ok(())
}
