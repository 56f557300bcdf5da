//! Conversion of `Site` between v1 and v2.

use kube::{Api, api::PostParams};
use kubewright::{operator::Operator, resource::Versions};

use site_operator::api::web::{v1, v2};
use site_operator::register;

#[test]
fn site_round_trips_between_v1_and_v2() {
    // The objects are generated from the schemas of both versions.
    let versions = Versions::<v1::Site>::hub().spoke::<v2::Site>();
    versions.check_round_trips(200).unwrap();
}

#[tokio::test]
async fn a_site_is_read_in_both_versions() {
    let operator = Operator::new("test", register);
    let cluster = operator.start_test().await.unwrap();

    let spec = v2::SiteSpec {
        heading: "Books".into(),
        ..v2::SiteSpec::default()
    };
    let site = v2::Site::new("first", spec);
    let new: Api<v2::Site> = Api::default_namespaced(cluster.client());
    let made = new.create(&PostParams::default(), &site).await.unwrap();
    // The defaulter of v1 has seen it.
    assert_eq!(made.spec.text, "Welcome to Books.");

    let old: Api<v1::Site> = Api::default_namespaced(cluster.client());
    assert_eq!(old.get("first").await.unwrap().spec.title, "Books");
    cluster.settled().await.unwrap();
    let status = new.get("first").await.unwrap().status.unwrap();
    assert!(status.bytes > 0);
}
