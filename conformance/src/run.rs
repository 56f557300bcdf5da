//! Runs the requests of a scenario in its own namespace.
//!
//! After every write the object is read back, since the stored object is part of the answer. On a shared server,
//! everything is deleted at the end.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    hooks::Hooks,
    normal::{Normal, without_numbers},
    scenario::Scenario,
    server::{Answer, Server},
    sign::sign,
    step::{Body, Caller, Options, Step},
};

/// The default headers of every request.
const USER_AGENT: &str = "conformance/1.0";

/// The number of times that a step asks for what it waits for, and the time between them.
const ATTEMPTS: u32 = 300;
const BETWEEN: Duration = Duration::from_millis(50);

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The request as in the scenario file.
    pub step: String,
    /// The status code.
    pub code: u16,
    /// The content type.
    #[serde(rename = "type")]
    pub content_type: String,
    /// The warnings in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The headers that the scenario asks for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body with placeholders; a text if it is not JSON.
    pub body: Value,
    /// After a write: the stored object, or `as answered`, `unchanged`, `absent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<Value>,
    /// The webhooks that were called, in order: their names, or the calls if the scenario asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Value>,
}

/// Runs all requests of a scenario.
pub async fn run_scenario(server: &Server, scenario: &Scenario) -> Result<Vec<Outcome>> {
    let mut session = Session::begin(server, scenario).await?;
    let mut outcomes = Vec::new();
    for step in &scenario.steps {
        let outcome = session.step(step).await;
        outcomes.push(outcome.with_context(|| format!("{}: {}", scenario.name, step.title))?);
    }
    if server.is_shared() {
        session.clean_up().await?;
    }
    Ok(outcomes)
}

struct Session<'a> {
    server: &'a Server,
    normal: Normal,
    saved: BTreeMap<String, String>,
    /// The stored objects at the last look, by path.
    stored: BTreeMap<String, Value>,
    /// The webhooks of the scenario, if it has any.
    hooks: Option<Hooks>,
}

impl<'a> Session<'a> {
    async fn begin(server: &'a Server, scenario: &Scenario) -> Result<Self> {
        let namespace = unique();
        let hooks = match scenario.hooks.is_empty() {
            true => None,
            false => Some(Hooks::serve(scenario.hooks.clone()).await?),
        };
        let mut session = Self {
            server,
            normal: Normal::new(&namespace),
            saved: BTreeMap::from([("ns".to_owned(), namespace.clone())]),
            stored: BTreeMap::new(),
            hooks,
        };
        let names = session.hooks.as_ref().map(Hooks::names).transpose()?;
        for (name, text) in names.into_iter().flatten() {
            session.normal.known(&text, name);
            session.saved.insert(name.to_owned(), text);
        }
        let body = json!({"metadata": {"name": namespace}}).to_string();
        let made = session
            .ask("POST", "/api/v1/namespaces", "application/json", body)
            .await?;
        if made.code != 201 {
            bail!("no namespace: {}", String::from_utf8_lossy(&made.body));
        }
        Ok(session)
    }

    async fn step(&mut self, step: &Step) -> Result<Outcome> {
        let options = &step.options;
        self.server.wait(options.wait).await?;
        self.sign(&options.sign)?;
        let path = self.filled(&step.path);
        let body = match &step.body {
            None => String::new(),
            Some(Body::Text(text)) => self.filled(text),
            Some(Body::Json(value)) => self.filled(&value.to_string()),
        };
        self.normal.given(&body);
        self.normal.given(&path);
        let writes = !matches!(step.method.as_str(), "GET" | "HEAD");
        if (writes || step.needs_permission()) && !step.quick {
            self.server.tick().await;
        }
        let answer = self.answer(step, &path, &body).await?;
        let calls = self.calls(options);
        let given = read(&answer);
        for (name, path) in &step.save {
            self.saved.insert(name.clone(), saved(&given, path)?);
        }
        let mut seen = match options.uncounted {
            true => without_numbers(self.normal.clone().value(&given)),
            false => self.normal.value(&given),
        };
        if step.quick || options.unnumbered {
            seen = without_numbers(seen);
        }
        let stored = match writes && step.look {
            true => self.look(&step.method, &path, &body, &given, &seen).await?,
            false => None,
        };
        for path in &options.unordered {
            if let Some(Value::Array(items)) = seen.pointer_mut(&pointer(path)) {
                items.sort_by_cached_key(Value::to_string);
            }
        }
        if !options.only.is_empty() {
            let kept = options.only.iter();
            let kept =
                kept.map(|path| (path.clone(), at(&seen, path).cloned().unwrap_or_default()));
            seen = Value::Object(kept.collect());
        }
        let headers = options.answers.iter().filter_map(|name| {
            let values = answer.headers.get_all(name).iter();
            let values: Vec<_> = values
                .map(|v| String::from_utf8_lossy(v.as_bytes()))
                .collect();
            let text = self.normal.text(&values.join(", "));
            (!values.is_empty()).then_some((name.clone(), text))
        });
        Ok(Outcome {
            step: step.title.clone(),
            code: answer.code,
            headers: headers.collect(),
            content_type: answer.content_type,
            warnings: answer
                .warnings
                .iter()
                .map(|w| self.normal.text(w))
                .collect(),
            body: seen,
            stored,
            calls,
        })
    }

    /// Returns the calls of webhooks since the step before.
    fn calls(&mut self, options: &Options) -> Vec<Value> {
        let calls = self.hooks.as_ref().map(Hooks::take_calls);
        let calls = calls.into_iter().flatten().map(|mut call| {
            if !options.reviews {
                return call.hook.into();
            }
            call.contents["hook"] = call.hook.into();
            let request = &mut call.contents["review"]["request"];
            // Each call has another one, and calls may come in any order.
            if request["uid"].is_string() {
                request["uid"] = "<uid>".into();
            }
            // The object tells which part of its name was generated.
            self.normal.value(&request["object"]);
            self.normal.value(&call.contents)
        });
        let mut calls: Vec<Value> = calls.collect();
        if options.unordered.iter().any(|path| path == "calls") {
            calls.sort_by_cached_key(Value::to_string);
        }
        calls
    }

    /// Sends the request, again and again if the step says until when.
    async fn answer(&self, step: &Step, path: &str, body: &str) -> Result<Answer> {
        let mut headers = usual_headers();
        if step.body.is_some() {
            headers.insert("content-type".to_owned(), step.content_type.clone());
        }
        for (name, value) in &step.headers {
            headers.insert(name.to_lowercase(), self.filled(value));
        }
        let caller = match &step.options.caller {
            Caller::Token(token) => Caller::Token(self.filled(token)),
            other => other.clone(),
        };
        let sent = |body: &str| body.to_owned().into_bytes();
        for _ in 0..ATTEMPTS {
            let answer = self
                .server
                .ask_as(&caller, &step.method, path, &headers, sent(body));
            let answer = answer.await?;
            let reached = match step.options.until.as_deref() {
                None => true,
                Some("gone") => answer.code == 404,
                Some(path) => at(&read(&answer), path).is_some(),
            };
            if reached {
                return Ok(answer);
            }
            tokio::time::sleep(BETWEEN).await;
        }
        bail!("{path} did not come to have what the step waits for")
    }

    fn sign(&mut self, tokens: &BTreeMap<String, Value>) -> Result<()> {
        for (name, description) in tokens {
            let description = self.filled(&description.to_string());
            let now = self.server.now().as_second();
            let description = serde_json::from_str(&description)?;
            let token = sign(self.server.identities()?, &description, now)?;
            self.saved.insert(name.clone(), token);
        }
        Ok(())
    }

    /// Reads back the object of a write.
    async fn look(
        &mut self,
        method: &str,
        path: &str,
        sent: &str,
        answer: &Value,
        seen: &Value,
    ) -> Result<Option<Value>> {
        let named = |v: &Value| v["metadata"]["name"].as_str().map(str::to_owned);
        let name = (method == "POST").then(|| {
            let sent = serde_json::from_str::<Value>(sent).unwrap_or_default();
            named(answer).or_else(|| named(&sent))
        });
        let Some(path) = object_path(path, name.flatten().as_deref()) else {
            return Ok(None);
        };
        let found = self.ask("GET", &path, "", String::new()).await?;
        let now = match found.code {
            200 => self.normal.value(&read(&found)),
            404 => Value::from("absent"),
            code => json!({"code": code, "body": self.normal.value(&read(&found))}),
        };
        let before = self.stored.insert(path, now.clone());
        Ok(Some(match now {
            now if now == *seen => "as answered".into(),
            now if Some(&now) == before.as_ref() && now != "absent" => "unchanged".into(),
            now => now,
        }))
    }

    async fn ask(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: String,
    ) -> Result<Answer> {
        let mut headers = usual_headers();
        if !content_type.is_empty() {
            headers.insert("content-type".to_owned(), content_type.to_owned());
        }
        self.server
            .ask(method, path, &headers, body.into_bytes())
            .await
    }

    fn filled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.saved {
            text = text.replace(&format!("<{name}>"), value);
        }
        text
    }

    async fn clean_up(&self) -> Result<()> {
        let namespace = format!("/api/v1/namespaces/{}", self.saved["ns"]);
        let merge = "application/merge-patch+json";
        // Webhooks and policies go first: they might not let go of the rest.
        let mut paths: Vec<&String> = self.stored.keys().collect();
        paths.retain(|path| **path != namespace);
        paths.sort_by_key(|path| !path.starts_with("/apis/admissionregistration.k8s.io/"));
        for path in paths {
            let free = json!({"metadata": {"finalizers": null}}).to_string();
            self.ask("PATCH", path, merge, free).await?;
            let options = json!({"gracePeriodSeconds": 0}).to_string();
            self.ask("DELETE", path, "application/json", options)
                .await?;
        }
        self.ask("DELETE", &namespace, "", String::new()).await?;
        let gone = json!({"metadata": {"name": self.saved["ns"]}, "spec": {"finalizers": []}});
        let path = format!("{namespace}/finalize");
        self.ask("PUT", &path, "application/json", gone.to_string())
            .await?;
        Ok(())
    }
}

/// Returns the path of the object that a path, a collection or a subresource is about.
fn object_path(path: &str, name: Option<&str>) -> Option<String> {
    let path = path.split('?').next()?;
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let prefix = match *parts.first()? {
        "api" => 2,
        _ => 3,
    };
    let resource = match parts.get(prefix..)? {
        ["namespaces", _, sub, ..] if !matches!(*sub, "status" | "finalize") => prefix + 2,
        _ => prefix,
    };
    let collection = parts.get(..=resource)?.join("/");
    let name = parts.get(resource + 1).copied().or(name)?;
    (!name.is_empty()).then(|| format!("/{collection}/{name}"))
}

fn usual_headers() -> BTreeMap<String, String> {
    [("accept", "application/json"), ("user-agent", USER_AGENT)]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Returns the value to save from a dotted path, which `base64` may precede.
fn saved(given: &Value, path: &str) -> Result<String> {
    let (path, encoded) = match path.strip_prefix("base64 ") {
        Some(path) => (path, true),
        None => (path, false),
    };
    let found = at(given, path).with_context(|| format!("nothing at {path} of {given}"))?;
    let text = found
        .as_str()
        .map_or_else(|| found.to_string(), str::to_owned);
    match encoded {
        true => Ok(String::from_utf8(STANDARD.decode(text)?)?),
        false => Ok(text),
    }
}

/// Returns the value at a dotted path. `/` in a key is written `~1`.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    value.pointer(&pointer(path))
}

fn pointer(path: &str) -> String {
    format!("/{}", path.replace('.', "/"))
}

/// Parses JSON, or returns the text.
fn read(answer: &Answer) -> Value {
    match answer.body.as_slice() {
        [] => Value::Null,
        bytes => serde_json::from_slice(bytes)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned())),
    }
}

/// Returns a unique name of fixed length.
fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let second = jiff::Timestamp::now().as_second();
    format!("conf-{:08x}-{:03x}", second, count & 0xfff)
}

#[cfg(test)]
mod tests {
    use super::object_path;

    #[test]
    fn objects_are_found_from_any_path() {
        let pod = Some("/api/v1/namespaces/n/pods/p".to_owned());
        for path in [
            "/api/v1/namespaces/n/pods/p",
            "/api/v1/namespaces/n/pods/p/status?x=y",
        ] {
            assert_eq!(object_path(path, None), pod);
        }
        assert_eq!(
            object_path("/api/v1/namespaces/n/pods?dryRun=All", Some("p")),
            pod
        );
        let namespace = Some("/api/v1/namespaces/n".to_owned());
        assert_eq!(
            object_path("/api/v1/namespaces/n/finalize", None),
            namespace
        );
        assert_eq!(object_path("/api/v1/namespaces", Some("n")), namespace);
        let class = Some("/apis/node.k8s.io/v1/runtimeclasses/r".to_owned());
        assert_eq!(
            object_path("/apis/node.k8s.io/v1/runtimeclasses", Some("r")),
            class
        );
        assert_eq!(
            object_path("/apis/node.k8s.io/v1/runtimeclasses", None),
            None
        );
    }
}
