//! Saved sessions: the recordings of clusters that have ended, which the pages show in place of the running one.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use http::StatusCode;
use kubewright_cluster::write_secret_file;
use serde_json::{Value, json};

use crate::export::{ExportError, recording};

/// The number of sessions that are kept.
const KEPT: usize = 10;

/// The maximum size of a session.
const LARGEST: u64 = 64 << 20;

/// An error of saving a session.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The cluster did not answer.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or its directory.
        path: PathBuf,
        /// The reason.
        #[source]
        source: io::Error,
    },
}

/// Saves the current data of a cluster in a directory, whose ten newest sessions are kept. A console with that directory shows it later:
/// see [`ConsoleBuilder::sessions`](crate::ConsoleBuilder::sessions). As in an [export](crate::export()), values of Secrets are left out.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_cluster::Cluster;
///
/// let cluster = Cluster::builder().start().await?;
/// let directory = std::env::temp_dir().join(format!("kubewright-sessions-{}", std::process::id()));
/// let path = kubewright_console::save_session(cluster.client(), "my operator", &directory).await.unwrap();
/// assert!(path.starts_with(&directory));
/// # std::fs::remove_dir_all(&directory).unwrap();
/// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
/// ```
///
/// # Errors
///
/// Fails if the cluster does not answer, or the file cannot be written.
pub async fn save_session(
    client: kube::Client,
    title: &str,
    directory: &Path,
) -> Result<PathBuf, SaveError> {
    let recording = recording::record(client, title).await;
    let recording = recording.map_err(ExportError::of)?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| SaveError::Write { path, source }
    };
    fs::create_dir_all(directory).map_err(failed(directory))?;
    // The name sorts by time and is a file name everywhere.
    let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S%.3fZ");
    let path = directory.join(format!("{at}.json"));
    write_secret_file(&path, recording.to_string()).map_err(failed(&path))?;
    for name in names(directory).into_iter().skip(KEPT) {
        let old = directory.join(format!("{name}.json"));
        fs::remove_file(&old).map_err(failed(&old))?;
    }
    Ok(path)
}

/// Returns the names of the saved sessions, newest first.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let name = name.strip_suffix(".json")?;
        is_name(name).then(|| name.to_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    names
}

/// Returns a saved session.
pub(crate) fn session(directory: Option<&Path>, name: &str) -> Result<Value, (StatusCode, String)> {
    let missing = || {
        let message = format!("there is no session {name:?}");
        (StatusCode::NOT_FOUND, message)
    };
    let broken = |error: String| (StatusCode::INTERNAL_SERVER_ERROR, error);
    let directory = directory.filter(|_| is_name(name)).ok_or_else(missing)?;
    let path = directory.join(format!("{name}.json"));
    let size = fs::metadata(&path).map_err(|_| missing())?.len();
    if size > LARGEST {
        let message = format!("the session has {size} bytes, more than {LARGEST}");
        return Err((StatusCode::PAYLOAD_TOO_LARGE, message));
    }
    let text = fs::read(&path).map_err(|e| broken(e.to_string()))?;
    let mut recording: Value = serde_json::from_slice(&text).map_err(|e| broken(e.to_string()))?;
    recording["session"] = json!(name);
    Ok(recording)
}

/// Reports whether a text can be the name of a session: a time, and never a path.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    !text.is_empty() && text.len() <= 40 && !text.starts_with('.') && text.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_never_a_path() {
        assert!(is_name("2026-11-19T22-40-01.123Z"));
        for text in [
            "", ".", "..", "../x", "a/b", "a\\b", "a%2fb", ".hidden", "C:x",
        ] {
            assert!(!is_name(text), "{text}");
        }
    }
}
