//! `kubewright blame`: an object as YAML, with the manager, the time and the run behind each line.

use clap::Args;
use kubewright_ledger::BlamedLine;

use crate::{
    cluster::{
        ledger::{LedgerClient, LedgerQuery},
        object::{Located, ObjectArgs},
    },
    output::{Output, say},
};

#[derive(Args)]
pub(crate) struct Blame {
    #[command(flatten)]
    object: ObjectArgs,

    /// Revision to show [default: the newest]
    #[arg(long, value_name = "REVISION")]
    at: Option<u64>,

    #[command(flatten)]
    output: Output,
}

impl Blame {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let (client, kinds) = self.object.connect().await?;
        let Located { kind, .. } = self.object.locate(&client, &kinds)?;
        let object = self.object.reference(&client, kind)?;
        let query = LedgerQuery::of(&object).with_some("at", self.at);
        let mut answer = LedgerClient::new(&client).read("blame", query).await?;
        if self.output.is_json() {
            return self.output.value(&answer);
        }
        let lines: Vec<BlamedLine> = serde_json::from_value(answer["lines"].take())?;
        say(&text(&lines))
    }
}

fn text(lines: &[BlamedLine]) -> String {
    let columns = lines.iter().map(|line| {
        let managers: Vec<&str> = line.managers.iter().map(|it| it.manager.as_str()).collect();
        let revision = line.revision.map(|it| it.to_string()).unwrap_or_default();
        let run = line.run.clone().unwrap_or_default();
        let time = line
            .managers
            .last()
            .map(|it| it.time.clone())
            .unwrap_or_default();
        [managers.join(","), time, revision, run]
    });
    let columns: Vec<[String; 4]> = columns.collect();
    let width = |at: usize| {
        columns
            .iter()
            .map(|row| row[at].len())
            .max()
            .unwrap_or_default()
    };
    let widths = [width(0), width(1), width(2), width(3)];
    let mut text = String::new();
    for (line, row) in lines.iter().zip(&columns) {
        for (cell, width) in row.iter().zip(widths).filter(|(_, width)| *width > 0) {
            text += &format!("{cell:<width$}  ");
        }
        text += &format!("| {}\n", line.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_line_has_its_owner() {
        let lines: Vec<BlamedLine> = serde_json::from_value(json!([
            {"text": "spec:"},
            {"text": "  replicas: 3", "revision": 42, "managers": [{"manager": "kubectl", "time": "T"}]},
        ]))
        .unwrap();
        let expected = format!("{:16}| spec:\nkubectl  T  42  |   replicas: 3\n", "");
        assert_eq!(text(&lines), expected);
    }
}
