//! The recorded requests and answers of a project: one compressed JSON file.
//!
//! Descriptions make up most of a CustomResourceDefinition and are repeated three times: in the stored object and in
//! both OpenAPI documents. Long ones are recorded as their prefix, length and checksum.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use flate2::{Compression, Crc, read::GzDecoder, write::GzEncoder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Project;
use crate::{run::Outcome, step::Step};

/// The maximum length of a description that is recorded as it is.
const SHORT: usize = 40;

/// The recording of a project.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recording {
    /// The release of the recorded server: `v1.36.3`.
    pub server: String,
    /// The CustomResourceDefinitions, once they are established.
    pub definitions: Vec<Outcome>,
    /// The discovery and OpenAPI documents.
    pub documents: Vec<Outcome>,
    /// The scenarios about objects.
    pub asked: Vec<Asked>,
}

/// A scenario about objects, in its own namespace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Asked {
    /// The subject of the scenario.
    pub scenario: String,
    /// The requests.
    pub requests: Vec<Step>,
    /// The answers.
    pub steps: Vec<Outcome>,
}

impl Recording {
    /// Reads the recording of a project.
    pub fn load(folder: &Path, project: &Project) -> Result<Self> {
        let bytes = fs::read(file(folder, project))
            .with_context(|| format!("{} is not recorded", project.name))?;
        let mut text = Vec::new();
        GzDecoder::new(bytes.as_slice()).read_to_end(&mut text)?;
        serde_json::from_slice(&text).with_context(|| format!("the recording of {}", project.name))
    }

    /// Writes the recording of a project.
    pub fn save(&self, folder: &Path, project: &Project) -> Result<()> {
        let path = file(folder, project);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&serde_json::to_vec(self)?)?;
        fs::write(path, encoder.finish()?)?;
        Ok(())
    }

    /// Returns a one-sentence description of the project.
    pub fn about(&self, project: &Project) -> String {
        let steps: usize = self.asked.iter().map(|asked| asked.steps.len()).sum();
        let refused = self.asked.iter().flat_map(|asked| &asked.steps);
        let refused = refused.filter(|outcome| outcome.code >= 400).count();
        format!(
            "{} definitions, {} documents about them, {steps} requests for their objects, {refused} of them refused.",
            self.definitions.len().min(project.definitions.len()),
            self.documents.len(),
        )
    }
}

fn file(folder: &Path, project: &Project) -> PathBuf {
    folder.join(format!("{}.json.gz", project.name))
}

/// Shortens long descriptions.
pub fn shortened(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(key, value)| match value {
                    Value::String(text) if key == "description" => {
                        let short = short(&text);
                        (key, Value::String(short))
                    }
                    value => (key, shortened(value)),
                })
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => items.into_iter().map(shortened).collect(),
        other => other,
    }
}

fn short(text: &str) -> String {
    if text.len() <= SHORT {
        return text.to_owned();
    }
    let start: String = text.chars().take(SHORT / 2).collect();
    let mut crc = Crc::new();
    crc.update(text.as_bytes());
    format!("{start}… ({} bytes, {:08x})", text.len(), crc.sum())
}

/// Sorts the causes of an error whose message lists just them: upstream iterates over maps, so their order is random.
pub fn in_order(mut outcome: Outcome) -> Outcome {
    let causes = outcome.body["details"]["causes"].as_array();
    let Some(mut causes) = causes.filter(|causes| causes.len() > 1).cloned() else {
        return outcome;
    };
    let message = outcome.body["message"].as_str().unwrap_or_default();
    let listed = texts(&causes);
    let Some(before) = message.strip_suffix(&format!("[{listed}]")) else {
        return outcome;
    };
    causes.sort_by_cached_key(Value::to_string);
    outcome.body["message"] = format!("{before}[{}]", texts(&causes)).into();
    outcome.body["details"]["causes"] = causes.into();
    outcome
}

/// Formats causes as a message lists them, without duplicates.
fn texts(causes: &[Value]) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut out: Vec<String> = Vec::new();
    for cause in causes {
        let one = format!("{}: {}", text(&cause["field"]), text(&cause["message"]));
        if !out.contains(&one) {
            out.push(one);
        }
    }
    out.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{in_order, shortened};
    use crate::run::Outcome;

    fn refusal(causes: [&str; 2], message: &str) -> Value {
        let causes = causes.map(|field| json!({"field": field, "message": "no"}));
        let outcome = Outcome {
            headers: std::collections::BTreeMap::new(),
            step: String::new(),
            code: 422,
            content_type: String::new(),
            warnings: Vec::new(),
            body: json!({"message": message, "details": {"causes": causes}}),
            stored: None,
            calls: Vec::new(),
        };
        in_order(outcome).body
    }

    #[test]
    fn causes_are_sorted_where_the_message_agrees() {
        let sorted = refusal(["a", "b"], "x: [a: no, b: no]");
        assert_eq!(refusal(["b", "a"], "x: [b: no, a: no]"), sorted);
        assert_ne!(refusal(["b", "a"], "x: [a: no, b: no]"), sorted);
    }

    #[test]
    fn long_descriptions_differ_still() {
        let long = |end: &str| json!({"description": format!("{}{end}", "a text ".repeat(20))});
        assert_ne!(shortened(long("x")), shortened(long("y")));
        assert_eq!(shortened(long("x")), shortened(long("x")));
        assert!(shortened(long("x")).to_string().len() < 80);
        let plain = json!({"description": "short", "pattern": "a text ".repeat(20)});
        assert_eq!(shortened(plain.clone()), plain);
    }
}
