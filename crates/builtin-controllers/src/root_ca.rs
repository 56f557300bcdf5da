//! Keeps the ConfigMap `kube-root-ca.crt` in every namespace that is not being deleted: creates it, recreates it and
//! reverts changes.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{Api, api::PostParams, core::ApiResource};
use kubewright_controller::{
    Action, Context, Controller, Handler, Manager, ManagerError, Predicate, Request, Result, Watch,
};

use crate::{names::Name, namespace::is_terminating_cause};

/// The name of the ConfigMap.
const NAME: &str = "kube-root-ca.crt";

/// The key of the certificate.
const KEY: &str = "ca.crt";

/// The annotation that describes the ConfigMap, and its value.
const DESCRIPTION: (&str, &str) = (
    "kubernetes.io/description",
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.",
);

pub(crate) fn add_to(manager: &Manager, root_ca: String) -> Result<(), ManagerError> {
    let root_ca: Arc<str> = root_ca.into();
    let namespaces = manager
        .caches()
        .metadata(&ApiResource::erase::<Namespace>(&()));
    let reconcile = move |context: Context, request: Request| {
        let namespace = namespaces.indexer().get(request.key().as_str());
        let active = namespace.is_some_and(|n| n.deletion_timestamp().is_none());
        let root_ca = root_ca.clone();
        async move {
            if active {
                let maps = context.client().api::<ConfigMap>(request.name());
                publish(&maps, &root_ca).await?;
            }
            Ok(Action::done())
        }
    };
    Controller::builder()
        .named(Name::RootCaPublisher.as_str())
        .watch(Watch::of::<Namespace>(Handler::for_object()).metadata_only())
        .watch(
            Watch::of::<ConfigMap>(Handler::map_object(|map| {
                vec![Request::cluster_scoped(map.namespace().unwrap_or_default())]
            }))
            .metadata_only()
            .predicate(Predicate::object(|map| map.name() == NAME)),
        )
        .build(manager, reconcile)?;
    Ok(())
}

async fn publish(maps: &Api<ConfigMap>, root_ca: &str) -> Result<()> {
    let data = BTreeMap::from([(KEY.to_owned(), root_ca.to_owned())]);
    let Some(mut map) = maps.get_opt(NAME).await? else {
        return create(maps, data).await;
    };
    let annotations = map.metadata.annotations.get_or_insert_default();
    let described = annotations
        .get(DESCRIPTION.0)
        .is_some_and(|text| !text.is_empty());
    if described && map.data.as_ref() == Some(&data) {
        return Ok(());
    }
    annotations.insert(DESCRIPTION.0.to_owned(), DESCRIPTION.1.to_owned());
    map.data = Some(data);
    maps.replace(NAME, &PostParams::default(), &map).await?;
    Ok(())
}

async fn create(maps: &Api<ConfigMap>, data: BTreeMap<String, String>) -> Result<()> {
    let mut map = ConfigMap {
        data: Some(data),
        ..ConfigMap::default()
    };
    map.metadata.name = Some(NAME.to_owned());
    let (key, text) = DESCRIPTION;
    let annotations = map.metadata.annotations.get_or_insert_default();
    annotations.insert(key.to_owned(), text.to_owned());
    match maps.create(&PostParams::default(), &map).await {
        // The namespace is being deleted, or is gone.
        Err(kube::Error::Api(status)) if status.code == 404 || is_terminating_cause(&status) => {
            Ok(())
        }
        created => Ok(created.map(drop)?),
    }
}
