//! The Job of a time.

use jiff::Timestamp;
use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Resource, ResourceExt};
use kubewright_client::ErrorExt;
use kubewright_controller::{Context, Result, events::EventType, owner::is_controlled_by};
use kubewright_informer::Key;
use serde_json::json;

use super::{CronJobs, timetable::zone_of};
use crate::{
    namespace::is_terminating_cause,
    workloads::{
        objects::{CronJob, Draft, Job, controller_reference},
        pods::message_of,
    },
};

/// Returns the name of the Job of a time, so that there is only one.
pub(super) fn name_of(job: &CronJob, at: Timestamp) -> String {
    format!("{}-{}", job.name_any(), at.as_second().div_euclid(60))
}

/// Creates the Job of a time. Returns a reference to it, unless a Job of that name has another owner or is already active.
pub(super) async fn start(
    context: &Context<(), CronJobs>,
    job: &CronJob,
    at: Timestamp,
) -> Result<Option<ObjectReference>> {
    let client = context.client();
    let metadata = match client.create(&draft(job, at)).await {
        Ok(created) => {
            let name = created.metadata.name.as_deref().unwrap_or_default();
            let message = format!("Created job {name}");
            let recorder = &context.state().recorder;
            recorder.event(job, EventType::Normal, "SuccessfulCreate", message);
            created.metadata
        }
        Err(error) if error.is_already_exists() => {
            let key = Key::new(job.namespace().as_deref(), &name_of(job, at));
            let existing: Option<Job> = client.get_live(&key).await?;
            let Some(existing) = existing.filter(|existing| is_controlled_by(existing, job)) else {
                return Ok(None);
            };
            if job.status.has_active(existing.metadata.uid.as_deref()) {
                return Ok(None);
            }
            existing.metadata
        }
        Err(error) => {
            if !error.api_status().is_some_and(is_terminating_cause) {
                let message = format!("Error creating job: {}", message_of(&error));
                let recorder = &context.state().recorder;
                recorder.event(job, EventType::Warning, "FailedCreate", message);
            }
            return Err(error.into());
        }
    };
    Ok(Some(ObjectReference {
        api_version: Some(Job::api_version(&()).into_owned()),
        kind: Some(Job::kind(&()).into_owned()),
        name: metadata.name,
        namespace: metadata.namespace,
        resource_version: metadata.resource_version,
        uid: metadata.uid,
        field_path: None,
    }))
}

fn draft(job: &CronJob, at: Timestamp) -> Draft<Job> {
    let template = &job.spec.job_template;
    let zone = zone_of(job.spec.time_zone.as_deref().unwrap_or_default());
    let text = match zone {
        Ok(zone) if zone != jiff::tz::TimeZone::UTC => {
            let local = at.to_zoned(zone);
            local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
        }
        _ => at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    };
    let mut body = json!({
        "metadata": {
            "name": name_of(job, at),
            "annotations": template["metadata"]["annotations"],
            "labels": template["metadata"]["labels"],
            "ownerReferences": [controller_reference(job)],
        },
        "spec": template["spec"],
    });
    body["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"] =
        json!(text);
    let address = ObjectMeta {
        namespace: job.namespace(),
        ..ObjectMeta::default()
    };
    Draft::new(address, body)
}
