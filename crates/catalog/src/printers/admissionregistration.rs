//! Printers of the `admissionregistration.k8s.io` group.

use kubewright_machinery::json::Read;
use serde_json::Value;

use super::columns::{AGE, NAME, integer, text};
use super::{Column, PrintOptions, Printer, age, fields, row};

/// The printer of a kind of this group.
pub(super) fn printer(kind: &str) -> Option<&'static Printer> {
    Some(match kind {
        "MutatingAdmissionPolicy" => &MUTATING_POLICY,
        "ValidatingAdmissionPolicy" => &VALIDATING_POLICY,
        "MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicyBinding" => &POLICY_BINDING,
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => &WEBHOOKS,
        _ => return None,
    })
}

static MUTATING_POLICY: Printer = Printer::new(
    &[
        NAME,
        integer("Mutations", "How many mutations the policy makes."),
        PARAM_KIND,
        AGE,
    ],
    mutating_policy,
);

static VALIDATING_POLICY: Printer = Printer::new(
    &[
        NAME,
        integer("Validations", "How many rules the policy checks."),
        PARAM_KIND,
        AGE,
    ],
    validating_policy,
);

static POLICY_BINDING: Printer = Printer::new(
    &[
        NAME,
        text("PolicyName", "The policy that is bound."),
        text(
            "ParamRef",
            "The object that holds the parameters of the policy.",
        ),
        AGE,
    ],
    policy_binding,
);

static WEBHOOKS: Printer = Printer::new(
    &[
        NAME,
        integer("Webhooks", "How many webhooks the configuration registers."),
        AGE,
    ],
    webhooks,
);

const PARAM_KIND: Column = text(
    "ParamKind",
    "The kind of the objects that parameterize the policy.",
);

fn mutating_policy(object: &Value, options: &PrintOptions) -> Vec<Value> {
    policy(object, "mutations", options)
}

fn validating_policy(object: &Value, options: &PrintOptions) -> Vec<Value> {
    policy(object, "validations", options)
}

fn policy(object: &Value, rules: &str, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    let kind = &spec["paramKind"];
    let kind = if kind.is_object() {
        format!("{}/{}", kind["apiVersion"].text(), kind["kind"].text())
    } else {
        "<unset>".to_owned()
    };
    row![
        fields::name(object),
        fields::count(&spec[rules]),
        kind,
        age::of(object, options)
    ]
}

fn policy_binding(object: &Value, options: &PrintOptions) -> Vec<Value> {
    let spec = &object["spec"];
    row![
        fields::name(object),
        spec["policyName"].text(),
        param(&spec["paramRef"]),
        age::of(object, options),
    ]
}

fn param(reference: &Value) -> String {
    match (reference["namespace"].text(), reference["name"].text()) {
        (_, "") if reference["selector"].is_object() => selector(&reference["selector"]),
        (_, "") => "<unset>".to_owned(),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

/// A label selector the way Go shows the struct, which is how the server prints it here.
fn selector(selector: &Value) -> String {
    let mut shown = "&LabelSelector{MatchLabels:map[string]string{".to_owned();
    for (key, value) in fields::text_entries(&selector["matchLabels"]) {
        shown.push_str(&format!("{key}: {value},"));
    }
    shown.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
    for expression in selector["matchExpressions"].items() {
        let key = expression["key"].text();
        let operator = expression["operator"].text();
        let values = expression["values"].texts().collect::<Vec<_>>().join(" ");
        shown.push_str(&format!(
            "LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},"
        ));
    }
    shown.push_str("},}");
    shown
}

fn webhooks(object: &Value, options: &PrintOptions) -> Vec<Value> {
    row![
        fields::name(object),
        fields::count(&object["webhooks"]),
        age::of(object, options)
    ]
}
