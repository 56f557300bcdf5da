//! YAML that explodes, refers to itself or is not YAML.

use http::Method;

use super::Target;
use crate::http_client::{APPLY, MAPS, YAML};

const UNRECOGNIZED: &str = "the object provided is unrecognized (must be of type ConfigMap): ";

/// Nine times nine times nine …
fn bomb() -> String {
    let mut text = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
    for (previous, next) in "abcdefgh".chars().zip("bcdefghi".chars()) {
        let nine = vec![format!("*{previous}"); 9].join(",");
        text.push_str(&format!("{next}: &{next} [{nine}]\n"));
    }
    text.push_str("metadata: {name: bomb}\n");
    text
}

#[tokio::test]
async fn an_alias_bomb_does_not_go_off() {
    let target = Target::new().await;
    let status = target
        .http
        .send(Method::POST, MAPS, YAML, bomb())
        .await
        .refused(400);
    let message = status["message"].as_str().unwrap();
    assert!(
        message.starts_with(&format!(
            "{UNRECOGNIZED}yaml: document contains excessive aliasing ("
        )),
        "{message}"
    );

    let path = format!("{MAPS}/a?fieldManager=me");
    let status = target
        .http
        .send(Method::PATCH, &path, APPLY, bomb())
        .await
        .refused(400);
    let message = status["message"].as_str().unwrap();
    assert!(message.contains("excessive aliasing"), "{message}");
    target.unharmed().await;
}

#[tokio::test]
async fn aliases_that_lead_nowhere_are_refused() {
    let target = Target::new().await;
    for (body, why) in [
        (
            "*undefined",
            "yaml: unknown anchor 'undefined' referenced (2a756e646566696e6564)",
        ),
        ("a: *a", "yaml: unknown anchor 'a' referenced (613a202a61)"),
        (
            "&a [*a]",
            "yaml: anchor 'a' value contains itself (2661205b2a615d)",
        ),
    ] {
        target
            .http
            .send(Method::POST, MAPS, YAML, body)
            .await
            .refused_with(400, &format!("{UNRECOGNIZED}{why}"));
    }
    target.unharmed().await;
}

#[tokio::test]
async fn invalid_yaml_is_rejected() {
    let target = Target::new().await;
    for (body, why) in [
        (
            "a: b: c",
            "mapping values are not allowed in this context (613a20623a2063)",
        ),
        (
            "%YAML 9.9\n---\na: b",
            "found incompatible YAML document (2559414d4c20392e390a2d2d2d0a613a2062)",
        ),
        (
            "\"unterminated",
            "found unexpected end of stream (22756e7465726d696e61746564)",
        ),
        (
            "? [a,b]\n: c\nmetadata: {name: yy}",
            "invalid map key: []interface {}{\"a\", \"b\"} (3f205b612c625d0a3a20630a6d657461646174613a207b6e616d653a2079 ...)",
        ),
    ] {
        target
            .http
            .send(Method::POST, MAPS, YAML, body)
            .await
            .refused_with(400, &format!("{UNRECOGNIZED}yaml: {why}"));
    }
    for body in [
        "- a\n- b",
        "!!python/object:os.system x",
        "plain",
        "7",
        "true",
    ] {
        target
            .http
            .send(Method::POST, MAPS, YAML, body)
            .await
            .refused(400);
    }
    target.unharmed().await;
}

#[tokio::test]
async fn of_several_documents_the_first_counts() {
    let target = Target::new().await;
    let body = "---\nmetadata: {name: y1}\n---\nmetadata: {name: y2}\n";
    let object = target
        .http
        .send(Method::POST, &format!("{MAPS}?dryRun=All"), YAML, body)
        .await
        .ok();
    assert_eq!(object["metadata"]["name"], "y1");
    target.unharmed().await;
}

#[tokio::test]
async fn yaml_is_that_of_the_old_specification() {
    let target = Target::new().await;
    // `n` is a boolean there.
    target.http.send(Method::POST, MAPS, YAML, "metadata: {name: n}").await.refused_with(
        400,
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string",
    );
    let body = "<<: {metadata: {name: merged}}\n";
    let object = target
        .http
        .send(Method::POST, &format!("{MAPS}?dryRun=All"), YAML, body)
        .await
        .ok();
    assert_eq!(object["metadata"]["name"], "merged");
    target.unharmed().await;
}

#[tokio::test]
async fn long_yaml_takes_linear_time() {
    let target = Target::new().await;
    let path = format!("{MAPS}?dryRun=All");
    // Each of these has made some parser quadratic.
    let bodies = [
        format!("metadata: {{name: yy}}\nx: \"{}\"", "\\x41".repeat(100_000)),
        format!("metadata: {{name: yy}}\n{}", "# comment\n".repeat(50_000)),
        format!("metadata: {{name: yy}}\nx: {}", "- ".repeat(2_000)),
        format!(
            "metadata: {{name: yy}}\nx:\n{}",
            "  - &a b\n".repeat(20_000)
        ),
        format!(
            "metadata: {{name: yy}}\nx: |\n{}",
            "  text\n".repeat(50_000)
        ),
        format!(
            "metadata: {{name: yy}}\n{}",
            (0..20_000)
                .map(|i| format!("k{i}: v\n"))
                .collect::<String>()
        ),
    ];
    for (i, body) in bodies.into_iter().enumerate() {
        let answer = target.http.send(Method::POST, &path, YAML, body).await;
        assert!(
            matches!(answer.code, 201 | 400),
            "{i}: {}",
            answer.message()
        );
    }
    target.unharmed().await;
}
