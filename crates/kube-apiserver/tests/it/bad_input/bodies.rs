//! Bodies that are too long, too deep or too many.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request};
use kubewright_apiserver::{Body, BoxError};
use serde_json::json;

use super::Target;
use crate::http_client::{JSON, MAPS, MERGE, PROTOBUF, YAML, map_with};

const LIMIT: usize = 3 * 1024 * 1024;
const TOO_LARGE: &str = "Request entity too large: limit is 3145728";

fn unrecognized(why: &str, body: &str) -> String {
    format!("the object provided is unrecognized (must be of type ConfigMap): {why} ({body} ...)")
}

#[tokio::test]
async fn a_body_over_three_mebibytes_is_too_large_for_every_verb() {
    let target = Target::new().await;
    let body = Bytes::from(vec![b' '; LIMIT + 1]);
    let path = format!("{MAPS}/a");
    for (method, path, content_type) in [
        (Method::POST, MAPS, JSON),
        (Method::POST, MAPS, YAML),
        (Method::POST, MAPS, PROTOBUF),
        (Method::PUT, &path, JSON),
        (Method::PATCH, &path, MERGE),
        (Method::DELETE, &path, JSON),
        (Method::DELETE, MAPS, JSON),
    ] {
        let status = target
            .http
            .send(method.clone(), path, content_type, body.clone())
            .await
            .refused_with(413, TOO_LARGE);
        assert_eq!(status["reason"], "RequestEntityTooLarge", "{method}");
        assert!(status["details"].is_null());
    }
    target.unharmed().await;
}

#[tokio::test]
async fn a_body_that_never_ends_is_read_no_further_than_the_limit() {
    let target = Target::new().await;
    let chunk = Bytes::from(vec![b' '; 64 * 1024]);
    let endless = Body::stream(stream::repeat_with(move || {
        Ok::<_, BoxError>(chunk.clone())
    }));
    let request = Request::post(MAPS)
        .header("content-type", JSON)
        .body(endless)
        .unwrap();
    target.http.call(request).await.refused_with(413, TOO_LARGE);
    target.unharmed().await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_comes_is_waited_for_a_minute() {
    let target = Target::new().await;
    let began = tokio::time::Instant::now();
    let silent = Body::stream(stream::pending::<Result<Bytes, BoxError>>());
    let request = Request::post(MAPS)
        .header("content-type", JSON)
        .body(silent)
        .unwrap();
    assert_eq!(
        target.http.call(request).await.refused(504)["reason"],
        "Timeout"
    );
    assert!(began.elapsed() <= Duration::from_secs(60));
    target.unharmed().await;
}

#[tokio::test]
async fn a_body_that_breaks_off_stores_nothing() {
    let target = Target::new().await;
    let chunks = [
        Ok(Bytes::from(r#"{"metadata":{"name":"b"}}"#)),
        Err::<_, BoxError>("broken".into()),
    ];
    let request = Request::post(MAPS)
        .header("content-type", JSON)
        .body(Body::stream(stream::iter(chunks)));
    let answer = target.http.call(request.unwrap()).await;
    assert!((400..600).contains(&answer.code), "{}", answer.code);
    target.unharmed().await;
}

#[tokio::test]
async fn a_config_map_holds_no_more_than_a_mebibyte() {
    let target = Target::new().await;
    for size in [1024 * 1024 + 1, 2 * 1024 * 1024] {
        target
            .http
            .post(MAPS, map_with("b", &"x".repeat(size)))
            .await
            .refused_with(
                422,
                "ConfigMap \"b\" is invalid: []: Too long: may not be more than 1048576 bytes",
            );
    }
    target.unharmed().await;
}

#[tokio::test]
async fn nesting_in_json_ends_at_ten_thousand_levels() {
    let target = Target::new().await;
    for levels in [10_000, 100_000] {
        let arrays = format!(
            r#"{{"metadata":{{"name":"n"}},"x":{}{}}}"#,
            "[".repeat(levels),
            "]".repeat(levels)
        );
        let objects = format!(
            r#"{{"metadata":{{"name":"n"}},"x":{}1{}}}"#,
            r#"{"a":"#.repeat(levels),
            "}".repeat(levels)
        );
        for (body, bracket) in [(arrays, '['), (objects, '{')] {
            let why = format!(
                "couldn't get version/kind; json parse error: invalid character '{bracket}' exceeded max depth"
            );
            target
                .http
                .send(Method::POST, MAPS, JSON, body)
                .await
                .refused_with(
                    400,
                    &unrecognized(
                        &why,
                        &format!(r#"{{"metadata":{{"name":"n"}},"x":{bracket}"#),
                    ),
                );
        }
    }
    let why =
        "couldn't get version/kind; json parse error: invalid character '[' exceeded max depth";
    target
        .http
        .send(Method::POST, MAPS, JSON, "[".repeat(100_000))
        .await
        .refused_with(400, &unrecognized(why, &"5b".repeat(30)));
    target.unharmed().await;
}

#[tokio::test]
async fn nesting_in_yaml_ends_before_ten_thousand_levels() {
    let target = Target::new().await;
    for levels in [10_000, 100_000] {
        let body = format!(
            "metadata:\n  name: n\nx: {}{}",
            "[".repeat(levels),
            "]".repeat(levels)
        );
        let status = target
            .http
            .send(Method::POST, MAPS, YAML, body)
            .await
            .refused(400);
        let message = status["message"].as_str().unwrap();
        assert!(message.contains("exceeded max depth"), "{message}");
    }
    // Blocks nest by indentation.
    let block: String = (0..1500)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    let answer = target.http.send(Method::POST, MAPS, YAML, block).await;
    assert!((400..500).contains(&answer.code), "{}", answer.message());
    target.unharmed().await;
}

#[tokio::test]
async fn nesting_below_the_limit_is_an_unknown_field() {
    let target = Target::new().await;
    for levels in [1, 10, 100] {
        let body = format!(
            r#"{{"metadata":{{"name":"b"}},"x":{}{}}}"#,
            "[".repeat(levels),
            "]".repeat(levels)
        );
        let path = format!("{MAPS}?dryRun=All");
        let answer = target.http.send(Method::POST, &path, JSON, body).await;
        assert_eq!(
            (answer.code, answer.warnings()),
            (201, vec![r#"299 - "unknown field \"x\"""#]),
            "{levels}"
        );
    }
    target.unharmed().await;
}

#[tokio::test]
async fn a_million_elements_in_the_wrong_place_are_refused() {
    let target = Target::new().await;
    let ones = vec!["1"; 1_000_000].join(",");
    let body = format!(r#"{{"metadata":{{"name":"b"}},"data":[{ones}]}}"#);
    target.http.send(Method::POST, MAPS, JSON, body).await.refused_with(
        400,
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string",
    );
    target.unharmed().await;
}

#[tokio::test]
async fn a_million_elements_in_an_unknown_place_are_dropped() {
    let target = Target::new().await;
    let ones = vec!["1"; 1_000_000].join(",");
    let body = format!(r#"{{"metadata":{{"name":"b"}},"x":[{ones}]}}"#);
    let answer = target
        .http
        .send(Method::POST, &format!("{MAPS}?dryRun=All"), JSON, body)
        .await;
    assert_eq!((answer.code, answer.ok().get("x")), (201, None));
    target.unharmed().await;
}

#[tokio::test]
async fn annotations_hold_no_more_than_a_quarter_of_a_mebibyte() {
    let target = Target::new().await;
    // As many as fit into a body.
    let many: Vec<String> = (0..200_000).map(|i| format!(r#""a{i}":"""#)).collect();
    let long: Vec<String> = (0..300)
        .map(|i| format!(r#""a{i}":"{}""#, "x".repeat(1000)))
        .collect();
    for annotations in [many, long] {
        let body = format!(
            r#"{{"metadata":{{"name":"b","annotations":{{{}}}}}}}"#,
            annotations.join(",")
        );
        assert!(body.len() < LIMIT);
        target.http.send(Method::POST, MAPS, JSON, body).await.refused_with(
            422,
            "ConfigMap \"b\" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes",
        );
    }
    target.unharmed().await;
}

#[tokio::test]
async fn many_unqualified_finalizers_are_refused_with_as_many_words() {
    let target = Target::new().await;
    let finalizers = vec!["a"; 10_000];
    let object = json!({"metadata": {"name": "b", "finalizers": finalizers}});
    let status = target.http.post(MAPS, object).await.refused(422);
    assert_eq!(status["reason"], "Invalid");
    target.unharmed().await;
}
