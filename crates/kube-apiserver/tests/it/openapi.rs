//! OpenAPI: the documents of the built-in kinds, and what clients get of them.

use std::collections::BTreeMap;

use http::{Request, Response, StatusCode, header};
use kubewright_apiserver::{ApiServer, Body};
use kubewright_testing::TestCluster;
use serde_json::Value;

/// The prefixes of the hashes of a real kube-apiserver's documents. They are hashes of the bytes, so an equal hash is an equal
/// document: every path, operation, parameter, schema and description. When the catalog moves to another release these
/// are read off `/openapi/v3` of a server of that release.
const REAL: &[(&str, &str)] = &[
    ("api", "09FC77387E701FAA"),
    ("api/v1", "B6B6A956CCCED3FD"),
    ("apis", "E77BDE29C0C16A4B"),
    ("apis/admissionregistration.k8s.io", "0AD442A156AF0ADA"),
    ("apis/admissionregistration.k8s.io/v1", "673F7AAFC9AC0CCF"),
    ("apis/apiextensions.k8s.io", "84051AC7578169A4"),
    ("apis/apiextensions.k8s.io/v1", "A3A5323EB79FB435"),
    ("apis/apiregistration.k8s.io", "C69863A02AE6F6D2"),
    ("apis/apiregistration.k8s.io/v1", "885824ECA1118072"),
    ("apis/apps", "781221DEDA5795C4"),
    ("apis/apps/v1", "E6837BF046F7D260"),
    ("apis/authentication.k8s.io", "8CE044975199E4F5"),
    ("apis/authentication.k8s.io/v1", "AEB8455EAF84DB1D"),
    ("apis/authorization.k8s.io", "983A575C472BC9F9"),
    ("apis/authorization.k8s.io/v1", "F74B50ED6CE9356C"),
    ("apis/autoscaling", "B4822635F434AEC9"),
    ("apis/autoscaling/v1", "0234E812866E848F"),
    ("apis/autoscaling/v2", "D4ED7F37F5DD1FFA"),
    ("apis/batch", "4006C5318DA53DC3"),
    ("apis/batch/v1", "5664119A513C767E"),
    ("apis/certificates.k8s.io", "D7416ED68A53F6AB"),
    ("apis/certificates.k8s.io/v1", "4A969F933C2FF13B"),
    ("apis/coordination.k8s.io", "9246BB555EAFD260"),
    ("apis/coordination.k8s.io/v1", "7A32931036A041A6"),
    ("apis/discovery.k8s.io", "3A40A2F08DCF200E"),
    ("apis/discovery.k8s.io/v1", "51233C00FB6F5A4C"),
    ("apis/events.k8s.io", "D6F3D9DA4E050D89"),
    ("apis/events.k8s.io/v1", "09A60AB2DCF9BBF0"),
    ("apis/flowcontrol.apiserver.k8s.io", "DB8B49AF48E78528"),
    ("apis/flowcontrol.apiserver.k8s.io/v1", "521D9553240B7BCA"),
    ("apis/networking.k8s.io", "633D94D761089FE1"),
    ("apis/networking.k8s.io/v1", "ADE0DC6AB67328D4"),
    ("apis/node.k8s.io", "2258874AC7EA68C1"),
    ("apis/node.k8s.io/v1", "924F228FEB243C80"),
    ("apis/policy", "5EADFF975AB51A27"),
    ("apis/policy/v1", "FFA6426B2D8DA630"),
    ("apis/rbac.authorization.k8s.io", "425C732C50EF7D87"),
    ("apis/rbac.authorization.k8s.io/v1", "84397C7232498254"),
    ("apis/resource.k8s.io", "CB0607F90DEEF760"),
    ("apis/resource.k8s.io/v1", "091C281072F39C85"),
    ("apis/scheduling.k8s.io", "5CF094DD460C8566"),
    ("apis/scheduling.k8s.io/v1", "15BA88624BFB0AE5"),
    ("apis/storage.k8s.io", "FE39B409D00A3F40"),
    ("apis/storage.k8s.io/v1", "F1C7D1D65D08656D"),
    ("version", "A7C72E0A0AAC295A"),
];

async fn ask(service: &ApiServer, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::empty()).expect("a request");
    let response = service.handle(request).await;
    let (parts, body) = response.into_parts();
    let body = body.collect_up_to(1 << 24).await.expect("a body");
    let body = body.expect("not that long");
    Response::from_parts(parts, body)
}

type Answer = Response<bytes::Bytes>;

async fn index(service: &ApiServer) -> BTreeMap<String, String> {
    let answer = ask(service, "/openapi/v3", &[]).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let index: Value = serde_json::from_slice(answer.body()).expect("JSON");
    let paths = index["paths"].as_object().expect("paths");
    paths
        .iter()
        .map(|(name, entry)| {
            let address = entry["serverRelativeURL"].as_str().expect("an address");
            (name.clone(), address.to_owned())
        })
        .collect()
}

#[tokio::test]
async fn every_document_is_that_of_the_real_server_to_the_byte() {
    let cluster = TestCluster::start().await;
    let index = index(cluster.api_server().server()).await;
    let ours: Vec<(&str, &str)> = index
        .iter()
        .map(|(name, address)| {
            let (path, hash) = address.split_once("?hash=").expect("a hash");
            assert_eq!(path, format!("/openapi/v3/{name}"));
            (name.as_str(), &hash[..16])
        })
        .collect();
    assert_eq!(ours, REAL);
}

#[tokio::test]
async fn every_address_of_the_index_leads_to_its_document() {
    let cluster = TestCluster::start().await;
    let service = cluster.api_server().server();
    for (name, address) in index(service).await {
        let (_, hash) = address.split_once("?hash=").expect("a hash");
        let answer = ask(service, &address, &[]).await;
        assert_eq!(answer.status(), StatusCode::OK, "{name}");
        let headers = answer.headers();
        assert_eq!(headers[header::ETAG], format!("\"{hash}\"").as_str());
        assert_eq!(headers[header::CACHE_CONTROL], "public, immutable");
        let document: Value = serde_json::from_slice(answer.body()).expect("JSON");
        assert_eq!(document["info"]["version"], "1.36", "{name}");
        let tag = format!("\"{hash}\"");
        let again = ask(service, &address, &[("if-none-match", &tag)]).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{name}");
    }
}

#[tokio::test]
async fn operations_tell_their_kind_and_what_they_take() {
    let cluster = TestCluster::start().await;
    let answer = ask(
        cluster.api_server().server(),
        "/openapi/v3/apis/apps/v1",
        &[],
    )
    .await;
    let document: Value = serde_json::from_slice(answer.body()).expect("JSON");
    let path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
    let patch = &document["paths"][path]["patch"];
    assert_eq!(patch["operationId"], "patchAppsV1NamespacedDeployment");
    assert_eq!(patch["x-kubernetes-action"], "patch");
    assert_eq!(
        patch["x-kubernetes-group-version-kind"]["kind"],
        "Deployment"
    );
    let names: Vec<&str> = patch["parameters"]
        .as_array()
        .expect("parameters")
        .iter()
        .filter_map(|parameter| parameter["name"].as_str())
        .collect();
    assert_eq!(
        names,
        ["dryRun", "fieldManager", "fieldValidation", "force"]
    );
    let containers = &document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]
        ["containers"];
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(containers["x-kubernetes-list-type"], "map");
}

#[tokio::test]
async fn the_second_version_is_one_document_in_two_forms() {
    let cluster = TestCluster::start().await;
    let service = cluster.api_server().server();
    let json = ask(service, "/openapi/v2", &[]).await;
    let document: Value = serde_json::from_slice(json.body()).expect("JSON");
    assert_eq!(document["swagger"], "2.0");
    assert!(document["paths"].get("/api/v1/pods").is_some());
    let pod = &document["definitions"]["io.k8s.api.core.v1.Pod"];
    assert_eq!(pod["x-kubernetes-group-version-kind"][0]["kind"], "Pod");
    // Names of shared parameters are hashes of what they say.
    let parameters = document["parameters"].as_object().expect("parameters");
    assert!(parameters.contains_key("pretty-tJGM1-ng"));
    assert!(parameters.contains_key("body-2Y1dVQaQ"));

    let old = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let protobuf = ask(service, "/openapi/v2", &[("accept", old)]).await;
    assert_eq!(protobuf.status(), StatusCode::OK);
    assert_eq!(
        protobuf.headers()[header::CONTENT_TYPE],
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    );
    assert_eq!(
        protobuf.headers()[header::ETAG],
        json.headers()[header::ETAG]
    );
    assert!(
        protobuf
            .body()
            .starts_with(b"\x0a\x032.0\x12\x12\x0a\x0aKubernetes\x12\x041.36")
    );
}

#[tokio::test]
async fn the_root_lists_them() {
    let cluster = TestCluster::start().await;
    let answer = ask(cluster.api_server().server(), "/", &[]).await;
    let root: Value = serde_json::from_slice(answer.body()).expect("JSON");
    let paths = root["paths"].as_array().expect("paths");
    for path in ["/openapi/v2", "/openapi/v3", "/openapi/v3/"] {
        assert!(paths.iter().any(|listed| listed == path), "{path}");
    }
}
