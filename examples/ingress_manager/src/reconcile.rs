//! Makes the Ingress of a Service what the Service asks for.
//!
//! An Ingress is created by POST, which fails if there is one, and never by apply, which would take it over. What is applied
//! or deleted later is the very object that was found to be ours: its uid and resourceVersion go with the request.

use std::fmt;

use k8s_openapi::api::{core::v1::Service, networking::v1::Ingress};
use kube::{
    Api,
    api::{DeleteParams, PostParams, Preconditions},
};
use kubewright_controller::{Action, Context, Error, Request, apply, owner::is_controlled_by};

use crate::ingress::{is_as_wanted, is_ours, wanted};

/// Under this name the controller's fields stand in `managedFields`.
pub const FIELD_MANAGER: &str = "ingress-manager";

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The Ingress was made.
    Created,
    /// The Ingress was put right.
    Applied,
    /// The Ingress was removed.
    Deleted,
    /// There was nothing to do.
    Nothing,
}

/// The Ingress belongs to somebody else. Nothing is done until something changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Ingress {0} is not controlled by the Service: it is left alone")]
pub struct NotOurs(String);

/// The reconciler.
pub async fn reconcile(context: Context, request: Request) -> Result<Action, Error> {
    let change = ensure(&context, &request).await?;
    tracing::info!("{change}");
    Ok(Action::done())
}

/// Makes the Ingress what the Service asks for, and says what that took.
pub async fn ensure(context: &Context, request: &Request) -> Result<Change, Error> {
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
        (Some(_), Some(_), _) if !ours => Err(Error::terminal(NotOurs(request.to_string()))),
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
        // Not wanted any more, or left by an earlier Service of that name; then its deletion brings us back here.
        (_, Some(ingress), _) if ours => delete(&ingresses, &ingress).await,
        _ => Ok(Change::Nothing),
    }
}

async fn delete(ingresses: &Api<Ingress>, ingress: &Ingress) -> Result<Change, Error> {
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
