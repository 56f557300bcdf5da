//! The recorded answers: one JSON file for each scenario file, written by the runner and never by hand.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::run::Outcome;

/// The answers to one scenario file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Golden {
    /// The release of the recorded server: `v1.36.3`.
    pub server: String,
    /// The scenarios in the order of the file.
    pub scenarios: Vec<Recorded>,
}

/// The answers to one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The name of the scenario.
    pub scenario: String,
    /// The outcome of each step.
    pub steps: Vec<Outcome>,
}

/// Reads the answers to a scenario file.
pub fn load(folder: &Path, name: &str) -> Result<Golden> {
    let path = folder.join(format!("{name}.json"));
    let text = fs::read(&path).with_context(|| format!("{name} is not recorded"))?;
    serde_json::from_slice(&text).with_context(|| format!("the recording of {name}"))
}

/// Writes the answers to a scenario file.
pub fn save(folder: &Path, name: &str, golden: &Golden) -> Result<()> {
    let path = folder.join(format!("{name}.json"));
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut text = serde_json::to_string_pretty(golden)?;
    text.push('\n');
    fs::write(path, text)?;
    Ok(())
}
