//! `crd-conversion-webhook`: converts the custom resource of Kubernetes' tests between `v1`, with `hostPort`, and `v2`, with
//! `host` and `port`.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use serde_json::{Value, json};

use super::{
    flags::Flags,
    http::{body, certificate, json as answer, serve_tls, text},
};
use crate::image::{Container, HttpBody};

const V1: &str = "stable.example.com/v1";
const V2: &str = "stable.example.com/v2";

pub(super) async fn run(container: &Container, flags: &Flags<'_>) -> i32 {
    let port = flags.port("port", 443);
    serve_tls(container, port, certificate(flags), handle).await
}

async fn handle(request: Request<HttpBody>) -> Response<Bytes> {
    match request.uri().path() {
        "/readyz" => return text(StatusCode::OK, "ok"),
        "/crdconvert" => {}
        _ => return text(StatusCode::NOT_FOUND, "404 page not found\n"),
    }
    let review = body(request).await;
    let review = review.and_then(|body| serde_json::from_slice::<Value>(&body).ok());
    let Some(mut review) = review else {
        return text(StatusCode::BAD_REQUEST, "failed to deserialize body");
    };
    let mut asked = review["request"].take();
    let wanted = asked["desiredAPIVersion"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let Value::Array(objects) = asked["objects"].take() else {
        return text(StatusCode::BAD_REQUEST, "the review has no objects");
    };
    let converted: Result<Vec<Value>, String> = objects
        .into_iter()
        .map(|object| convert(object, &wanted))
        .collect();
    let mut response = match converted {
        Ok(objects) => json!({
            "convertedObjects": objects, "result": {"metadata": {}, "status": "Success"},
        }),
        Err(message) => json!({
            "convertedObjects": [], "result": {"metadata": {}, "status": "Failure", "message": message},
        }),
    };
    response["uid"] = asked["uid"].take();
    let review = json!({
        "apiVersion": review["apiVersion"], "kind": review["kind"], "response": response,
    });
    answer(StatusCode::OK, &review)
}

fn convert(object: Value, wanted: &str) -> Result<Value, String> {
    let from = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    let Value::Object(mut object) = object else {
        return Err("the object is no object".to_owned());
    };
    match (from.as_str(), wanted) {
        (V1, V2) => {
            if let Some(both) = object.remove("hostPort") {
                let text = both.as_str().unwrap_or_default();
                let parts = text.split_once(':').filter(|(_, port)| !port.contains(':'));
                let (host, port) =
                    parts.ok_or_else(|| format!("invalid hostPort value `{text}`"))?;
                object.insert("host".to_owned(), json!(host));
                object.insert("port".to_owned(), json!(port));
            }
        }
        (V2, V1) => {
            let (host, port) = (object.remove("host"), object.remove("port"));
            if host.is_some() || port.is_some() {
                let part = |value: Option<Value>| match value {
                    Some(Value::String(text)) => text,
                    Some(value) => value.to_string(),
                    None => String::new(),
                };
                let both = format!("{}:{}", part(host), part(port));
                object.insert("hostPort".to_owned(), json!(both));
            }
        }
        (V1 | V2, _) => return Err(format!("unexpected conversion version {wanted:?}")),
        _ => return Err(format!("unexpected conversion version {from:?}")),
    }
    object.insert("apiVersion".to_owned(), json!(wanted));
    Ok(Value::Object(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_are_split_and_joined() {
        let first = json!({"apiVersion": V1, "kind": "C", "hostPort": "localhost:8080"});
        let second = json!({"apiVersion": V2, "kind": "C", "host": "localhost", "port": "8080"});
        assert_eq!(convert(first.clone(), V2).unwrap(), second);
        assert_eq!(convert(second, V1).unwrap(), first);
        let wrong = json!({"apiVersion": V1, "hostPort": "a:b:c"});
        assert!(convert(wrong, V2).is_err());
    }
}
