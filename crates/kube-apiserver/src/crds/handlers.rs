//! Create, update and delete of definitions: as of any kind, and then what is served follows.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use kubewright_apiserver::{
    admission::{Attributes, Operation},
    clock::rfc3339,
    object::Object,
    registry::{
        Change, Create, Delete, DeleteCollection, Deleted, Items, List, ObjectList, Resource,
        Update, Updated,
    },
    request::{DeleteOptions, ListOptions, RequestContext, WriteOptions},
};
use kubewright_machinery::{Status, gvk::GroupResource, status};
use serde_json::{Value, json};

use super::{Definitions, GROUP, PLURAL, cleanup, conditions};

/// How long a delete waits for the objects to go. It goes on without it.
const PATIENCE: Duration = Duration::from_secs(2);

/// The resource with these handlers in front of its own.
pub(super) fn wrap(definitions: &Arc<Definitions>, resource: &Resource) -> Resource {
    let mut wrapped = resource.clone();
    let handlers = &mut wrapped.handlers;
    handlers.create = handlers.create.take().map(|inner| {
        let definitions = definitions.clone();
        Arc::new(Created { definitions, inner }) as _
    });
    if let (Some(delete), Some(list)) = (handlers.delete.take(), handlers.list.clone()) {
        let removed = Arc::new(Removed {
            definitions: definitions.clone(),
            inner: delete,
            list,
        });
        handlers.delete = Some(removed.clone());
        handlers.delete_collection = Some(removed);
    }
    handlers.update = handlers
        .update
        .take()
        .map(|inner| changed(definitions, inner));
    for subresource in &mut wrapped.subresources {
        let handlers = &mut subresource.handlers;
        handlers.update = handlers
            .update
            .take()
            .map(|inner| changed(definitions, inner));
    }
    wrapped
}

fn changed(definitions: &Arc<Definitions>, inner: Arc<dyn Update>) -> Arc<dyn Update> {
    let definitions = definitions.clone();
    Arc::new(Replaced { definitions, inner })
}

struct Created {
    definitions: Arc<Definitions>,
    inner: Arc<dyn Create>,
}

#[async_trait]
impl Create for Created {
    async fn create(
        &self,
        cx: &RequestContext,
        name: &str,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Object, Status> {
        let created = self.inner.create(cx, name, object, options).await?;
        if !options.dry_run {
            self.definitions.sync(&created.summary.name).await?;
        }
        Ok(created)
    }
}

struct Replaced {
    definitions: Arc<Definitions>,
    inner: Arc<dyn Update>,
}

#[async_trait]
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
            self.definitions.sync(name).await?;
        }
        Ok(updated)
    }
}

struct Removed {
    definitions: Arc<Definitions>,
    inner: Arc<dyn Delete>,
    list: Arc<dyn List>,
}

#[async_trait]
impl Delete for Removed {
    /// The first delete marks the definition; it goes when its objects have gone.
    async fn delete(
        &self,
        cx: &RequestContext,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let definitions = &self.definitions;
        let crd = definitions.stored.read_in("", name).await?;
        check_preconditions(name, options, &crd)?;
        if !crd["metadata"]["deletionTimestamp"].is_null() {
            return self.inner.delete(cx, name, options).await;
        }
        let attributes = Attributes {
            operation: Operation::Delete,
            name,
            old: Some(&crd),
            dry_run: options.dry_run,
        };
        cx.admission.validate(cx, &attributes, None).await?;
        let now = rfc3339(definitions.environment.clock.now());
        let marking = |crd: &mut Value| {
            check_preconditions(name, options, crd)?;
            mark(crd, &now);
            Ok(())
        };
        let stored = &definitions.stored;
        let object = stored
            .rewrite_in("", name, options.dry_run, &marking)
            .await?;
        if !options.dry_run {
            definitions.sync(name).await?;
            let going = cleanup::spawn(definitions, name.to_owned());
            let _ = tokio::time::timeout(PATIENCE, going).await;
        }
        Ok(Deleted {
            object,
            gone: false,
        })
    }
}

#[async_trait]
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
