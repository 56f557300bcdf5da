//! The cluster as kube-rs sees it: in process and over TLS.

mod api;
mod clusters;
mod faults;
mod watchers;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config,
    api::PostParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_testing::Endpoint;

pub(crate) fn map(name: &str, value: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    map.data = Some([("value".to_owned(), value.to_owned())].into());
    map
}

pub(crate) fn maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

pub(crate) async fn create(maps: &Api<ConfigMap>, name: &str) -> ConfigMap {
    maps.create(&PostParams::default(), &map(name, "1"))
        .await
        .expect("a new ConfigMap")
}

/// Returns a client that is configured by the kubeconfig.
pub(crate) async fn over_tls(endpoint: &Endpoint) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(&endpoint.kubeconfig()).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .expect("a usable one");
    Client::try_from(config).expect("a client")
}

/// Returns the status code of an error response.
#[track_caller]
pub(crate) fn code<T: std::fmt::Debug>(result: kube::Result<T>) -> u16 {
    match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("{other:?}"),
    }
}
