//! Numbers in custom objects: an integer stays an integer, and a stored float without a fraction becomes one.
//!
//! The expectations are the answers of a real server.

use http::Method;
use serde_json::{Value, json};

use super::{WIDGETS, at, cluster, definition, spec, version, widget};
use crate::http_client::{APPLY, Http, JSON, JSON_PATCH, MERGE, YAML};

/// A definition with every kind of number.
fn numbers() -> Value {
    let rule = |rule: &str| json!([{"rule": rule}]);
    let mut version = version(
        "v1",
        true,
        spec(json!({
            "integer": {"type": "integer"},
            "number": {"type": "number"},
            "any": {"x-kubernetes-preserve-unknown-fields": true},
            "either": {"x-kubernetes-int-or-string": true},
            "ruled": {"type": "integer", "x-kubernetes-validations": rule("self > 1")},
            "replicas": {"type": "integer"},
            "one_of": {"type": "integer", "enum": [2, 3]},
            "small": {"type": "integer", "maximum": 10},
        })),
    );
    version["subresources"] = json!({"scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
    }});
    definition(json!([version]))
}

/// A widget, as text: with a field that is written like this.
fn text(name: &str, field: &str, number: &str) -> String {
    format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"{name}"}},"spec":{{"{field}":{number}}}}}"#
    )
}

/// The text of a field in an answer.
fn shown(answer: &[u8], field: &str) -> String {
    let text = String::from_utf8_lossy(answer);
    let spec = text.rsplit_once("\"spec\":").map(|(_, spec)| spec);
    let value = spec.and_then(|spec| spec.split_once(&format!("\"{field}\":")));
    let end = |c: char| c == ',' || c == '}';
    value
        .and_then(|(_, rest)| rest.split(end).next())
        .unwrap_or_default()
        .to_owned()
}

async fn create(http: &Http, field: &str, number: &str, media: &str) -> Result<String, String> {
    let path = format!("{WIDGETS}?dryRun=All");
    let answer = http
        .send(Method::POST, &path, media, text("x", field, number))
        .await;
    match answer.code {
        201 => Ok(shown(&answer.body, field)),
        _ => Err(answer.json()["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()),
    }
}

#[tokio::test]
async fn numbers_in_responses_are_printed_as_by_go() {
    let (_cluster, http) = cluster(numbers()).await;
    for (written, printed) in [
        ("2.0", "2"),
        ("2e0", "2"),
        ("2.50", "2.5"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("9007199254740993", "9007199254740993"),
        ("9007199254740993.0", "9007199254740992"),
        ("9223372036854775808", "9223372036854775808"),
        ("1e19", "10000000000000000000"),
        ("1e21", "1e+21"),
        ("1e-7", "1e-7"),
    ] {
        for field in ["number", "any"] {
            // JSON has no other digits than those that a float has.
            let printed = match written {
                "9223372036854775808" => "9223372036854776000",
                _ => printed,
            };
            assert_eq!(
                create(&http, field, written, JSON).await,
                Ok(printed.to_owned()),
                "{field} {written}"
            );
        }
    }
    let error = create(&http, "any", "1e400", JSON).await;
    let words = "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number 1e400 into Go value of type float64";
    assert_eq!(error, Err(words.to_owned()));
    // To YAML, it is a text.
    assert_eq!(
        create(&http, "any", "1e400", YAML).await,
        Ok("\"1e400\"".to_owned())
    );
}

#[tokio::test]
async fn a_float_is_taken_for_an_integer_by_the_schema_and_by_nothing_else() {
    let (_cluster, http) = cluster(numbers()).await;
    let created = create(&http, "integer", "2.0", JSON).await;
    assert_eq!(created, Ok("2".to_owned()));
    let created = create(&http, "one_of", "2.0", JSON).await;
    assert_eq!(created, Ok("2".to_owned()));
    let created = create(&http, "either", "2.0", JSON).await;
    assert_eq!(created, Ok("2".to_owned()));
    let invalid = |words: &str| Err(format!("Widget.example.com \"x\" is invalid: {words}"));
    assert_eq!(
        create(&http, "ruled", "2.0", JSON).await,
        invalid(
            "spec.ruled: Invalid value: \"integer\": invalid data, expected int, got float64 evaluating rule: self > 1"
        )
    );
    assert_eq!(
        create(&http, "replicas", "2.0", JSON).await,
        invalid(
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 2 is of the type float64, expected int64"
        )
    );
    assert_eq!(
        create(&http, "small", "2147483648.0", JSON).await,
        invalid(
            "spec.small: Invalid value: 2.147483648e+09: spec.small in body should be less than or equal to 10"
        )
    );
    // YAML becomes JSON first, and is printed for that.
    for field in ["ruled", "replicas"] {
        let created = create(&http, field, "2.0", YAML).await;
        assert_eq!(created, Ok("2".to_owned()));
    }
}

#[tokio::test]
async fn patches_keep_the_float_and_apply_does_not() {
    let (_cluster, http) = cluster(numbers()).await;
    http.post(WIDGETS, widget("x", json!({"ruled": 2})))
        .await
        .ok();
    let path = format!("{}?dryRun=All", at("x"));
    let words = "Widget.example.com \"x\" is invalid: spec.ruled: Invalid value: \"integer\": invalid data, expected int, got float64 evaluating rule: self > 1";
    http.send(
        Method::PATCH,
        &path,
        MERGE,
        r#"{"spec":{"ruled":3.0}}"#.to_owned(),
    )
    .await
    .refused_with(422, words);
    let add = r#"[{"op":"add","path":"/spec/ruled","value":3.0}]"#;
    http.send(Method::PATCH, &path, JSON_PATCH, add.to_owned())
        .await
        .refused_with(422, words);
    let test = r#"[{"op":"test","path":"/spec/ruled","value":2.0}]"#;
    http.send(Method::PATCH, &path, JSON_PATCH, test.to_owned())
        .await
        .refused(422);
    let large = r#"[{"op":"add","path":"/spec/any","value":1e400}]"#;
    http.send(Method::PATCH, &path, JSON_PATCH, large.to_owned())
        .await
        .refused_with(400, "error decoding patch: json: cannot unmarshal number 1e400 into Go struct field jsonPatchOp.value of type float64");
    let apply = format!("{path}&fieldManager=m&force=true");
    let answer = http
        .send(Method::PATCH, &apply, APPLY, text("x", "ruled", "3.0"))
        .await;
    assert_eq!(shown(&answer.body, "ruled"), "3");
    assert_eq!(answer.ok()["metadata"]["generation"], 2);
}

#[tokio::test]
async fn the_same_number_written_as_a_float_is_a_change() {
    let (_cluster, http) = cluster(numbers()).await;
    http.post(WIDGETS, widget("x", json!({"number": 2})))
        .await
        .ok();
    let patched = http
        .send(
            Method::PATCH,
            &at("x"),
            MERGE,
            r#"{"spec":{"number":2.0}}"#.to_owned(),
        )
        .await;
    assert_eq!(patched.ok()["metadata"]["generation"], 2);
    let patched = http
        .send(
            Method::PATCH,
            &at("x"),
            MERGE,
            r#"{"spec":{"number":2}}"#.to_owned(),
        )
        .await;
    assert_eq!(patched.ok()["metadata"]["generation"], 2);
}
