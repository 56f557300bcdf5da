//! Files of the permissions that users of test clusters needed: JSON lines, one file for each process.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use kubewright_cluster::Access;
use parking_lot::Mutex;

use crate::{access::Watched, cluster::TestCluster};

/// A user whose permissions are written to a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    user: String,
    directory: PathBuf,
}

/// The lines that this process has written.
fn written() -> &'static Mutex<BTreeSet<(PathBuf, Access)>> {
    static WRITTEN: OnceLock<Mutex<BTreeSet<(PathBuf, Access)>>> = OnceLock::new();
    WRITTEN.get_or_init(Mutex::default)
}

impl Watched {
    pub(crate) fn record(&self, records: Vec<Record>) {
        *self.records.lock() = records;
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        self.records.lock().clone()
    }

    fn write(&self) {
        for record in self.records() {
            let all = self.log.all().into_iter();
            let own = all.filter(|access| access.user == record.user);
            if let Err(error) = append(&record.directory, own) {
                tracing::warn!(%error, "cannot record the permissions of {}", record.user);
            }
        }
    }
}

/// Appends the lines to the file of this process that it does not contain yet.
fn append(directory: &Path, all: impl Iterator<Item = Access>) -> io::Result<()> {
    let mut written = written().lock();
    let mut text = String::new();
    for access in all {
        let line = serde_json::to_string(&access)?;
        if written.insert((directory.to_owned(), access)) {
            text += &line;
            text.push('\n');
        }
    }
    if text.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    let path = directory.join(format!("{}.jsonl", std::process::id()));
    let mut file = File::options().create(true).append(true).open(path)?;
    file.write_all(text.as_bytes())
}

impl TestCluster {
    /// Writes the permissions that the requests of a user needed to a file in a directory, when the cluster and its forks are
    /// dropped. `kubewright audit rbac --test` reads such files.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use kubewright_testing::TestCluster;
    ///
    /// let directory = std::env::temp_dir().join(format!("permissions-{}", std::process::id()));
    /// let cluster = TestCluster::start().await;
    /// cluster.record_permissions("alice", &directory);
    /// cluster.client_as("alice").apiserver_version().await.unwrap();
    /// drop(cluster);
    ///
    /// let file = directory.join(format!("{}.jsonl", std::process::id()));
    /// let text = std::fs::read_to_string(file).unwrap();
    /// assert_eq!(text, "{\"user\":\"alice\",\"allowed\":true,\"path\":\"/version\",\"verb\":\"get\"}\n");
    /// # std::fs::remove_dir_all(directory).unwrap();
    /// # });
    /// ```
    pub fn record_permissions(&self, user: &str, directory: impl Into<PathBuf>) {
        let record = Record {
            user: user.to_owned(),
            directory: directory.into(),
        };
        let mut records = self.watched.records.lock();
        if !records.contains(&record) {
            records.push(record);
        }
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        self.watched.write();
    }
}
