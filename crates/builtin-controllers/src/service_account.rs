//! Keeps the ServiceAccount `default` in every namespace that is not being deleted: creates and recreates it. Changes
//! by others are kept.

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::{api::PostParams, core::ApiResource};
use kubewright_controller::{
    Action, Context, Controller, Handler, Manager, ManagerError, Predicate, Request, Result, Watch,
};
use kubewright_informer::{Event, Key};

use crate::{names::Name, namespace::is_terminating_cause};

/// The name of the ServiceAccount.
const DEFAULT: &str = "default";

pub(crate) fn add_to(manager: &Manager) -> Result<(), ManagerError> {
    let namespaces = manager
        .caches()
        .metadata(&ApiResource::erase::<Namespace>(&()));
    let accounts = manager
        .caches()
        .metadata(&ApiResource::erase::<ServiceAccount>(&()));
    let reconcile = move |context: Context, request: Request| {
        let namespace = namespaces.indexer().get(request.key().as_str());
        let active = namespace.is_some_and(|n| n.deletion_timestamp().is_none());
        let account = Key::new(Some(request.name()), DEFAULT);
        let missing = active && accounts.indexer().get(account.as_str()).is_none();
        async move {
            if missing {
                create(&context, request.name()).await?;
            }
            Ok(Action::done())
        }
    };
    let ours = |event: &Event<()>| {
        matches!(event, Event::Deleted { .. }) && event.object().name() == DEFAULT
    };
    Controller::builder()
        .named(Name::ServiceAccount.as_str())
        .watch(Watch::of::<Namespace>(Handler::for_object()).metadata_only())
        .watch(
            Watch::of::<ServiceAccount>(Handler::map_object(|account| {
                vec![Request::cluster_scoped(
                    account.namespace().unwrap_or_default(),
                )]
            }))
            .metadata_only()
            .predicate(Predicate::events(ours)),
        )
        .build(manager, reconcile)?;
    Ok(())
}

async fn create(context: &Context, namespace: &str) -> Result<()> {
    let mut account = ServiceAccount::default();
    account.metadata.name = Some(DEFAULT.to_owned());
    account.metadata.namespace = Some(namespace.to_owned());
    let accounts = context.client().api::<ServiceAccount>(namespace);
    match accounts.create(&PostParams::default(), &account).await {
        Err(kube::Error::Api(status))
            if status.reason == "AlreadyExists" || is_terminating_cause(&status) =>
        {
            Ok(())
        }
        created => Ok(created.map(drop)?),
    }
}
