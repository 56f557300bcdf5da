//! Webhooks of an operator on a test cluster.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResource;
use kubewright::Schema;
use kubewright_controller::Result;
use kubewright_operator::{Model, Operator, PolicyRule};
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
    assert!(model.webhook_rules().contains(&rule.resource_names(&names)));
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
