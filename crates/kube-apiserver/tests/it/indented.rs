//! Indented JSON, which people read with curl and browsers, byte for byte.

use http::{Method, Request};
use kubewright_apiserver::Body;
use kubewright_testing::TestCluster;
use serde_json::json;

use crate::http_client::{Http, JSON, MAPS};

/// Recorded from kube-apiserver.
const INDENTED: &str = r#"{
  "kind": "ConfigMapList",
  "apiVersion": "v1",
  "metadata": {
    "resourceVersion": "_"
  },
  "items": [
    {
      "metadata": {
        "name": "m1",
        "namespace": "default",
        "uid": "_",
        "resourceVersion": "_",
        "creationTimestamp": "_",
        "labels": {
          "a": "2",
          "b": "1"
        },
        "managedFields": [
          {
            "manager": "curl",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "_",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
              "f:data": {
                ".": {},
                "f:x": {}
              },
              "f:metadata": {
                "f:labels": {
                  ".": {},
                  "f:a": {},
                  "f:b": {}
                }
              }
            }
          }
        ]
      },
      "data": {
        "x": "\u003cy\u003e"
      }
    }
  ]
}"#;

#[tokio::test]
async fn people_get_the_bytes_of_kube_apiserver() {
    let cluster = TestCluster::start().await;
    let http = Http::of(&cluster);
    let object = json!({
        "metadata": {"name": "m1", "labels": {"b": "1", "a": "2"}}, "data": {"x": "<y>"},
    });
    let curl = |method: Method, body: String| {
        let request = Request::builder()
            .method(method)
            .uri(MAPS)
            .header("user-agent", "curl/8.5.0")
            .header("content-type", JSON)
            .body(Body::from(body));
        http.call(request.unwrap())
    };
    curl(Method::POST, object.to_string()).await.ok();
    let list = curl(Method::GET, String::new()).await;
    let text = String::from_utf8(list.body.to_vec()).unwrap();
    let lines = text.lines().map(|line| {
        let varies = ["uid", "resourceVersion", "creationTimestamp", "time"];
        let varying = varies.iter().find_map(|key| {
            let (start, rest) = line.split_once(&format!("\"{key}\": \""))?;
            let comma = if rest.ends_with(',') { "," } else { "" };
            Some(format!("{start}\"{key}\": \"_\"{comma}"))
        });
        varying.unwrap_or_else(|| line.to_owned())
    });
    let lines: Vec<String> = lines.collect();
    assert_eq!(lines.join("\n"), INDENTED);
}
