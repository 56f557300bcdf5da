//! The watches and predicates of the controller.

use k8s_openapi::api::{core::v1::Service, networking::v1::Ingress};
use kubewright_controller::{AnyEvent, Controller, ControllerBuilder, Handler, Predicate, Watch};
use kubewright_informer::{Event, StoredObject};

use crate::ingress::ANNOTATION;

/// Returns the builder of the controller, to be built with [`reconcile`](crate::reconcile()) or a wrapper of it.
///
/// It watches Services, the Ingresses they control, and Ingresses with the name of a Service: when such an Ingress is deleted,
/// the Service can have its own.
pub fn builder() -> ControllerBuilder {
    let in_the_way = Watch::of::<Ingress>(Handler::for_object())
        .predicate(Predicate::object(|ingress| ingress.controller().is_none()));
    Controller::for_::<Service>()
        .named("ingress-manager")
        .owns::<Ingress>()
        .watch(in_the_way)
        .event_filter(Predicate::events(counts))
}

/// Returns the predicate for events that may require a change.
fn counts(event: &AnyEvent) -> bool {
    let is_service = event.object().kind().resource().kind == "Service";
    match event {
        // Includes Services that lose the annotation.
        Event::Updated {
            old, object: new, ..
        } if is_service => asks(old) || asks(new),
        _ if is_service => asks(event.object()),
        // Status changes of Ingresses are ignored.
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

fn asks(service: &StoredObject) -> bool {
    service.annotation(ANNOTATION).is_some()
}
