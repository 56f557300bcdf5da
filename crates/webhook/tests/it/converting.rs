//! Conversion reviews.

use kubewright_webhook::{Converter, Webhooks};
use serde_json::{Value, json};

use crate::captain::post;

pub(crate) mod v1 {
    #[derive(
        kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize,
    )]
    #[kube(group = "example.com", version = "v1", kind = "Ship")]
    pub(crate) struct ShipSpec {
        pub(crate) name: String,
    }
}

pub(crate) mod v2 {
    #[derive(
        kube::CustomResource, kubewright::Schema, Clone, Debug, serde::Serialize, serde::Deserialize,
    )]
    #[kube(group = "example.com", version = "v2", kind = "Ship", storage = false)]
    pub(crate) struct ShipSpec {
        pub(crate) title: String,
    }
}

impl From<v1::Ship> for v2::Ship {
    fn from(old: v1::Ship) -> Self {
        assert_ne!(old.spec.name, "Titanic", "it sinks");
        v2::Ship {
            metadata: old.metadata,
            spec: v2::ShipSpec {
                title: old.spec.name,
            },
        }
    }
}

impl TryFrom<v2::Ship> for v1::Ship {
    type Error = &'static str;

    fn try_from(new: v2::Ship) -> Result<Self, Self::Error> {
        match new.spec.title.len() {
            ..10 => Ok(v1::Ship {
                metadata: new.metadata,
                spec: v1::ShipSpec {
                    name: new.spec.title,
                },
            }),
            _ => Err("the name is too long for v1"),
        }
    }
}

fn ship(version: &str, field: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Ship",
        "metadata": {"name": "a", "uid": "1"}, "spec": {field: name},
    })
}

async fn convert(objects: Value, to: &str) -> Value {
    let converter = Converter::new().between::<v1::Ship, v2::Ship>();
    let webhooks = Webhooks::builder().converter(converter).build().unwrap();
    let review = json!({
        "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
        "request": {"uid": "7", "desiredAPIVersion": to, "objects": objects},
    });
    let (code, answer) = post(
        &webhooks,
        "/convert",
        review.to_string(),
        "application/json",
    )
    .await;
    assert_eq!(code, 200);
    let mut answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["kind"], "ConversionReview");
    assert_eq!(answer["apiVersion"], "apiextensions.k8s.io/v1");
    assert_eq!(answer["response"]["uid"], "7");
    answer["response"].take()
}

#[tokio::test]
async fn all_objects_of_a_review_are_converted() {
    let ships: Vec<Value> = (0..200).map(|_| ship("v1", "name", "Pequod")).collect();
    let response = convert(json!(ships), "example.com/v2").await;
    let expected: Vec<Value> = (0..200).map(|_| ship("v2", "title", "Pequod")).collect();
    assert_eq!(response["convertedObjects"], json!(expected));
    assert_eq!(
        response["result"],
        json!({"metadata": {}, "status": "Success"})
    );
}

#[tokio::test]
async fn a_failed_conversion_fails_the_review() {
    let long = ship("v2", "title", "Rime of the Ancient Mariner");
    let response = convert(json!([long]), "example.com/v1").await;
    assert_eq!(response["convertedObjects"], json!([]));
    assert_eq!(
        response["result"],
        json!({
            "metadata": {}, "status": "Failure",
            "message": "converting from v2 to v1: the name is too long for v1",
        })
    );
    let response = convert(json!([ship("v1", "name", "Titanic")]), "example.com/v2").await;
    assert_eq!(
        response["result"]["message"],
        "internal error occurred during conversion"
    );
}

#[tokio::test]
async fn other_bodies_are_bad_requests() {
    let converter = Converter::new().between::<v1::Ship, v2::Ship>();
    let webhooks = Webhooks::builder().converter(converter).build().unwrap();
    for body in ["", "hello", "{}"] {
        let (code, answer) = post(&webhooks, "/convert", body, "application/json").await;
        assert_eq!((code, answer.len()), (400, 0), "{body}");
    }
}
