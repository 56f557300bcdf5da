//! `store backup`, `restore`, `salvage`, `export` and `import`.

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    ops::ControlFlow,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use clap::Args;
use kubewright_machinery::time::Time;
use kubewright_scaffold::Error;
use kubewright_store::{Key, Revision};
use kubewright_store_durable::tools::{self, DataFiles, Rebuilt};
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};

use super::{Place, objects::invalid_line};
use crate::output::{Output, say};

/// The longest line of an exported file.
const MAX_LINE: u64 = 64 << 20;

#[derive(Args)]
pub(crate) struct Backup {
    /// Data directory; a server may be using it
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// New directory to write the copy to
    #[arg(long, value_name = "DIR")]
    to: PathBuf,

    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub(crate) struct Restore {
    #[command(flatten)]
    place: Place,

    /// New data directory
    #[arg(long, value_name = "DIR")]
    to: PathBuf,

    /// Revision or time (RFC 3339) to go back to [default: the newest]
    #[arg(long, value_name = "WHEN")]
    at: Option<String>,
}

#[derive(Args)]
pub(crate) struct Salvage {
    #[command(flatten)]
    place: Place,

    /// New data directory
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

#[derive(Args)]
pub(crate) struct Export {
    #[command(flatten)]
    place: Place,

    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Import {
    /// File that `kubewright store export` has written
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// New data directory
    #[arg(long, value_name = "DIR")]
    to: PathBuf,

    #[command(flatten)]
    output: Output,
}

/// A line of an exported file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Exported {
    collection: String,
    path: String,
    revision: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    revision_at: Option<u32>,
    object: Box<RawValue>,
}

impl Backup {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let status = tools::backup(&self.directory, &self.to)?;
        let (to, revision, objects) = (self.to.display(), status.revision.0, status.objects);
        match self.output.is_json() {
            true => self.output.value(&json!({
                "directory": to.to_string(), "revision": revision, "objects": objects,
            })),
            false => say(&format!(
                "{to} has {objects} objects at revision {revision}\n"
            )),
        }
    }
}

impl Restore {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let files = self.place.files()?;
        let at = match &self.at {
            None => None,
            Some(text) => Some(point(&files, text)?),
        };
        let rebuilt = tools::restore(&files, at, &self.to)?;
        report(&rebuilt, &self.to, &self.place.output)
    }
}

impl Salvage {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let rebuilt = tools::salvage(&self.place.files()?, &self.to)?;
        report(&rebuilt, &self.to, &self.place.output)
    }
}

impl Export {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let store = self.place.files()?.at(None)?;
        let mut out: Box<dyn Write> = match &self.to {
            None => Box::new(std::io::stdout()),
            Some(path) => {
                let file = File::create_new(path);
                let file = file.map_err(|e| Error::io("write", path, &e))?;
                Box::new(std::io::BufWriter::new(file))
            }
        };
        let mut failed = None;
        let (mut exported, mut skipped) = (0_u64, 0_u64);
        store.contents().for_each(|collection, stored| {
            let text = String::from_utf8(stored.bytes.to_vec()).ok();
            let Some(object) = text.and_then(|text| RawValue::from_string(text).ok()) else {
                skipped += 1;
                return ControlFlow::Continue(());
            };
            let line = Exported {
                collection: collection.to_string(),
                path: stored.path.to_string(),
                revision: stored.revision.0,
                revision_at: stored.revision_at,
                object,
            };
            let written = serde_json::to_writer(&mut out, &line)
                .map_err(std::io::Error::from)
                .and_then(|()| out.write_all(b"\n"));
            match written {
                Ok(()) => {
                    exported += 1;
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        let flushed = failed.map_or_else(|| out.flush(), Err);
        let target = self.to.clone().unwrap_or_else(|| "standard output".into());
        flushed.map_err(|e| Error::io("write to", &target, &e))?;
        match &self.to {
            None => Ok(()),
            Some(path) => {
                let path = path.display();
                let note = match skipped {
                    0 => String::new(),
                    n => format!("; {n} values that are not JSON were left out"),
                };
                say(&format!("{path} has {exported} objects{note}\n"))
            }
        }
    }
}

impl Import {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let file = File::open(&self.file).map_err(|e| Error::io("read", &self.file, &e))?;
        let mut reader = BufReader::new(file);
        let mut objects = Vec::new();
        for number in 1.. {
            let mut line = Vec::new();
            let mut limited = std::io::Read::take(&mut reader, MAX_LINE);
            let read = limited.read_until(b'\n', &mut line);
            if read.map_err(|e| Error::io("read", &self.file, &e))? == 0 {
                break;
            }
            let exported: Exported =
                serde_json::from_slice(&line).map_err(|e| invalid_line(number, e))?;
            let key = Key::new(exported.collection, exported.path);
            let bytes = exported.object.get().to_owned().into_bytes().into();
            let revision = Revision(exported.revision);
            objects.push((key, revision, bytes, exported.revision_at));
        }
        let rebuilt = tools::import(objects, &self.to)?;
        report(&rebuilt, &self.to, &self.output)
    }
}

/// Returns the revision that a number or a time names.
fn point(files: &DataFiles, text: &str) -> anyhow::Result<Revision> {
    if let Ok(number) = text.parse() {
        return Ok(Revision(number));
    }
    let hint = "use a revision, or a time such as 2026-11-18T10:00:00Z";
    let time = Time::parse(text).map_err(|e| Error::new(e, hint))?;
    let seconds = u64::try_from(time.unix_seconds()).unwrap_or(0);
    let nanos = Duration::from_nanos(u64::from(time.subsec_nanos()));
    let until = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + nanos;
    let mut last = None;
    files.changes(Revision(0), |change| {
        if change.time > until {
            return ControlFlow::Break(());
        }
        last = Some(change.revision);
        ControlFlow::Continue(())
    })?;
    last.ok_or_else(|| {
        let what = format!("the log has no change at or before {text}");
        let hint = "changes before the oldest checkpoint are kept with `up --history`";
        Error::new(what, hint).into()
    })
}

fn report(rebuilt: &Rebuilt, to: &std::path::Path, output: &Output) -> anyhow::Result<()> {
    let lost: Vec<String> = rebuilt.lost.iter().map(ToString::to_string).collect();
    let (to, objects) = (to.display(), rebuilt.objects);
    let (from, revision) = (rebuilt.from.0, rebuilt.revision.0);
    if output.is_json() {
        return output.value(&json!({
            "directory": to.to_string(), "objects": objects, "from": from,
            "revision": revision, "lost": lost,
        }));
    }
    let lost: String = lost.iter().map(|lost| format!("lost: {lost}\n")).collect();
    say(&format!(
        "{to} has {objects} objects of revision {from}; its own revisions continue from {revision}\n{lost}"
    ))
}
