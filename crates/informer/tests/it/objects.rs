//! Stored objects.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kubewright_informer::{Compression, Ingest, ObjectKind};
use kubewright_informer::{StoredObject, Transform};
use proptest::prelude::*;
use serde_json::{Value, json};

fn pods(compression: Compression) -> Ingest {
    Ingest::new(ObjectKind::new(ApiResource::erase::<Pod>(&()), compression))
}

fn pod() -> Value {
    json!({
        "metadata": {
            "name": "p", "namespace": "ns", "uid": "u-1", "resourceVersion": "12", "generation": 3,
            "labels": {"app": "web", "x\"y": "ü"},
            "annotations": {"note": "line\nbreak"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u-0", "controller": true}],
            "finalizers": ["a/b"], "deletionTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}],
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
    })
}

fn check(object: &Arc<StoredObject>) {
    assert_eq!(object.key().as_str(), "ns/p");
    assert_eq!((object.uid(), object.resource_version()), ("u-1", "12"));
    assert_eq!(object.generation(), Some(3));
    assert_eq!(object.label("app").as_deref(), Some("web"));
    assert_eq!(object.label("none"), None);
    let mut labels = object.labels();
    labels.sort();
    assert_eq!(
        labels,
        [("app".into(), "web".into()), ("x\"y".into(), "ü".into())]
    );
    assert_eq!(object.annotation("note").as_deref(), Some("line\nbreak"));
    assert_eq!(object.controller().unwrap().name, "rs");
    assert_eq!(object.finalizers(), ["a/b"]);
    assert_eq!(object.deletion_timestamp(), Some("2026-01-01T00:00:00Z"));
}

#[test]
fn metadata_is_read_from_the_bytes() {
    for compression in [Compression::None, Compression::Lz4] {
        let ingest = pods(compression);
        for _ in 0..3 {
            let object = ingest.object(pod().to_string().as_bytes()).unwrap();
            check(&object);
            let mut expected = pod();
            expected["metadata"]
                .as_object_mut()
                .unwrap()
                .remove("managedFields");
            // Items of a list do not say what they are; what is kept does.
            expected["apiVersion"] = json!("v1");
            expected["kind"] = json!("Pod");
            let kept: Value = serde_json::from_slice(&object.json()).unwrap();
            assert_eq!(kept, expected);
            let pod = object.decode::<Pod>().unwrap();
            assert_eq!(pod.spec.as_ref().unwrap().node_name.as_deref(), Some("n1"));
        }
    }
}

#[test]
fn managed_fields_are_cut_out_wherever_they_stand() {
    let fields = [
        "\"managedFields\":[{\"a\":[1,2]}]",
        "\"name\":\"p\"",
        "\"resourceVersion\":\"12\"",
        "\"uid\":\"u\"",
    ];
    for first in 0..4 {
        for space in ["", " ", "\n  "] {
            let mut order: Vec<_> = fields.to_vec();
            order.rotate_left(first);
            let metadata = order.join(&format!("{space},{space}"));
            let json = format!("{{\"metadata\":{{{space}{metadata}{space}}},\"spec\":{{}}}}");
            let object = pods(Compression::None).object(json.as_bytes()).unwrap();
            let kept: Value = serde_json::from_slice(&object.json()).expect(&json);
            assert_eq!(
                kept,
                json!({
                    "apiVersion": "v1", "kind": "Pod",
                    "metadata": {"name": "p", "resourceVersion": "12", "uid": "u"}, "spec": {},
                })
            );
            assert_eq!(
                (object.name(), object.uid(), object.resource_version()),
                ("p", "u", "12")
            );
            let all = pods(Compression::None)
                .keep_managed_fields(true)
                .object(json.as_bytes())
                .unwrap();
            let typed = format!("{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",{}", &json[1..]);
            assert_eq!(*all.json(), *typed.as_bytes());
            assert_eq!(all.uid(), "u");
        }
    }
}

#[test]
fn a_decoded_value_is_shared_while_in_use() {
    let object = pods(Compression::None)
        .object(pod().to_string().as_bytes())
        .unwrap();
    let one = object.decode::<Pod>().unwrap();
    let two = object.decode::<Pod>().unwrap();
    assert!(Arc::ptr_eq(&one, &two));
    drop((one, two));
    assert!(object.decode::<Pod>().is_ok());
}

#[test]
fn the_type_is_known_though_items_of_a_list_do_not_say_it() {
    let object = pods(Compression::None)
        .object(pod().to_string().as_bytes())
        .unwrap();
    let dynamic = object.decode::<DynamicObject>().unwrap();
    assert_eq!(dynamic.types.as_ref().unwrap().kind, "Pod");
    let metadata = object.decode::<PartialObjectMeta<Pod>>().unwrap();
    assert_eq!(metadata.types.as_ref().unwrap().api_version, "v1");
    let mut with_type = pod();
    with_type["kind"] = "Pod".into();
    with_type["apiVersion"] = "v1".into();
    let object = pods(Compression::None)
        .object(with_type.to_string().as_bytes())
        .unwrap();
    assert!(object.decode::<DynamicObject>().is_ok());
}

#[test]
fn objects_that_cannot_be_decoded_are_reported_and_counted() {
    let mut wrong = pod();
    wrong["spec"] = json!({"containers": "many"});
    let object = pods(Compression::None)
        .object(wrong.to_string().as_bytes())
        .unwrap();
    let failure = object.decode::<Pod>().unwrap_err();
    assert_eq!(failure.key.as_str(), "ns/p");
    assert_eq!(object.kind().decode_failures(), 1);
    assert_eq!(object.kind().last_decode_failure(), Some(failure));
}

#[test]
fn values_that_are_not_objects_are_rejected() {
    let ingest = pods(Compression::None);
    for json in [
        "",
        "7",
        "{}",
        "{\"metadata\":{}}",
        "{\"metadata\":null}",
        "{\"metadata\":{\"name\":\"\"}}",
        "{\"metadata\":{\"name\":\"p\"",
        "{\"kind\":\"Table\",\"metadata\":{\"name\":\"p\"}}",
    ] {
        assert!(ingest.object(json.as_bytes()).is_err(), "{json}");
    }
}

#[test]
fn a_transform_changes_what_is_kept() {
    let drop = Transform::drop_fields(["spec.containers", "metadata.annotations"]);
    let typed = Transform::typed(|pod: &mut Pod| pod.status = None);
    let ingest = pods(Compression::None).transform(Some(drop.then(typed)));
    let mut full = pod();
    full["status"] = json!({"phase": "Running"});
    let pod = ingest
        .object(full.to_string().as_bytes())
        .unwrap()
        .decode::<Pod>()
        .unwrap();
    assert_eq!((&pod.status, &pod.metadata.annotations), (&None, &None));
    assert!(pod.spec.as_ref().unwrap().containers.is_empty());
    full["spec"] = 7.into();
    assert!(ingest.object(full.to_string().as_bytes()).is_err());
    full["spec"] = json!({"nodeName": "n1"});
    let ingest = pods(Compression::None)
        .transform(Some(Transform::drop_fields(["status", "spec.nodeName"])));
    let object = ingest.object(full.to_string().as_bytes()).unwrap();
    let kept: Value = serde_json::from_slice(&object.json()).unwrap();
    assert_eq!(kept.get("status"), None);
    assert_eq!(kept["spec"].get("nodeName"), None);
    assert_eq!(object.uid(), "u-1");
}

proptest! {
    #[test]
    fn no_bytes_trip_ingest(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0usize..700, byte: u8) {
        let ingest = pods(Compression::Lz4);
        let _ = ingest.object(&bytes);
        let mut text = pod().to_string().into_bytes();
        let at = at % text.len();
        text[at] = byte;
        if let Ok(object) = ingest.object(&text) {
            let _ = (object.labels(), object.owners(), object.finalizers(), object.annotations());
            let _ = object.decode::<Pod>();
        }
        let _ = ingest.object(&text[..at]);
    }
}

// An object that says what it is behind its metadata does not get its kind twice.
#[test]
fn a_type_is_found_wherever_it_stands() {
    for json in [
        r#"{"metadata":{"name":"p"},"spec":{"kind":"x"},"kind":"Pod","apiVersion":"v1"}"#,
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}}"#,
        r#"{"metadata":{"name":"p"},"spec":{"kind":"x"}}"#,
        r#"{"metadata":{"name":"p"}}"#,
    ] {
        for compression in [Compression::None, Compression::Lz4] {
            let object = pods(compression).object(json.as_bytes()).unwrap();
            let text = String::from_utf8(object.json().into_owned()).unwrap();
            assert_eq!(text.matches("\"kind\":\"Pod\"").count(), 1, "{text}");
            assert_eq!(object.name(), "p");
            let value = object.decode::<kube::core::DynamicObject>().unwrap();
            assert_eq!(value.types.as_ref().unwrap().kind, "Pod");
        }
    }
}
