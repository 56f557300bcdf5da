//! Bodies of the wrong kind, of no kind, and under the wrong name.

use http::Method;
use serde_json::json;

use super::Target;
use crate::http_client::{JSON, MAPS, YAML};

const UNRECOGNIZED: &str = "the object provided is unrecognized (must be of type ConfigMap): ";
const PARSE: &str = "couldn't get version/kind; json parse error: ";
const SCHEME: &str = "in scheme \"pkg/runtime/scheme.go:111\"";

#[tokio::test]
async fn another_kind_is_refused() {
    let target = Target::new().await;
    for (api_version, kind, message) in [
        ("v1", "Secret", "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown conversion".to_owned()),
        ("apps/v1", "Deployment", "Deployment in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Deployment) to (core.ConfigMap): unknown conversion".to_owned()),
        ("v2", "ConfigMap", format!("ConfigMap in version \"v2\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is registered for version \"v2\" {SCHEME}")),
        ("v1", "Nope", format!("Nope in version \"v1\" cannot be handled as a ConfigMap: no kind \"Nope\" is registered for version \"v1\" {SCHEME}")),
    ] {
        let object = json!({"kind": kind, "apiVersion": api_version, "metadata": {"name": "k"}});
        assert_eq!(target.http.post(MAPS, object).await.refused_with(400, &message)["reason"], "BadRequest");
    }
    target.unharmed().await;
}

#[tokio::test]
async fn documents_that_are_not_objects_are_rejected() {
    let target = Target::new().await;
    let into = "into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
    for (body, why) in [
        ("[]", format!("json: cannot unmarshal array {into} (5b5d)")),
        ("\"x\"", format!("json: cannot unmarshal string {into} (227822)")),
        ("7", format!("json: cannot unmarshal number {into} (37)")),
        ("", "unexpected end of JSON input (<empty>)".to_owned()),
        ("{", "unexpected end of JSON input ({)".to_owned()),
        ("metadata: {name: x}", "invalid character 'm' looking for beginning of value (6d657461646174613a207b6e616d653a20787d)".to_owned()),
        (r#"{"kind": 7, "metadata": {"name": "k"}}"#, r#"json: cannot unmarshal number into Go struct field .kind of type string ({"kind": 7, "metadata": {"name ...)"#.to_owned()),
        (r#"{"metadata":{"name":"k"}} trailing"#, r#"invalid character 't' after top-level value ({"metadata":{"name":"k"}} trai ...)"#.to_owned()),
    ] {
        target.http.send(Method::POST, MAPS, JSON, body).await.refused_with(400, &format!("{UNRECOGNIZED}{PARSE}{why}"));
    }
    target.http.send(Method::POST, MAPS, JSON, "null").await.refused_with(
        422,
        "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
    );
    target.unharmed().await;
}

#[tokio::test]
async fn fields_of_the_wrong_type_are_refused() {
    let target = Target::new().await;
    for (body, why) in [
        (
            r#"{"metadata":[]}"#,
            "cannot unmarshal array into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
        ),
        (
            r#"{"metadata":{"name":5}}"#,
            "cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
        ),
        (
            r#"{"metadata":{"name":"k"},"data":{"a":5}}"#,
            "cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (
            r#"{"metadata":{"name":"k"},"immutable":"yes"}"#,
            "cannot unmarshal string into Go struct field ConfigMap.immutable of type bool",
        ),
    ] {
        target
            .http
            .send(Method::POST, MAPS, JSON, body)
            .await
            .refused_with(
                400,
                &format!(
                    "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: {why}"
                ),
            );
    }
    target.unharmed().await;
}

#[tokio::test]
async fn a_body_in_an_unknown_format_is_unsupported() {
    let target = Target::new().await;
    for content_type in [
        "text/plain",
        "application/cbor",
        "garbage",
        "application/jsonx",
        "multipart/form-data",
    ] {
        let answer = target
            .http
            .send(
                Method::POST,
                MAPS,
                content_type,
                r#"{"metadata":{"name":"x"}}"#,
            )
            .await;
        let status = answer.refused_with(
            415,
            "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        );
        assert_eq!(status["reason"], "UnsupportedMediaType", "{content_type}");
    }
    target.unharmed().await;
}

#[tokio::test]
async fn formats_that_are_spelt_out_are_understood() {
    let target = Target::new().await;
    let path = format!("{MAPS}?dryRun=All");
    let body = r#"{"metadata":{"name":"x"}}"#;
    // JSON is YAML too.
    for content_type in [
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        YAML,
        "APPLICATION/JSON",
    ] {
        assert_eq!(
            target
                .http
                .send(Method::POST, &path, content_type, body)
                .await
                .code,
            201,
            "{content_type}"
        );
    }
    target.unharmed().await;
}
