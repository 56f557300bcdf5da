use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use kubewright_machinery::gvk::GroupVersionKind;
use kubewright_store::MemoryStore;
use serde_json::{Value, json};

use super::*;
use crate::{
    body::Body,
    registry::{RegistryBuilder, ResourceSpec, Shape, Subresource},
    request::query::Query,
};

fn comets() -> Resource {
    let schema = json!({
        "type": "object",
        "description": "A comet.",
        "properties": {
            "spec": {"type": "object", "properties": {
                "years": {"type": "integer", "format": "int32", "minimum": 1},
                "port": {"x-kubernetes-int-or-string": true},
                "maybe": {"type": "string", "nullable": true},
            }},
            "metadata": {"type": "string"},
        },
    });
    comets_of(Some(schema.to_string().into()))
}

fn comets_of(openapi: Option<Arc<str>>) -> Resource {
    let kind = GroupVersionKind::new("sky.example.com", "v1", "Comet");
    let spec = ResourceSpec {
        openapi,
        ..ResourceSpec::new(kind, "comets").namespaced()
    };
    Resource::stored(spec, Arc::new(MemoryStore::new()))
        .into_resource()
        .with_subresource(
            Subresource::new("scale", Default::default())
                .with_kind(
                    GroupVersionKind::new("autoscaling", "v1", "Scale"),
                    Shape::Untyped,
                )
                .with_verbs(["get", "patch", "update"]),
        )
}

fn openapi(resources: Vec<Resource>) -> OpenApi {
    let mut builder = RegistryBuilder::default();
    for resource in resources {
        builder.add(resource);
    }
    OpenApi::new(Arc::new(builder.build()), Arc::new(Undescribed), "1.36")
}

fn parsed(document: &[u8]) -> Value {
    serde_json::from_slice(document).expect("JSON")
}

fn hash(openapi: &OpenApi, name: &str) -> String {
    let index = parsed(&openapi.index());
    let address = index["paths"][name]["serverRelativeURL"].as_str();
    let address = address.expect("listed").to_owned();
    let prefix = format!("/openapi/v3/{name}?hash=");
    address.strip_prefix(&prefix).expect("a hash").to_owned()
}

fn ask(
    openapi: &OpenApi,
    path: &str,
    query: &str,
    headers: &[(&'static str, &str)],
) -> Option<Response<Body>> {
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| {
            let name = header::HeaderName::from_static(name);
            (name, HeaderValue::from_str(value).unwrap())
        })
        .collect();
    let now = "2026-11-15T23:55:34Z".parse().unwrap();
    openapi.answer(path, &headers, &Query::parse(Some(query)), now)
}

const COMETS: &str = "/openapi/v3/apis/sky.example.com/v1";

#[test]
fn custom_kinds_are_described_like_custom_resources() {
    let openapi = openapi(vec![comets()]);
    let index = parsed(&openapi.index());
    let listed: Vec<&String> = index["paths"].as_object().unwrap().keys().collect();
    assert_eq!(listed, ["apis", "apis/sky.example.com/v1", "version"]);

    let document = parsed(&openapi.document("apis/sky.example.com/v1").unwrap());
    assert_eq!(document["info"]["title"], "Kubernetes CRD Swagger");
    let base = "/apis/sky.example.com/v1";
    let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    assert_eq!(
        paths,
        [
            &format!("{base}/comets"),
            &format!("{base}/namespaces/{{namespace}}/comets"),
            &format!("{base}/namespaces/{{namespace}}/comets/{{name}}"),
            &format!("{base}/namespaces/{{namespace}}/comets/{{name}}/scale"),
        ]
    );
    let item = &document["paths"][format!("{base}/namespaces/{{namespace}}/comets/{{name}}")];
    let patch = &item["patch"];
    assert_eq!(patch["operationId"], "patchSkyExampleComV1NamespacedComet");
    assert_eq!(patch["tags"], json!(["skyExampleCom_v1"]));
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "sky.example.com", "version": "v1", "kind": "Comet"})
    );
    let bodies: Vec<&String> = patch["requestBody"]["content"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(
        bodies,
        [
            "application/apply-patch+yaml",
            "application/json-patch+json",
            "application/merge-patch+json"
        ]
    );
    let names = |parameters: &Value| -> Vec<String> {
        let all = parameters.as_array().into_iter().flatten();
        all.map(|p| p["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&item["parameters"]), ["name", "namespace", "pretty"]);
    assert_eq!(
        names(&patch["parameters"]),
        ["dryRun", "fieldManager", "fieldValidation", "force"]
    );
    assert_eq!(names(&item["get"]["parameters"]), ["resourceVersion"]);
}

#[test]
fn declared_schemas_are_published_with_the_fields_of_every_object() {
    let openapi = openapi(vec![comets()]);
    let document = parsed(&openapi.document("apis/sky.example.com/v1").unwrap());
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let comet = &schemas["com.example.sky.v1.Comet"];
    assert_eq!(comet["properties"]["kind"], json!({"type": "string"}));
    assert_eq!(
        comet["properties"]["spec"]["properties"]["years"]["minimum"],
        1
    );
    let port = &comet["properties"]["spec"]["properties"]["port"];
    assert_eq!(
        port["anyOf"],
        json!([{"type": "integer"}, {"type": "string"}])
    );
    let metadata = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert_eq!(comet["properties"]["metadata"], json!({"$ref": metadata}));
    assert_eq!(
        comet["x-kubernetes-group-version-kind"],
        json!([{"group": "sky.example.com", "kind": "Comet", "version": "v1"}])
    );
    let items = &schemas["com.example.sky.v1.CometList"]["properties"]["items"]["items"];
    assert_eq!(
        items["$ref"],
        "#/components/schemas/com.example.sky.v1.Comet"
    );
    for (name, schema) in schemas {
        for reference in references(schema) {
            let target = reference.rsplit('/').next().unwrap();
            assert!(schemas.contains_key(target), "{name} refers to {target}");
        }
    }
}

fn references(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| match value.as_str() {
                Some(text) if key == "$ref" => vec![text],
                _ => references(value),
            })
            .collect(),
        Value::Array(list) => list.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_kind_that_declares_nothing_has_any_fields() {
    let openapi = openapi(vec![comets_of(None)]);
    let document = parsed(&openapi.document("apis/sky.example.com/v1").unwrap());
    let comet = &document["components"]["schemas"]["com.example.sky.v1.Comet"];
    assert_eq!(comet["x-kubernetes-preserve-unknown-fields"], true);
    assert_eq!(comet["type"], "object");
}

#[test]
fn the_second_version_says_less_about_custom_kinds() {
    let openapi = openapi(vec![comets()]);
    let document = parsed(&openapi.all());
    let spec = &document["definitions"]["com.example.sky.v1.Comet"]["properties"]["spec"];
    assert_eq!(spec["properties"]["maybe"], json!({}));
    assert_eq!(
        spec["properties"]["port"],
        json!({"x-kubernetes-int-or-string": true})
    );
    let shared = document["parameters"].as_object().unwrap();
    for reference in references(&document["paths"]) {
        let name = reference.rsplit('/').next().unwrap();
        let known = shared.contains_key(name) || document["definitions"].get(name).is_some();
        assert!(known, "{reference}");
    }
}

#[test]
fn the_hash_changes_with_the_content_and_with_nothing_else() {
    let name = "apis/sky.example.com/v1";
    let (one, same) = (openapi(vec![comets()]), openapi(vec![comets()]));
    assert_eq!(hash(&one, name), hash(&same, name));
    let changed = comets_of(Some(json!({"type": "object"}).to_string().into()));
    let other = openapi(vec![changed]);
    assert_ne!(hash(&one, name), hash(&other, name));
    assert_eq!(hash(&one, "version"), hash(&other, "version"));
}

#[tokio::test]
async fn documents_come_compressed_or_not_and_are_the_same() {
    let openapi = openapi(vec![comets()]);
    let plain = ask(&openapi, COMETS, "", &[]).unwrap();
    assert_eq!(plain.headers()[header::CONTENT_TYPE], "application/json");
    let length = plain.headers()[header::CONTENT_LENGTH].clone();
    let plain = plain.into_body().collect_up_to(1 << 24).await.unwrap();
    let plain = plain.unwrap();
    assert_eq!(length, plain.len().to_string().as_str());
    assert_eq!(plain, openapi.document("apis/sky.example.com/v1").unwrap());

    let packed = ask(&openapi, COMETS, "", &[("accept-encoding", "br, gzip")]).unwrap();
    assert_eq!(packed.headers()[header::CONTENT_ENCODING], "gzip");
    let packed = packed.into_body().collect_up_to(1 << 24).await.unwrap();
    let mut decoder = flate2::read::GzDecoder::new(&packed.as_ref().unwrap()[..]);
    let mut unpacked = Vec::new();
    std::io::Read::read_to_end(&mut decoder, &mut unpacked).unwrap();
    assert_eq!(unpacked, plain);
    let refused = ask(&openapi, COMETS, "", &[("accept-encoding", "gzip;q=0")]).unwrap();
    assert!(refused.headers().get(header::CONTENT_ENCODING).is_none());
}

#[test]
fn a_right_hash_is_immutable_and_a_wrong_one_redirects() {
    let openapi = openapi(vec![comets()]);
    let hash = hash(&openapi, "apis/sky.example.com/v1");
    let right = ask(&openapi, COMETS, &format!("hash={hash}"), &[]).unwrap();
    assert_eq!(right.status(), StatusCode::OK);
    assert_eq!(right.headers()[header::CACHE_CONTROL], "public, immutable");
    assert_eq!(
        right.headers()[header::EXPIRES],
        "Mon, 15 Nov 2027 23:55:34 UTC"
    );
    assert_eq!(right.headers()[header::VARY], "Accept");

    let wrong = ask(&openapi, COMETS, "hash=ABC", &[]).unwrap();
    assert_eq!(wrong.status(), StatusCode::MOVED_PERMANENTLY);
    assert_eq!(
        wrong.headers()[header::LOCATION],
        format!("{COMETS}?hash={hash}").as_str()
    );
    let none = ask(&openapi, COMETS, "hash=", &[]).unwrap();
    assert!(none.headers().get(header::EXPIRES).is_none());
}

#[test]
fn documents_that_the_client_has_are_not_sent_again() {
    let openapi = openapi(vec![comets()]);
    let tag = format!("\"{}\"", hash(&openapi, "apis/sky.example.com/v1"));
    for known in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}")] {
        let answer = ask(&openapi, COMETS, "", &[("if-none-match", &known)]).unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_MODIFIED, "{known}");
        assert_eq!(answer.headers()[header::ETAG], tag.as_str());
    }
    let answer = ask(&openapi, COMETS, "", &[("if-none-match", "\"x\"")]).unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
}

#[test]
fn forms_that_there_are_not_are_not_acceptable() {
    let openapi = openapi(vec![comets()]);
    let status = |path: &str, accept: &str| {
        let answer = ask(&openapi, path, "", &[("accept", accept)]).unwrap();
        answer.status().as_u16()
    };
    let v2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let v3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
    assert_eq!(status(COMETS, "text/html"), 406);
    assert_eq!(status(COMETS, v3), 406);
    assert_eq!(
        status(COMETS, &format!("{v3}, application/json;q=0.5")),
        200
    );
    assert_eq!(status(COMETS, "application/*"), 200);
    assert_eq!(status("/openapi/v2", "application/yaml"), 406);
    assert_eq!(status("/openapi/v2", v2), 200);
    assert_eq!(status("/openapi/v3", "text/html"), 200);
}

#[test]
fn only_documents_that_exist_are_found() {
    let openapi = openapi(vec![comets()]);
    for missing in [
        "/openapi/v3/",
        "/openapi/v3/nonesuch",
        "/openapi/v3/version/",
    ] {
        let answer = ask(&openapi, missing, "", &[]).unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{missing}");
    }
    for elsewhere in ["/openapi", "/openapi/v4", "/openapi/v2/", "/api/v1"] {
        assert!(ask(&openapi, elsewhere, "", &[]).is_none(), "{elsewhere}");
    }
}
