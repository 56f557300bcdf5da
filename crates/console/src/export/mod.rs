//! [`export`]: the pages with the data of a moment, in a single file that needs no server.
//!
//! | module | contents |
//! |---|---|
//! | `recording` | the data: what the pages would ask for |
//! | `bundle` | the file: the pages as modules in data URLs, with the data |

mod bundle;
pub(crate) mod recording;

use http::StatusCode;

/// An error of an export.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The cluster did not answer.
    #[error("{message} ({code})")]
    Cluster {
        /// The status code.
        code: StatusCode,
        /// The message.
        message: String,
    },
}

/// Returns an HTML file with the pages and the current data: tables of all kinds, runs, requests and findings of the ledger, and the
/// history of the objects that were written last. It is read-only and works without a server. Values of Secrets are left out.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_cluster::Cluster;
///
/// let cluster = Cluster::builder().start().await?;
/// let html = kubewright_console::export(cluster.client(), "kubewright up").await.unwrap();
/// assert!(html.starts_with("<!doctype html>"));
/// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
/// ```
///
/// # Errors
///
/// Fails if the kinds of the cluster cannot be discovered.
pub async fn export(client: kube::Client, title: &str) -> Result<String, ExportError> {
    let recording = recording::record(client, title).await;
    let recording = recording.map_err(ExportError::of)?;
    Ok(bundle::html(title, &recording))
}

impl ExportError {
    pub(crate) fn of((code, message): (StatusCode, String)) -> Self {
        Self::Cluster { code, message }
    }
}
