//! The controller of the demo: keeps an Ingress for every Service with the annotation `ingress/http`.
//!
//! `examples/ingress_manager` is the same controller as a complete program, and the one to read. The two are separate: an
//! example must stand alone, and the tool must not depend on an example.

use std::fmt;

use k8s_openapi::api::{core::v1::Service, networking::v1::Ingress};
use kube::{
    ResourceExt,
    api::{DeleteParams, PostParams, Preconditions},
};
use kubewright_controller::{
    AnyEvent, Context, Controller, ControllerBuilder, Error, Handler, Predicate, Request, Result,
    Watch, apply,
    owner::{controller_of, is_controlled_by, set_controller_reference},
};
use kubewright_informer::Event;
use serde_json::json;

/// The annotation that asks for an Ingress.
pub(super) const ANNOTATION: &str = "ingress/http";

/// The host of every Ingress.
pub(super) const HOST: &str = "example.com";

pub(super) const NAME: &str = "ingress-manager";

/// The change that a reconcile made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Created,
    Applied,
    Deleted,
    Nothing,
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

/// Returns a controller that watches Services, their Ingresses, and unowned Ingresses whose names may conflict.
pub(super) fn builder() -> ControllerBuilder {
    let unowned = Watch::of::<Ingress>(Handler::for_object())
        .predicate(Predicate::object(|ingress| ingress.controller().is_none()));
    Controller::for_::<Service>()
        .named(NAME)
        .owns::<Ingress>()
        .watch(unowned)
        .event_filter(Predicate::events(is_relevant))
}

/// Returns whether an event can call for a change: annotated Services, and changes of an Ingress beyond its status.
fn is_relevant(event: &AnyEvent) -> bool {
    let asks =
        |service: &kubewright_informer::StoredObject| service.annotation(ANNOTATION).is_some();
    let is_service = event.object().kind().resource().kind == "Service";
    match event {
        Event::Updated {
            old, object: new, ..
        } if is_service => asks(old) || asks(new),
        _ if is_service => asks(event.object()),
        Event::Updated {
            old, object: new, ..
        } => {
            old.uid() != new.uid()
                || old.generation() != new.generation()
                || old.owners() != new.owners()
        }
        _ => true,
    }
}

/// Creates, updates or deletes the Ingress of a Service, and returns the change.
pub(super) async fn reconcile(context: &Context, request: &Request) -> Result<Change> {
    let service = context.get::<Service>(request).await?;
    let ingress = context.get::<Ingress>(request).await?;
    let namespace = request.namespace().unwrap_or_default();
    let ingresses = context.client().api::<Ingress>(namespace);
    let ours = ingress
        .as_deref()
        .is_some_and(|ingress| is_ours(ingress, request.name()));
    let wanted = service.as_deref().map(wanted).transpose();
    let wanted = wanted.map_err(Error::terminal)?.flatten();
    match (wanted, ingress, service) {
        (Some(wanted), None, _) => {
            let parameters = PostParams {
                field_manager: Some(NAME.into()),
                ..PostParams::default()
            };
            ingresses.create(&parameters, &wanted).await?;
            Ok(Change::Created)
        }
        (Some(_), Some(_), _) if !ours => {
            let message =
                format!("Ingress {request} is not controlled by the Service: it is left alone");
            Err(Error::terminal(message).into())
        }
        (Some(mut wanted), Some(ingress), Some(service))
            if is_controlled_by(&*ingress, &*service) =>
        {
            if is_up_to_date(&ingress, &wanted) {
                return Ok(Change::Nothing);
            }
            wanted.metadata.uid = ingress.metadata.uid.clone();
            wanted.metadata.resource_version = ingress.metadata.resource_version.clone();
            apply(&ingresses, NAME, &wanted).await?;
            Ok(Change::Applied)
        }
        // No longer wanted, or left by an earlier Service of that name.
        (_, Some(ingress), _) if ours && ingress.metadata.deletion_timestamp.is_none() => {
            let parameters = DeleteParams::default().preconditions(Preconditions {
                uid: ingress.metadata.uid.clone(),
                resource_version: ingress.metadata.resource_version.clone(),
            });
            match ingresses.delete(&ingress.name_any(), &parameters).await {
                Ok(_) => Ok(Change::Deleted),
                // The garbage collector was faster.
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(Change::Nothing),
                Err(error) => Err(error.into()),
            }
        }
        _ => Ok(Change::Nothing),
    }
}

/// Returns the Ingress that a Service asks for, if any.
fn wanted(service: &Service) -> Result<Option<Ingress>, std::io::Error> {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_ref());
    let port = ports.and_then(|ports| ports.first());
    let asks = service.annotations().contains_key(ANNOTATION);
    let Some(port) = port.filter(|_| asks && service.metadata.deletion_timestamp.is_none()) else {
        return Ok(None);
    };
    let backend = json!({"service": {"name": service.name_any(), "port": {"number": port.port}}});
    let path = json!({"path": "/", "pathType": "Prefix", "backend": backend});
    let ingress = serde_json::from_value(json!({
        "metadata": {"name": service.name_any(), "namespace": service.namespace()},
        "spec": {
            "ingressClassName": "nginx",
            "rules": [{"host": HOST, "http": {"paths": [path]}}],
        },
    }));
    let mut ingress: Ingress = ingress?;
    set_controller_reference(service, &mut ingress).map_err(std::io::Error::other)?;
    Ok(Some(ingress))
}

/// Returns whether an Ingress has the wanted fields. Fields that others have added are left alone.
fn is_up_to_date(ingress: &Ingress, wanted: &Ingress) -> bool {
    let managed = |ingress: &Ingress| {
        let spec = ingress.spec.clone().unwrap_or_default();
        (spec.ingress_class_name, spec.rules)
    };
    managed(ingress) == managed(wanted) && controller_of(ingress) == controller_of(wanted)
}

/// Returns whether a Service of that name controls the Ingress.
pub(super) fn is_ours(ingress: &Ingress, service: &str) -> bool {
    controller_of(ingress).is_some_and(|owner| {
        owner.api_version == "v1" && owner.kind == "Service" && owner.name == service
    })
}

/// Returns the host of an Ingress, and the Service and port that it routes to.
pub(super) fn backend(ingress: &Ingress) -> Option<(&str, &str, i32)> {
    let rule = ingress.spec.as_ref()?.rules.as_ref()?.first()?;
    let path = rule.http.as_ref()?.paths.first()?;
    let service = path.backend.service.as_ref()?;
    let port = service.port.as_ref()?.number?;
    Some((rule.host.as_deref()?, &service.name, port))
}
