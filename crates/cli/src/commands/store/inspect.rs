//! `store status`, `verify` and `compact`.

use clap::Args;
use kubewright_store::{Revision, Store};
use kubewright_store_durable::{DurableStore, Options, tools::DataFiles};
use serde_json::json;

use super::{Place, age, shown, size};
use crate::{exit::Exit, output::say};

#[derive(Args)]
pub(crate) struct Status {
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
pub(crate) struct Compact {
    #[command(flatten)]
    place: Place,
}

impl Status {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let status = DataFiles::status_of(&self.place.directory)?;
        let numbers = |revisions: &[Revision]| -> Vec<u64> {
            revisions.iter().map(|revision| revision.0).collect()
        };
        if self.place.output.is_json() {
            return self.place.output.value(&json!({
                "storeId": status.store_id,
                "revision": status.revision.0,
                "oldestRevision": status.oldest.0,
                "objects": status.objects,
                "checkpoints": numbers(&status.checkpoints),
                "checkpointTime": status.checkpointed.map(shown),
                "checkpointBytes": status.checkpoint_bytes,
                "segments": status.segments,
                "logBytes": status.log_bytes,
                "freeBytes": status.free_bytes,
                "inUseBy": status.holder,
                "warnings": status.warnings,
            }));
        }
        let checkpoint = match (status.checkpoints.first(), status.checkpointed) {
            (Some(revision), Some(time)) => {
                let (age, size) = (age(time), size(status.checkpoint_bytes));
                format!("revision {}, {age} old ({size} in all)", revision.0)
            }
            _ => "none".to_owned(),
        };
        let free = status.free_bytes.map_or("unknown".to_owned(), size);
        let holder = match &status.holder {
            Some(holder) => format!("in use by   {holder}\n"),
            None => String::new(),
        };
        let warnings: String = status
            .warnings
            .iter()
            .map(|w| format!("warning: {w}\n"))
            .collect();
        say(&format!(
            "revision    {} (history from {} on)\nobjects     {}\ncheckpoint  {checkpoint}\n\
             log         {} segments, {}\nfree space  {free}\nstore id    {}\n{holder}{warnings}",
            status.revision.0,
            status.oldest.0,
            status.objects,
            status.segments,
            size(status.log_bytes),
            status.store_id,
        ))
    }
}

impl Verify {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let verified = self.place.files()?.verify()?;
        let problems: Vec<String> = verified.problems.iter().map(ToString::to_string).collect();
        if self.place.output.is_json() {
            self.place.output.value(&json!({
                "checkpoints": verified.checkpoints,
                "segments": verified.segments,
                "changes": verified.changes,
                "torn": verified.torn,
                "problems": problems,
            }))?;
        } else {
            let torn = match verified.torn {
                true => "the last write was interrupted and never acknowledged\n",
                false => "",
            };
            let verdict = match problems.is_empty() {
                true => "everything is whole\n".to_owned(),
                false => format!("{}\n", problems.join("\n")),
            };
            say(&format!(
                "{} checkpoints, {} segments, {} changes\n{torn}{verdict}",
                verified.checkpoints, verified.segments, verified.changes
            ))?;
        }
        match problems.is_empty() {
            true => Ok(()),
            false => Err(Exit(1).into()),
        }
    }
}

impl Compact {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let used = |place: &Place| -> anyhow::Result<u64> {
            let status = place.files()?.status()?;
            Ok(status.checkpoint_bytes + status.log_bytes)
        };
        let before = used(&self.place)?;
        let store = DurableStore::open(&self.place.directory, Options::default())?;
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let floor = runtime_block(runtime.enable_time(), async {
            let floor = store.current().await?;
            store.compact(floor).await?;
            anyhow::Ok(floor)
        })?;
        store
            .checkpoint_alone()
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        store.close();
        drop(store);
        let after = used(&self.place)?;
        match self.place.output.is_json() {
            true => self.place.output.value(&json!({
                "revision": floor.0, "bytesBefore": before, "bytesAfter": after,
            })),
            false => say(&format!(
                "history before revision {} is dropped; {} instead of {}\n",
                floor.0,
                size(after),
                size(before)
            )),
        }
    }
}

fn runtime_block<T>(
    builder: &mut tokio::runtime::Builder,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    builder.build()?.block_on(work)
}
