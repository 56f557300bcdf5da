//! `Site`, on a cluster in this process.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use kubewright::{prelude::*, testing::TestCluster};
use serde_json::json;

use site_operator::api::web::v1::{Site, SiteSpec};
use site_operator::register;

fn site(title: &str) -> Site {
    let spec = SiteSpec {
        title: title.into(),
        text: "Hello.".into(),
    };
    Site::new("first", spec)
}

#[tokio::test]
async fn site_has_a_page_that_is_updated_and_restored() {
    let operator = Operator::new("test", register);
    let cluster = operator.start_test().await.unwrap();

    let sites: Api<Site> = Api::default_namespaced(cluster.client());
    let pages: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let html = async || pages.get("first").await.unwrap().data.unwrap()["index.html"].clone();

    // A new site gets a page, and its status says so.
    let how = PostParams::default();
    sites.create(&how, &site("Books")).await.unwrap();
    cluster.settled().await.unwrap();
    assert!(html().await.contains("<h1>Books</h1>"));
    let status = sites.get("first").await.unwrap().status.unwrap();
    assert!(status.conditions.is_true("Ready"));
    assert_eq!(status.bytes, html().await.len() as i64);

    // When the site changes, the page follows.
    let patch = Patch::Merge(json!({"spec": {"title": "Flowers"}}));
    let how = PatchParams::default();
    sites.patch("first", &how, &patch).await.unwrap();
    cluster.settled().await.unwrap();
    assert!(html().await.contains("<h1>Flowers</h1>"));

    // A deleted page is restored.
    let how = DeleteParams::default();
    pages.delete("first", &how).await.unwrap();
    cluster.settled().await.unwrap();
    assert!(html().await.contains("<h1>Flowers</h1>"));

    // When the site is deleted, so is the page.
    sites.delete("first", &how).await.unwrap();
    cluster.settled().await.unwrap();
    assert!(pages.get_opt("first").await.unwrap().is_none());
}

#[tokio::test]
async fn site_without_a_title_is_rejected() {
    let cluster = TestCluster::start().await;
    let operator = Operator::new("test", register);
    operator.install_on(&cluster).await.unwrap();

    let sites: Api<Site> = Api::default_namespaced(cluster.client());
    let error = sites.create(&PostParams::default(), &site("")).await;
    let message = error.unwrap_err().to_string();
    assert!(message.contains("spec.title"), "{message}");
}
