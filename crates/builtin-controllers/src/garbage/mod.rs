//! The garbage collector: deletes dependents whose owners are gone.
//!
//! It keeps a graph of all objects and their owners by watching the metadata of every deletable resource. An object
//! that may have lost an owner is checked live at the server, since a watch may lag. If no owner is left, the object is
//! deleted with its uid and resourceVersion as preconditions; if some are left, the references to the others are
//! removed. Owners that are deleted in the foreground wait for the dependents that block them; owners that orphan their
//! dependents wait until no dependent references them.
//!
//! There are two controllers: `garbage-collector-controller` has a queue of uids; `garbage-collector-resources` keeps a
//! watch for every resource of the server.
//!
//! | module | contents |
//! |---|---|
//! | `identity` | identities of objects |
//! | `graph` | the ownership graph; consequences of a change |
//! | `absent` | a cache of owners that do not exist |
//! | `collector` | processing of one object |
//! | `requests` | requests to the server |
//! | `monitors` | the watches |

mod absent;
mod collector;
mod graph;
mod identity;
mod monitors;
mod requests;

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    kube_aggregator::pkg::apis::apiregistration::v1::APIService,
};
use kube::core::ApiResource;
use kubewright_controller::{
    Controller, Group, Handler, Manager, ManagerError, Request, Source, Watch,
    events::{EventApi, EventBroadcaster, EventOptions},
};

use crate::names::Name;
use collector::{Collector, Worker};
use monitors::Monitors;

/// The number of concurrently processed objects.
const WORKERS: usize = 20;

/// The name of the controller that keeps the watches.
const RESOURCES: &str = "garbage-collector-resources";

/// The time limit for the initial listing before the work starts anyway.
const FIRST_LOOK: Duration = Duration::from_secs(30);

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    let options = EventOptions::new(EventApi::Core);
    let events = EventBroadcaster::with_options(manager.leader_client().live(), options);
    let recorder = events.recorder(Name::GarbageCollector.as_str());
    manager.add(
        Group::LeaderElection,
        "garbage-collector-events",
        |stop| async move {
            events.run(async move { stop.stopping().await }).await;
            Ok(())
        },
    )?;

    let collector = Arc::new(Collector::new(recorder));
    let fed = collector.clone();
    let virtual_events = Source::raw("graph", |enqueue| async move { fed.feed(enqueue).await });
    let controller = Controller::builder()
        .named(Name::GarbageCollector.as_str())
        .source(virtual_events)
        .max_concurrent_reconciles(WORKERS)
        .build(manager, Worker(collector.clone()))?;

    let definitions = ApiResource::erase::<CustomResourceDefinition>(&());
    let definitions = manager.caches().metadata(&definitions);
    let monitors = Monitors::new(collector, controller, definitions, FIRST_LOOK);
    let look = || Handler::events(|_| vec![Request::cluster_scoped("resources")]);
    Controller::builder()
        .named(RESOURCES)
        .watch(Watch::of::<CustomResourceDefinition>(look()).metadata_only())
        .watch(Watch::of::<APIService>(look()).metadata_only())
        .source(Source::raw("start", |enqueue| async move {
            enqueue.add(Request::cluster_scoped("resources"));
            std::future::pending().await
        }))
        .build(manager, monitors)?;
    Ok(())
}
