//! Subresources, admission and tables of the author's own.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request, Response};
use kube::ResourceExt;
use kubewright_apiserver::{Body, registry::Connect, request::RequestContext};
use kubewright_extension_apiserver::{
    Access, Admission, Column, ExtensionServer, Kind, Rows, Subresource,
};
use kubewright_machinery::{Status, gvk::GroupVersionKind, status};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::sky::{COMETS, Comet, Comets, comet, delete, get, post, put, send};

#[derive(Serialize, Deserialize)]
struct Sighting {
    year: i32,
    #[serde(default)]
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

struct Lines;

#[async_trait]
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

/// New comets are green, and none may slow down.
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
        .stream("lines", Lines)
        .admission(Green)
        .rows(Periods);
    ExtensionServer::builder().kind(kind).build().unwrap()
}

#[tokio::test]
async fn a_typed_subresource_gets_its_parent() {
    let server = server();
    post(&server, COMETS, &comet("halley", 76)).await;
    let path = format!("{COMETS}/halley/sightings");
    let asked = json!({"apiVersion": "sky.example.com/v1", "kind": "Sighting", "year": 152});
    let (code, answer) = post(&server, &path, &asked).await;
    assert_eq!((code, &answer["visible"]), (201, &json!(true)), "{answer}");
    assert_eq!(answer["kind"], "Sighting");
    let odd = json!({"apiVersion": "sky.example.com/v1", "kind": "Sighting", "year": "late"});
    assert_eq!(post(&server, &path, &odd).await.0, 400);
    assert_eq!(get(&server, &path).await.0, 405);
    let missing = format!("{COMETS}/none/sightings");
    assert_eq!(post(&server, &missing, &asked).await.0, 404);
    let (_, list) = get(&server, "/apis/sky.example.com/v1").await;
    let listed = list["resources"].as_array().unwrap().iter();
    let mut names = listed.map(|resource| resource["name"].as_str().unwrap());
    assert!(names.any(|name| name == "comets/sightings"));
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
async fn rows_are_made_by_the_author() {
    let server = server();
    post(&server, COMETS, &comet("halley", 76)).await;
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let (_, table) = send(&server, Method::GET, COMETS, &table, &Value::Null).await;
    assert_eq!(table["columnDefinitions"][1]["priority"], 1);
    assert_eq!(table["rows"][0]["cells"], json!(["halley", "76 years"]));
}
