//! The pages in a real browser, driven by playwright-core.
//!
//! With `KUBEWRIGHT_CONSOLE_HOLD` the console is served until the test is stopped, with its pages read from the source directory.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright_cluster::{Cluster, Lab};
use kubewright_console::{Console, save_session};
use kubewright_controller::{
    Action, Context, Controller, Manager, ManagerBuilder, ManagerError, Predicate, Request, Result,
    create_or_update,
};
use kubewright_ledger::Ledger;
use kubewright_testing::{Perturbation, World, perturb};
use serde_json::{Value, json};

use crate::{chromium::Chromium, scene::Scene};

/// Creates what the pages show: a custom kind, a chain of owners, a Secret, a warning.
async fn populate(scene: &Scene) {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "captains.crew.example.com"},
        "spec": {"group": "crew.example.com", "scope": "Namespaced", "names": {"plural": "captains", "kind": "Captain", "shortNames": ["cap"]},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
                "additionalPrinterColumns": [{"name": "Ship", "type": "string", "jsonPath": ".spec.ship"}, {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}, {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]}]}
    });
    scene
        .create(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            crd,
        )
        .await;
    let captains = "/apis/crew.example.com/v1/namespaces/default/captains";
    for (name, ship, ready) in [
        ("ahab", "pequod", "True"),
        ("flint", "walrus", "False"),
        ("nemo", "nautilus", "True"),
    ] {
        let captain = json!({"apiVersion": "crew.example.com/v1", "kind": "Captain", "metadata": {"name": name, "labels": {"fleet": "first"}}, "spec": {"ship": ship, "crew": 3}});
        let mut captain = scene.create(captains, captain).await;
        captain["status"] = json!({"observedGeneration": 1, "conditions": [{"type": "Ready", "status": ready, "reason": "Crewed", "message": "the crew is aboard", "lastTransitionTime": "2026-11-18T20:00:00Z"}]});
        let (code, answer) = scene
            .call(
                http::Method::PUT,
                &format!("{captains}/{name}/status?fieldManager=captain"),
                Some(&captain),
            )
            .await;
        assert_eq!(code, 200, "{answer}");
        if name == "ahab" {
            chain(scene, &captain).await;
        }
    }
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "chart"}, "data": {"treasure": "aXNsYQ=="}});
    scene
        .create("/api/v1/namespaces/default/secrets", secret)
        .await;
    for n in 0..300 {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("log-{n:04}"), "labels": {"app": if n % 2 == 0 { "log" } else { "book" }}}, "data": {"page": n.to_string()}});
        scene
            .create("/api/v1/namespaces/default/configmaps", map)
            .await;
    }
}

/// A Deployment, a ReplicaSet and a Pod below a captain, and a warning about the captain.
async fn chain(scene: &Scene, captain: &Value) {
    let labels = json!({"app": "pequod"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "ship", "image": "ship:1"}]}});
    let owner = |object: &Value| json!([{"apiVersion": object["apiVersion"], "kind": object["kind"], "name": object["metadata"]["name"], "uid": object["metadata"]["uid"], "controller": true}]);
    let spec = json!({"replicas": 1, "selector": {"matchLabels": labels}, "template": template});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "pequod", "ownerReferences": owner(captain)}, "spec": spec});
    let deployment = scene
        .create(
            "/apis/apps/v1/namespaces/default/deployments?fieldManager=captain",
            deployment,
        )
        .await;
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "pequod-1", "ownerReferences": owner(&deployment)}, "spec": spec});
    let set = scene
        .create(
            "/apis/apps/v1/namespaces/default/replicasets?fieldManager=deployment-controller",
            set,
        )
        .await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pequod-1-a", "labels": labels, "ownerReferences": owner(&set)}, "spec": template["spec"]});
    scene.create("/api/v1/namespaces/default/pods", pod).await;
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "ahab.1"}, "type": "Warning", "reason": "Whale", "message": "a white whale was seen from the mast",
        "involvedObject": {"apiVersion": "crew.example.com/v1", "kind": "Captain", "namespace": "default", "name": "ahab", "uid": captain["metadata"]["uid"]},
        "source": {"component": "captain"}, "firstTimestamp": "2026-11-18T20:00:00Z", "lastTimestamp": "2026-11-18T20:00:00Z", "count": 1});
    scene
        .create("/api/v1/namespaces/default/events", event)
        .await;
}

/// A cluster with a console, a controller that reports its runs, and saved results of a perturbed test.
struct Stage {
    scene: Scene,
    cluster: Cluster,
    results: PathBuf,
}

/// Keeps a Secret for each ConfigMap whose name begins with `mirrored`. It relies on deletion events, which is a mistake.
async fn mirror(context: Context, request: Request) -> Result<Action> {
    let secrets = context.client().api::<Secret>("default");
    if context.get::<ConfigMap>(&request).await?.is_none() {
        match secrets.delete(request.name(), &Default::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            other => drop(other?),
        }
        return Ok(Action::done());
    }
    let mut secret = Secret::default();
    secret.metadata.name = Some(request.name().to_owned());
    create_or_update(&secrets, secret, |_| {}).await?;
    Ok(Action::done())
}

fn program(manager: ManagerBuilder) -> std::result::Result<Manager, ManagerError> {
    let manager = manager.name("crew").build()?;
    Controller::for_::<ConfigMap>()
        .named("mirror")
        .event_filter(Predicate::object(|it| it.name().starts_with("mirrored")))
        .build(&manager, mirror)?;
    Ok(manager)
}

/// Creates an object, and deletes it in the next step.
async fn story(world: World) {
    let maps: kube::Api<ConfigMap> = kube::Api::default_namespaced(world.client());
    let mut map = ConfigMap::default();
    map.metadata.name = Some("mirrored".to_owned());
    maps.create(&Default::default(), &map).await.unwrap();
    world.pause().await;
    maps.delete("mirrored", &Default::default()).await.unwrap();
}

async fn populated() -> Stage {
    let lab = Lab::new();
    let cluster = Cluster::builder().ledger(Ledger::new()).lab(lab.clone());
    let cluster = cluster.start().await.unwrap();
    let results = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let results = results.join(format!("perturbations-{}", std::process::id()));
    let saved = results.join("mirror.json");
    let perturbed = tokio::task::spawn_blocking(move || {
        let tried = perturb(program, story);
        let [down, crash] = [
            Perturbation::Down { step: 1 },
            Perturbation::Crash { after_write: 1 },
        ];
        tried.only(down).only(crash).save(saved).explore()
    });
    let report = perturbed.await.unwrap();
    assert_eq!(
        (report.failures.len(), report.survived.len()),
        (1, 1),
        "{report}"
    );
    let manager = program(Manager::builder(cluster.client())).unwrap();
    let sessions = results.join("sessions");
    let console = Console::builder(cluster.direct_client())
        .title("kubewright up")
        .local()
        .lab(lab)
        .operator(Arc::new(manager.clone()))
        .perturbations(&results)
        .sessions(&sessions);
    let console = match env::var_os("KUBEWRIGHT_CONSOLE_HOLD") {
        Some(_) => console.directory(concat!(env!("CARGO_MANIFEST_DIR"), "/web")),
        None => console,
    };
    let console = console.start("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let scene = Scene::of(console);
    populate(&scene).await;
    manager.report_runs().unwrap();
    tokio::spawn(async move { manager.run(std::future::pending()).await });
    scene.config_map("mirrored").await;
    let reported = async {
        let runs = "/kubewright/v1/runs?key=default/mirrored";
        while scene.get(runs).await.1["items"] == json!([]) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let reported = tokio::time::timeout(Duration::from_secs(60), reported).await;
    reported.expect("the run is reported");
    let saved = save_session(cluster.direct_client(), "kubewright dev: crew", &sessions).await;
    saved.unwrap();
    let denied =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Not-A-Name"}});
    let path = "/api/v1/namespaces/default/configmaps";
    assert_eq!(
        scene.call(http::Method::POST, path, Some(&denied)).await.0,
        422
    );
    Stage {
        scene,
        cluster,
        results,
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.results);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn people_use_the_console_in_a_browser() {
    if env::var_os("KUBEWRIGHT_CONSOLE_HOLD").is_some() {
        let stage = populated().await;
        println!("{}", stage.scene.url());
        return std::future::pending().await;
    }
    let Some(chromium) = Chromium::find() else {
        return;
    };
    let stage = populated().await;
    let export = stage.results.join("export.html");
    let html = kubewright_console::export(stage.cluster.direct_client(), "kubewright up").await;
    fs::write(&export, html.unwrap()).unwrap();
    let export = export.to_str().unwrap();
    tokio::task::block_in_place(|| {
        chromium.play("scenarios.mjs", stage.scene.url(), &[("EXPORT", export)]);
    });
}
