//! `kubewright status`: the state of scaffolded files.

use clap::Args;
use kubewright_scaffold::{PartState, status};
use serde_json::json;

use crate::{
    output::{Output, say, table},
    project::project,
};

#[derive(Args)]
pub(crate) struct Status {
    #[command(flatten)]
    output: Output,
}

impl Status {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let parts = status(&project()?)?;
        if self.output.is_json() {
            return self.output.value(&json!(parts));
        }
        let rows: Vec<Vec<String>> = parts
            .iter()
            .map(|part| {
                let state = match part.state {
                    PartState::New => "as scaffolded",
                    PartState::Edited => "edited",
                    PartState::Missing => "missing",
                    PartState::Unregistered => "not registered",
                };
                vec![part.part.clone(), part.path.clone(), state.to_owned()]
            })
            .collect();
        match rows.is_empty() {
            true => say("nothing yet; start with `kubewright create api`\n"),
            false => say(&table(&["PART", "FILE", "STATE"], &rows)),
        }
    }
}
