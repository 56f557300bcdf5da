//! The conversion of CRDs by the operator.

use kubewright_operator::Model;
use serde_json::{Value, json};

use super::{
    super::{model::text, naming::Naming},
    SERVICE,
};

/// Reports whether the operator converts the objects of a CRD.
pub(in super::super) fn converts(model: &Model, crd: &Value) -> bool {
    let name = text(&crd["metadata"]["name"]);
    model.conversions.iter().any(|converted| converted == name)
}

/// Returns the `spec.conversion` of a CRD whose objects the operator converts. kustomize does not know the names in it.
pub(in super::super) fn conversion(naming: &Naming) -> Value {
    json!({
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "service": {
                    "name": naming.installed_name(SERVICE),
                    "namespace": naming.installed_namespace(),
                    "path": "/convert",
                },
            },
            "conversionReviewVersions": ["v1"],
        },
    })
}
