//! Tests of the webhooks of `Site`: one calls them as functions, the others as a cluster does.

use kube::{Api, api::PostParams};
use kubewright::{prelude::*, testing::WebhookFault, webhook::AdmissionRequest};

use site_operator::api::web::v1::{Site, SiteSpec};
use site_operator::register;
use site_operator::webhook::site::SiteDefaulter;

fn site(name: &str, title: &str) -> Site {
    let spec = SiteSpec {
        title: title.into(),
        ..SiteSpec::default()
    };
    Site::new(name, spec)
}

#[tokio::test]
async fn a_text_is_kept() {
    let mut site = site("first", "Books");
    site.spec.text = "Hello.".into();
    let request = Admission::new(AdmissionRequest::default(), None);
    SiteDefaulter.default(&request, &mut site).await.unwrap();
    assert_eq!(site.spec.text, "Hello.");
}

#[tokio::test]
async fn a_site_without_a_text_gets_one() {
    let operator = Operator::new("test", register);
    let cluster = operator.start_test().await.unwrap();

    let sites: Api<Site> = Api::default_namespaced(cluster.client());
    let how = PostParams::default();
    let made = sites.create(&how, &site("first", "Books")).await.unwrap();
    assert_eq!(made.spec.text, "Welcome to Books.");
}

#[tokio::test]
async fn two_sites_do_not_have_the_same_title() {
    let operator = Operator::new("test", register);
    let cluster = operator.start_test().await.unwrap();

    let sites: Api<Site> = Api::default_namespaced(cluster.client());
    let how = PostParams::default();
    sites.create(&how, &site("first", "Books")).await.unwrap();
    let error = sites.create(&how, &site("second", "Books")).await;
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("spec.title: Duplicate value: \"Books\""),
        "{message}"
    );
    cluster.settled().await.unwrap();
}

#[tokio::test]
async fn no_site_is_stored_while_the_validator_is_down() {
    let operator = Operator::new("test", register);
    let cluster = operator.start_test().await.unwrap();

    let sites: Api<Site> = Api::default_namespaced(cluster.client());
    let how = PostParams::default();
    let path = "/validate-web-example-com-v1-site";
    cluster.faults().inject_webhook(WebhookFault::Down, path, 1);
    assert!(sites.create(&how, &site("first", "Books")).await.is_err());
    assert!(sites.create(&how, &site("first", "Books")).await.is_ok());
}
