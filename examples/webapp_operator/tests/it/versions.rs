//! Two versions of the kind: nothing is lost between them.

use k8s_openapi::api::apps::v1::Deployment;
use kubewright::resource::Versions;
use webapp_operator::api::{v1, v1alpha1};

use crate::*;

#[test]
fn an_app_survives_the_way_to_the_other_version_and_back() {
    let versions = Versions::<v1::WebApp>::hub().spoke::<v1alpha1::WebApp>();
    versions.check_round_trips(200).unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_app_of_the_old_version_runs_and_is_read_as_the_new_one() {
    let (cluster, _) = start().await;
    let spec = v1alpha1::WebAppSpec {
        image: "shop:1".to_owned(),
        size: 3,
        ingress: Some(v1alpha1::Ingress {
            host: "shop.example.com".to_owned(),
        }),
        ..Default::default()
    };
    create(&cluster, &v1alpha1::WebApp::new("shop", spec)).await;
    cluster.settled().await.unwrap();
    let new = api::<v1::WebApp>(&cluster).get("shop").await.unwrap();
    assert_eq!(new.spec.replicas, 3);
    assert_eq!(new.spec.host.as_deref(), Some("shop.example.com"));
    let deployment = api::<Deployment>(&cluster).get("shop").await.unwrap();
    assert_eq!(deployment.spec.replicas, Some(3));
    let old = api::<v1alpha1::WebApp>(&cluster).get("shop").await.unwrap();
    assert_eq!(
        old.status.unwrap().url.as_deref(),
        Some("http://shop.example.com")
    );
}
