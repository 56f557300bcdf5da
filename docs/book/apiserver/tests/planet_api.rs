//! `Planet` behind the API server of a cluster, in the same process.

use kube::api::{Api, DeleteParams, ListParams};
use kubewright::prelude::*;

use sky_server::api::sky::v1::Planet;
use sky_server::register;

#[tokio::test]
async fn planets_are_served_behind_the_cluster() {
    let cluster = Operator::new("test", register).start_test().await.unwrap();

    let api: Api<Planet> = Api::all(cluster.client());
    let mars = api.get("mars").await.unwrap();
    assert_eq!(mars.spec.moons, 2);

    // The server selects, since the storage does not.
    let alone = ListParams::default().fields("spec.moons=0");
    let alone = api.list(&alone).await.unwrap();
    assert_eq!(alone.items.len(), 1);

    // Planets can only be read.
    let params = DeleteParams::default();
    let error = api.delete("mars", &params).await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(status) if status.code == 405));
}
