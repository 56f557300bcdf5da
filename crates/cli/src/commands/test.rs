//! `kubewright test`: runs the tests of the project with cargo. Each test has its own cluster in its process.

use std::{
    ffi::OsString,
    process::{Command, Stdio},
    time::Instant,
};

use clap::Args;
use serde_json::{Value, json};

use crate::{
    exit::Exit,
    operator::program::{cargo, no_cargo},
    output::Output,
    process::replace_with,
    project::project,
};

#[derive(Args)]
pub(crate) struct Test {
    /// Arguments for `cargo test`; arguments for the test binary follow another `--`
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    arguments: Vec<OsString>,

    #[command(flatten)]
    output: Output,
}

impl Test {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let project = project()?;
        let mut command = cargo(&project);
        command.arg("test").args(&self.arguments);
        match self.output.is_json() {
            true => self.run_as_json(command),
            false => replace_with(command, no_cargo),
        }
    }

    /// Runs the tests and prints the results as JSON.
    fn run_as_json(&self, mut command: Command) -> anyhow::Result<()> {
        let began = Instant::now();
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|e| no_cargo(&e))?;
        let mut answer = results(&String::from_utf8_lossy(&output.stdout));
        answer["seconds"] = began.elapsed().as_secs_f64().into();
        answer["succeeded"] = output.status.success().into();
        self.output.value(&answer)?;
        match output.status.code() {
            Some(0) => Ok(()),
            code => Err(Exit(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)).into()),
        }
    }
}

/// Parses the output of the test harness: `test a::b ... ok`.
fn results(text: &str) -> Value {
    let mut tests = Vec::new();
    for line in text.lines() {
        let Some((name, result)) = line
            .strip_prefix("test ")
            .and_then(|rest| rest.rsplit_once(" ... "))
        else {
            continue;
        };
        let result = match result.split([',', ' ']).next() {
            Some("ok") => "ok",
            Some("FAILED") => "failed",
            Some("ignored") => "ignored",
            _ => continue,
        };
        tests.push(json!({"name": name, "result": result}));
    }
    let count = |wanted: &str| tests.iter().filter(|test| test["result"] == wanted).count();
    json!({
        "passed": count("ok"),
        "failed": count("failed"),
        "ignored": count("ignored"),
        "tests": tests,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_harness_replace_withresults() {
        let text = "running 3 tests\ntest a::b ... ok\ntest c ... FAILED\ntest d ... ignored, slow\n\ntest result: FAILED. 1 passed\n";
        let results = results(text);
        assert_eq!(results["passed"], 1);
        assert_eq!(results["failed"], 1);
        assert_eq!(results["ignored"], 1);
        assert_eq!(results["tests"][1]["name"], "c");
    }
}
