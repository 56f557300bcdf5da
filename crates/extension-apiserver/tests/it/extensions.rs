//! Custom subresources, admission and tables.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request, Response};
use kube::ResourceExt;
use kubewright_apiserver::{Body, boxed_async, registry::Connect, request::RequestContext};
use kubewright_extension_apiserver::{
    Access, Admission, Column, ExtensionServer, Kind, Rows, Subresource,
};
use kubewright_machinery::{Status, gvk::GroupVersionKind, status};
use kubewright_resource::Schema;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::sky::{COMETS, Comet, Comets, comet, delete, get, post, put, send};

#[derive(Schema, Serialize, Deserialize)]
struct Sighting {
    year: i32,
    #[serde(default)]
    #[schema(optional)]
    visible: bool,
}

struct Sightings;

#[async_trait]
impl Subresource<Comet> for Sightings {
    type Object = Sighting;

    fn kind(&self) -> GroupVersionKind {
        GroupVersionKind::new("sky.example.com", "v1", "Sighting")
    }

    fn access(&self) -> Access {
        Access::Create
    }

    async fn create(
        &self,
        _: &RequestContext,
        comet: Comet,
        asked: Sighting,
    ) -> Result<Sighting, Status> {
        Ok(Sighting {
            visible: asked.year % comet.spec.years == 0,
            ..asked
        })
    }
}

/// The brightness of a comet, which can be changed.
#[derive(Schema, Serialize, Deserialize)]
struct Brightness {
    magnitude: i32,
}

#[derive(Default)]
struct Photometer(Mutex<i32>);

#[async_trait]
impl Subresource<Comet> for Photometer {
    type Object = Brightness;

    fn kind(&self) -> GroupVersionKind {
        GroupVersionKind::new("sky.example.com", "v1", "Brightness")
    }

    fn access(&self) -> Access {
        Access::GetAndUpdate
    }

    async fn get(&self, _: &RequestContext, _: Comet) -> Result<Brightness, Status> {
        let magnitude = *self.0.lock();
        Ok(Brightness { magnitude })
    }

    async fn update(
        &self,
        _: &RequestContext,
        comet: Comet,
        object: Brightness,
    ) -> Result<Brightness, Status> {
        if object.magnitude > comet.spec.years {
            return Err(status::bad_request("too bright"));
        }
        *self.0.lock() = object.magnitude;
        Ok(object)
    }
}

struct Lines;

#[boxed_async]
impl Connect for Lines {
    async fn connect(
        &self,
        _: &RequestContext,
        name: &str,
        _: Request<Body>,
    ) -> Result<Response<Body>, Status> {
        let line = Bytes::from(format!("{name}\n"));
        Ok(Response::new(Body::stream(stream::iter([Ok(line)]))))
    }
}

/// Makes new comets green, and prevents that they slow down.
struct Green;

#[async_trait]
impl Admission<Comet> for Green {
    async fn mutate(&self, cx: &RequestContext, comet: &mut Comet) -> Result<(), Status> {
        comet.spec.colour = Some("green".to_owned());
        comet
            .labels_mut()
            .insert("by".to_owned(), cx.user.name.replace(':', "-"));
        Ok(())
    }

    async fn validate(
        &self,
        _: &RequestContext,
        new: &Comet,
        old: Option<&Comet>,
    ) -> Result<(), Status> {
        match old {
            Some(old) if new.spec.years > old.spec.years => Err(status::bad_request("too slow")),
            _ => Ok(()),
        }
    }

    async fn validate_delete(&self, _: &RequestContext, comet: &Comet) -> Result<(), Status> {
        match comet.spec.years {
            76 => Err(status::bad_request("halley comes back")),
            _ => Ok(()),
        }
    }
}

struct Periods;

impl Rows<Comet> for Periods {
    fn columns(&self) -> Vec<Column> {
        vec![Column::name(), Column::new("Period", "string").wide()]
    }

    fn cells(&self, comet: &Comet) -> Vec<Value> {
        vec![
            json!(comet.name_any()),
            json!(format!("{} years", comet.spec.years)),
        ]
    }
}

fn server() -> ExtensionServer {
    let kind = Kind::computed(Comets::default())
        .subresource("sightings", Sightings)
        .subresource("brightness", Photometer::default())
        .stream("lines", Lines)
        .admission(Green)
        .rows(Periods);
    ExtensionServer::builder().kind(kind).build().unwrap()
}

#[tokio::test]
async fn typed_subresources_receive_their_parent() {
    let server = server();
    post(&server, COMETS, &comet("halley", 76)).await;
    let path = format!("{COMETS}/halley/sightings");
    let asked = json!({"apiVersion": "sky.example.com/v1", "kind": "Sighting", "year": 152});
    let (code, answer) = post(&server, &path, &asked).await;
    assert_eq!((code, &answer["visible"]), (201, &json!(true)), "{answer}");
    assert_eq!(answer["kind"], "Sighting");
    let odd = json!({"apiVersion": "sky.example.com/v1", "kind": "Sighting", "year": "late"});
    assert_eq!(post(&server, &path, &odd).await.0, 422);
    assert_eq!(get(&server, &path).await.0, 405);
    let missing = format!("{COMETS}/none/sightings");
    assert_eq!(post(&server, &missing, &asked).await.0, 404);
    let (_, list) = get(&server, "/apis/sky.example.com/v1").await;
    let listed = list["resources"].as_array().unwrap().iter();
    let mut names = listed.map(|resource| resource["name"].as_str().unwrap());
    assert!(names.any(|name| name == "comets/sightings"));
}

#[tokio::test]
async fn subresources_can_be_updated_and_patched() {
    let server = server();
    post(&server, COMETS, &comet("halley", 76)).await;
    let path = format!("{COMETS}/halley/brightness");
    let put_one = |magnitude: i32| {
        json!({
            "apiVersion": "sky.example.com/v1", "kind": "Brightness",
            "metadata": {"name": "halley"}, "magnitude": magnitude,
        })
    };
    let (code, answer) = put(&server, &path, &put_one(5)).await;
    assert_eq!((code, &answer["magnitude"]), (200, &json!(5)), "{answer}");
    let merge = [("content-type", "application/merge-patch+json")];
    let patch = json!({"magnitude": 7});
    let (code, answer) = send(&server, Method::PATCH, &path, &merge, &patch).await;
    assert_eq!((code, &answer["magnitude"]), (200, &json!(7)), "{answer}");
    assert_eq!(answer["kind"], "Brightness");
    let (code, error) = put(&server, &path, &put_one(77)).await;
    assert_eq!((code, &error["message"]), (400, &json!("too bright")));
    let patch = json!({"magnitude": "none"});
    let (code, _) = send(&server, Method::PATCH, &path, &merge, &patch).await;
    assert_eq!(code, 422);
    let (_, answer) = get(&server, &path).await;
    assert_eq!(answer["magnitude"], 7);
    let (code, _) = put(&server, &format!("{path}?dryRun=All"), &put_one(1)).await;
    assert_eq!(code, 400);
    let (_, list) = get(&server, "/apis/sky.example.com/v1").await;
    let mut listed = list["resources"].as_array().unwrap().iter();
    let found = listed.find(|resource| resource["name"] == "comets/brightness");
    assert_eq!(found.unwrap()["verbs"], json!(["get", "patch", "update"]));
}

#[tokio::test]
async fn a_stream_is_sent() {
    let server = server();
    let request = Request::get(format!("{COMETS}/halley/lines"));
    let response = server.handle(request.body(Body::empty()).unwrap()).await;
    let body = response.into_body().collect_up_to(100).await.unwrap();
    assert_eq!(body.unwrap(), "halley\n");
}

#[tokio::test]
async fn admission_sees_typed_objects() {
    let server = server();
    let (_, mut halley) = post(&server, COMETS, &comet("halley", 76)).await;
    assert_eq!(halley["spec"]["colour"], "green");
    assert_eq!(halley["metadata"]["labels"]["by"], "system-anonymous");
    halley["spec"]["years"] = json!(77);
    let path = format!("{COMETS}/halley");
    let (code, error) = put(&server, &path, &halley).await;
    assert_eq!((code, &error["message"]), (400, &json!("too slow")));
    let (code, error) = delete(&server, &path).await;
    assert_eq!(
        (code, &error["message"]),
        (400, &json!("halley comes back"))
    );
}

#[tokio::test]
async fn tables_can_be_customized() {
    let server = server();
    post(&server, COMETS, &comet("halley", 76)).await;
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let (_, table) = send(&server, Method::GET, COMETS, &table, &Value::Null).await;
    assert_eq!(table["columnDefinitions"][1]["priority"], 1);
    assert_eq!(table["rows"][0]["cells"], json!(["halley", "76 years"]));
}
