//! The schemas of custom resources: a schema and an object.

use kubewright_cel::Extent;
use kubewright_machinery::{field::Path, gvk::GroupVersionKind};
use kubewright_schema::structural::{
    ConformOptions, ObjectRules, Structural, apply_defaults, check_structural, compile_rules,
    conform,
};
use serde_json::json;

use crate::parts::{self, parts};

/// Prunes, defaults and validates an object by a schema, and checks that pruning and defaulting are idempotent.
pub(crate) fn schemas(data: &[u8]) {
    let mut parts = parts(data);
    let Some(schema) = parts.next().and_then(parts::json) else {
        return;
    };
    let _ = check_structural(&schema, &Path::root());
    let Ok(schema) = Structural::compile(&schema) else {
        return;
    };
    let rules = compile_rules(&schema, Extent::Resource);
    let object = parts.next().and_then(parts::json);
    let mut object = object.unwrap_or_else(|| json!({}));
    if !object.is_object() {
        return;
    }
    let options = ConformOptions {
        track: true,
        drop_invalid: true,
    };
    if conform(&mut object, &schema, options).is_err() {
        return;
    }
    let mut again = object.clone();
    conform(&mut again, &schema, options).expect("a pruned object can be pruned");
    assert_eq!(again, object, "pruned twice");
    if apply_defaults(&mut object, &schema).is_err() {
        return;
    }
    let mut again = object.clone();
    apply_defaults(&mut again, &schema).expect("the second time adds nothing");
    assert_eq!(again, object, "defaulted twice");
    let kind = GroupVersionKind::new("example.com", "v1", "Ship");
    let rules = ObjectRules {
        kind: &kind,
        namespaced: true,
        schema: &schema,
        rules: rules.as_ref(),
        scale: None,
    };
    let _ = rules.validate_create(&object);
    let _ = rules.validate_update(&object, &object);
}
