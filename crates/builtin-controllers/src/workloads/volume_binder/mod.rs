//! `persistentvolume-binder-controller`: binds claims to volumes, and reclaims volumes whose claims are gone.
//!
//! | module | contents |
//! |---|---|
//! | `claim` | one pass over a claim |
//! | `volume` | one pass over a volume |
//! | `matching` | the volume that suits a claim best |
//! | `binding` | the writes that bind a claim and a volume, or part them |
//! | `status` | phases of claims and volumes |
//! | `classes` | storage classes, and provisioning by others |
//!
//! kube-controller-manager checks all claims and volumes every fifteen seconds. Here unbound claims are checked when a
//! volume or a class appears, and what an event says is said once.

mod binding;
mod claim;
mod classes;
mod matching;
mod status;
mod volume;

use std::collections::HashMap;

use k8s_openapi::api::{
    core::v1::{PersistentVolume, PersistentVolumeClaim},
    storage::v1::StorageClass,
};
use kube::core::ApiResource;
use kubewright_controller::{
    AnyEvent, Context, Controller, Handler, Manager, ManagerError, Request, Watch,
    events::{EventType, Recorder},
};
use kubewright_informer::{Cached, Event, Key, SharedInformer};
use parking_lot::Mutex;

use crate::{
    names::Name,
    set::FIELD_MANAGER,
    workloads::{objects::Pod, pods::no_events},
};

pub(crate) use classes::{PROVISIONED_BY, SELECTED_NODE, is_delayed, provisioner_of};

/// The source of events.
const SOURCE: &str = "persistentvolume-controller";

/// The annotation of claims and volumes that this controller bound to one another.
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// The annotation of claims whose binding is complete.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// The state of the controller.
struct Binder {
    recorder: Recorder,
    /// The last event about each claim: its UID, a reason and a message.
    told: Mutex<HashMap<Key, [String; 3]>>,
}

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    let claims = Claims(
        manager
            .caches()
            .informer(&ApiResource::erase::<PersistentVolumeClaim>(&()))
            .cast(),
    );
    let (of_volumes, of_classes) = (claims.clone(), claims);
    Controller::builder()
        .named(Name::VolumeBinder.as_str())
        .field_manager(FIELD_MANAGER)
        .watch(Watch::of::<PersistentVolumeClaim>(Handler::events(
            events_of_claims,
        )))
        .watch(Watch::of::<PersistentVolume>(Handler::events(
            move |event| of_volumes.of_volume(event),
        )))
        .watch(Watch::of::<StorageClass>(Handler::events(
            move |event| match event {
                Event::Deleted { .. } => Vec::new(),
                _ => of_classes.unbound(None),
            },
        )))
        .watch(Watch::of::<Pod>(no_events()))
        .state(Binder {
            recorder: manager.recorder(SOURCE),
            told: Mutex::default(),
        })
        .build(
            manager,
            |context: Context<(), Binder>, request: Request| async move {
                match request.namespace() {
                    Some(_) => claim::sync(&context, &request).await,
                    None => volume::sync(&context, &request).await,
                }
            },
        )?;
    Ok(())
}

/// Requests a claim, and the volume that it is or was bound to.
fn events_of_claims(event: &AnyEvent) -> Vec<Request> {
    let object = event.object();
    if let Event::Updated { old, .. } = event
        && old.is_same_version(object)
    {
        return Vec::new();
    }
    let claim = object.clone().cast::<PersistentVolumeClaim>().get();
    let volume = claim
        .ok()
        .and_then(|claim| claim.spec.as_ref()?.volume_name.clone());
    let volume = volume.filter(|volume| !volume.is_empty());
    let mut requests = vec![Request::from(&**object)];
    requests.extend(volume.map(|volume| Request::cluster_scoped(&volume)));
    requests
}

/// The claims of the cluster.
#[derive(Clone)]
struct Claims(SharedInformer<PersistentVolumeClaim>);

impl Claims {
    /// Requests a volume, its claim, and the claims that it might suit.
    fn of_volume(&self, event: &AnyEvent) -> Vec<Request> {
        let object = event.object();
        if let Event::Updated { old, .. } = event
            && old.is_same_version(object)
        {
            return Vec::new();
        }
        let mut requests = vec![Request::from(&**object)];
        let decode = |object: &Cached<()>| object.clone().cast::<PersistentVolume>().get().ok();
        let Some(volume) = decode(object) else {
            return requests;
        };
        let claim = volume
            .spec
            .as_ref()
            .and_then(|spec| spec.claim_ref.as_ref());
        match claim {
            Some(claim) => {
                let (namespace, name) = (claim.namespace.as_deref(), claim.name.as_deref());
                requests.push(Request::new(
                    namespace.unwrap_or_default(),
                    name.unwrap_or_default(),
                ));
            }
            None if matches!(event, Event::Deleted { .. }) => {}
            None => requests.extend(self.unbound(Some(object.name()))),
        }
        requests
    }

    /// Returns the claims that are not bound: those that would take any volume, or that one.
    fn unbound(&self, volume: Option<&str>) -> Vec<Request> {
        let claims = self.0.lister().list(&Default::default());
        let is_waiting = |claim: &&std::sync::Arc<PersistentVolumeClaim>| {
            let named = claim
                .spec
                .as_ref()
                .and_then(|spec| spec.volume_name.as_deref());
            let named = named.filter(|name| !name.is_empty());
            let is_bound = claims_annotation(claim, BIND_COMPLETED).is_some();
            !is_bound && (named.is_none() || named == volume)
        };
        let waiting = claims.iter().filter(is_waiting);
        waiting.map(|claim| Request::of(&**claim)).collect()
    }
}

fn claims_annotation<'a>(claim: &'a PersistentVolumeClaim, name: &str) -> Option<&'a str> {
    let annotations = claim.metadata.annotations.as_ref()?;
    annotations.get(name).map(String::as_str)
}

impl Binder {
    /// Records an event about a claim, unless it equals the last one.
    fn tell(
        &self,
        claim: &PersistentVolumeClaim,
        type_: EventType,
        reason: &str,
        message: impl Into<String>,
    ) {
        let uid = claim.metadata.uid.clone().unwrap_or_default();
        let said = [uid, reason.to_owned(), message.into()];
        let before = self.told.lock().insert(key_of(claim), said.clone());
        if before.as_ref() != Some(&said) {
            let [_, _, message] = said;
            self.recorder.event(claim, type_, reason, message);
        }
    }

    /// Forgets the last event about a claim.
    fn forget(&self, claim: &Key) {
        self.told.lock().remove(claim);
    }
}

fn key_of(claim: &PersistentVolumeClaim) -> Key {
    let namespace = claim.metadata.namespace.as_deref();
    Key::new(
        namespace,
        claim.metadata.name.as_deref().unwrap_or_default(),
    )
}
