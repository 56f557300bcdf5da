//! Every form in every encoding, streamed, equals the same list encoded as a whole.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use futures_util::stream;
use http::Method;
use http_body_util::BodyExt;
use kubewright_catalog::generated::core_v1::CONFIG_MAP;
use kubewright_machinery::gvk::GroupVersionKind;
use kubewright_schema::yaml::to_yaml;
use serde_json::{Value, json};

use super::*;
use crate::{
    admission::AdmissionChain,
    auth::AlwaysAllow,
    object::Object,
    registry::{Handlers, PageStream, Pages, ResourceSpec, Shape},
    request::{Annotations, Query, RequestInfo, UserInfo, Warnings},
    respond::{negotiate::Transform, pretty},
};

/// The number of objects of a page.
const PAGE: usize = 100;

/// The most that a chunk may exceed its size by: one item.
const ITEM: usize = 8 * 1024;

fn resource() -> Resource {
    let kind = GroupVersionKind::new("", "v1", "ConfigMap");
    let spec = ResourceSpec {
        shape: Shape::Typed(&CONFIG_MAP),
        bare_items: true,
        ..ResourceSpec::new(kind, "configmaps").namespaced()
    };
    Resource::computed(spec, Handlers::default())
}

fn object(i: usize) -> Object {
    let text = format!("{i}: \"<a> & b\"\n{}", "x".repeat(i * 37 % 1500));
    let value = json!({
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {
            "name": format!("map-{i}"),
            "namespace": "default",
            "uid": format!("uid-{i}"),
            "resourceVersion": (i + 7).to_string(),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "web", "n": i.to_string()},
            "managedFields": [{
                "manager": "me", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {".": {}, "f:text": {}}},
            }],
        },
        "data": {"text": text, "empty": ""},
    });
    let fields: Vec<String> = ["metadata", "data"]
        .iter()
        .map(|key| {
            format!(
                "\"{key}\":{}",
                String::from_utf8_lossy(&kubewright_schema::encode(&value[key]))
            )
        })
        .collect();
    let bytes = format!(
        "{{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",{}}}",
        fields.join(",")
    );
    Object {
        bytes: bytes.into(),
        ..Object::from_value(&value)
    }
}

/// Pages that count how many were read.
struct Counted {
    objects: usize,
    read: Arc<AtomicUsize>,
}

impl Pages for Counted {
    fn read(&self) -> PageStream {
        let (objects, read) = (self.objects, self.read.clone());
        let starts = (0..objects).step_by(PAGE);
        Box::pin(stream::iter(starts.map(move |start| {
            read.fetch_add(1, Ordering::SeqCst);
            Ok((start..objects.min(start + PAGE)).map(object).collect())
        })))
    }
}

fn list(items: Items) -> ObjectList {
    ObjectList {
        resource_version: "4711".into(),
        continue_token: "next".into(),
        remaining: Some(3),
        items,
    }
}

async fn body(accepted: &Accepted, items: Items) -> Body {
    let resource = resource();
    let query = Query::default();
    let cx = RequestContext {
        info: Arc::new(RequestInfo::new(&Method::GET, "/api/v1/configmaps", &query)),
        query: Arc::new(query),
        user: Arc::new(UserInfo::default()),
        user_agent: "".into(),
        warnings: Warnings::default(),
        resource: Arc::new(resource.clone()),
        admission: AdmissionChain::default(),
        authorizer: Arc::new(AlwaysAllow),
        annotations: Annotations::default(),
        deadline: None,
    };
    let response = list_response(&cx, accepted, &resource, list(items)).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], accepted.media.name());
    response.into_body()
}

async fn bytes(accepted: &Accepted, items: Items) -> Bytes {
    let body = body(accepted, items).await;
    body.collect().await.expect("a whole body").to_bytes()
}

const TRANSFORMS: [Transform; 3] = [
    Transform::None,
    Transform::PartialList("v1"),
    Transform::Table("v1"),
];

fn accepted(media: Media, transform: Transform) -> Accepted {
    Accepted {
        media,
        transform,
        pretty: false,
    }
}

/// The combinations that are served, with the indented one.
fn all() -> Vec<Accepted> {
    let mut all = Vec::new();
    for transform in TRANSFORMS {
        for media in [Media::Json, Media::Yaml, Media::Protobuf] {
            if (media, transform) != (Media::Protobuf, Transform::Table("v1")) {
                all.push(accepted(media, transform));
            }
        }
        all.push(Accepted {
            pretty: true,
            ..accepted(Media::Json, transform)
        });
    }
    all
}

fn text(bytes: &Bytes) -> &str {
    std::str::from_utf8(bytes).expect("text")
}

#[tokio::test]
async fn streams_equal_whole_lists() {
    for number in [0, 1, 3, 2 * PAGE, 5 * PAGE + 1] {
        for accepted in all() {
            let compact = Accepted {
                media: Media::Json,
                pretty: false,
                ..accepted
            };
            let objects: Vec<Object> = (0..number).map(object).collect();
            let json = bytes(&compact, Items::All(objects.clone())).await;
            let value: Value = serde_json::from_slice(&json).expect("JSON");
            let expected: Bytes = match accepted.media {
                // Its fields are in another order, see below.
                Media::Json if accepted.pretty => continue,
                Media::Json => json.clone(),
                Media::Yaml => to_yaml(&value).expect("YAML").into(),
                Media::Protobuf => kubewright_protobuf::encode(&value)
                    .expect("protobuf")
                    .into(),
            };
            let pages = Counted {
                objects: number,
                read: Arc::default(),
            };
            for items in [Items::All(objects), Items::Pages(Box::new(pages))] {
                let got = bytes(&accepted, items).await;
                assert_eq!(got.len(), expected.len(), "{number} {accepted:?}");
                assert!(got == expected, "{number} {accepted:?}");
            }
        }
    }
}

#[tokio::test]
async fn indented_lists_have_the_same_content() {
    for number in [0, 1, 5 * PAGE + 1] {
        for transform in TRANSFORMS {
            let objects: Vec<Object> = (0..number).map(object).collect();
            let compact = accepted(Media::Json, transform);
            let json = bytes(&compact, Items::All(objects)).await;
            let pages = Counted {
                objects: number,
                read: Arc::default(),
            };
            let indented = Accepted {
                pretty: true,
                ..compact
            };
            let got = bytes(&indented, Items::Pages(Box::new(pages))).await;
            let value = |bytes: &Bytes| -> Value { serde_json::from_slice(bytes).expect("JSON") };
            assert_eq!(value(&got), value(&json));
            let mut again = Vec::new();
            pretty::indent(&mut again, &got, 0);
            assert!(got == again, "{number} {transform:?}");
        }
    }
}

#[tokio::test]
async fn the_fields_of_a_list_come_in_the_order_of_their_types() {
    let start = |transform| async move {
        let json = bytes(
            &accepted(Media::Json, transform),
            Items::All(vec![object(1)]),
        )
        .await;
        text(&json)[..200].to_owned()
    };
    let metadata =
        r#""metadata":{"resourceVersion":"4711","continue":"next","remainingItemCount":3}"#;
    let list = start(Transform::None).await;
    let wanted = r#"{"kind":"ConfigMapList","apiVersion":"v1","#;
    assert!(
        list.starts_with(&format!("{wanted}{metadata},\"items\":[{{\"metadata\":{{")),
        "{list}"
    );
    let table = start(Transform::Table("v1")).await;
    let wanted = r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","#;
    assert!(
        table.starts_with(&format!("{wanted}{metadata},\"columnDefinitions\":[")),
        "{table}"
    );
    let partial = start(Transform::PartialList("v1")).await;
    let wanted = r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","#;
    assert!(
        partial.starts_with(&format!(
            "{wanted}{metadata},\"items\":[{{\"kind\":\"PartialObjectMetadata\""
        )),
        "{partial}"
    );
}

#[tokio::test]
async fn a_long_list_is_never_in_memory() {
    const OBJECTS: usize = 40 * PAGE;
    for accepted in all() {
        let read = Arc::new(AtomicUsize::new(0));
        let pages = Counted {
            objects: OBJECTS,
            read: read.clone(),
        };
        let mut body = body(&accepted, Items::Pages(Box::new(pages))).await;
        // The lengths of all items come first in protobuf; that takes a walk over all pages.
        let walked = if accepted.media == Media::Protobuf {
            OBJECTS / PAGE
        } else {
            0
        };
        let mut chunks = 0;
        let mut sent = 0;
        while let Some(frame) = body.frame().await {
            let chunk = frame.expect("a frame").into_data().expect("data");
            let most = 64 * 1024 + ITEM;
            assert!(chunk.len() <= most, "{} {accepted:?}", chunk.len());
            sent += chunk.len();
            chunks += 1;
            if chunks == 1 {
                let pages = read.load(Ordering::SeqCst) - walked;
                assert!(
                    pages <= 5,
                    "{pages} pages before the first byte: {accepted:?}"
                );
            }
        }
        assert!(chunks > 5, "{chunks} {accepted:?}");
        assert!(sent > 5 * 64 * 1024);
    }
}
