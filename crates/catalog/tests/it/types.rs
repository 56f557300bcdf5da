//! The shapes of the types.

use std::collections::HashSet;

use kubewright_catalog::generated::{KINDS, TYPES, core_v1, meta_v1};
use kubewright_catalog::types::{Field, ListType, Omit, PatchStrategy, StructType, Type};
use kubewright_catalog::{kind_type, struct_type};

fn field(ty: &'static StructType, path: &str) -> &'static Field {
    let (first, rest) = path
        .split_once('.')
        .map_or((path, None), |(a, b)| (a, Some(b)));
    let found = ty
        .field(first)
        .unwrap_or_else(|| panic!("{ty:?} has no field {first}"));
    match rest {
        None => found,
        Some(rest) => field(inner(&found.ty).expect("a struct"), rest),
    }
}

/// The struct inside a type, if there is one.
fn inner(ty: &Type) -> Option<&'static StructType> {
    match ty {
        Type::Struct(ty) => Some(ty),
        Type::SchemaOrBool(ty) | Type::SchemaOrArray(ty) | Type::SchemaOrStrings(ty) => Some(ty),
        Type::Optional(of) | Type::List(of) | Type::Map(of) => inner(of),
        _ => None,
    }
}

#[test]
fn types_are_sorted_and_named_once() {
    assert!(TYPES.len() > 500, "{} types", TYPES.len());
    assert!(
        TYPES
            .windows(2)
            .all(|pair| pair[0].openapi < pair[1].openapi)
    );
    for ty in TYPES {
        assert!(
            ty.openapi.ends_with(&format!(".{}", ty.name)),
            "{}",
            ty.openapi
        );
        assert!(std::ptr::eq(*ty, struct_type(ty.openapi).unwrap()));
    }
    assert!(struct_type("io.k8s.api.core.v1.Nope").is_none());
}

#[test]
fn kinds_are_sorted_and_known() {
    let names = |at: usize| (KINDS[at].0, KINDS[at].1, KINDS[at].2);
    assert!((1..KINDS.len()).all(|at| names(at - 1) < names(at)));
    assert!(std::ptr::eq(
        kind_type("", "v1", "PodList").unwrap(),
        &core_v1::POD_LIST
    ));
    assert!(std::ptr::eq(
        kind_type("", "v1", "Status").unwrap(),
        &meta_v1::STATUS
    ));
    assert!(kind_type("autoscaling", "v1", "Scale").is_some());
    assert!(kind_type("policy", "v1", "Eviction").is_some());
    assert!(kind_type("meta.k8s.io", "v1", "Table").is_some());
    assert!(kind_type("", "v1", "Nope").is_none());
}

#[test]
fn json_names_are_unique_within_a_struct() {
    for ty in TYPES {
        let mut seen = HashSet::new();
        for field in ty.fields {
            assert!(
                !field.json.is_empty() && seen.insert(field.json),
                "{ty:?}.{}",
                field.json
            );
        }
    }
}

#[test]
fn protobuf_numbers_are_unique_within_a_message() {
    for ty in TYPES {
        let mut seen = HashSet::new();
        for field in ty.fields.iter().filter(|field| field.proto != 0) {
            assert!(
                seen.insert((field.embedded, field.proto)),
                "{ty:?}.{}",
                field.json
            );
        }
        let own: HashSet<u16> = ty
            .fields
            .iter()
            .filter(|f| f.embedded.is_empty())
            .map(|f| f.proto)
            .collect();
        for field in ty.fields {
            if let Some(outer) = field.embedded.first() {
                assert!(
                    !own.contains(outer),
                    "{ty:?}: {outer} is a field and a message"
                );
            }
        }
    }
}

#[test]
fn only_type_meta_and_json_only_types_lack_protobuf_numbers() {
    let json_only = [
        "Info",
        "Table",
        "TableColumnDefinition",
        "TableRow",
        "TableRowCondition",
    ];
    for ty in TYPES.iter().filter(|ty| !json_only.contains(&ty.name)) {
        for field in ty.fields {
            let envelope = ["kind", "apiVersion"].contains(&field.json);
            assert!(field.proto != 0 || envelope, "{ty:?}.{}", field.json);
        }
    }
}

#[test]
fn every_reference_is_in_the_table() {
    for ty in TYPES {
        for target in ty.fields.iter().filter_map(|field| inner(&field.ty)) {
            let listed = struct_type(target.openapi).expect(target.openapi);
            assert!(std::ptr::eq(listed, target), "{target:?}");
        }
    }
}

#[test]
fn merge_keys_name_fields_of_the_items() {
    for ty in TYPES {
        for field in ty.fields {
            let item = inner(&field.ty);
            if let ListType::Map(keys) = field.list {
                assert!(!keys.is_empty());
                let item = item.unwrap_or_else(|| panic!("{ty:?}.{}", field.json));
                assert!(
                    keys.iter().all(|key| item.field(key).is_some()),
                    "{ty:?}.{}",
                    field.json
                );
            }
            if let PatchStrategy::Merge(Some(key)) | PatchStrategy::MergeRetainKeys(Some(key)) =
                field.patch
            {
                let item = item.unwrap_or_else(|| panic!("{ty:?}.{}", field.json));
                assert!(item.field(key).is_some(), "{ty:?}.{}", field.json);
            }
            if field.list != ListType::Atomic {
                assert!(
                    field.list_declared && matches!(field.ty, Type::List(_)),
                    "{ty:?}.{}",
                    field.json
                );
            }
        }
    }
}

#[test]
fn defaults_are_json() {
    for field in TYPES.iter().flat_map(|ty| ty.fields) {
        if let Some(default) = field.default {
            serde_json::from_str::<serde_json::Value>(default).expect(field.json);
        }
    }
}

#[test]
fn lists_merge_as_upstream_says() {
    let pod = &core_v1::POD;
    assert_eq!(field(pod, "spec.containers").list, ListType::Map(&["name"]));
    assert_eq!(
        field(pod, "spec.containers").patch,
        PatchStrategy::Merge(Some("name"))
    );
    assert_eq!(
        field(pod, "spec.containers.ports").list,
        ListType::Map(&["containerPort", "protocol"])
    );
    assert_eq!(
        field(pod, "spec.containers.ports").patch,
        PatchStrategy::Merge(Some("containerPort"))
    );
    assert_eq!(field(pod, "spec.tolerations").list, ListType::Atomic);
    assert_eq!(
        field(pod, "spec.volumes").patch,
        PatchStrategy::MergeRetainKeys(Some("name"))
    );
    assert_eq!(
        field(&core_v1::SERVICE, "spec.ports").list,
        ListType::Map(&["port", "protocol"])
    );
    assert_eq!(field(pod, "metadata.finalizers").list, ListType::Set);
    assert_eq!(
        field(pod, "metadata.ownerReferences").list,
        ListType::Map(&["uid"])
    );
    assert!(field(&core_v1::SERVICE, "spec.selector").atomic);
    assert!(meta_v1::LABEL_SELECTOR.atomic);
    assert!(core_v1::OBJECT_REFERENCE.atomic);
    assert!(field(&core_v1::PERSISTENT_VOLUME, "spec.claimRef").granular);
    assert!(!core_v1::POD_SPEC.atomic);
}

#[test]
fn fields_keep_the_order_and_encoding_of_upstream() {
    let names: Vec<&str> = core_v1::POD.fields.iter().map(|field| field.json).collect();
    assert_eq!(names, ["kind", "apiVersion", "metadata", "spec", "status"]);
    assert_eq!(field(&core_v1::POD, "spec.containers").omit, Omit::Never);
    assert_eq!(field(&core_v1::POD, "spec.nodeName").omit, Omit::Empty);
    assert_eq!(
        field(&meta_v1::OBJECT_META, "creationTimestamp").omit,
        Omit::Zero
    );
    assert!(field(&core_v1::POD, "spec.containers").required);
    assert_eq!(
        field(&core_v1::CONTAINER_PORT, "protocol").default,
        Some("\"TCP\"")
    );
}

#[test]
fn embedded_structs_are_flat_in_json_and_nested_in_protobuf() {
    let config_map = field(&core_v1::VOLUME, "configMap");
    assert_eq!((config_map.embedded, config_map.proto), (&[2][..], 19));
    let exec = field(&core_v1::PROBE, "exec");
    assert_eq!((exec.embedded, exec.proto), (&[1][..], 1));
    let rule = kubewright_catalog::generated::admissionregistration_v1::NAMED_RULE_WITH_OPERATIONS
        .field("apiGroups")
        .unwrap();
    assert_eq!((rule.embedded, rule.proto), (&[2, 2][..], 1));
}

#[test]
fn special_types_are_known() {
    let show = |ty, path| format!("{:?}", field(ty, path).ty);
    assert_eq!(show(&core_v1::POD, "status.phase"), "v1.PodPhase");
    assert_eq!(show(&core_v1::POD, "metadata.uid"), "types.UID");
    assert_eq!(
        show(&core_v1::POD, "spec.containers.resources.limits"),
        "map[string]resource.Quantity"
    );
    assert_eq!(
        show(&core_v1::SERVICE_PORT, "targetPort"),
        "intstr.IntOrString"
    );
    assert_eq!(show(&core_v1::SECRET, "data"), "map[string][]uint8");
    assert_eq!(show(&meta_v1::OBJECT_META, "deletionTimestamp"), "*v1.Time");
    assert_eq!(
        show(&meta_v1::OBJECT_META, "managedFields.fieldsV1"),
        "*v1.FieldsV1"
    );
    assert_eq!(show(&core_v1::EVENT, "eventTime"), "v1.MicroTime");
    let extra = kubewright_catalog::generated::authentication_v1::USER_INFO
        .field("extra")
        .unwrap();
    assert_eq!(format!("{:?}", extra.ty), "map[string]v1.ExtraValue");
    assert!(matches!(
        extra.ty,
        Type::Map(Type::StringsMessage("v1.ExtraValue"))
    ));
}

#[test]
fn a_schema_may_hold_schemas() {
    let props =
        struct_type("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
            .unwrap();
    assert!(std::ptr::eq(
        inner(&props.field("not").unwrap().ty).unwrap(),
        props
    ));
    assert!(matches!(
        props.field("items").unwrap().ty,
        Type::Optional(Type::SchemaOrArray(_))
    ));
    assert!(matches!(
        props.field("default").unwrap().ty,
        Type::Optional(Type::Json)
    ));
}
