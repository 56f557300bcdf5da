//! The operator of a project: flags, description, CRDs.

pub(crate) mod endpoint;
pub(crate) mod program;
pub(crate) mod webhooks;

use std::{path::PathBuf, time::Duration};

use anyhow::Context;
use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Resource, core::DynamicObject};
use kubewright_operator::Model;
use kubewright_scaffold::Error;
use serde_json::Value;

use crate::{
    operator::program::{CargoOutput, Program, build},
    project::project,
};

#[derive(Args)]
pub(crate) struct OperatorFlags {
    /// Use this operator binary instead of building the project
    #[arg(long, value_name = "FILE")]
    executable: Option<PathBuf>,
}

impl OperatorFlags {
    /// Returns the program, built if necessary. The output of cargo is shown unless the output is JSON.
    pub(crate) fn program(&self, json: bool) -> anyhow::Result<Program> {
        match &self.executable {
            Some(path) => {
                // A path without a separator would be looked up in PATH.
                let path = path
                    .canonicalize()
                    .map_err(|e| Error::io("run", path, &e))?;
                Ok(Program::at(&path))
            }
            None => {
                let said = if json {
                    CargoOutput::Captured
                } else {
                    CargoOutput::Shown
                };
                Ok(build(&project()?, said).map_err(Error::from)?)
            }
        }
    }

    /// Returns the description of the operator.
    pub(crate) fn described(&self, json: bool) -> anyhow::Result<Model> {
        Ok(self.program(json)?.describe()?)
    }
}

/// Returns the CRDs as objects to apply.
pub(crate) fn definitions(model: &Model) -> anyhow::Result<Vec<DynamicObject>> {
    model.crds.iter().map(object).collect()
}

fn object(definition: &Value) -> anyhow::Result<DynamicObject> {
    let mut value = definition.clone();
    value["apiVersion"] = CustomResourceDefinition::api_version(&()).into();
    value["kind"] = CustomResourceDefinition::kind(&()).into();
    serde_json::from_value(value).context("invalid CRD")
}

/// The longest duration that a flag accepts.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Parses a duration such as `90s`, `2m` or `1m30s`, as Go formats it; a number without a unit is in seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a duration such as 90s or 2m");
    if let Ok(seconds) = text.parse::<u64>() {
        return bounded(Duration::from_secs(seconds));
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let number: u32 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => Duration::from_millis(1),
            "s" => Duration::from_secs(1),
            "m" => Duration::from_secs(60),
            "h" => Duration::from_secs(3600),
            _ => return Err(wrong()),
        };
        let part = unit.checked_mul(number).ok_or_else(wrong)?;
        total = total.checked_add(part).ok_or_else(wrong)?;
        rest = &rest[letters..];
    }
    match text.is_empty() {
        true => Err(wrong()),
        false => bounded(total),
    }
}

/// Rejects durations that cannot be added to the current time.
fn bounded(duration: Duration) -> Result<Duration, String> {
    match duration <= LONGEST {
        true => Ok(duration),
        false => Err("a duration is at most a year, 8760h".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_go_writes_them() {
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        for long in [
            "18446744073709551615",
            "4294967295h",
            "8761h",
            "4294967295h4294967295h",
        ] {
            assert!(
                duration(long).unwrap_err().contains("at most a year"),
                "{long}"
            );
        }
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in [
            "",
            "s",
            "1x",
            "1m3",
            "99999999999999h",
            "4294967295h99999999999h",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
