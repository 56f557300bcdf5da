//! Kinds with custom storage behave like custom resources.

use std::sync::Arc;

use async_trait::async_trait;
use http::Method;
use kube::ResourceExt;
use kubewright_extension_apiserver::{ExtensionServer, ListQuery, Listing, Storage, Verbs};
use kubewright_machinery::Status;
use serde_json::json;

use crate::sky::{COMETS, Comet, CometSpec, Comets, apply, comet, delete, get, post, put, send};

fn server() -> ExtensionServer {
    let builder = ExtensionServer::builder().serve::<Comet>(Comets::default());
    builder.build().unwrap()
}

#[tokio::test]
async fn objects_are_defaulted_and_validated_by_their_type() {
    let server = server();
    let (code, halley) = post(&server, COMETS, &comet("halley", 76)).await;
    assert_eq!((code, &halley["spec"]["colour"]), (201, &json!("white")));
    assert_eq!(halley["metadata"]["generation"], 1);
    assert_eq!(halley["metadata"]["namespace"], "sky");
    assert!(halley["metadata"]["uid"].is_string());

    let (code, error) = post(&server, COMETS, &comet("none", 0)).await;
    assert_eq!((code, &error["reason"]), (422, &json!("Invalid")));
    assert_eq!(
        error["message"],
        "Comet.sky.example.com \"none\" is invalid: spec.years: Invalid value: 0: spec.years in body should be greater than or equal to 1"
    );
    let mut two_tails = comet("old", 2000);
    two_tails["spec"]["tails"] = json!(2);
    let (code, error) = post(&server, COMETS, &two_tails).await;
    assert_eq!(code, 422);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("old comets have one tail"), "{message}");
    let (code, error) = post(&server, COMETS, &comet("halley", 76)).await;
    assert_eq!((code, &error["reason"]), (409, &json!("AlreadyExists")));
}

#[tokio::test]
async fn strict_decoding_rejects_unknown_fields() {
    let server = server();
    let mut odd = comet("odd", 3);
    odd["spec"]["wings"] = json!(2);
    let path = format!("{COMETS}?fieldValidation=Strict");
    let (code, error) = post(&server, &path, &odd).await;
    assert_eq!(code, 400);
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("unknown field \"spec.wings\""),
        "{message}"
    );
    let (code, created) = post(&server, COMETS, &odd).await;
    assert_eq!((code, created["spec"].get("wings")), (201, None));
}

#[tokio::test]
async fn stale_updates_conflict() {
    let server = server();
    let (_, halley) = post(&server, COMETS, &comet("halley", 76)).await;
    let path = format!("{COMETS}/halley");
    let mut changed = halley.clone();
    changed["spec"]["years"] = json!(75);
    let (code, updated) = put(&server, &path, &changed).await;
    assert_eq!((code, &updated["metadata"]["generation"]), (200, &json!(2)));
    assert_ne!(
        updated["metadata"]["resourceVersion"],
        halley["metadata"]["resourceVersion"]
    );
    let (code, error) = put(&server, &path, &changed).await;
    assert_eq!((code, &error["reason"]), (409, &json!("Conflict")));
    // An update without changes is not written.
    let (_, same) = put(&server, &path, &updated).await;
    assert_eq!(
        same["metadata"]["resourceVersion"],
        updated["metadata"]["resourceVersion"]
    );
}

#[tokio::test]
async fn server_side_apply_tracks_owners() {
    let server = server();
    let path = format!("{COMETS}/encke");
    let (code, created) = apply(&server, &path, &comet("encke", 3)).await;
    assert_eq!(code, 201);
    assert_eq!(created["metadata"]["managedFields"][0]["manager"], "tests");
    let (code, again) = apply(&server, &path, &comet("encke", 3)).await;
    assert_eq!(code, 200);
    assert_eq!(
        again["metadata"]["resourceVersion"],
        created["metadata"]["resourceVersion"]
    );
    let other = [("content-type", "application/apply-patch+yaml")];
    let by_other = format!("{path}?fieldManager=other");
    let (code, _) = send(
        &server,
        Method::PATCH,
        &by_other,
        &other,
        &comet("encke", 4),
    )
    .await;
    assert_eq!(code, 409);
}

#[tokio::test]
async fn lists_have_selectors_and_pages() {
    let server = server();
    for (name, colour) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        let mut comet = comet(name, 3);
        comet["spec"]["colour"] = json!(colour);
        comet["metadata"]["labels"] = json!({"first": (name == "a").to_string()});
        post(&server, COMETS, &comet).await;
    }
    post(&server, &COMETS.replace("/sky/", "/other/"), &comet("d", 3)).await;
    let names = |list: &serde_json::Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    for (query, expected) in [
        ("", vec!["a", "b", "c"]),
        ("?fieldSelector=spec.colour=red", vec!["a", "c"]),
        ("?labelSelector=first=true", vec!["a"]),
        ("?fieldSelector=metadata.name=b", vec!["b"]),
    ] {
        let (code, list) = get(&server, &format!("{COMETS}{query}")).await;
        assert_eq!(
            (code, names(&list)),
            (200, expected.iter().map(ToString::to_string).collect())
        );
    }
    let (code, _) = get(&server, &format!("{COMETS}?fieldSelector=spec.years=3")).await;
    assert_eq!(code, 400);
    let (_, everywhere) = get(&server, "/apis/sky.example.com/v1/comets").await;
    assert_eq!(names(&everywhere), ["d", "a", "b", "c"]);
    let (_, page) = get(&server, &format!("{COMETS}?limit=2")).await;
    assert_eq!(names(&page), ["a", "b"]);
    let next = page["metadata"]["continue"].as_str().unwrap();
    let (_, page) = get(&server, &format!("{COMETS}?limit=2&continue={next}")).await;
    assert_eq!(names(&page), ["c"]);
    assert_eq!(page["metadata"]["continue"], "");
}

#[tokio::test]
async fn finalizers_delay_deletion() {
    let server = server();
    let mut held = comet("held", 3);
    held["metadata"]["finalizers"] = json!(["sky.example.com/orbit"]);
    post(&server, COMETS, &held).await;
    let path = format!("{COMETS}/held");
    let (code, _) = delete(&server, &path).await;
    assert_eq!(code, 200);
    let (code, mut marked) = get(&server, &path).await;
    assert_eq!(code, 200);
    assert!(marked["metadata"]["deletionTimestamp"].is_string());
    marked["metadata"]["finalizers"] = json!([]);
    let (code, _) = put(&server, &path, &marked).await;
    assert_eq!(code, 200);
    assert_eq!(get(&server, &path).await.0, 404);
    for name in ["x", "y"] {
        post(&server, COMETS, &comet(name, 3)).await;
    }
    assert_eq!(delete(&server, COMETS).await.0, 200);
    assert_eq!(get(&server, COMETS).await.1["items"], json!([]));
}

#[tokio::test]
async fn status_and_scale_are_subresources() {
    let server = server();
    let (_, mut halley) = post(&server, COMETS, &comet("halley", 76)).await;
    halley["status"] = json!({"tails": 1});
    halley["spec"]["years"] = json!(1);
    let status = format!("{COMETS}/halley/status");
    let (code, written) = put(&server, &status, &halley).await;
    assert_eq!((code, &written["status"]["tails"]), (200, &json!(1)));
    assert_eq!(written["spec"]["years"], 76);
    let scale = format!("{COMETS}/halley/scale");
    let (code, mut shown) = get(&server, &scale).await;
    assert_eq!((code, &shown["spec"]["replicas"]), (200, &json!(1)));
    shown["spec"]["replicas"] = json!(3);
    assert_eq!(put(&server, &scale, &shown).await.0, 200);
    let (_, scaled) = get(&server, &format!("{COMETS}/halley")).await;
    assert_eq!(scaled["spec"]["tails"], 3);
}

#[tokio::test]
async fn discovery_and_openapi_are_derived_from_the_type() {
    let server = server();
    let (_, list) = get(&server, "/apis/sky.example.com/v1").await;
    let comets = &list["resources"][0];
    assert_eq!(comets["shortNames"], json!(["co"]));
    assert_eq!(comets["categories"], json!(["sky"]));
    let (_, document) = get(&server, "/openapi/v3/apis/sky.example.com/v1").await;
    let comet = &document["components"]["schemas"]["com.example.sky.v1.Comet"];
    let years = &comet["properties"]["spec"]["properties"]["years"];
    assert_eq!(years["description"], "The orbital period.");
    let (_, document) = get(&server, "/openapi/v2").await;
    assert!(document["definitions"]["com.example.sky.v1.Comet"].is_object());
    post(&server, COMETS, &self::comet("halley", 76)).await;
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let (_, table) = send(
        &server,
        Method::GET,
        COMETS,
        &table,
        &serde_json::Value::Null,
    )
    .await;
    assert_eq!(table["columnDefinitions"][1]["name"], "Years");
    assert_eq!(table["rows"][0]["cells"], json!(["halley", 76]));
}

/// Comets that the storage keeps.
struct Kept(Vec<Arc<Comet>>);

#[async_trait]
impl Storage<Comet> for Kept {
    fn verbs(&self) -> Verbs {
        Verbs::READ
    }

    async fn get_shared(&self, _: &str, name: &str) -> Result<Option<Arc<Comet>>, Status> {
        let found = self.0.iter().find(|comet| comet.name_any() == name);
        Ok(found.cloned())
    }

    async fn list(&self, _: &ListQuery) -> Result<Listing<Comet>, Status> {
        Ok(Listing::shared(self.0.clone()))
    }
}

fn kept(name: &str, years: i32) -> Arc<Comet> {
    let spec = CometSpec {
        years,
        colour: None,
        tails: None,
    };
    let mut comet = Comet::new(name, spec);
    comet.metadata.namespace = Some("sky".to_owned());
    Arc::new(comet)
}

#[tokio::test]
async fn objects_that_are_kept_are_the_same_in_lists_and_alone() {
    let made = [("encke", 3), ("halley", 76)].map(|(name, years)| kept(name, years));
    let builder = ExtensionServer::builder().serve::<Comet>(Kept(made.to_vec()));
    let server = builder.build().unwrap();
    // The first answer is encoded, and later ones are known.
    for _ in 0..3 {
        let (_, list) = get(&server, COMETS).await;
        let (_, halley) = get(&server, &format!("{COMETS}/halley")).await;
        assert_eq!(list["items"][1], halley);
        assert_eq!(
            halley["spec"],
            json!({"years": 76, "colour": "white", "tails": 1})
        );
    }
    let selected = format!("{COMETS}?fieldSelector=metadata.name=encke");
    let (_, list) = get(&server, &selected).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(list["items"][0]["spec"]["years"], 3);
}

#[tokio::test]
async fn a_kind_that_can_only_be_read_has_no_writable_subresources() {
    let halley = kept("halley", 76);
    let server = ExtensionServer::builder().serve::<Comet>(Kept(vec![halley]));
    let server = server.build().unwrap();
    let (_, list) = get(&server, "/apis/sky.example.com/v1").await;
    let resources = list["resources"].as_array().unwrap();
    let names: Vec<&str> = resources
        .iter()
        .map(|r| r["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["comets", "comets/status", "comets/scale"]);
    for subresource in ["status", "scale"] {
        let name = format!("comets/{subresource}");
        let shown = resources
            .iter()
            .find(|r| r["name"] == name.as_str())
            .unwrap();
        assert_eq!(shown["verbs"], json!(["get"]), "{name}");
        let path = format!("{COMETS}/halley/{subresource}");
        let (code, object) = get(&server, &path).await;
        assert_eq!(code, 200, "{name}");
        let (code, error) = put(&server, &path, &object).await;
        assert_eq!((code, &error["reason"]), (405, &json!("MethodNotAllowed")));
        assert_eq!(apply(&server, &path, &object).await.0, 405, "{name}");
    }
}
