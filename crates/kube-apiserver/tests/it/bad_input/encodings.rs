//! Invalid text and invalid numbers.

use http::Method;
use serde_json::json;

use super::Target;
use crate::http_client::{JSON, MAPS, MERGE, YAML};

const UNHANDLED: &str = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: ";
const UNRECOGNIZED: &str = "the object provided is unrecognized (must be of type ConfigMap): ";
const PARSE: &str = "couldn't get version/kind; json parse error: ";

#[tokio::test]
async fn invalid_utf8_in_json_becomes_replacement_characters() {
    let target = Target::new().await;
    let path = format!("{MAPS}?dryRun=All");
    let body = &b"{\"metadata\":{\"name\":\"u\"},\"data\":{\"a\":\"\xff\xfe\"}}"[..];
    let object = target.http.send(Method::POST, &path, JSON, body).await.ok();
    assert_eq!(object["data"]["a"], "\u{fffd}\u{fffd}");
    let body = &br#"{"metadata":{"name":"u"},"data":{"a":"\ud800"}}"#[..];
    let object = target.http.send(Method::POST, &path, JSON, body).await.ok();
    assert_eq!(object["data"]["a"], "\u{fffd}");
    let body = &br#"{"metadata":{"name":"u"},"data":{"a":"\u0000"}}"#[..];
    let object = target.http.send(Method::POST, &path, JSON, body).await.ok();
    assert_eq!(object["data"]["a"], "\0");
    let path = format!("{MAPS}/a?dryRun=All");
    let object = target
        .http
        .send(
            Method::PATCH,
            &path,
            MERGE,
            &b"{\"data\":{\"a\":\"\xff\"}}"[..],
        )
        .await
        .ok();
    assert_eq!(object["data"]["a"], "\u{fffd}");
    target.unharmed().await;
}

#[tokio::test]
async fn names_that_are_not_text_are_not_found() {
    let target = Target::new().await;
    let body = &b"{\"metadata\":{\"name\":\"u\xff\"}}"[..];
    let status = target
        .http
        .send(Method::POST, MAPS, JSON, body)
        .await
        .refused(422);
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with("ConfigMap \"u\u{fffd}\" is invalid: metadata.name: Invalid value: \"u\u{fffd}\": a lowercase RFC 1123 subdomain must consist of"), "{message}");
    target.unharmed().await;
}

#[tokio::test]
async fn invalid_utf8_in_yaml_is_refused() {
    let target = Target::new().await;
    let body = &b"metadata:\n  name: \"u\xff\"\n"[..];
    target.http.send(Method::POST, MAPS, YAML, body).await.refused_with(400, &format!(
        "{UNRECOGNIZED}yaml: invalid leading UTF-8 octet (6d657461646174613a0a20206e616d653a202275ff220a)"
    ));
    target
        .http
        .send(Method::POST, MAPS, YAML, &b"\0"[..])
        .await
        .refused_with(
            400,
            &format!("{UNRECOGNIZED}yaml: control characters are not allowed (00)"),
        );
    target.unharmed().await;
}

#[tokio::test]
async fn invalid_numbers_are_rejected() {
    let target = Target::new().await;
    for (body, shown) in [
        (
            r#"{"metadata":{"name":"n"},"x":NaN}"#,
            r#"{"metadata":{"name":"n"},"x":N ..."#,
        ),
        (
            r#"{"metadata":{"name":"n","generation":NaN}}"#,
            r#"{"metadata":{"name":"n","gener ..."#,
        ),
    ] {
        target.http.send(Method::POST, MAPS, JSON, body).await.refused_with(400, &format!(
            "{UNRECOGNIZED}{PARSE}invalid character 'N' looking for beginning of value ({shown})"
        ));
    }
    target.http.send(Method::POST, MAPS, YAML, "metadata: {name: n, generation: .nan}").await.refused_with(400, &format!(
        "{UNRECOGNIZED}json: unsupported value: NaN (6d657461646174613a207b6e616d653a206e2c2067656e65726174696f6e ...)"
    ));
    target.unharmed().await;
}

#[tokio::test]
async fn a_number_that_does_not_fit_is_refused() {
    let target = Target::new().await;
    for number in [
        "1e999",
        "9223372036854775808",
        "-9223372036854775809",
        "1.5",
        "1e3",
    ] {
        let body = format!(r#"{{"metadata":{{"name":"n","generation":{number}}}}}"#);
        target.http.send(Method::POST, MAPS, JSON, body).await.refused_with(400, &format!(
            "{UNHANDLED}json: cannot unmarshal number {number} into Go struct field ObjectMeta.metadata.generation of type int64"
        ));
    }
    // A very long one is a number still.
    let body = format!(
        r#"{{"metadata":{{"name":"n","generation":{}}}}}"#,
        "9".repeat(100_000)
    );
    target
        .http
        .send(Method::POST, MAPS, JSON, body)
        .await
        .refused(400);
    target.unharmed().await;
}

#[tokio::test]
async fn numbers_in_unknown_places_do_no_harm() {
    let target = Target::new().await;
    let path = format!("{MAPS}?dryRun=All");
    for number in [
        "1e999",
        "99999999999999999999999999999999",
        "-0",
        "1E400",
        "0.1e-999",
    ] {
        let body = format!(r#"{{"metadata":{{"name":"n"}},"x":{number}}}"#);
        let answer = target.http.send(Method::POST, &path, JSON, body).await;
        assert_eq!(answer.code, 201, "{number}: {}", answer.message());
    }
    target.unharmed().await;
}

#[tokio::test]
async fn duplicate_keys_are_warned_of_or_refused() {
    let target = Target::new().await;
    let strict = format!("{MAPS}?fieldValidation=Strict");
    let body = r#"{"metadata":{"name":"d","name":"d2"},"data":{"a":"1","a":"2"}}"#;
    target.http.send(Method::POST, &strict, JSON, body).await.refused_with(400, &format!(
        "{UNHANDLED}strict decoding error: duplicate field \"metadata.name\", duplicate field \"data.a\""
    ));
    let body = "metadata:\n  name: d\ndata:\n  a: \"1\"\n  a: \"2\"\n";
    target.http.send(Method::POST, &strict, YAML, body).await.refused_with(400, &format!(
        "{UNHANDLED}strict decoding error: yaml: unmarshal errors:\n  line 5: key \"a\" already set in map"
    ));
    let body = r#"{"metadata":{"name":"d"},"dada":{"a":"1"}}"#;
    target
        .http
        .send(Method::POST, &strict, JSON, body)
        .await
        .refused_with(
            400,
            &format!("{UNHANDLED}strict decoding error: unknown field \"dada\""),
        );
    let body = r#"{"metadata":{"name":"d"},"data":{"a":"1","a":"2"}}"#;
    let answer = target
        .http
        .send(Method::POST, &format!("{MAPS}?dryRun=All"), JSON, body)
        .await;
    assert_eq!(answer.ok()["data"], json!({"a": "2"}));
    assert_eq!(answer.warnings(), [r#"299 - "duplicate field \"data.a\"""#]);
    target.http.send(Method::POST, &format!("{MAPS}?fieldValidation=Nope"), JSON, body).await.refused_with(
        422,
        "CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \"Nope\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
    );
    target.unharmed().await;
}

#[tokio::test]
async fn a_hundred_thousand_unknown_fields_make_no_hundred_thousand_warnings() {
    let target = Target::new().await;
    let fields: Vec<String> = (0..100_000).map(|i| format!(r#""x{i}":1"#)).collect();
    let body = format!(r#"{{"metadata":{{"name":"b"}},{}}}"#, fields.join(","));
    let answer = target
        .http
        .send(Method::POST, &format!("{MAPS}?dryRun=All"), JSON, body)
        .await;
    assert_eq!(answer.code, 201);
    let length: usize = answer.warnings().iter().map(|w| w.len()).sum();
    assert!(length < 64 * 1024, "{length} bytes of warnings");
    target.unharmed().await;
}
