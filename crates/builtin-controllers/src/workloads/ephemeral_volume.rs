//! `ephemeral-volume-controller`: creates the claims of the ephemeral volumes of pods.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Volume};
use kube::ResourceExt;
use kubewright_controller::{
    Action, AnyEvent, Context, Controller, Handler, Manager, ManagerError, Request, Result, Watch,
    events::{EventType, Recorder},
    owner::is_controlled_by,
};
use kubewright_informer::{Event, Key, SharedInformer};
use serde_json::json;

use super::{
    objects::{Pod as LightPod, Volume as LightVolume, controller_reference},
    pods,
};
use crate::{names::Name, set::FIELD_MANAGER};

/// The source of events.
const SOURCE: &str = "ephemeral_volume";

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    pods::add_namespace_index::<LightPod>(manager);
    let cache = kube::core::ApiResource::erase::<LightPod>(&());
    let of_claims: SharedInformer<LightPod> = manager.caches().informer(&cache).cast();
    Controller::builder()
        .named(Name::EphemeralVolume.as_str())
        .field_manager(FIELD_MANAGER)
        .watch(Watch::of::<Pod>(Handler::events(events_of_pods)))
        .watch(Watch::of::<PersistentVolumeClaim>(Handler::events(
            move |event| events_of_claims(event, &of_claims),
        )))
        .state(manager.recorder(SOURCE))
        .build(
            manager,
            |context: Context<(), Recorder>, request: Request| async move {
                sync(&context, &request).await
            },
        )?;
    Ok(())
}

fn events_of_pods(event: &AnyEvent) -> Vec<Request> {
    // The volumes of a pod never change.
    if !matches!(event, Event::Added { .. }) {
        return Vec::new();
    }
    let pod = event.object().clone().cast::<LightPod>().get();
    let is_ephemeral = |volume: &LightVolume| volume.ephemeral.is_some();
    match pod.is_ok_and(|pod| pod.spec.volumes.iter().any(is_ephemeral)) {
        true => vec![Request::from(&**event.object())],
        false => Vec::new(),
    }
}

/// Requests the pods whose claims are deleted.
fn events_of_claims(event: &AnyEvent, pods: &SharedInformer<LightPod>) -> Vec<Request> {
    if !matches!(event, Event::Deleted { .. }) {
        return Vec::new();
    }
    let claim = event.object();
    let here = pods::cached_in_namespace(pods, claim.namespace().unwrap_or_default());
    let users = here
        .iter()
        .filter(|pod| pod.claims().any(|name| name == claim.name()));
    users.map(|pod| Request::of(&**pod)).collect()
}

fn ephemeral(pod: &Pod) -> impl Iterator<Item = &Volume> {
    let volumes = pod
        .spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten());
    volumes.filter(|volume| volume.ephemeral.is_some())
}

fn claim_name(pod: &Pod, volume: &Volume) -> String {
    format!("{}-{}", pod.name_any(), volume.name)
}

async fn sync(context: &Context<(), Recorder>, request: &Request) -> Result<Action> {
    let Some(pod) = context.get::<Pod>(request).await? else {
        return Ok(Action::done());
    };
    if pod.metadata.deletion_timestamp.is_some() {
        return Ok(Action::done());
    }
    for volume in ephemeral(&pod) {
        if let Err(error) = create(context, &pod, volume).await {
            let message = format!("ephemeral volume {}: {error}", volume.name);
            context
                .state()
                .event(&*pod, EventType::Warning, "FailedBinding", message);
            return Err(error);
        }
    }
    Ok(Action::done())
}

/// Creates the claim of a volume. One of that name that was not made for the pod is an error.
async fn create(context: &Context<(), Recorder>, pod: &Pod, volume: &Volume) -> Result<()> {
    let (namespace, name) = (pod.namespace().unwrap_or_default(), claim_name(pod, volume));
    let key = Key::new(Some(&namespace), &name);
    if let Some(claim) = context
        .client()
        .get_key::<PersistentVolumeClaim>(&key)
        .await?
    {
        return match is_controlled_by(&*claim, pod) {
            true => Ok(()),
            false => Err(format!(
                "PVC {namespace}/{name} was not created for pod {namespace}/{} (pod is not owner)",
                pod.name_any()
            )
            .into()),
        };
    }
    let template = volume
        .ephemeral
        .as_ref()
        .and_then(|e| e.volume_claim_template.as_ref());
    let Some(template) = template else {
        return Ok(());
    };
    let metadata = template.metadata.clone().unwrap_or_default();
    let claim: PersistentVolumeClaim = serde_json::from_value(json!({
        "metadata": {
            "name": name, "namespace": namespace,
            "annotations": metadata.annotations, "labels": metadata.labels,
            "ownerReferences": [controller_reference(pod)],
        },
        "spec": template.spec,
    }))?;
    match context.client().create(&claim).await {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("create PVC {name}: {error}").into()),
    }
}
