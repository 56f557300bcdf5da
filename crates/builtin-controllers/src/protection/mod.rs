//! The protection of storage objects that are in use: adds a finalizer to objects that lack it, and removes it from
//! deleted objects once nothing uses them.
//!
//! The finalizer usually comes from the admission plugin `StorageObjectInUseProtection`; the controllers add it to
//! objects from before the plugin was enabled. Caches hold metadata only, since whether a deleted object is in use is
//! always decided by reading from the server.

mod claim;
mod class;
mod volume;

use std::marker::PhantomData;

use kube::{
    Resource,
    api::{Patch, PatchParams},
    core::{ApiResource, PartialObjectMeta, Request as ApiRequest},
};
use kubewright_client::ErrorExt;
use kubewright_controller::{
    Action, AnyEvent, Context, Controller, Handler, Manager, ManagerError, Object, Predicate,
    Request, Result, Watch,
};
use kubewright_informer::{Event, SharedInformer, StoredObject};
use serde_json::json;

use crate::names::Name;

pub(crate) use claim::add_to as add_claims_to;
pub(crate) use class::add_to as add_classes_to;
pub(crate) use volume::add_to as add_volumes_to;

/// A kind of objects that are kept while they are in use.
struct Protection<K> {
    name: Name,
    finalizer: &'static str,
    /// Objects of these kinds use the protected ones: when one is deleted or changed, deleted objects are checked again.
    users: Vec<Watch>,
    informer: SharedInformer<()>,
    kind: PhantomData<fn() -> K>,
}

impl<K: Object> Protection<K> {
    fn new(manager: &Manager, name: Name, finalizer: &'static str) -> Self {
        Self {
            name,
            finalizer,
            users: Vec::new(),
            informer: manager.caches().metadata(&ApiResource::erase::<K>(&())),
            kind: PhantomData,
        }
    }

    /// Checks deleted objects again when an object that may use them is deleted, or passes `released`.
    fn used_by<U>(mut self, released: fn(&StoredObject) -> bool) -> Self
    where
        U: Resource<DynamicType = ()>,
    {
        let finalizer = self.finalizer;
        let informer = self.informer.clone();
        // A protected object in a namespace is used from there only.
        let candidates = move |event: &AnyEvent| {
            let namespace = event.object().namespace();
            let objects = informer.indexer().snapshot();
            let waiting = objects.iter().filter(|object| {
                is_deletion_candidate(object, finalizer)
                    && object.namespace().is_none_or(|own| Some(own) == namespace)
            });
            waiting
                .map(|object| match object.namespace() {
                    Some(namespace) => Request::new(namespace, object.name()),
                    None => Request::cluster_scoped(object.name()),
                })
                .collect()
        };
        let ended = move |event: &AnyEvent| {
            matches!(event, Event::Deleted { .. }) || released(event.object())
        };
        self.users.push(
            Watch::of::<U>(Handler::events(candidates))
                .metadata_only()
                .predicate(Predicate::events(ended)),
        );
        self
    }

    /// Adds the controller. `in_use` reads from the server whether a deleted object is in use.
    fn build<F, R>(self, manager: &Manager, in_use: F) -> Result<(), ManagerError>
    where
        F: Fn(Context, Request) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Result<bool>> + Send,
    {
        let Self {
            name,
            finalizer,
            users,
            informer,
            ..
        } = self;
        let reconcile = move |context: Context, request: Request| {
            let object = informer.indexer().get(request.key().as_str());
            let in_use = in_use.clone();
            async move {
                let Some(object) = object else {
                    return Ok(Action::done());
                };
                if is_deletion_candidate(&object, finalizer) {
                    if !in_use(context.clone(), request.clone()).await? {
                        let mut finalizers = object.finalizers();
                        finalizers.retain(|other| other != finalizer);
                        set_finalizers::<K>(&context, &object, &finalizers).await?;
                    }
                } else if needs_finalizer(&object, finalizer) {
                    let mut finalizers = object.finalizers();
                    finalizers.push(finalizer.to_owned());
                    set_finalizers::<K>(&context, &object, &finalizers).await?;
                }
                Ok(Action::done())
            }
        };
        let concerned = move |object: &StoredObject| {
            is_deletion_candidate(object, finalizer) || needs_finalizer(object, finalizer)
        };
        let own = Watch::of::<K>(Handler::for_object())
            .metadata_only()
            .predicate(Predicate::object(concerned));
        let builder = Controller::builder().named(name.as_str()).watch(own);
        let builder = users
            .into_iter()
            .fold(builder, |builder, user| builder.watch(user));
        builder.build(manager, reconcile)?;
        Ok(())
    }
}

/// Reports whether an object is deleted and kept by the finalizer.
fn is_deletion_candidate(object: &StoredObject, finalizer: &str) -> bool {
    object.deletion_timestamp().is_some() && has(object, finalizer)
}

/// Reports whether an object is not deleted and lacks the finalizer.
fn needs_finalizer(object: &StoredObject, finalizer: &str) -> bool {
    object.deletion_timestamp().is_none() && !has(object, finalizer)
}

fn has(object: &StoredObject, finalizer: &str) -> bool {
    object.finalizers().iter().any(|other| other == finalizer)
}

/// Writes the finalizers of an object, unless it has changed since or is gone.
async fn set_finalizers<K: Object>(
    context: &Context,
    object: &StoredObject,
    finalizers: &[String],
) -> Result<()> {
    let metadata = json!({
        "uid": object.uid(),
        "resourceVersion": object.resource_version(),
        "finalizers": finalizers,
    });
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    let objects = ApiRequest::new(K::url_path(&(), object.namespace()));
    let request = objects.patch_metadata(object.name(), &PatchParams::default(), &patch)?;
    let client = context.client().live();
    match client.request::<PartialObjectMeta<K>>(request).await {
        Err(error) if error.is_not_found() => Ok(()),
        patched => Ok(patched.map(drop)?),
    }
}
