//! The files of a container, and commands in it, for images that are functions.

use std::{io, sync::Arc};

use kubewright_informer::Key;

use super::container::Container;
use crate::{
    files::{Entry, FileError, Kind, absolute},
    inside::{Inside, expanded},
    pod::plan::{Plan, VolumePlan},
};

impl Container {
    /// Returns the host name of the pod.
    pub async fn hostname(&self) -> String {
        match self.inside().await {
            Some(inside) => inside.world.hostname.clone(),
            None => self.pod().to_owned(),
        }
    }

    /// Reads a file of the container, such as a mounted Secret.
    ///
    /// ```
    /// use kubewright_nodes::{Behavior, Container};
    ///
    /// let shows_its_token = Behavior::function(|container: Container| async move {
    ///     match container.read_file("/var/run/secrets/kubernetes.io/serviceaccount/token").await {
    ///         Ok(token) => {
    ///             container.log(String::from_utf8_lossy(&token));
    ///             0
    ///         }
    ///         Err(_) => 1,
    ///     }
    /// });
    /// # let _ = shows_its_token;
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if there is no such file, or if the pod is gone.
    pub async fn read_file(&self, path: &str) -> io::Result<Vec<u8>> {
        let inside = self.existing().await?;
        let bytes = inside.world.files.read(&absolute(&inside.directory, path));
        Ok(bytes.map_err(failed)?.to_vec())
    }

    /// Writes a file of the container, with the mode of a Unix file system.
    ///
    /// # Errors
    ///
    /// Fails if the directory does not exist or is read-only, if there is no space, or if the pod is gone.
    pub async fn write_file(
        &self,
        path: &str,
        bytes: impl AsRef<[u8]>,
        mode: u32,
    ) -> io::Result<()> {
        let inside = self.existing().await?;
        let entry = Entry::file(bytes.as_ref().to_vec(), mode, self.now());
        let path = absolute(&inside.directory, path);
        inside.world.files.put(&path, entry).map_err(failed)
    }

    /// Runs a command, and returns its exit code and the end of its output.
    ///
    /// The commands are those of the shell of simulated containers: `["sh", "-c", "ls /etc | wc -l"]`.
    pub async fn execute(&self, command: &[String]) -> (i32, String) {
        match self.inside().await {
            Some(inside) => inside.check(command).await,
            None => (137, "the container is gone".to_owned()),
        }
    }

    /// Returns the command and its arguments, with the variables that they refer to.
    pub(crate) async fn expanded_arguments(&self) -> Vec<String> {
        let env = self.inside().await.map(|inside| inside.env.clone());
        let env = env.unwrap_or_default();
        let arguments = self.arguments().iter();
        arguments.map(|word| expanded(word, &env)).collect()
    }

    /// Returns a file or a directory.
    pub(crate) async fn file(&self, path: &str) -> Option<Entry> {
        let inside = self.inside().await?;
        let entry = inside.world.files.entry(&absolute("/", path)).ok()?;
        // Links were followed.
        (!matches!(entry.kind, Kind::Link(_))).then_some(entry)
    }

    /// Reports whether a path is in a volume that is kept in memory.
    pub(crate) async fn is_in_memory(&self, path: &str) -> bool {
        let found = self.volume_at(path, |_, volume| volume.is_in_memory());
        found.unwrap_or(false)
    }

    /// Looks at the volume that contains a path.
    fn volume_at<T>(&self, path: &str, look: impl FnOnce(&Plan, &VolumePlan) -> T) -> Option<T> {
        let plan = self.plan()?;
        let container = plan.containers.get(self.inner.index)?;
        let path = absolute("/", path);
        let mounts = container.raw.volume_mounts.iter().filter(|mount| {
            let at = absolute("/", mount["mountPath"].as_str().unwrap_or_default());
            path.starts_with(&at)
        });
        let length = |mount: &&serde_json::Value| mount["mountPath"].as_str().map(str::len);
        let mount = mounts.max_by_key(length)?;
        let mut volumes = plan.spec.volumes.iter();
        let volume = volumes.find(|volume| mount["name"] == volume.name.as_str())?;
        Some(look(&plan, volume))
    }

    /// Returns the user and the group that a file of the container belongs to.
    pub(crate) fn owner(&self, path: &str) -> (i64, i64) {
        let (user, group) = self.user();
        let shared = self.volume_at(path, |plan, volume| match volume.host_path {
            Some(_) => None,
            None => plan.fs_group(),
        });
        (user, shared.flatten().unwrap_or(group))
    }

    fn user(&self) -> (i64, i64) {
        let plan = self.plan();
        let user = plan.as_ref().and_then(|plan| {
            let container = plan.containers.get(self.inner.index)?;
            Some(plan.user(container))
        });
        user.unwrap_or_default()
    }

    fn plan(&self) -> Option<Plan> {
        let key = Key::new(Some(self.namespace()), self.pod());
        self.inner.network.nodes()?.plan(&key)
    }

    async fn existing(&self) -> io::Result<Arc<Inside>> {
        let inside = self.inside().await;
        inside.ok_or_else(|| io::Error::other("the container is gone"))
    }
}

fn failed(error: FileError) -> io::Error {
    let kind = match error {
        FileError::NotFound => io::ErrorKind::NotFound,
        FileError::IsDirectory => io::ErrorKind::IsADirectory,
        FileError::NotDirectory => io::ErrorKind::NotADirectory,
        FileError::ReadOnly => io::ErrorKind::ReadOnlyFilesystem,
        FileError::NoSpace => io::ErrorKind::StorageFull,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
