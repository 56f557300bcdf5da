//! Scenario files: the requests and their order.
//!
//! A file is YAML with `about`, `let` (abbreviations for paths and bodies) and `scenarios`. A step is a mapping whose
//! first key is the request, `POST <core>/pods`, and whose value is the body: a mapping is sent as JSON, a string as it
//! is, and null means no body. The words `JSON`, `MERGE`, `STRATEGIC` and `APPLY` stand for a PATCH of that content
//! type. A step may also have `headers`, `save` (a name and a path into the answer, for `<name>` later) and `stored:
//! false` if there is nothing to read after a write.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, anyhow, bail, ensure};
use kubewright_schema::yaml::parse_yaml;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The words that start a step, with their methods and content types.
const WORDS: [(&str, &str, &str); 8] = [
    ("GET", "GET", ""),
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

/// A scenario file.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// The folder and the name without its extension: `apply/conflicts`.
    pub name: String,
    /// The subject of the file, in a sentence.
    pub about: String,
    /// The scenarios in order.
    pub scenarios: Vec<Scenario>,
}

/// A sequence of requests in its own namespace.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The behaviour that it shows, as a sentence.
    pub name: String,
    /// The requests.
    pub steps: Vec<Step>,
}

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
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
    /// Additional headers, which override the default ones.
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
            headers: BTreeMap::new(),
            save: BTreeMap::new(),
            look: true,
            quick: false,
        }
    }
}

/// The body of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Body {
    /// Sent as JSON.
    Json(Value),
    /// Sent as it is.
    Text(String),
}

/// Reads all scenario files below a folder, by name.
pub fn load(folder: &Path) -> Result<Vec<ScenarioFile>> {
    let mut files = Vec::new();
    for area in sorted(folder)? {
        for file in sorted(&folder.join(&area))? {
            let Some(stem) = file.strip_suffix(".yaml") else {
                bail!("{area}/{file} is not a scenario file: it does not end in .yaml");
            };
            let text = fs::read_to_string(folder.join(&area).join(&file))?;
            files.push(parse(&format!("{area}/{stem}"), &text)?);
        }
    }
    Ok(files)
}

/// Reads a scenario file.
pub fn parse(name: &str, text: &str) -> Result<ScenarioFile> {
    read(name, text).with_context(|| format!("scenario file {name}"))
}

fn read(name: &str, text: &str) -> Result<ScenarioFile> {
    let yaml = parse_yaml(text.as_bytes()).map_err(|e| anyhow!("{e}"))?;
    // The parser does not keep the order of keys, so the request is recognized by its first word.
    let file = yaml.node.into_value().map_err(|e| anyhow!("{e}"))?;
    let about = file["about"].as_str().context("no `about`")?.to_owned();
    let abbreviations = abbreviations(&file["let"])?;
    let mut scenarios = Vec::new();
    for scenario in file["scenarios"].as_array().context("no `scenarios`")? {
        let title = scenario["scenario"]
            .as_str()
            .context("a scenario without a name")?;
        let steps = scenario["steps"]
            .as_array()
            .context("a scenario without steps")?;
        let steps = steps
            .iter()
            .enumerate()
            .map(|(i, s)| {
                step(s, &abbreviations).with_context(|| format!("{title}, step {}", i + 1))
            })
            .collect::<Result<_>>()?;
        ensure!(
            scenarios.iter().all(|s: &Scenario| s.name != title),
            "duplicate scenario {title:?}"
        );
        scenarios.push(Scenario {
            name: title.to_owned(),
            steps,
        });
    }
    Ok(ScenarioFile {
        name: name.to_owned(),
        about,
        scenarios,
    })
}

/// Returns the abbreviations that every file may use, and those of this file.
fn abbreviations(given: &Value) -> Result<BTreeMap<String, Value>> {
    let mut all: BTreeMap<String, Value> = [
        ("core", "/api/v1/namespaces/<ns>"),
        ("apps", "/apis/apps/v1/namespaces/<ns>"),
        ("batch", "/apis/batch/v1/namespaces/<ns>"),
        ("net", "/apis/networking.k8s.io/v1/namespaces/<ns>"),
    ]
    .into_iter()
    .map(|(name, path)| (name.to_owned(), Value::from(path)))
    .collect();
    if let Some(given) = given.as_object() {
        all.extend(
            given
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
    }
    // Abbreviations may use each other, a few levels deep.
    for _ in 0..4 {
        all = all
            .iter()
            .map(|(name, value)| Ok((name.clone(), substituted(value, &all)?)))
            .collect::<Result<_>>()?;
    }
    Ok(all)
}

fn step(given: &Value, abbreviations: &BTreeMap<String, Value>) -> Result<Step> {
    let given = given.as_object().context("a step must be a mapping")?;
    let mut request = None;
    let (mut headers, mut save, mut look) = (BTreeMap::new(), BTreeMap::new(), true);
    for (key, value) in given {
        match key.as_str() {
            "headers" => headers = texts(value)?,
            "save" => save = texts(value)?,
            "stored" => look = value.as_bool().context("`stored` must be true or false")?,
            other => {
                let (word, path) = other
                    .split_once(' ')
                    .with_context(|| format!("{other:?}"))?;
                let word = WORDS.iter().find(|(w, ..)| *w == word);
                let word = word.with_context(|| format!("unknown request {other:?}"))?;
                ensure!(request.is_none(), "two requests in one step");
                request = Some((word, path, value));
            }
        }
    }
    let ((word, method, content_type), path, body) = request.context("no request")?;
    let full = substituted(&Value::from(path), abbreviations)?;
    let body = match substituted(body, abbreviations)? {
        Value::Null => None,
        Value::String(text) => Some(Body::Text(text)),
        value => Some(Body::Json(value)),
    };
    Ok(Step {
        title: format!("{word} {path}"),
        method: (*method).to_owned(),
        path: full.as_str().context("a path must be a string")?.to_owned(),
        content_type: (*content_type).to_owned(),
        body,
        headers,
        save,
        look,
        quick: false,
    })
}

/// Expands abbreviations: a text that is just `<name>` becomes the value; inside a text only texts are inserted.
fn substituted(value: &Value, known: &BTreeMap<String, Value>) -> Result<Value> {
    Ok(match value {
        Value::String(text) => {
            let whole = text.strip_prefix('<').and_then(|t| t.strip_suffix('>'));
            if let Some(value) = whole.and_then(|name| known.get(name)) {
                return Ok(value.clone());
            }
            let mut text = text.clone();
            for (name, value) in known {
                if let Some(value) = value.as_str() {
                    text = text.replace(&format!("<{name}>"), value);
                }
            }
            Value::String(text)
        }
        Value::Array(items) => items
            .iter()
            .map(|item| substituted(item, known))
            .collect::<Result<_>>()?,
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, value)| Ok((name.clone(), substituted(value, known)?)))
                .collect::<Result<Map<_, _>>>()?,
        ),
        other => other.clone(),
    })
}

fn texts(value: &Value) -> Result<BTreeMap<String, String>> {
    let fields = value.as_object().context("expected a mapping of strings")?;
    let text = |v: &Value| v.as_str().map(str::to_owned).context("a text");
    fields
        .iter()
        .map(|(name, value)| Ok((name.clone(), text(value)?)))
        .collect()
}

fn sorted(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
