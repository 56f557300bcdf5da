//! Applies and deletes objects: in order, by server-side apply, waiting until they are ready or gone.
//!
//! | module | contents |
//! |---|---|
//! | `order` | the order in which kinds are applied |
//! | `readiness` | whether an applied object is ready |
//! | `report` | progress and results |

mod order;
mod readiness;
mod report;

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, PropagationPolicy},
    core::{ApiResource, DynamicObject, GroupVersionKind},
    discovery::{ApiCapabilities, Scope, oneshot::pinned_kind},
};
use kubewright_controller::{
    Apply,
    wait::{WaitError, wait_for},
};
use kubewright_scaffold::Error;
use serde::Serialize;

use readiness::{Readiness, readiness};

use crate::{
    cluster::{one_line, refused},
    operator::webhooks::reset_conversion,
};
pub(crate) use report::Report;

/// Applies objects to a cluster.
pub(crate) struct Applier<'a> {
    client: Client,
    /// The field manager.
    manager: String,
    /// The time limit for each object to become ready or disappear.
    timeout: Duration,
    report: &'a Report,
    kinds: HashMap<GroupVersionKind, (ApiResource, ApiCapabilities)>,
}

/// The result for one object.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) kind: String,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) namespace: Option<String>,
    pub(crate) action: Action,
    pub(crate) seconds: f64,
}

/// The change that was made to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Action {
    Created,
    Configured,
    Unchanged,
    Deleted,
    NotFound,
}

impl<'a> Applier<'a> {
    pub(crate) fn new(
        client: Client,
        manager: &str,
        timeout: Duration,
        report: &'a Report,
    ) -> Self {
        Self {
            client,
            manager: manager.to_owned(),
            timeout,
            report,
            kinds: HashMap::new(),
        }
    }

    /// Applies all objects. Waits for CRDs and namespaces before applying other kinds, and for everything at the end.
    pub(crate) async fn apply(
        &mut self,
        mut objects: Vec<DynamicObject>,
    ) -> Result<Vec<Outcome>, Error> {
        order::sort(&mut objects);
        let mut outcomes = Vec::new();
        let mut waiting: Vec<(DynamicObject, Outcome, Instant)> = Vec::new();
        for object in objects {
            let is_early = matches!(kind(&object), "CustomResourceDefinition" | "Namespace");
            if !is_early {
                self.ready(&mut waiting, &mut outcomes, is_basis).await?;
            }
            let began = Instant::now();
            self.report.now(&format!("applying {}", title(&object)));
            let (applied, action) = self.one(&object).await?;
            let outcome = Outcome::of(&applied, action);
            waiting.push((applied, outcome, began));
        }
        self.ready(&mut waiting, &mut outcomes, |_| true).await?;
        Ok(outcomes)
    }

    /// Applies one object without waiting for it.
    pub(crate) async fn one(
        &mut self,
        object: &DynamicObject,
    ) -> Result<(DynamicObject, Action), Error> {
        let api = self.api(object).await?;
        let name = object.name_any();
        let doing = format!("apply {}", title(object));
        let before = api.get_opt(&name).await.map_err(|e| refused(&doing, &e))?;
        let mut object = object.clone();
        // These fields belong to the server and must not be applied.
        object.metadata.managed_fields = None;
        object.metadata.resource_version = None;
        if let Some(fields) = object.data.as_object_mut() {
            fields.remove("status");
        }
        let applied = Apply::new(&self.manager)
            .force()
            .object(&api, &object)
            .await
            .map_err(|e| refused(&doing, &e))?;
        let action = match before {
            None => Action::Created,
            Some(before) if before.resource_version() == applied.resource_version() => {
                Action::Unchanged
            }
            Some(_) => Action::Configured,
        };
        Ok((applied, action))
    }

    /// Deletes all objects in reverse order, and waits until they are gone.
    pub(crate) async fn delete(
        &mut self,
        mut objects: Vec<DynamicObject>,
    ) -> Result<Vec<Outcome>, Error> {
        order::sort(&mut objects);
        objects.reverse();
        let mut outcomes = Vec::new();
        for object in objects {
            let began = Instant::now();
            self.report.now(&format!("deleting {}", title(&object)));
            let action = self.remove(&object).await?;
            let mut outcome = Outcome::of(&object, action);
            outcome.seconds = began.elapsed().as_secs_f64();
            self.report.done(&outcome);
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    async fn remove(&mut self, object: &DynamicObject) -> Result<Action, Error> {
        let name = object.name_any();
        let doing = format!("delete {}", title(object));
        let Some(api) = self.api_if_known(object).await? else {
            return Ok(Action::NotFound);
        };
        if object
            .types
            .as_ref()
            .is_some_and(|it| it.kind == "CustomResourceDefinition")
        {
            let outcome = reset_conversion(&self.client, &name).await;
            outcome.map_err(|e| refused(&doing, &e))?;
        }
        let how = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        match api.delete(&name, &how).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Action::NotFound),
            Err(error) => return Err(refused(doing, &error)),
        }
        let gone = wait_for(&api, &name, self.timeout, |it| it.is_none()).await;
        match gone {
            Ok(_) => Ok(Action::Deleted),
            // The kind is gone together with its definition.
            Err(WaitError::Failed(kube::Error::Api(status))) if status.code == 404 => {
                Ok(Action::Deleted)
            }
            Err(WaitError::Failed(error)) => Err(refused(doing, &error)),
            Err(_) => Err(Error::new(
                format_args!(
                    "{} still exists after {} s",
                    title(object),
                    self.timeout.as_secs()
                ),
                "check its finalizers, or increase --timeout",
            )),
        }
    }

    /// Waits for the chosen objects and reports them.
    async fn ready(
        &self,
        waiting: &mut Vec<(DynamicObject, Outcome, Instant)>,
        outcomes: &mut Vec<Outcome>,
        chosen: fn(&DynamicObject) -> bool,
    ) -> Result<(), Error> {
        let (now, later) = std::mem::take(waiting)
            .into_iter()
            .partition(|(object, ..)| chosen(object));
        *waiting = later;
        let now: Vec<_> = now;
        for (object, mut outcome, began) in now {
            self.wait(&object).await?;
            outcome.seconds = began.elapsed().as_secs_f64();
            self.report.done(&outcome);
            outcomes.push(outcome);
        }
        Ok(())
    }

    async fn wait(&self, object: &DynamicObject) -> Result<(), Error> {
        let (Readiness::Waiting(_) | Readiness::Failed(_)) = readiness(object) else {
            return Ok(());
        };
        let Some(gvk) = gvk(object) else {
            return Ok(());
        };
        let Some(known) = self.kinds.get(&gvk) else {
            return Ok(());
        };
        let api = api(&self.client, known, object);
        let mut last = readiness(object);
        let waited = wait_for(&api, &object.name_any(), self.timeout, |it| {
            last = match it {
                // Objects from a watch carry no kind.
                Some(it) => readiness(&typed(it, object)),
                None => Readiness::Failed("it was deleted".to_owned()),
            };
            if let Readiness::Waiting(why) = &last {
                self.report
                    .now(&format!("waiting for {}: {why}", title(object)));
            }
            !matches!(last, Readiness::Waiting(_))
        })
        .await;
        let why = match (waited, last) {
            (Ok(_), Readiness::Ready) => return Ok(()),
            (Ok(_), Readiness::Failed(why)) => why,
            (Ok(_), Readiness::Waiting(why)) => why,
            (Err(WaitError::Failed(error)), _) => {
                return Err(refused(format!("wait for {}", title(object)), &error));
            }
            (Err(_), Readiness::Waiting(why) | Readiness::Failed(why)) => {
                format!("{why} after {} s", self.timeout.as_secs())
            }
            (Err(_), Readiness::Ready) => return Ok(()),
        };
        Err(Error::new(
            format_args!("{} is not ready: {}", title(object), one_line(&why)),
            "check its status, or increase --timeout",
        ))
    }

    async fn api(&mut self, object: &DynamicObject) -> Result<Api<DynamicObject>, Error> {
        let api = self.api_if_known(object).await?;
        api.ok_or_else(|| {
            let types = object.types.clone().unwrap_or_default();
            Error::new(
                format_args!(
                    "the cluster does not serve kind {} in {}",
                    types.kind, types.api_version
                ),
                "install its CRD first, or correct apiVersion and kind",
            )
        })
    }

    async fn api_if_known(
        &mut self,
        object: &DynamicObject,
    ) -> Result<Option<Api<DynamicObject>>, Error> {
        let Some(gvk) = gvk(object) else {
            return Ok(None);
        };
        if !self.kinds.contains_key(&gvk) {
            match pinned_kind(&self.client, &gvk).await {
                Ok(known) => {
                    self.kinds.insert(gvk.clone(), known);
                }
                Err(kube::Error::Discovery(_)) => return Ok(None),
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
                Err(error) => return Err(refused(format!("find {}", gvk.kind), &error)),
            }
        }
        let known = self.kinds.get(&gvk);
        Ok(known.map(|known| api(&self.client, known, object)))
    }
}

/// Returns the API of an object, in its namespace or the default one.
fn api(
    client: &Client,
    (resource, capabilities): &(ApiResource, ApiCapabilities),
    object: &DynamicObject,
) -> Api<DynamicObject> {
    match (&capabilities.scope, &object.metadata.namespace) {
        (Scope::Cluster, _) => Api::all_with(client.clone(), resource),
        (Scope::Namespaced, Some(namespace)) => {
            Api::namespaced_with(client.clone(), namespace, resource)
        }
        (Scope::Namespaced, None) => Api::default_namespaced_with(client.clone(), resource),
    }
}

fn typed(object: &DynamicObject, like: &DynamicObject) -> DynamicObject {
    let mut object = object.clone();
    object.types = like.types.clone();
    object
}

/// Returns whether other objects depend on this one.
fn is_basis(object: &DynamicObject) -> bool {
    matches!(kind(object), "CustomResourceDefinition" | "Namespace")
}

fn kind(object: &DynamicObject) -> &str {
    object.types.as_ref().map_or("", |types| &types.kind)
}

fn gvk(object: &DynamicObject) -> Option<GroupVersionKind> {
    GroupVersionKind::try_from(object.types.as_ref()?).ok()
}

/// Formats an object as kubectl does: `deployment/manager`.
pub(crate) fn title(object: &DynamicObject) -> String {
    format!("{}/{}", kind(object).to_lowercase(), object.name_any())
}

impl Outcome {
    fn of(object: &DynamicObject, action: Action) -> Self {
        Self {
            kind: kind(object).to_owned(),
            name: object.name_any(),
            namespace: object.metadata.namespace.clone(),
            action,
            seconds: 0.0,
        }
    }
}
