//! Writing the status, only if it changed.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::ResourceExt;
use kubewright_client::is_conflict;
use serde_json::Value;

use super::Context;
use crate::{
    conditions::ConditionStatus,
    object::{Object, StatusObject},
    reconcile::Result,
};

/// The maximum number of attempts after conflicts.
const ATTEMPTS: u32 = 5;

impl<K: Object, S> Context<K, S> {
    /// Builds a condition of the object: with its generation and the time of the cluster.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kubewright_controller::{Context, conditions::ConditionsExt};
    ///
    /// fn describe(ctx: &Context<Deployment>) {
    ///     let mut conditions = Vec::new();
    ///     conditions.set(ctx.condition("Ready", true, "Available", "2 of 2 pods are up"));
    ///     assert!(conditions.is_true("Ready"));
    /// }
    /// ```
    pub fn condition(
        &self,
        type_: &str,
        status: impl Into<ConditionStatus>,
        reason: &str,
        message: impl Into<String>,
    ) -> Condition {
        let now = self.now();
        Condition {
            type_: type_.to_owned(),
            status: status.into().as_str().to_owned(),
            reason: reason.to_owned(),
            message: message.into(),
            // These times have whole seconds on the wire.
            last_transition_time: Time(Timestamp::from_second(now.as_second()).unwrap_or(now)),
            observed_generation: self.object().meta().generation,
        }
    }
}

impl<K: StatusObject, S> Context<K, S> {
    /// Changes the status, and writes it if that made a difference. Returns whether it did.
    ///
    /// The write has a resource version, so that it never overwrites the changes of others: after a conflict the object is
    /// read again, and the closure runs on its new status. What the closure returns is ignored.
    ///
    /// ```no_run
    /// # use kube::CustomResource; use schemars::JsonSchema; use serde::{Deserialize, Serialize};
    /// # use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
    /// # #[derive(CustomResource, JsonSchema, Clone, Debug, Serialize, Deserialize)]
    /// # #[kube(group = "example.com", version = "v1", kind = "WebApp", namespaced, status = "WebAppStatus")]
    /// # struct WebAppSpec {}
    /// # #[derive(JsonSchema, Clone, Debug, Default, Serialize, Deserialize)]
    /// # struct WebAppStatus { conditions: Vec<Condition> }
    /// use std::sync::Arc;
    /// use kubewright_controller::{Action, Context, Result, conditions::ConditionsExt};
    ///
    /// async fn reconcile(ctx: Context<WebApp>, app: Arc<WebApp>) -> Result<Action> {
    ///     let ready = ctx.condition("Ready", true, "Available", "2 of 2 pods are up");
    ///     ctx.status(|status| status.conditions.set(&ready)).await?;
    ///     Ok(Action::done())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the server rejects the status, or if others keep changing the object.
    pub async fn status<R>(&self, mut change: impl FnMut(&mut K::Status) -> R) -> Result<bool> {
        for attempt in 1.. {
            let object = self.object();
            let mut wanted = (*object).clone();
            change(wanted.status_mut().get_or_insert_default());
            if json(object.status())? == json(wanted.status())? {
                return Ok(false);
            }
            match self.client().replace_status(&wanted).await {
                Ok(written) => {
                    self.replace_object(written);
                    return Ok(true);
                }
                Err(error) if is_conflict(&error) && attempt < ATTEMPTS => {
                    let fresh = self.client().get_live::<K>(self.run.request.key()).await?;
                    match fresh.filter(|fresh| fresh.uid() == object.uid()) {
                        Some(fresh) => self.replace_object(fresh),
                        None => return Ok(false),
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }
}

/// Returns the JSON of a status. One that is missing is like one without fields.
fn json<T: serde::Serialize>(status: Option<&T>) -> Result<Value, serde_json::Error> {
    match status {
        Some(status) => serde_json::to_value(status),
        None => Ok(Value::Object(Default::default())),
    }
}
