//! Test clusters with the objects of a real one.

use std::path::Path;

use kubewright_cluster::{Etcd, SnapshotError};

use crate::TestCluster;

impl TestCluster {
    /// Starts a cluster with the objects of a file written by `etcdctl snapshot save`, below the prefix `/registry`. Values that
    /// cannot be read, such as encrypted ones, are skipped.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubewright_testing::TestCluster;
    ///
    /// let cluster = TestCluster::from_snapshot("production.db").await?;
    /// # let _ = cluster;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or is corrupt.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub async fn from_snapshot(path: impl AsRef<Path>) -> Result<Self, SnapshotError> {
        let fork = Etcd::fork_snapshot(path, "/registry")?;
        Ok(Self::builder().objects(&fork.store).start().await)
    }
}
