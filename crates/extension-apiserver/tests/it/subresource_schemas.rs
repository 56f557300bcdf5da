//! Objects of subresources have a kind and a schema of their own.

use async_trait::async_trait;
use http::Method;
use kubewright_apiserver::request::RequestContext;
use kubewright_extension_apiserver::{Access, ExtensionServer, Kind, Subresource};
use kubewright_machinery::{Status, gvk::GroupVersionKind};
use kubewright_resource::Schema;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::sky::{COMETS, Comet, Comets, comet, get, post, put, send};

/// A picture of a comet.
#[derive(Schema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[schema(rule(
    "self.width <= 4 * self.height",
    message = "a picture is at most four times as wide as high"
))]
struct Picture {
    /// The width in pixels.
    #[schema(minimum = 1)]
    width: i32,
    #[schema(minimum = 1)]
    height: i32,
    #[schema(default = "visible", enum = ["visible", "infrared"])]
    light: Option<String>,
    #[schema(immutable)]
    telescope: Option<String>,
}

struct Camera(Mutex<Picture>);

#[async_trait]
impl Subresource<Comet> for Camera {
    type Object = Picture;

    fn kind(&self) -> GroupVersionKind {
        GroupVersionKind::new("camera.example.com", "v2", "Picture")
    }

    fn access(&self) -> Access {
        Access::GetAndUpdate
    }

    async fn get(&self, _: &RequestContext, _: Comet) -> Result<Picture, Status> {
        Ok(self.0.lock().clone())
    }

    async fn update(&self, _: &RequestContext, _: Comet, new: Picture) -> Result<Picture, Status> {
        *self.0.lock() = new.clone();
        Ok(new)
    }
}

/// Takes a picture.
struct Shutter;

#[async_trait]
impl Subresource<Comet> for Shutter {
    type Object = Picture;

    fn kind(&self) -> GroupVersionKind {
        GroupVersionKind::new("camera.example.com", "v2", "Picture")
    }

    fn access(&self) -> Access {
        Access::Create
    }

    async fn create(
        &self,
        _: &RequestContext,
        _: Comet,
        asked: Picture,
    ) -> Result<Picture, Status> {
        Ok(asked)
    }
}

/// A schema with a mistake.
#[derive(Schema, Serialize, Deserialize)]
struct Broken {
    #[schema(extend("maximum" = "many"))]
    count: i32,
}

struct BrokenHandler;

#[async_trait]
impl Subresource<Comet> for BrokenHandler {
    type Object = Broken;

    fn kind(&self) -> GroupVersionKind {
        GroupVersionKind::new("camera.example.com", "v2", "Broken")
    }

    fn access(&self) -> Access {
        Access::Get
    }
}

/// A server with the comet `halley`.
async fn server() -> ExtensionServer {
    let first = Picture {
        width: 2,
        height: 1,
        light: None,
        telescope: Some("hubble".to_owned()),
    };
    let kind = Kind::computed(Comets::default())
        .subresource("camera", Camera(Mutex::new(first)))
        .subresource("pictures", Shutter);
    let server = ExtensionServer::builder().kind(kind).build().unwrap();
    let (code, answer) = post(&server, COMETS, &comet("halley", 76)).await;
    assert_eq!(code, 201, "{answer}");
    server
}

fn path(subresource: &str) -> String {
    format!("{COMETS}/halley/{subresource}")
}

fn picture(fields: Value) -> Value {
    let mut picture = json!({"apiVersion": "camera.example.com/v2", "kind": "Picture"});
    for (name, value) in fields.as_object().unwrap() {
        picture[name] = value.clone();
    }
    picture
}

/// Returns the first field that an error names.
fn cause(status: &Value) -> Option<&str> {
    status["details"]["causes"][0]["field"].as_str()
}

#[tokio::test]
async fn objects_of_a_subresource_are_defaulted_and_validated() {
    let server = server().await;
    let path = path("pictures");
    let (code, answer) = post(&server, &path, &picture(json!({"width": 4, "height": 2}))).await;
    assert_eq!(
        (code, &answer["light"]),
        (201, &json!("visible")),
        "{answer}"
    );
    assert_eq!(answer["apiVersion"], "camera.example.com/v2");

    for (wrong, field) in [
        (json!({"width": 0, "height": 2}), "width"),
        (json!({"width": "wide", "height": 2}), "width"),
        (json!({"width": 4}), "height"),
        (json!({"width": 4, "height": 2, "light": "dark"}), "light"),
    ] {
        let (code, status) = post(&server, &path, &picture(wrong)).await;
        assert_eq!((code, cause(&status)), (422, Some(field)), "{status}");
        assert_eq!(status["details"]["kind"], "Picture", "{status}");
    }
    let (code, status) = post(&server, &path, &picture(json!({"width": 5, "height": 1}))).await;
    let message = status["message"].as_str().unwrap();
    assert_eq!(code, 422, "{status}");
    assert!(
        message.contains("at most four times as wide as high"),
        "{message}"
    );
}

#[tokio::test]
async fn unknown_fields_of_a_subresource_are_found_by_strict_decoding() {
    let server = server().await;
    let typo = picture(json!({"width": 4, "height": 2, "ligth": "infrared"}));
    let strict = format!("{}?fieldValidation=Strict", path("pictures"));
    let (code, status) = post(&server, &strict, &typo).await;
    let message = status["message"].as_str().unwrap();
    assert_eq!(code, 400, "{status}");
    assert!(message.contains(r#"unknown field "ligth""#), "{message}");
    assert_eq!(post(&server, &path("pictures"), &typo).await.0, 201);

    let strict = format!("{}?fieldValidation=Strict", path("camera"));
    let merge = [("content-type", "application/merge-patch+json")];
    let patch = json!({"ligth": "infrared"});
    let (code, status) = send(&server, Method::PATCH, &strict, &merge, &patch).await;
    assert_eq!(code, 422, "{status}");
    assert!(
        status["message"].as_str().unwrap().contains("ligth"),
        "{status}"
    );
}

#[tokio::test]
async fn objects_of_another_kind_or_name_are_rejected() {
    let server = server().await;
    let mut other = picture(json!({"width": 4, "height": 2}));
    other["kind"] = json!("Painting");
    let (code, status) = post(&server, &path("pictures"), &other).await;
    assert!(matches!(code, 400 | 422), "{status}");
    assert!(
        status["message"].as_str().unwrap().contains("Picture"),
        "{status}"
    );

    let mut other = picture(json!({"width": 4, "height": 2}));
    other["apiVersion"] = json!("camera.example.com/v1");
    let (code, status) = post(&server, &path("pictures"), &other).await;
    assert_eq!(code, 400, "{status}");

    let mut other = picture(json!({"width": 4, "height": 2}));
    other["metadata"] = json!({"name": "encke"});
    let (code, status) = post(&server, &path("pictures"), &other).await;
    assert_eq!(code, 400, "{status}");
    let message = "the name of the object (encke) does not match the name on the URL (halley)";
    assert_eq!(status["message"], message);
}

#[tokio::test]
async fn updates_of_a_subresource_are_compared_with_the_old_object() {
    let server = server().await;
    let new = |width: i32, telescope: &str| {
        let mut new = picture(json!({"width": width, "height": 1, "telescope": telescope}));
        new["metadata"] = json!({"name": "halley"});
        new
    };
    let (code, answer) = put(&server, &path("camera"), &new(3, "hubble")).await;
    assert_eq!((code, &answer["width"]), (200, &json!(3)), "{answer}");
    assert_eq!(answer["light"], "visible");
    let (code, status) = put(&server, &path("camera"), &new(3, "webb")).await;
    assert_eq!((code, cause(&status)), (422, Some("telescope")), "{status}");
    let merge = [("content-type", "application/merge-patch+json")];
    let patch = json!({"width": 9});
    let (code, status) = send(&server, Method::PATCH, &path("camera"), &merge, &patch).await;
    assert_eq!(code, 422, "{status}");
    assert_eq!(get(&server, &path("camera")).await.1["width"], 3);
}

#[tokio::test]
async fn schemas_of_subresources_are_in_the_openapi_documents() {
    let server = server().await;
    let name = "com.example.camera.v2.Picture";
    let kind = json!({"group": "camera.example.com", "kind": "Picture", "version": "v2"});
    let template = "/apis/sky.example.com/v1/namespaces/{namespace}/comets/{name}/pictures";

    let (_, document) = get(&server, "/openapi/v3/apis/sky.example.com/v1").await;
    let schema = &document["components"]["schemas"][name];
    assert_eq!(schema["description"], "A picture of a comet.", "{schema}");
    assert_eq!(schema["x-kubernetes-group-version-kind"], json!([kind]));
    let width = &schema["properties"]["width"];
    assert_eq!(
        (&width["minimum"], &width["description"]),
        (&json!(1), &json!("The width in pixels."))
    );
    assert_eq!(schema["properties"]["light"]["default"], "visible");
    let operation = &document["paths"][template]["post"];
    assert_eq!(operation["x-kubernetes-group-version-kind"], kind);
    let body = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
    assert_eq!(
        *body,
        json!(format!("#/components/schemas/{name}")),
        "{operation}"
    );

    let (_, document) = get(&server, "/openapi/v2").await;
    let schema = &document["definitions"][name];
    assert_eq!(
        schema["properties"]["height"]["type"], "integer",
        "{schema}"
    );
    let operation = &document["paths"][template]["post"];
    let response = &operation["responses"]["201"]["schema"]["$ref"];
    assert_eq!(
        *response,
        json!(format!("#/definitions/{name}")),
        "{operation}"
    );

    let (_, list) = get(&server, "/apis/sky.example.com/v1").await;
    let mut listed = list["resources"].as_array().unwrap().iter();
    let found = listed
        .find(|resource| resource["name"] == "comets/pictures")
        .unwrap();
    assert_eq!(found["kind"], "Picture");
    assert_eq!(
        (&found["group"], &found["version"]),
        (&json!("camera.example.com"), &json!("v2"))
    );
}

#[test]
fn an_invalid_schema_of_a_subresource_is_a_build_error() {
    let kind = Kind::computed(Comets::default()).subresource("broken", BrokenHandler);
    let error = ExtensionServer::builder().kind(kind).build().err().unwrap();
    let text = error.to_string();
    assert!(
        text.contains("Broken") && text.contains("maximum"),
        "{text}"
    );
}
