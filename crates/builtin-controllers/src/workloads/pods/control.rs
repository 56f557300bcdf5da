//! [`PodControl`]: creates and deletes pods, and records events about their owner.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::DeleteParams;
use kubewright_client::{Error, ErrorExt};
use kubewright_controller::{
    Client,
    events::{EventType, Recorder},
};
use kubewright_informer::Key;

use crate::{
    namespace::is_terminating_cause,
    workloads::objects::{Draft, Pod},
};

/// Creates and deletes the pods of one owner.
pub(crate) struct PodControl<'a> {
    pub(crate) client: &'a Client,
    pub(crate) recorder: &'a Recorder,
    pub(crate) owner: ObjectReference,
}

impl PodControl<'_> {
    /// Creates a pod. In a namespace that is being deleted this does nothing, and records no event.
    pub(crate) async fn create(&self, pod: &Draft<Pod>) -> Result<(), Error> {
        match self.client.create(pod).await {
            Ok(created) => {
                let name = created.metadata.name.unwrap_or_default();
                self.event(
                    EventType::Normal,
                    "SuccessfulCreate",
                    format!("Created pod: {name}"),
                );
                Ok(())
            }
            Err(error) if error.api_status().is_some_and(is_terminating_cause) => Ok(()),
            Err(error) => {
                let message = format!("Error creating: {}", message_of(&error));
                self.event(EventType::Warning, "FailedCreate", message);
                Err(error)
            }
        }
    }

    /// Deletes a pod. A missing pod is not an error.
    pub(crate) async fn delete(&self, pod: &Pod) -> Result<(), Error> {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let key = Key::new(Some(namespace), name);
        let params = DeleteParams::default();
        match self.client.delete_key::<Pod>(&key, &params).await {
            Ok(()) => {
                self.event(
                    EventType::Normal,
                    "SuccessfulDelete",
                    format!("Deleted pod: {name}"),
                );
                Ok(())
            }
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => {
                let error = Error::from(error);
                let message = format!("Error deleting: {}", message_of(&error));
                self.event(EventType::Warning, "FailedDelete", message);
                Err(error)
            }
        }
    }

    fn event(&self, type_: EventType, reason: &str, message: String) {
        self.recorder
            .event_about(self.owner.clone(), type_, reason, message);
    }
}

/// Returns the message of an error as Go prints it: that of the server's answer.
pub(crate) fn message_of(error: &Error) -> String {
    match error.api_status() {
        Some(status) => status.message.clone(),
        None => error.to_string(),
    }
}
