//! [`Script`]: the answer of a webhook.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The answers of a webhook: the first to the first call and so on, and the last to all further ones.
#[derive(Clone, Debug)]
pub struct Script(Vec<Answer>);

/// One answer. Without fields it is an allowing review.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Answer {
    /// Fields of the `response` beside `uid` and `allowed: true`, which they may override; null removes one.
    response: Map<String, Value>,
    /// Fields of the review, which override those that the answer has otherwise; null removes one.
    review: Map<String, Value>,
    /// Operations of a JSON patch, or a text, for `patch` and `patchType` of the response.
    patch: Option<Value>,
    /// The objects of a `ConversionReview` are sent back with the version that is asked for.
    converts: bool,
    /// The status code.
    code: Option<u16>,
    /// The response headers.
    headers: Map<String, Value>,
    /// The body instead of a review.
    body: Option<String>,
    /// The number of times that the body is repeated.
    times: Option<usize>,
    /// Milliseconds until the answer.
    after: u64,
    /// The connection is closed instead of an answer.
    closes: bool,
}

impl Script {
    /// Reads an answer or a list of answers.
    pub fn parse(given: &Value) -> Result<Self> {
        let answers = match given {
            Value::Array(answers) => answers.clone(),
            Value::Null => vec![json!({})],
            one => vec![one.clone()],
        };
        let answers = answers.into_iter().map(serde_json::from_value);
        let answers: Vec<Answer> = answers
            .collect::<Result<_, _>>()
            .context("the answer of a webhook")?;
        if answers.is_empty() {
            bail!("a webhook without answers");
        }
        Ok(Self(answers))
    }

    /// Answers a review after some calls before.
    ///
    /// # Errors
    ///
    /// Fails if the connection is to be closed.
    pub(super) async fn answer(
        &self,
        review: &Value,
        before: usize,
    ) -> Result<Response<Full<Bytes>>> {
        let answer = self.0.get(before).or(self.0.last());
        answer.context("no answer")?.send(review).await
    }
}

impl Answer {
    async fn send(&self, review: &Value) -> Result<Response<Full<Bytes>>> {
        tokio::time::sleep(Duration::from_millis(self.after)).await;
        if self.closes {
            bail!("the connection is closed");
        }
        let body = match (&self.body, self.converts) {
            (Some(body), _) => body.repeat(self.times.unwrap_or(1)),
            (None, true) => converted(review).to_string(),
            (None, false) => self.reviewed(review).to_string(),
        };
        let mut response = Response::builder()
            .status(StatusCode::from_u16(self.code.unwrap_or(200))?)
            .header("content-type", "application/json");
        for (name, value) in &self.headers {
            response = response.header(name, value.as_str().context("a header must be a text")?);
        }
        Ok(response.body(Full::new(Bytes::from(body)))?)
    }

    /// Returns the review with the response.
    fn reviewed(&self, review: &Value) -> Value {
        let mut response = json!({"uid": review["request"]["uid"], "allowed": true});
        if let Some(patch) = &self.patch {
            let text = patch
                .as_str()
                .map_or_else(|| patch.to_string(), str::to_owned);
            response["patch"] = STANDARD.encode(text).into();
            response["patchType"] = "JSONPatch".into();
        }
        overridden(&mut response, &self.response);
        let mut answer = json!({
            "apiVersion": review["apiVersion"],
            "kind": review["kind"],
            "response": response,
        });
        overridden(&mut answer, &self.review);
        answer
    }
}

fn overridden(value: &mut Value, by: &Map<String, Value>) {
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    for (key, value) in by {
        match value {
            Value::Null => drop(fields.remove(key)),
            value => drop(fields.insert(key.clone(), value.clone())),
        }
    }
}

fn converted(review: &Value) -> Value {
    let request = &review["request"];
    let mut objects = request["objects"].clone();
    for object in objects.as_array_mut().into_iter().flatten() {
        object["apiVersion"] = request["desiredAPIVersion"].clone();
    }
    json!({
        "apiVersion": review["apiVersion"],
        "kind": review["kind"],
        "response": {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_come_in_order_and_the_last_repeats() {
        let script =
            Script::parse(&json!([{"code": 500, "body": "a"}, {"code": 404, "body": "b"}]));
        let script = script.unwrap();
        for (before, code) in [(0, 500), (1, 404), (2, 404)] {
            let answer = script.answer(&Value::Null, before).await.unwrap();
            assert_eq!(answer.status().as_u16(), code);
        }
        assert!(Script::parse(&json!({"unknown": 1})).is_err());
    }

    #[test]
    fn a_review_is_allowed_unless_the_script_says_otherwise() {
        let review = json!({"apiVersion": "v", "kind": "K", "request": {"uid": "u"}});
        let plain = Answer::default().reviewed(&review);
        let expected =
            json!({"apiVersion": "v", "kind": "K", "response": {"uid": "u", "allowed": true}});
        assert_eq!(plain, expected);
        let given = json!({"patch": [], "response": {"uid": null, "allowed": false}, "review": {"kind": "L"}});
        let answer: Answer = serde_json::from_value(given).unwrap();
        let expected = json!({
            "apiVersion": "v", "kind": "L", "response": {"allowed": false, "patch": "W10=", "patchType": "JSONPatch"},
        });
        assert_eq!(answer.reviewed(&review), expected);
    }
}
