//! The flags that keep a local cluster in a directory.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use kubewright_cluster::{DataDir, SyncMode};

/// The data directory of a cluster.
#[derive(Args)]
pub(crate) struct DataArgs {
    /// Directory that keeps objects, keys and tokens over restarts [default: everything is in memory]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// When a write is on disk: `always` before it is acknowledged, `process` at most 100 ms later, so that it survives the
    /// end of the process but not a power cut
    #[arg(long, value_name = "MODE", default_value_t, requires = "data_dir")]
    sync: SyncMode,

    /// Time for which changes are kept on disk for `kubewright store log` and `store restore --at`, e.g. `24h`
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "data_dir")]
    history: Option<Duration>,

    /// Accept a data directory on a network file system
    #[arg(long, requires = "data_dir")]
    data_dir_unsafe_fs: bool,

    /// Milliseconds to add to every sync, for measurements
    #[arg(long, value_name = "MS", requires = "data_dir", hide = true)]
    added_sync_latency: Option<f64>,
}

impl DataArgs {
    /// Returns the directory that the flags ask for.
    pub(crate) fn directory(&self) -> Option<DataDir> {
        let mut directory = DataDir::new(self.data_dir.clone()?).sync(self.sync);
        if let Some(history) = self.history {
            directory = directory.history(history);
        }
        if self.data_dir_unsafe_fs {
            directory = directory.allow_network_file_systems();
        }
        if let Some(milliseconds) = self.added_sync_latency {
            let latency = Duration::try_from_secs_f64(milliseconds / 1000.0);
            directory = directory.added_sync_latency(latency.unwrap_or_default());
        }
        Some(directory)
    }
}

/// Parses a number with one of the units `s`, `m`, `h` and `d`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a number and a unit: 90s, 10m, 24h or 7d".to_owned();
    let unit = text.chars().next_back().ok_or_else(expected)?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        _ => return Err(expected()),
    };
    let number = text.strip_suffix(unit).unwrap_or_default();
    let number: u64 = number.parse().map_err(|_| expected())?;
    let seconds = number.checked_mul(seconds).ok_or_else(expected)?;
    Ok(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("24h"), Ok(Duration::from_secs(86_400)));
        assert_eq!(duration("7d"), Ok(Duration::from_secs(604_800)));
        for text in ["", "h", "24", "1w", "-1h", "9999999999999999999d"] {
            assert!(duration(text).is_err(), "{text:?}");
        }
    }
}
