//! Reconciles the Ingress of a Service.
//!
//! An Ingress is created by POST, which fails if it exists, and never by apply, which would take it over. Later updates and
//! deletions are conditional on the uid and resourceVersion of the object that was found to be ours.

use std::fmt;

use k8s_openapi::api::{core::v1::Service, networking::v1::Ingress};
use kube::{
    Api,
    api::{DeleteParams, PostParams, Preconditions},
};
use kubewright_controller::{
    Action, Context, Error, Request, Result, apply, owner::is_controlled_by,
};

use crate::ingress::{is_as_wanted, is_ours, wanted};

/// The field manager of the controller.
pub const FIELD_MANAGER: &str = "ingress-manager";

/// The result of a reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The Ingress was created.
    Created,
    /// The Ingress was updated.
    Applied,
    /// The Ingress was deleted.
    Deleted,
    /// There was nothing to do.
    Nothing,
}

/// The Ingress belongs to somebody else. The reconcile is not retried until something changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Ingress {0} is not controlled by the Service: it is left alone")]
pub struct NotOurs(String);

/// Reconciles the Ingress of one Service.
pub async fn reconcile(context: Context, request: Request) -> Result<Action> {
    let change = ensure(&context, &request).await?;
    tracing::info!("{change}");
    Ok(Action::done())
}

/// Creates, updates or deletes the Ingress of a Service, and returns what was done.
pub async fn ensure(context: &Context, request: &Request) -> Result<Change> {
    let service = context.get::<Service>(request).await?;
    let ingress = context.get::<Ingress>(request).await?;
    let namespace = request.namespace().unwrap_or_default();
    let ingresses = context.client().api::<Ingress>(namespace);
    let ours = ingress
        .as_deref()
        .is_some_and(|ingress| is_ours(ingress, request.name()));
    let wanted = service.as_deref().map(wanted).transpose()?.flatten();
    match (wanted, ingress, service) {
        (Some(wanted), None, _) => {
            let parameters = PostParams {
                field_manager: Some(FIELD_MANAGER.into()),
                ..PostParams::default()
            };
            ingresses.create(&parameters, &wanted).await?;
            Ok(Change::Created)
        }
        (Some(_), Some(_), _) if !ours => Err(Error::terminal(NotOurs(request.to_string())).into()),
        (Some(mut wanted), Some(ingress), Some(service))
            if is_controlled_by(&*ingress, &*service) =>
        {
            if is_as_wanted(&ingress, &wanted) {
                return Ok(Change::Nothing);
            }
            wanted.metadata.uid = ingress.metadata.uid.clone();
            wanted.metadata.resource_version = ingress.metadata.resource_version.clone();
            apply(&ingresses, FIELD_MANAGER, &wanted).await?;
            Ok(Change::Applied)
        }
        // Not wanted any more, or left over from an earlier Service with this name; its deletion triggers another reconcile.
        (_, Some(ingress), _) if ours => delete(&ingresses, &ingress).await,
        _ => Ok(Change::Nothing),
    }
}

async fn delete(ingresses: &Api<Ingress>, ingress: &Ingress) -> Result<Change> {
    let metadata = &ingress.metadata;
    if metadata.deletion_timestamp.is_some() {
        return Ok(Change::Nothing);
    }
    let parameters = DeleteParams::default().preconditions(Preconditions {
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
    });
    let name = metadata.name.as_deref().unwrap_or_default();
    match ingresses.delete(name, &parameters).await {
        Ok(_) => Ok(Change::Deleted),
        // The garbage collector was faster.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Change::Nothing),
        Err(error) => Err(error.into()),
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Created => "created",
            Self::Applied => "applied",
            Self::Deleted => "deleted",
            Self::Nothing => "nothing to do",
        })
    }
}
