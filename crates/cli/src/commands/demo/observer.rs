//! Observes the controller: a predicate sees every event before it becomes a request, and a wrapper sees every reconcile.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use k8s_openapi::api::{core::v1::Service, networking::v1::Ingress};
use kube::ResourceExt;
use kubewright_controller::{
    Action, AnyEvent, Context, Controller, Error, ErrorKind, Manager, ManagerError, Predicate,
    Request,
    status::{Trigger, TriggerCause},
};
use kubewright_informer::Event;

use super::{
    controller::{self, ANNOTATION, backend},
    event::{DemoEvent, Outcome, Reconcile},
    frame::{Gauges, Row},
    screen::Screen,
};

/// The number of remembered events, so that an event that two watches see is shown once.
const REMEMBERED: usize = 256;

/// The maximum length of a displayed error, in characters.
const LONGEST: usize = 90;

/// Adds the controller to a manager and shows its events and reconciles.
pub(super) fn install(manager: &Manager, screen: &Screen) -> Result<Controller, ManagerError> {
    let (events, reconciles) = (screen.clone(), screen.clone());
    let seen = Mutex::new(VecDeque::new());
    let all_pass = Predicate::events(move |event| {
        if is_new(&seen, event) {
            events.show(shown(event));
        }
        true
    });
    let itself: Arc<OnceLock<Controller>> = Arc::default();
    let queue = itself.clone();
    let reconcile = move |context: Context, request: Request| {
        let (screen, queue) = (reconciles.clone(), queue.clone());
        async move {
            let began = Instant::now();
            let outcome = controller::reconcile(&context, &request).await;
            let outcome = outcome.map_err(Error::from);
            let took = began.elapsed();
            screen.show(DemoEvent::Reconcile(Reconcile {
                key: request.to_string(),
                cause: context.trigger().map(cause).unwrap_or_default(),
                outcome: match &outcome {
                    Ok(change) => Outcome::Done(*change),
                    Err(error) if error.kind() == ErrorKind::Terminal => {
                        Outcome::Refused(message(error))
                    }
                    Err(error) => Outcome::Failed(message(error)),
                },
                took,
                queued: queue.get().map_or(0, |queue| queue.status().queued),
            }));
            Ok(outcome.map(|_| Action::done())?)
        }
    };
    let controller = controller::builder()
        .event_filter(all_pass)
        .build(manager, reconcile)?;
    // It is set only here.
    let _ = itself.set(controller.clone());
    Ok(controller)
}

/// Reads the state of the queue and the caches.
pub(super) fn gauges(manager: &Manager, controller: &Controller) -> Gauges {
    let status = controller.status();
    let due = status.keys.iter().filter_map(|key| key.due_in_seconds);
    let due = due.reduce(f64::min);
    let services = manager.client().informer::<Service>().lister();
    let ingresses = manager.client().informer::<Ingress>().lister();
    let snapshot = services.snapshot();
    let mut rows: Vec<Row> = snapshot
        .iter()
        .filter_map(|object| object.decode::<Service>().ok())
        .filter(|service| service.name_any() != "kubernetes")
        .map(|service| {
            let key =
                kubewright_informer::Key::new(service.namespace().as_deref(), &service.name_any());
            let ingress = ingresses.get_key(&key).ok().flatten();
            row(&key.to_string(), &service, ingress.as_deref())
        })
        .collect();
    rows.sort_by(|a, b| a.service.cmp(&b.service));
    Gauges {
        queued: status.queued,
        running: status.processing,
        delayed: status.delayed,
        due: due.and_then(|due| Duration::try_from_secs_f64(due).ok()),
        rows,
    }
}

fn row(key: &str, service: &Service, ingress: Option<&Ingress>) -> Row {
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.as_ref());
    let port = ports.and_then(|ports| ports.first());
    let ingress = match ingress.map(|ingress| (ingress, backend(ingress))) {
        Some((_, Some((host, name, port)))) => format!("{host}/ -> {name}:{port}"),
        Some((_, None)) => "not ours".to_owned(),
        None => "-".to_owned(),
    };
    Row {
        service: key.to_owned(),
        port: port.map_or_else(|| "-".to_owned(), |port| port.port.to_string()),
        asks: service.annotations().contains_key(ANNOTATION),
        ingress,
    }
}

/// Records an event and returns whether it is new.
fn is_new(seen: &Mutex<VecDeque<(String, &'static str)>>, event: &AnyEvent) -> bool {
    // A revision identifies one state of one object.
    let event = (event.object().resource_version().to_owned(), verb(event));
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.contains(&event) {
        return false;
    }
    seen.push_back(event);
    if seen.len() > REMEMBERED {
        seen.pop_front();
    }
    true
}

fn shown(event: &AnyEvent) -> DemoEvent {
    DemoEvent::Event {
        resource: event.object().kind().resource().plural.clone(),
        verb: verb(event),
        key: event.key().to_string(),
    }
}

fn verb(event: &AnyEvent) -> &'static str {
    match event {
        Event::Added { .. } => "added",
        Event::Updated { .. } => "updated",
        Event::Deleted { .. } => "deleted",
    }
}

/// Shortens an error to a line. For an error of the server, this is the server's message.
fn message(error: &Error) -> String {
    let text = match error.cause().downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => status.message.clone(),
        _ => error.to_string(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn cause(trigger: &Trigger) -> String {
    // Without the group: `ingresses`.
    let source = trigger.source.split('.').next().unwrap_or_default();
    match trigger.cause {
        TriggerCause::Initial => format!("{source} initial"),
        TriggerCause::Added => format!("{source} added"),
        TriggerCause::Updated => format!("{source} updated"),
        TriggerCause::Resync => format!("{source} resync"),
        TriggerCause::Deleted => format!("{source} deleted"),
        TriggerCause::Asked => format!("{source} requested"),
        TriggerCause::Requeue => "requeue".to_owned(),
        TriggerCause::Backoff => "backoff".to_owned(),
    }
}
