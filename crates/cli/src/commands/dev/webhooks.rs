//! [`CalledWebhooks`]: the webhooks of the operator, which the cluster calls while it is ready.

use std::{ffi::OsString, time::Duration};

use kubewright_operator::Model;
use kubewright_scaffold::Error;

use super::{child::Child, event::DevEvent, screen::Screen};
use crate::{
    cluster::apply::Action,
    operator::webhooks::{LocalWebhooks, names},
};

/// The time limit for an operator to serve its kinds.
const PATIENCE: Duration = Duration::from_secs(30);
/// The interval at which it is read.
const EVERY: Duration = Duration::from_millis(20);

/// The webhooks of the operator, and the state that was shown last.
pub(super) struct CalledWebhooks {
    local: LocalWebhooks,
    screen: Screen,
    shown: Option<DevEvent>,
    /// The names of the webhooks that are registered; empty if there are none.
    registered: String,
}

impl CalledWebhooks {
    pub(super) fn new(local: LocalWebhooks, screen: Screen) -> Self {
        Self {
            local,
            screen,
            shown: None,
            registered: String::new(),
        }
    }

    /// Points the CRDs of the operator to this machine, and returns the flags that make it serve its webhooks.
    pub(super) async fn configure(&mut self, model: &mut Model) -> Result<Vec<OsString>, Error> {
        let flags = self.local.configure(model).await?;
        if model.serves_webhooks()
            && let Some(why) = self.local.why_not()
        {
            let why = format!("the cluster cannot call this machine: {why}");
            self.show(DevEvent::NotCalled {
                webhooks: names(model),
                why,
            });
        }
        Ok(flags)
    }

    /// Leads the cluster to the kinds that an operator serves itself, once it does. It need not be ready.
    pub(super) async fn serving(&mut self, model: &Model, child: &Child) -> Result<(), Error> {
        if !model.serves_aggregated_apis() || self.local.apis_endpoint().is_none() {
            return Ok(());
        }
        let served = async {
            while let Some(endpoint) = self.local.apis_endpoint() {
                if endpoint.is_served().await {
                    return true;
                }
                tokio::time::sleep(EVERY).await;
            }
            false
        };
        let served = tokio::select! {
            served = tokio::time::timeout(PATIENCE, served) => served.unwrap_or_default(),
            _ = child.ended() => false,
        };
        if !served {
            return Ok(());
        }
        for outcome in self.local.register_apis(model).await? {
            let action = match outcome.action {
                Action::Created => "created",
                _ => "configured",
            };
            self.screen.show(DevEvent::Applied {
                object: format!("apiservice/{}", outcome.name),
                action: action.to_owned(),
            });
        }
        Ok(())
    }

    /// Registers the webhooks of an operator that is ready.
    pub(super) async fn ready(&mut self, model: &Model) -> Result<(), Error> {
        let Some(endpoint) = self.local.endpoint() else {
            return Ok(());
        };
        let url = endpoint.url();
        if model.serves_webhooks() && !endpoint.is_served().await {
            let why = format!("the operator does not serve them at {url}");
            let webhooks = names(model);
            self.show(DevEvent::NotCalled { webhooks, why });
            return Ok(());
        }
        if !model.serves_webhooks() {
            return Ok(());
        }
        self.local.register(model).await?;
        self.registered = names(model);
        if model.serves_webhooks() {
            let webhooks = self.registered.clone();
            self.show(DevEvent::Called { webhooks, url });
        }
        Ok(())
    }

    /// Removes the registration while the operator is replaced by another one, which takes a moment.
    pub(super) async fn pause(&mut self) -> Result<(), Error> {
        self.local.pause().await
    }

    /// Removes the registration of an operator that is down, because writes would wait for it.
    pub(super) async fn down(&mut self, why: &str) -> Result<(), Error> {
        let webhooks = std::mem::take(&mut self.registered);
        if !webhooks.is_empty() {
            let why = why.to_owned();
            self.show(DevEvent::NotCalled { webhooks, why });
        }
        self.local.pause().await
    }

    /// Removes everything from the cluster that points to this machine.
    pub(super) async fn end(&mut self) -> Vec<Error> {
        self.local.end().await
    }

    /// Shows an event, unless it was the last one too.
    fn show(&mut self, event: DevEvent) {
        let is_known = match (&self.shown, &event) {
            (
                Some(DevEvent::Called { webhooks, .. }),
                DevEvent::Called {
                    webhooks: other, ..
                },
            ) => webhooks == other,
            (
                Some(DevEvent::NotCalled { webhooks, why }),
                DevEvent::NotCalled {
                    webhooks: other,
                    why: other_why,
                },
            ) => (webhooks, why) == (other, other_why),
            _ => false,
        };
        if !is_known {
            self.screen.show(event.clone());
            self.shown = Some(event);
        }
    }
}
