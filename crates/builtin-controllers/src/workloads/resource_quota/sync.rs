//! One pass over a quota.

use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Service};
use kube::core::ApiResource;
use kubewright_builtins::usage::{
    Selector,
    resource_list::{self, ResourceList},
};
use kubewright_client::ErrorExt;
use kubewright_controller::{Action, BoxError, Context, Request, Result};
use serde_json::json;

use super::{
    counted::Counted,
    monitors::Monitors,
    usage::{Count, limits},
};
use crate::workloads::objects::{Draft, ResourceQuota};

/// The interval of full counts.
const RESYNC: Duration = Duration::from_secs(300);

/// The time after which a resource that is not served is looked for again.
const DISCOVERY: Duration = Duration::from_secs(30);

/// Maximum attempts after conflicts: admission writes the same status.
const ATTEMPTS: usize = 5;

pub(super) async fn sync(context: &Context<(), Monitors>, request: &Request) -> Result<Action> {
    let mut attempt = 1;
    loop {
        let live = context.client().get_live::<ResourceQuota>(request.key());
        let Some(quota) = live.await? else {
            return Ok(Action::done());
        };
        let (used, missing) = count(context, &quota, request).await?;
        let next = if missing { DISCOVERY } else { RESYNC };
        match write(context, quota, used).await {
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
            Err(error) if error.is_not_found() => return Ok(Action::done()),
            written => return Ok(written.map(|()| Action::requeue_after(next))?),
        }
    }
}

/// Returns the usage of a quota, and whether some resource is not served.
async fn count(
    context: &Context<(), Monitors>,
    quota: &ResourceQuota,
    request: &Request,
) -> Result<(ResourceList, bool)> {
    let hard = limits(&quota.spec);
    let count = Count {
        client: context.client(),
        namespace: request.namespace().unwrap_or_default(),
        hard: &hard,
        selectors: &Selector::all_of(&quota.spec),
        now: context.now().as_second(),
    };
    // What cannot be counted keeps its usage.
    let mut used = resource_list::read(&quota.status["used"]);
    let mut is_missing = false;
    for counted in Counted::of(&hard) {
        let resource = match always_watched(&counted) {
            Some(resource) => Some(resource),
            None => context.state().watch(context.client(), &counted).await?,
        };
        let Some(resource) = resource else {
            is_missing = true;
            continue;
        };
        match count.of(&counted, &resource).await {
            Ok(usage) => used.extend(usage),
            Err(error) if is_not_served(&error) => {
                context.state().forget(&counted);
                is_missing = true;
            }
            Err(error) => return Err(error),
        }
    }
    let used = resource_list::only(&used, |name| hard.contains_key(name));
    Ok((used, is_missing))
}

fn always_watched(counted: &Counted) -> Option<ApiResource> {
    if !counted.is_always_watched() {
        return None;
    }
    match counted.plural.as_str() {
        "pods" => Some(ApiResource::erase::<Pod>(&())),
        "services" => Some(ApiResource::erase::<Service>(&())),
        "persistentvolumeclaims" => Some(ApiResource::erase::<PersistentVolumeClaim>(&())),
        _ => None,
    }
}

fn is_not_served(error: &BoxError) -> bool {
    let cause = error.downcast_ref::<kube::Error>();
    cause.is_some_and(|error| error.is_not_found())
}

/// Writes limits and usage if they differ.
async fn write(
    context: &Context<(), Monitors>,
    mut quota: ResourceQuota,
    used: ResourceList,
) -> Result<(), kubewright_client::Error> {
    let hard = limits(&quota.spec);
    let status = &quota.status;
    let is_known = status["hard"].is_object() && status["used"].is_object();
    if is_known && limits(status) == hard && resource_list::read(&status["used"]) == used {
        return Ok(());
    }
    quota.status = json!({
        "hard": resource_list::write(&hard),
        "used": resource_list::write(&used),
    });
    let draft = Draft::<ResourceQuota>::new(quota.metadata.clone(), json!(quota));
    context.client().update_status(&draft).await
}
