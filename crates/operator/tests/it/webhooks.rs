//! Webhooks of an operator on a test cluster.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, CustomResource, api::PostParams};
use kubewright::Schema;
use kubewright_controller::Result;
use kubewright_operator::{Model, Operator, PolicyRule};
use kubewright_testing::{Perturbation, TestCluster, WebhookFault, World, perturb};
use kubewright_webhook::{Admission, FieldErrors, Operation, Validator, Webhook};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "web.example.com", version = "v1", kind = "Site", namespaced)]
struct SiteSpec {
    title: String,
    theme: Option<String>,
}

struct SiteValidator;

impl Validator<Site> for SiteValidator {
    async fn validate(&self, ctx: &Admission<'_>, site: &Site) -> Result<()> {
        let mut errors = FieldErrors::new();
        if site.spec.title.is_empty() {
            errors.required("spec.title", "a page needs a title");
        }
        let theme = site.spec.theme.as_deref().unwrap_or_default();
        let namespace = ctx.namespace().unwrap_or_default();
        let themes = ctx.client()?.api::<ConfigMap>(namespace);
        if theme != "plain" && themes.get_opt(theme).await?.is_none() {
            errors.not_found("spec.theme", theme);
        }
        errors.into_result()
    }

    async fn validate_delete(&self, _: &Admission<'_>, site: &Site) -> Result<()> {
        match &*site.spec.title {
            "Home" => Err("the home page stays".into()),
            _ => Ok(()),
        }
    }
}

fn register(operator: &mut Operator) {
    let all = [Operation::Create, Operation::Update, Operation::Delete];
    operator
        .api::<Site>()
        .defaulter(|site: &mut Site| {
            site.spec.theme.get_or_insert_with(|| "plain".to_owned());
        })
        .webhook(Webhook::validator(SiteValidator).operations(all))
        .rule("", &["configmaps"], &["get"]);
}

fn site(name: &str, title: &str, theme: Option<&str>) -> Site {
    let spec = SiteSpec {
        title: title.to_owned(),
        theme: theme.map(str::to_owned),
    };
    Site::new(name, spec)
}

async fn create(cluster: &TestCluster, site: &Site) -> kube::Result<Site> {
    let sites: Api<Site> = Api::default_namespaced(cluster.client());
    sites.create(&PostParams::default(), site).await
}

fn message(error: kube::Error) -> (u16, String) {
    match error {
        kube::Error::Api(status) => (status.code, status.message),
        other => panic!("{other}"),
    }
}

#[test]
fn webhooks_are_described() {
    let model = Operator::new("web", register).model().unwrap();
    let paths: Vec<&str> = model.webhooks.iter().map(|it| &*it.path).collect();
    assert_eq!(
        paths,
        [
            "/mutate-web-example-com-v1-site",
            "/validate-web-example-com-v1-site"
        ]
    );
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(Model::from_json(&text).unwrap(), model);
    let configurations = model.webhook_configurations("web-system", "web-webhook-service");
    assert_eq!(configurations.len(), 2);
    let names = ["web-mutating-webhook-configuration"];
    let rule = PolicyRule::new(
        "admissionregistration.k8s.io",
        &["mutatingwebhookconfigurations"],
        &["get", "update"],
    );
    let rules = model.webhook_rules("web-system", "web-webhook-service");
    assert!(rules.contains(&rule.resource_names(&names)));
}

#[test]
fn two_webhooks_at_one_path_are_an_error() {
    let operator = Operator::new("web", |operator| {
        operator
            .defaulter(|_: &mut Site| {})
            .defaulter(|_: &mut Site| {});
    });
    assert_eq!(
        operator.model().unwrap_err().to_string(),
        "two webhooks have the path /mutate-web-example-com-v1-site: give one of them another"
    );
}

#[tokio::test]
async fn webhooks_review_the_first_request() {
    let cluster = Operator::new("web", register).start_test().await.unwrap();
    let made = create(&cluster, &site("home", "Home", None)).await.unwrap();
    assert_eq!(made.spec.theme.as_deref(), Some("plain"));

    let wrong = create(&cluster, &site("other", "", Some("baroque"))).await;
    let (code, text) = message(wrong.unwrap_err());
    assert_eq!(code, 422);
    assert!(
        text.contains("spec.title: Required value: a page needs a title"),
        "{text}"
    );
    assert!(
        text.contains("spec.theme: Not found: \"baroque\""),
        "{text}"
    );

    let sites: Api<Site> = Api::default_namespaced(cluster.client());
    let kept = sites.delete("home", &Default::default()).await;
    assert_eq!(
        message(kept.map(drop).unwrap_err()),
        (
            403,
            "admission webhook \"vsite-v1.kb.io\" denied the request: the home page stays"
                .to_owned()
        )
    );
}

#[tokio::test(start_paused = true)]
async fn webhook_faults_can_be_injected() {
    let cluster = Operator::new("web", register).start_test().await.unwrap();
    let path = "/validate-web-example-com-v1-site";
    let site = site("a", "A", None);
    for (fault, code, part) in [
        (WebhookFault::Down, 500, "connection refused"),
        (
            WebhookFault::Slow(Duration::from_secs(11)),
            500,
            "context deadline exceeded",
        ),
        (
            WebhookFault::Denied("closed".into()),
            403,
            "denied the request: closed",
        ),
        (
            WebhookFault::Wrong("{}".into()),
            500,
            "failed calling webhook",
        ),
    ] {
        cluster.faults().inject_webhook(fault, path, 1);
        let (given, text) = message(create(&cluster, &site).await.unwrap_err());
        assert_eq!(given, code, "{text}");
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(cluster.faults().pending(), 0);
    create(&cluster, &site).await.unwrap();
}

#[test]
fn perturbed_operators_serve_their_webhooks() {
    let story = |world: World| async move {
        create(world.cluster(), &site("a", "A", None))
            .await
            .unwrap();
        world.pause().await;
        create(world.cluster(), &site("b", "B", Some("plain")))
            .await
            .unwrap();
        let refused = create(world.cluster(), &site("c", "", None)).await;
        assert_eq!(message(refused.unwrap_err()).0, 422);
    };
    let report = perturb(|| Operator::new("web", register), story)
        .invariant("every site has a theme", |state| {
            let themes = state
                .of("sites.web.example.com")
                .filter(|site| site["spec"]["theme"] == "plain");
            match themes.count() {
                2 => Ok(()),
                n => Err(format!("{n} of 2 have one")),
            }
        })
        .run();
    assert!(report.survived.contains(&Perturbation::SlowWebhooks));
    assert!(
        report
            .survived
            .contains(&Perturbation::WebhookDown { call: 1 })
    );
    assert!(
        !report
            .missed
            .contains(&Perturbation::WebhookDown { call: 1 })
    );
}
