//! Scenario files: sequences of requests.
//!
//! A file is YAML with `about`, `setup` (how the server is set up), `let` (abbreviations for paths and bodies), `hooks`
//! (webhooks and their answers), `pending` (why the file, or a scenario of it, is recorded and not compared yet) and `scenarios`.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use anyhow::{Context, Result, anyhow, bail, ensure};
use kubewright_schema::yaml::parse_yaml;
use serde_json::{Map, Value};

use crate::{
    hooks::{Script, Scripts},
    setup::Setup,
    step::Step,
};

/// A scenario file.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    /// The folder and the name without its extension: `apply/conflicts`.
    pub name: String,
    /// The subject of the file, in a sentence.
    pub about: String,
    /// The way the server is set up.
    pub setup: Setup,
    /// The scenarios in order.
    pub scenarios: Vec<Scenario>,
}

/// A sequence of requests in its own namespace.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The behaviour that it shows, as a sentence.
    pub name: String,
    /// The reason why it is recorded but not compared yet.
    pub pending: Option<String>,
    /// The webhooks of the file.
    pub hooks: Arc<Scripts>,
    /// The requests.
    pub steps: Vec<Step>,
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
    let setup = match file["setup"].as_str() {
        Some(name) => name.parse()?,
        None => Setup::default(),
    };
    let pending = |value: &Value| value["pending"].as_str().map(str::to_owned);
    let abbreviations = abbreviations(&file["let"])?;
    let hooks = Arc::new(hooks(&file["hooks"])?);
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
                Step::parse(s, &abbreviations).with_context(|| format!("{title}, step {}", i + 1))
            })
            .collect::<Result<_>>()?;
        ensure!(
            scenarios.iter().all(|s: &Scenario| s.name != title),
            "duplicate scenario {title:?}"
        );
        scenarios.push(Scenario {
            name: title.to_owned(),
            pending: pending(scenario).or_else(|| pending(&file)),
            hooks: hooks.clone(),
            steps,
        });
    }
    Ok(ScenarioFile {
        name: name.to_owned(),
        about,
        setup,
        scenarios,
    })
}

fn hooks(given: &Value) -> Result<Scripts> {
    let given = given.as_object().into_iter().flatten();
    given
        .map(|(name, script)| {
            let script = Script::parse(script).with_context(|| format!("webhook {name:?}"))?;
            Ok((name.clone(), script))
        })
        .collect()
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

/// Expands abbreviations: a text that is just `<name>` becomes the value; inside a text only texts are inserted.
pub(crate) fn substituted(value: &Value, known: &BTreeMap<String, Value>) -> Result<Value> {
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

fn sorted(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
