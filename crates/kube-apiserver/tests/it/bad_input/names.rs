//! Names and namespaces that look like paths.

use serde_json::json;

use super::Target;
use crate::http_client::{MAPS, map};

const NOT_FOUND: &str = "the server could not find the requested resource";

#[tokio::test]
async fn a_name_cannot_climb() {
    let target = Target::new().await;
    let http = &target.http;
    http.post("/api/v1/namespaces/default/secrets", map("treasure"))
        .await
        .ok();
    for (name, shown) in [("..%2f", ".."), ("..", ".."), (".", "."), ("%2e%2e", "..")] {
        let path = format!("{MAPS}/{name}");
        http.put(&path, map("x")).await.refused_with(
            400,
            &format!("the name of the object (x) does not match the name on the URL ({shown})"),
        );
    }
    for name in [
        "..%2fsecrets",
        "a%2fb",
        "..%2f..%2fsecrets%2ftreasure",
        "..%2fsecrets%2ftreasure",
    ] {
        let path = format!("{MAPS}/{name}");
        http.get(&path).await.refused_with(404, NOT_FOUND);
        http.put(&path, map("x")).await.refused_with(404, NOT_FOUND);
        http.delete(&path).await.refused_with(404, NOT_FOUND);
    }
    assert_eq!(
        http.get("/api/v1/namespaces/default/secrets").await.names(),
        ["treasure"]
    );
}

#[tokio::test]
async fn odd_names_are_not_found() {
    let target = Target::new().await;
    for (name, shown) in [("a%00b", "a\\x00b"), ("A", "A"), ("a%20b", "a b")] {
        target
            .http
            .get(&format!("{MAPS}/{name}"))
            .await
            .refused_with(404, &format!("configmaps \"{shown}\" not found"));
    }
    let long = "a".repeat(10_000);
    target
        .http
        .get(&format!("{MAPS}/{long}"))
        .await
        .refused_with(404, &format!("configmaps \"{long}\" not found"));
    target
        .http
        .put(&format!("{MAPS}/a%20b"), map("x"))
        .await
        .refused_with(
            400,
            "the name of the object (x) does not match the name on the URL (a b)",
        );
    target.unharmed().await;
}

#[tokio::test]
async fn nothing_is_created_under_an_odd_name() {
    let target = Target::new().await;
    for (name, shown) in [
        ("../x", "../x"),
        ("..", ".."),
        (".", "."),
        ("a/b", "a/b"),
        ("a%b", "a%b"),
        ("a\0b", "a\\x00b"),
        ("A", "A"),
        ("a b", "a b"),
        ("-a", "-a"),
        ("ä", "ä"),
        ("a\n", "a\\n"),
    ] {
        target.http.post(MAPS, map(name)).await.refused_with(422, &format!(
            "ConfigMap \"{shown}\" is invalid: metadata.name: Invalid value: \"{shown}\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        ));
    }
    let long = "a".repeat(254);
    let status = target.http.post(MAPS, map(&long)).await.refused(422);
    let message = status["message"].as_str().unwrap();
    assert!(
        message.ends_with("must be no more than 253 characters"),
        "{message}"
    );
    target.unharmed().await;
}

#[tokio::test]
async fn a_namespace_cannot_climb() {
    let target = Target::new().await;
    target
        .http
        .get("/api/v1/namespaces/..%2f..%2fx/configmaps")
        .await
        .refused_with(404, NOT_FOUND);
    target
        .http
        .post("/api/v1/namespaces/..%2fx/configmaps", map("x"))
        .await
        .refused_with(404, NOT_FOUND);
    let object = json!({"metadata": {"name": "x", "namespace": "../kube-system"}});
    target.http.post(MAPS, object).await.refused(400);
    let path = format!("{MAPS}?fieldSelector=metadata.namespace%3D..%2Fkube-system");
    assert_eq!(target.http.get(&path).await.names(), Vec::<String>::new());
    let path = "/api/v1/configmaps?fieldSelector=metadata.namespace%3Ddefault%2Fa";
    assert_eq!(target.http.get(path).await.names(), Vec::<String>::new());
    target.unharmed().await;
}

#[tokio::test]
async fn labels_have_a_form() {
    let target = Target::new().await;
    let long = "x".repeat(64);
    for (key, value, why) in [
        ("a", long.as_str(), format!("Invalid value: \"{long}\": must be no more than 63 bytes")),
        ("bad key", "x", "Invalid value: \"bad key\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')".to_owned()),
    ] {
        let object = json!({"metadata": {"name": "b", "labels": {key: value}}});
        target.http.post(MAPS, object).await.refused_with(422, &format!(
            "ConfigMap \"b\" is invalid: metadata.labels: {why}"
        ));
    }
    target.unharmed().await;
}
