//! What is watched, and which events count.

use k8s_openapi::api::{core::v1::Service, networking::v1::Ingress};
use kubewright_controller::{AnyEvent, Controller, ControllerBuilder, Handler, Predicate, Watch};
use kubewright_informer::{Event, StoredObject};

use crate::ingress::ANNOTATION;

/// The controller, to be built with [`reconcile`](crate::reconcile()) or with something around it.
///
/// It watches Services, the Ingresses they control, and Ingresses that stand in the way of one: when such an Ingress goes,
/// the Service of its name can have its own.
pub fn builder() -> ControllerBuilder {
    let in_the_way = Watch::of::<Ingress>(Handler::for_object())
        .predicate(Predicate::object(|ingress| ingress.controller().is_none()));
    Controller::for_::<Service>()
        .named("ingress-manager")
        .owns::<Ingress>()
        .watch(in_the_way)
        .predicate(Predicate::events(counts))
}

/// Whether an event may call for a change.
fn counts(event: &AnyEvent) -> bool {
    let is_service = event.object().kind().resource().kind == "Service";
    match event {
        // Losing the annotation counts too.
        Event::Updated { old, new, .. } if is_service => asks(old) || asks(new),
        _ if is_service => asks(event.object()),
        // The status of an Ingress is of no interest, whoever writes it.
        Event::Updated { old, new, .. } => {
            old.uid() != new.uid()
                || old.generation() != new.generation()
                || old.owners() != new.owners()
        }
        _ => true,
    }
}

fn asks(service: &StoredObject) -> bool {
    service.annotation(ANNOTATION).is_some()
}
