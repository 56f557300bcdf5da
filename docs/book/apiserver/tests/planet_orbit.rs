//! `planets/orbit` behind the API server of a cluster, in the same process.

use kube::api::Api;
use kube::core::Request;
use kubewright::prelude::*;

use sky_server::api::sky::v1::Planet;
use sky_server::register;

#[tokio::test]
async fn the_orbit_of_a_planet_is_served() {
    let cluster = Operator::new("test", register).start_test().await.unwrap();

    let api: Api<Planet> = Api::all(cluster.client());
    let client = cluster.client();
    let get = |name: &str| {
        let request = Request::new(api.resource_url());
        let request = request.get_subresource("orbit", name);
        client.request_text(request.unwrap())
    };
    let orbit = get("venus").await.unwrap();
    assert!(orbit.starts_with("day 56: venus is 1/4 around\n"));
    assert!(get("pluto").await.is_err());
}
