//! Steps: the requests of a scenario.
//!
//! A step is a mapping whose key is the request, `POST <core>/pods`, and whose value is the body: a mapping is sent as
//! JSON, a string as it is, and null means no body. The words `JSON`, `MERGE`, `STRATEGIC` and `APPLY` stand for a PATCH
//! of that content type. Other keys are options; see `conformance/README.md`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::scenario::substituted;

/// The words that start a step, with their methods and content types.
const WORDS: [(&str, &str, &str); 9] = [
    ("GET", "GET", ""),
    ("HEAD", "HEAD", ""),
    ("POST", "POST", "application/json"),
    ("PUT", "PUT", "application/json"),
    ("DELETE", "DELETE", "application/json"),
    ("JSON", "PATCH", "application/json-patch+json"),
    ("MERGE", "PATCH", "application/merge-patch+json"),
    (
        "STRATEGIC",
        "PATCH",
        "application/strategic-merge-patch+json",
    ),
    ("APPLY", "PATCH", "application/apply-patch+yaml"),
];

/// The users of the token file besides the administrator, with their tokens.
const USERS: [(&str, &str); 2] = [("alice", "usertok"), ("bob", "bobtok")];

/// A request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Step {
    /// The request as in the file: `APPLY <core>/configmaps/a?fieldManager=m`.
    pub title: String,
    /// The HTTP method.
    pub method: String,
    /// The path and query, with placeholders.
    pub path: String,
    /// The content type of the body.
    pub content_type: String,
    /// The body, with placeholders.
    pub body: Option<Body>,
    /// Additional headers, which override the default ones; the values of a repeated header are separated by line breaks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Values to save from the answer: names and dotted paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub save: BTreeMap<String, String>,
    /// Reads the stored object after a write.
    pub look: bool,
    /// Leaves the clock alone before the step: a dry run whose times are not compared.
    #[serde(default)]
    pub quick: bool,
    /// Options that only scenario files have.
    #[serde(skip)]
    pub options: Options,
}

/// Options of a step.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The sender.
    pub caller: Caller,
    /// The response headers that are compared.
    pub answers: Vec<String>,
    /// The dotted paths of the body that are compared, if not all of it is.
    pub only: Vec<String>,
    /// The dotted paths of lists whose order is random.
    pub unordered: Vec<String>,
    /// Seconds that pass before the request.
    pub wait: u32,
    /// A dotted path of the body, or `gone`: the request is repeated until the answer has it, or is a 404.
    pub until: Option<String>,
    /// Compares times, uids and versions without their numbers.
    pub unnumbered: bool,
    /// Compares them without their numbers, and does not count them in later steps.
    pub uncounted: bool,
    /// Compares the reviews that webhooks got, and not only their names.
    pub reviews: bool,
    /// Tokens to sign before the request, by name.
    pub sign: BTreeMap<String, Value>,
}

/// The sender of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Caller {
    /// The administrator.
    #[default]
    Admin,
    /// Somebody without credentials.
    Anonymous,
    /// The owner of a bearer token, with placeholders.
    Token(String),
    /// The owner of a client certificate, by its name.
    Certificate(String),
}

/// The body of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Body {
    /// Sent as JSON.
    Json(Value),
    /// Sent as it is.
    Text(String),
}

impl Step {
    /// Parses a request that starts with one of the words of scenario files.
    pub fn new(title: &str, word: &str, path: &str, body: Option<Body>) -> Self {
        let (method, content_type) = match WORDS.iter().find(|(w, ..)| *w == word) {
            Some((_, method, content_type)) => (*method, *content_type),
            None => (word, ""),
        };
        Self {
            title: format!("{title}: {word}"),
            method: method.to_owned(),
            path: path.to_owned(),
            content_type: content_type.to_owned(),
            body,
            look: true,
            ..Self::default()
        }
    }

    /// Returns whether somebody other than the administrator is asking, so that permissions matter.
    pub fn needs_permission(&self) -> bool {
        let impersonates = |name: &String| name.to_lowercase().starts_with("impersonate-");
        self.options.caller != Caller::Admin || self.headers.keys().any(impersonates)
    }

    /// Reads a step of a scenario file.
    pub(crate) fn parse(given: &Value, abbreviations: &BTreeMap<String, Value>) -> Result<Self> {
        let given = given.as_object().context("a step must be a mapping")?;
        let mut step = Self {
            look: true,
            ..Self::default()
        };
        for (key, value) in given {
            let value = substituted(value, abbreviations)?;
            match key.as_str() {
                "headers" => step.headers.extend(texts(&value)?),
                "save" => step.save = texts(&value)?,
                "stored" => {
                    step.look = value.as_bool().context("`stored` must be true or false")?;
                }
                "as" => step.act_as(&value)?,
                "token" => step.options.caller = Caller::Token(text(&value)?),
                "certificate" => step.options.caller = Caller::Certificate(text(&value)?),
                "answers" => step.options.answers = lines(&value)?,
                "only" => step.options.only = lines(&value)?,
                "unordered" => step.options.unordered = lines(&value)?,
                "wait" => {
                    let seconds = value.as_u64().context("`wait` must be a number")?;
                    step.options.wait = u32::try_from(seconds)?;
                }
                "until" => step.options.until = Some(text(&value)?),
                "unnumbered" => {
                    step.options.unnumbered = value.as_bool().context("`unnumbered`")?;
                }
                "uncounted" => {
                    step.options.uncounted = value.as_bool().context("`uncounted`")?;
                }
                "reviews" => {
                    step.options.reviews = value.as_bool().context("`reviews`")?;
                }
                "sign" => {
                    let tokens = value.as_object().context("`sign` must be a mapping")?;
                    step.options.sign = tokens.clone().into_iter().collect();
                }
                request => step.request(request, value, abbreviations)?,
            }
        }
        ensure!(!step.method.is_empty(), "no request");
        Ok(step)
    }

    fn request(
        &mut self,
        request: &str,
        body: Value,
        abbreviations: &BTreeMap<String, Value>,
    ) -> Result<()> {
        let (word, path) = request
            .split_once(' ')
            .with_context(|| format!("{request:?}"))?;
        let known = WORDS.iter().find(|(w, ..)| *w == word);
        let (_, method, content_type) =
            known.with_context(|| format!("unknown request {request:?}"))?;
        ensure!(self.method.is_empty(), "two requests in one step");
        let full = substituted(&Value::from(path), abbreviations)?;
        self.title = request.to_owned();
        self.method = (*method).to_owned();
        self.path = full.as_str().context("a path must be a string")?.to_owned();
        self.content_type = (*content_type).to_owned();
        self.body = match body {
            Value::Null => None,
            Value::String(text) => Some(Body::Text(text)),
            value => Some(Body::Json(value)),
        };
        Ok(())
    }

    /// Sets the sender: a user of the token file by name, or any user, whom the administrator impersonates.
    fn act_as(&mut self, given: &Value) -> Result<()> {
        match given {
            Value::String(name) => {
                let user = USERS.iter().find(|(user, _)| user == name);
                self.options.caller = match (name.as_str(), user) {
                    ("admin", _) => Caller::Admin,
                    ("anonymous", _) => Caller::Anonymous,
                    (_, Some((_, token))) => Caller::Token((*token).to_owned()),
                    _ => bail!("nobody is called {name:?}"),
                };
            }
            Value::Object(user) => {
                for (key, value) in user {
                    let header = match key.as_str() {
                        "user" => "impersonate-user",
                        "uid" => "impersonate-uid",
                        "groups" => "impersonate-group",
                        other => bail!("a user has no {other:?}"),
                    };
                    let value = lines(value)?.join("\n");
                    self.headers.insert(header.to_owned(), value);
                }
            }
            _ => bail!("`as` must be a name or a user"),
        }
        Ok(())
    }
}

fn text(value: &Value) -> Result<String> {
    value.as_str().map(str::to_owned).context("expected a text")
}

/// Returns a list of texts, or the only one.
fn lines(value: &Value) -> Result<Vec<String>> {
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        one => Ok(vec![text(one)?]),
    }
}

fn texts(value: &Value) -> Result<BTreeMap<String, String>> {
    let fields = value.as_object().context("expected a mapping of strings")?;
    fields
        .iter()
        .map(|(name, value)| Ok((name.clone(), lines(value)?.join("\n"))))
        .collect()
}
