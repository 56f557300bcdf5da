//! Comparison field by field, and the reasons for intended differences.

use std::{cell::Cell, fs, path::Path};

use anyhow::{Context, Result, anyhow};
use kubewright_schema::yaml::parse_yaml;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    golden::Golden,
    run::Outcome,
    scenario::{Scenario, ScenarioFile},
    server::Server,
    setup::Setup,
};

/// The outcome of a scenario file.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The name of the file.
    pub file: String,
    /// The subject of the file.
    pub about: String,
    /// The number of scenarios that were compared.
    pub scenarios: usize,
    /// The scenarios that are recorded and not compared yet, with the reason.
    pub pending: Vec<(String, String)>,
    /// The number of steps.
    pub steps: usize,
    /// The differences.
    pub differences: Vec<Difference>,
}

/// A step with a different outcome.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The scenario.
    pub scenario: String,
    /// The number of the step, from one.
    pub step: usize,
    /// The request.
    pub title: String,
    /// The differing fields: the path, the recorded and the actual value.
    pub fields: Vec<String>,
    /// The reason why the difference is intended.
    pub reason: Option<String>,
}

/// The reasons for intended differences.
#[derive(Debug, Default)]
pub struct Reasons(Vec<Reason>);

#[derive(Debug, Deserialize)]
struct Reason {
    /// The name of the scenario file.
    file: String,
    scenario: String,
    step: usize,
    /// The fields that may differ, as path prefixes.
    fields: Vec<String>,
    reason: String,
    #[serde(skip)]
    used: Cell<bool>,
}

/// Runs the scenarios of a file against a server, and compares the answers with the recorded ones. Scenarios that are
/// not to be compared yet are left out, unless all are asked for.
pub async fn compare_file(
    server: Option<&Server>,
    file: &ScenarioFile,
    golden: &Golden,
    reasons: &Reasons,
    all: bool,
) -> Result<Comparison> {
    let mut comparison = Comparison {
        file: file.name.clone(),
        about: file.about.clone(),
        ..Comparison::default()
    };
    for scenario in &file.scenarios {
        if let Some(reason) = scenario.pending.as_ref().filter(|_| !all) {
            let (name, reason) = (scenario.name.clone(), reason.clone());
            comparison.pending.push((name, reason));
            continue;
        }
        let outcomes = run(server, file.setup, scenario).await?;
        comparison.scenarios += 1;
        comparison.steps += outcomes.len();
        let recorded = golden
            .scenarios
            .iter()
            .find(|r| r.scenario == scenario.name);
        let recorded = recorded.with_context(|| format!("{:?} is not recorded", scenario.name))?;
        for (i, outcome) in outcomes.iter().enumerate() {
            let fields = match recorded.steps.get(i) {
                Some(expected) => differences(expected, outcome)?,
                None => vec!["not recorded".to_owned()],
            };
            if !fields.is_empty() {
                comparison.differences.push(Difference {
                    reason: reasons.find(&file.name, &scenario.name, i + 1, &fields),
                    scenario: scenario.name.clone(),
                    step: i + 1,
                    title: outcome.step.clone(),
                    fields,
                });
            }
        }
    }
    Ok(comparison)
}

/// Runs a scenario, on a new server in this process if none is given.
pub async fn run(
    server: Option<&Server>,
    setup: Setup,
    scenario: &Scenario,
) -> Result<Vec<Outcome>> {
    match server {
        Some(server) => crate::run::run_scenario(server, scenario).await,
        None => crate::run::run_scenario(&Server::in_process(setup).await?, scenario).await,
    }
}

impl Comparison {
    /// Returns the unintended differences.
    pub fn unexplained(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|d| d.reason.is_none())
    }
}

impl Reasons {
    /// Reads the file of reasons.
    pub fn load(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| path.display().to_string())?;
        let yaml = parse_yaml(&text).map_err(|e| anyhow!("{e}"))?;
        let value = yaml.node.into_value().map_err(|e| anyhow!("{e}"))?;
        if value.is_null() {
            return Ok(Self::default());
        }
        Ok(Self(serde_json::from_value(value).context("the reasons")?))
    }

    /// Returns reasons for differences in the named files that no longer exist.
    pub fn unused(&self, files: &[&str]) -> Vec<String> {
        let unused = self
            .0
            .iter()
            .filter(|r| !r.used.get() && files.contains(&r.file.as_str()));
        unused
            .map(|r| format!("{}: {:?}, step {}", r.file, r.scenario, r.step))
            .collect()
    }

    /// Returns the files that have reasons for differences.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|r| r.file.as_str())
    }

    pub(crate) fn find(
        &self,
        file: &str,
        scenario: &str,
        step: usize,
        fields: &[String],
    ) -> Option<String> {
        let reason = self
            .0
            .iter()
            .find(|r| r.file == file && r.scenario == scenario && r.step == step)?;
        reason.used.set(true);
        let covers = |field: &String| reason.fields.iter().any(|f| field.starts_with(f.as_str()));
        fields.iter().all(covers).then(|| reason.reason.clone())
    }
}

/// Returns the differences between two outcomes.
pub fn differences(expected: &Outcome, got: &Outcome) -> Result<Vec<String>> {
    let mut out = Vec::new();
    let (expected, got) = (serde_json::to_value(expected)?, serde_json::to_value(got)?);
    walk(&expected, &got, "", &mut out);
    Ok(out)
}

fn walk(expected: &Value, got: &Value, path: &str, out: &mut Vec<String>) {
    match (expected, got) {
        (Value::Object(a), Value::Object(b)) => {
            let name = |key: &str| match path {
                "" => key.to_owned(),
                path => format!("{path}.{key}"),
            };
            for (key, value) in a {
                match b.get(key) {
                    Some(other) => walk(value, other, &name(key), out),
                    None => out.push(format!(
                        "{}: missing, should be {}",
                        name(key),
                        short(value)
                    )),
                }
            }
            for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                out.push(format!(
                    "{}: should not be there, is {}",
                    name(key),
                    short(value)
                ));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                walk(a, b, &format!("{path}[{i}]"), out);
            }
        }
        (Value::String(a), Value::String(b)) if a != b => {
            let at = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
            let (a, b) = (
                from(a, at.saturating_sub(60)),
                from(b, at.saturating_sub(60)),
            );
            out.push(format!("{path}: should be {}, is {}", short(&a), short(&b)));
        }
        (a, b) if a != b => out.push(format!("{path}: should be {}, is {}", short(a), short(b))),
        _ => {}
    }
}

/// Returns the rest of a text from an index, which may be inside a character.
fn from(text: &str, mut at: usize) -> Value {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let rest = text.get(at..).unwrap_or_default();
    match at {
        0 => rest.into(),
        _ => format!("…{rest}").into(),
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(400) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
