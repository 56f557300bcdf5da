//! A real file system that fills up under a cluster. The test is skipped unless it may mount one, as root.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kubewright_cluster::{Cluster, DataDir};
use serde_json::json;
use tokio::time::{Instant, sleep};

/// The size of the file system: after segments of 4 and 8 MiB and the ballast, the next one, of 16 MiB, does not fit.
const SIZE: &str = "size=40m";
/// The size of a file that another program removes later.
const BALLAST: usize = 12 << 20;

/// A small file system in memory, unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    /// Mounts the file system. Returns `None` without permission.
    fn new() -> Option<Self> {
        let name = format!("full-disk-{}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(&path);
        match mount.output() {
            Ok(output) if output.status.success() => Some(Self(path)),
            _ => {
                let _ = fs::remove_dir(&path);
                None
            }
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

async fn start(directory: &Path) -> Cluster {
    let builder = Cluster::builder().data_dir(DataDir::new(directory));
    builder.start().await.unwrap()
}

fn map(name: &str, size: usize) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.data = Some([("data".to_owned(), "x".repeat(size))].into());
    map
}

async fn text(client: &Client, path: &str) -> String {
    let request = Request::get(path).body(Vec::new()).unwrap();
    match client.request_text(request).await {
        Ok(text) => text,
        Err(error) => error.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_rejects_only_writes_that_need_space() {
    let Some(mount) = Mount::new() else {
        // Written directly, since the harness captures the output of passing tests.
        let text = "skipped: a_full_disk_rejects_only_writes_that_need_space: a file system can only be mounted by root\n";
        let _ = std::io::stderr().write_all(text.as_bytes());
        return;
    };
    let ballast = mount.0.join("ballast");
    fs::write(&ballast, vec![1; BALLAST]).unwrap();
    let directory = mount.0.join("data");
    let cluster = start(&directory).await;
    let client = cluster.client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let post = PostParams::default();
    let mut held = map("held", 10);
    held.metadata.finalizers = Some(vec!["example.com/hold".to_owned()]);
    maps.create(&post, &held).await.unwrap();

    let mut created = 0;
    let refused = loop {
        match maps
            .create(&post, &map(&format!("m-{created}"), 200_000))
            .await
        {
            Ok(_) => created += 1,
            Err(kube::Error::Api(status)) => break status,
            Err(error) => panic!("{error}"),
        }
        assert!(created < 1000, "no write is refused");
    };
    assert_eq!(refused.code, 500);
    let directory_shown = directory.display().to_string();
    for part in [
        "the store's disk is full",
        &directory_shown,
        "deletes still work",
    ] {
        assert!(refused.message.contains(part), "{}", refused.message);
    }
    // Reads succeed, and the rejected object does not exist.
    let list = maps.list(&ListParams::default()).await.unwrap();
    let named = |prefix: &str| {
        list.items
            .iter()
            .filter(|m| m.name_any().starts_with(prefix))
            .count()
    };
    assert_eq!(named("m-"), created);
    assert!(
        maps.get_opt(&format!("m-{created}"))
            .await
            .unwrap()
            .is_none()
    );
    // The server still accepts requests, and its metrics report the full disk.
    assert_eq!(text(&client, "/readyz").await, "ok");
    let verbose = text(&client, "/readyz?verbose").await;
    let note = "[+]etcd-readiness ok: the disk is full: writes that need space are rejected\n";
    assert!(verbose.contains(note), "{verbose}");
    let metrics = text(&client, "/metrics").await;
    for line in [
        "kubewright_store_state{state=\"full\"} 1\n",
        "kubewright_store_state{state=\"healthy\"} 0\n",
        "kubewright_store_checkpoint_failures_total",
        "kubewright_store_sync_seconds_count",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    // Deletes and updates that need no space succeed.
    maps.delete("m-0", &DeleteParams::default()).await.unwrap();
    let mut small = maps.get("m-1").await.unwrap();
    small.data = None;
    maps.replace("m-1", &post, &small).await.unwrap();
    // The first step of a graceful deletion makes the object longer.
    let marked = maps.delete("held", &DeleteParams::default()).await;
    let marked = marked.unwrap().left().expect("the object is held");
    assert!(marked.metadata.deletion_timestamp.is_some());
    let last = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let patch = PatchParams::default();
    maps.patch("held", &patch, &last).await.unwrap();
    assert!(maps.get_opt("held").await.unwrap().is_none());
    assert!(maps.create(&post, &map("more", 10)).await.is_err());

    // Once there is space, writes succeed without a restart.
    fs::remove_file(&ballast).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while let Err(error) = maps.create(&post, &map("more", 10)).await {
        assert!(Instant::now() < deadline, "{error}");
        sleep(Duration::from_millis(50)).await;
    }
    let metrics = text(&client, "/metrics").await;
    assert!(metrics.contains("kubewright_store_state{state=\"healthy\"} 1\n"));
    let before = maps.list(&ListParams::default()).await.unwrap();
    cluster.stop().await.unwrap();

    let cluster = start(&directory).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let after = maps.list(&ListParams::default()).await.unwrap();
    assert_eq!(after.items, before.items);
    cluster.stop().await.unwrap();
}
