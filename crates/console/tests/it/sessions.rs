//! Sessions that have ended.

use std::{
    fs,
    path::{Path, PathBuf},
};

use kubewright_cluster::Cluster;
use kubewright_console::{Console, save_session};
use kubewright_ledger::Ledger;
use serde_json::{Value, json};

use crate::scene::Scene;

/// A directory that is removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"));
        Self(path.join(format!("sessions-{name}-{}", std::process::id())))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn scene(directory: &Directory) -> (Cluster, Scene) {
    let cluster = Cluster::builder().ledger(Ledger::new());
    let cluster = cluster.start().await.unwrap();
    let console = Console::builder(cluster.direct_client()).sessions(&directory.0);
    let console = console.start("127.0.0.1:0".parse().unwrap()).await.unwrap();
    (cluster, Scene::of(console))
}

async fn names(scene: &Scene) -> Vec<String> {
    let (code, session) = scene.get("/kubewright/v1/console/session").await;
    assert_eq!(code, 200, "{session}");
    serde_json::from_value(session["sessions"].clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_shown_after_its_cluster_has_ended() {
    let directory = Directory::new("shown");
    {
        let (cluster, scene) = scene(&directory).await;
        assert_eq!(names(&scene).await, [""; 0]);
        scene.config_map("of-the-first").await;
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "aGlkZGVu"}});
        scene
            .create("/api/v1/namespaces/default/secrets", secret)
            .await;
        let path = save_session(cluster.direct_client(), "the first", &directory.0).await;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(path.unwrap()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        #[cfg(not(unix))]
        path.unwrap();
    }
    let (_cluster, scene) = scene(&directory).await;
    let names = names(&scene).await;
    assert_eq!(names.len(), 1);
    let path = format!("/kubewright/v1/console/sessions/{}", names[0]);
    let (code, session) = scene.get(&path).await;
    assert_eq!((code, &session["title"]), (200, &json!("the first")));
    assert_eq!(session["session"], json!(names[0]));
    let rows = session["tables"]["/api/v1/configmaps"]["rows"].to_string();
    assert!(rows.contains("default/of-the-first"), "{rows}");
    assert!(session["answers"]["/kubewright/v1/requests"]["items"].is_array());
    assert!(!session.to_string().contains("aGlkZGVu"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_ten_sessions_are_kept() {
    let directory = Directory::new("kept");
    fs::create_dir_all(&directory.0).unwrap();
    for day in 10..22 {
        let name = format!("2026-01-{day}T00-00-00.000Z.json");
        fs::write(directory.0.join(name), "{}").unwrap();
    }
    let (cluster, scene) = scene(&directory).await;
    save_session(cluster.direct_client(), "new", &directory.0)
        .await
        .unwrap();
    let names = names(&scene).await;
    assert_eq!(names.len(), 10);
    assert!(names[0].as_str() > "2026-02", "{names:?}");
    assert_eq!(names[9], "2026-01-13T00-00-00.000Z");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_no_path() {
    let directory = Directory::new("path");
    fs::create_dir_all(directory.0.join("in")).unwrap();
    fs::write(directory.0.join("out.json"), "{\"title\": \"outside\"}").unwrap();
    let inner = Directory(directory.0.join("in"));
    let (_cluster, scene) = scene(&inner).await;
    for name in ["../out", "..%2fout", "%2e%2e%2fout", "none", ""] {
        let path = format!("/kubewright/v1/console/sessions/{name}");
        let (code, answer): (u16, Value) = scene.get(&path).await;
        assert_ne!(code, 200, "{name}: {answer}");
    }
}
