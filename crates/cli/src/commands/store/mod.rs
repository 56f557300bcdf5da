//! `kubewright store`: inspects, backs up, restores and repairs data directories.
//!
//! | module | contents |
//! |---|---|
//! | `inspect` | `status`, `verify`, `compact` |
//! | `objects` | `get`, `list`, `log`, `history` |
//! | `copies` | `backup`, `restore`, `salvage`, `export`, `import` |

mod copies;
mod inspect;
mod objects;

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use clap::{Args, Subcommand};
use kubewright_machinery::time::{Time, human_duration};
use kubewright_store::Revision;
use kubewright_store_durable::tools::DataFiles;

use crate::output::Output;

#[derive(Subcommand)]
pub(crate) enum Store {
    /// Show the revision, size and free space of a data directory
    Status(inspect::Status),

    /// Check every file of a data directory; the exit code is 1 if something is damaged
    Verify(inspect::Verify),

    /// Print an object
    Get(objects::Get),

    /// List objects
    List(objects::List),

    /// Print the changes of the log, one JSON object on each line
    Log(objects::Log),

    /// Show how an object has changed
    History(objects::History),

    /// Copy a data directory, which a server may be using
    Backup(copies::Backup),

    /// Write a backup, or its state at a past revision or time, to a new data directory
    Restore(copies::Restore),

    /// Write what can be read of a damaged data directory to a new one
    Salvage(copies::Salvage),

    /// Write all objects to a file, one JSON object on each line
    Export(copies::Export),

    /// Write exported objects to a new data directory
    Import(copies::Import),

    /// Drop the history of a data directory and give its space back
    Compact(inspect::Compact),
}

impl Store {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Status(status) => status.run(),
            Self::Verify(verify) => verify.run(),
            Self::Get(get) => get.run(),
            Self::List(list) => list.run(),
            Self::Log(log) => log.run(),
            Self::History(history) => history.run(),
            Self::Backup(backup) => backup.run(),
            Self::Restore(restore) => restore.run(),
            Self::Salvage(salvage) => salvage.run(),
            Self::Export(export) => export.run(),
            Self::Import(import) => import.run(),
            Self::Compact(compact) => compact.run(),
        }
    }
}

/// The data directory that a command reads.
#[derive(Args)]
struct Place {
    /// Data directory that no server uses, or a backup
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    #[command(flatten)]
    output: Output,
}

impl Place {
    fn files(&self) -> anyhow::Result<DataFiles> {
        Ok(DataFiles::open(&self.directory)?)
    }
}

/// Formats a time as Kubernetes does.
fn shown(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    let since = since.unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    Time::from_unix(seconds, since.subsec_nanos()).to_micros()
}

/// Parses a revision.
fn revision(text: &str) -> Result<Revision, String> {
    let number = text.parse().map_err(|_| "expected a number".to_owned())?;
    Ok(Revision(number))
}

/// Formats a size in bytes for people.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut rest = bytes;
    while rest >= 10_240 && unit + 1 < UNITS.len() {
        rest /= 1024;
        unit += 1;
    }
    format!("{rest} {}", UNITS[unit])
}

/// Returns the age of a time for people.
fn age(time: SystemTime) -> String {
    let since = SystemTime::now().duration_since(time);
    let seconds = since.unwrap_or(Duration::ZERO).as_secs();
    human_duration(i64::try_from(seconds).unwrap_or(i64::MAX))
}
