//! The ledger: who wrote what and why, through its endpoints and as assertions.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kubewright_controller::{Action, Context, Controller, Manager, Result};
use kubewright_testing::TestCluster;
use serde_json::{Value, json};

async fn get(client: &Client, path: &str) -> Result<Value, kube::Error> {
    let request = http::Request::get(format!("/kubewright/v1{path}"));
    client.request(request.body(Vec::new()).unwrap()).await
}

pub(crate) fn map(name: &str, data: &[(&str, &str)]) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.into());
    let data = data.iter().map(|(k, v)| ((*k).into(), (*v).into()));
    map.data = Some(data.collect());
    map
}

pub(crate) fn by(manager: &str) -> PatchParams {
    PatchParams {
        field_manager: Some(manager.into()),
        ..PatchParams::default()
    }
}

pub(crate) async fn patch(maps: &Api<ConfigMap>, manager: &str, data: Value) -> ConfigMap {
    let patch = Patch::Merge(json!({"data": data}));
    maps.patch("sky", &by(manager), &patch).await.unwrap()
}

const SKY: &str = "resource=configmaps&namespace=default&name=sky";

#[tokio::test]
async fn history_has_the_writer_and_the_difference_of_each_revision() {
    let cluster = TestCluster::start().await;
    let client = cluster.client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let params = PostParams {
        field_manager: Some("one".into()),
        ..PostParams::default()
    };
    let first = maps
        .create(&params, &map("sky", &[("colour", "blue")]))
        .await
        .unwrap();
    let second = patch(&maps, "two", json!({"colour": "red", "stars": "9"})).await;
    patch(&maps, "three", json!({"stars": "10"})).await;

    let history = get(&client, &format!("/history?{SKY}")).await.unwrap();
    assert_eq!(history["complete"], true);
    let items = history["items"].as_array().unwrap();
    let words = |item: &Value| {
        let text = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
        format!(
            "{} {}: {}",
            text("verb"),
            text("fieldManager"),
            text("summary")
        )
    };
    assert_eq!(
        items.iter().map(words).collect::<Vec<_>>(),
        [
            "create one: created",
            "patch two: data.colour \"blue\" -> \"red\", data.stars set to \"9\"",
            "patch three: data.stars \"9\" -> \"10\"",
        ]
    );
    assert_eq!(
        items[1]["revision"].to_string(),
        second.resource_version().unwrap()
    );
    assert_eq!(items[0]["diff"][0]["after"]["data"]["colour"], "blue");

    let of_colour = get(&client, &format!("/history?{SKY}&path=data.colour"))
        .await
        .unwrap();
    assert_eq!(of_colour["items"].as_array().unwrap().len(), 2);
    let page = format!(
        "/history?{SKY}&after={}&limit=1",
        first.resource_version().unwrap()
    );
    let page = get(&client, &page).await.unwrap();
    assert_eq!(page["items"][0]["revision"], items[1]["revision"]);
    assert_eq!(page["next"], items[1]["revision"]);

    // The past: the object, its owners and its history as they were.
    let at = second.resource_version().unwrap();
    let then = get(&client, &format!("/object?{SKY}&at={at}"))
        .await
        .unwrap();
    assert_eq!(then["object"]["data"]["stars"], "9");
    let then = get(&client, &format!("/history?{SKY}&at={at}"))
        .await
        .unwrap();
    assert_eq!(then["items"].as_array().unwrap().len(), 2);
    let blame = get(&client, &format!("/blame?{SKY}")).await.unwrap();
    let lines = blame["lines"].as_array().unwrap();
    let stars = lines.iter().find(|it| it["path"] == "data.stars").unwrap();
    assert_eq!(stars["text"], "  stars: \"10\"");
    assert_eq!(stars["managers"][0]["manager"], "three");
    assert_eq!(stars["revision"], items[2]["revision"]);
    let fields = get(&client, &format!("/fields?{SKY}&path=data.colour"))
        .await
        .unwrap();
    assert_eq!(fields["items"][0]["manager"], "two");
    assert_eq!(fields["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_deleted_object_keeps_its_history() {
    let cluster = TestCluster::start().await;
    let client = cluster.client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    maps.create(&PostParams::default(), &map("sky", &[]))
        .await
        .unwrap();
    maps.delete("sky", &DeleteParams::default()).await.unwrap();
    let history = get(&client, &format!("/history?{SKY}")).await.unwrap();
    let changes = history["items"].as_array().unwrap().iter();
    let changes: Vec<&str> = changes.map(|it| it["change"].as_str().unwrap()).collect();
    assert_eq!(changes, ["created", "deleted"]);
    let missing = get(
        &client,
        "/history?resource=configmaps&namespace=default&name=moon",
    )
    .await;
    assert_eq!(code(missing), 404);
    // A deletion that succeeded was not refused.
    let denials = get(&client, "/denials").await.unwrap();
    assert_eq!(denials["items"], json!([]));
}

fn code(answer: Result<Value, kube::Error>) -> u16 {
    match answer {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn invalid_parameters_are_rejected() {
    let cluster = TestCluster::start().await;
    let client = cluster.client();
    for (path, expected) in [
        ("/history", 400),
        ("/history?resource=ponies&name=a", 404),
        ("/requests?limit=many", 400),
        ("/requests?at=-1", 400),
        ("/requests?changed=maybe", 400),
        (
            "/timeline?resource=configmaps&namespace=a&name=b&since=noon",
            400,
        ),
        ("/revisions/x", 400),
        ("/revisions/999999", 404),
        ("/runs/a/b/1", 404),
        ("/nothing", 404),
        ("/object?resource=configmaps&namespace=a&name=..", 400),
    ] {
        assert_eq!(code(get(&client, path).await), expected, "{path}");
    }
    cluster.compact_now().await;
    let index = get(&client, "").await.unwrap();
    assert_eq!(index["version"], "v1");
    assert!(index["oldestRevision"].as_u64().unwrap() > 1, "{index}");
    let old = get(&client, "/object?resource=namespaces&name=default&at=1").await;
    assert_eq!(code(old), 410);
}

#[tokio::test]
async fn requests_are_numbered_and_no_ops_are_marked() {
    let cluster = TestCluster::start().await;
    let client = cluster.client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let start = get(&client, "").await.unwrap()["requests"]["last"]
        .as_u64()
        .unwrap();
    maps.create(&PostParams::default(), &map("sky", &[("a", "1")]))
        .await
        .unwrap();
    patch(&maps, "two", json!({"a": "1"})).await;
    let again = maps.create(&PostParams::default(), &map("sky", &[])).await;
    assert!(again.is_err());
    maps.delete_collection(&DeleteParams::default(), &ListParams::default())
        .await
        .unwrap();

    let all = get(&client, &format!("/requests?after={start}"))
        .await
        .unwrap();
    let words = |item: &Value| {
        let commits = item["commits"].as_array().unwrap().len();
        format!(
            "{} {} {} {commits}",
            item["verb"].as_str().unwrap(),
            item["code"],
            item["unchanged"]
        )
    };
    let items = all["items"].as_array().unwrap();
    assert_eq!(
        items.iter().map(words).collect::<Vec<_>>(),
        [
            "create 201 false 1",
            "patch 200 true 0",
            "create 409 false 0",
            "deletecollection 200 false 1",
        ]
    );
    let unchanged = get(&client, "/requests?changed=false").await.unwrap();
    assert_eq!(unchanged["items"].as_array().unwrap().len(), 1);
    assert_eq!(unchanged["items"][0]["fieldManager"], "two");
    let page = get(&client, &format!("/requests?after={start}&limit=3"))
        .await
        .unwrap();
    assert_eq!(page["next"], start + 3);
    let denials = get(&client, "/denials?verb=create").await.unwrap();
    assert_eq!(denials["items"][0]["reason"], "AlreadyExists");
}

#[tokio::test]
async fn a_forbidden_request_has_the_rule_that_allows_it() {
    let cluster = TestCluster::builder().rbac().start().await;
    let bob = cluster.client_as("bob");
    let secrets: Api<Secret> = Api::namespaced(bob.clone(), "default");
    assert!(secrets.list(&ListParams::default()).await.is_err());
    let denials = get(&cluster.client(), "/denials?user=bob").await.unwrap();
    let denial = &denials["items"][0];
    assert_eq!(
        (&denial["verb"], &denial["code"]),
        (&json!("list"), &json!(403))
    );
    let expected = r#"operator.rule("", &["secrets"], &["get", "list", "watch"]);"#;
    assert_eq!(denial["rule"]["declaration"], expected);

    // Reading the ledger requires permission; reporting runs does not.
    assert_eq!(code(get(&bob, "/requests").await), 403);
    let report = json!({"manager": "m", "runs": []}).to_string();
    let report = http::Request::post("/kubewright/v1/runs").body(report.into_bytes());
    bob.request::<Value>(report.unwrap()).await.unwrap();
    let other = http::Request::post("/kubewright/v1/requests").body(Vec::new());
    assert_eq!(code(bob.request(other.unwrap()).await), 403);
}

#[tokio::test]
async fn the_values_of_secrets_are_masked() {
    let cluster = TestCluster::start().await;
    let client = cluster.client();
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let secret =
        |password: &str| json!({"metadata": {"name": "key"}, "stringData": {"password": password}});
    let new = serde_json::from_value(secret("hunter1")).unwrap();
    secrets.create(&PostParams::default(), &new).await.unwrap();
    let change = Patch::Merge(secret("hunter2"));
    secrets.patch("key", &by("two"), &change).await.unwrap();
    let encoded = ["hunter", "aHVudGVy"];
    for endpoint in ["history", "object", "blame", "fields", "timeline"] {
        let path = format!("/{endpoint}?resource=secrets&namespace=default&name=key&objects=true");
        let answer = get(&client, &path).await.unwrap().to_string();
        assert!(
            !encoded.iter().any(|it| answer.contains(it)),
            "{endpoint}: {answer}"
        );
    }
    let history = get(
        &client,
        "/history?resource=secrets&namespace=default&name=key",
    )
    .await;
    let last = &history.unwrap()["items"][1];
    assert_eq!(
        last["summary"],
        "data.password \"(masked)\" -> \"(masked)\""
    );
}

/// Counts the ConfigMaps of a namespace in one of them.
async fn count(ctx: Context<ConfigMap>, map: Arc<ConfigMap>) -> Result<Action> {
    let mut total = map.name_any();
    total.push_str("-copy");
    if map.name_any().ends_with("-copy") {
        return Ok(Action::done());
    }
    if ctx
        .client()
        .get::<ConfigMap>("default", &total)
        .await?
        .is_none()
    {
        let mut copy = ConfigMap {
            data: map.data.clone(),
            ..ConfigMap::default()
        };
        copy.metadata.name = Some(total);
        copy.metadata.namespace = Some("default".into());
        ctx.client().create(&copy).await?;
    }
    Ok(Action::done())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_refers_to_its_run_and_the_write_that_caused_the_run() {
    let cluster = TestCluster::start().await;
    let client = cluster.client();
    let manager = Manager::new(client.clone());
    Controller::for_::<ConfigMap>()
        .named("copier")
        .build(&manager, count)
        .unwrap();
    let running = cluster.run(&manager);
    cluster.settled().await.unwrap();
    let start = cluster.ledger().mark();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let created = maps
        .create(&PostParams::default(), &map("sky", &[("a", "1")]))
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    cluster
        .ledger()
        .assert_writes(
            start,
            &[
                "client: create configmaps default/sky",
                "copier: create configmaps default/sky-copy because configmaps added",
            ],
        )
        .await;

    let runs = cluster.ledger().runs();
    let run = runs.iter().find(|run| run.key == "default/sky").unwrap();
    assert_eq!(
        run.triggers[0].resource_version,
        created.resource_version().unwrap()
    );
    let written = &run.requests[0];
    assert_eq!((written.verb.as_str(), written.code), ("create", 201));

    let answer = get(&client, &format!("/runs/{}", run.id)).await.unwrap();
    assert_eq!(answer["wrote"][0]["name"], "sky-copy");
    assert_eq!(
        answer["causes"][0]["revision"].to_string(),
        created.resource_version().unwrap()
    );
    assert_eq!(answer["causes"][0]["summary"], "created");
    let caused = answer["caused"].as_array().unwrap();
    let copy = runs
        .iter()
        .find(|run| run.key == "default/sky-copy")
        .unwrap();
    assert_eq!(caused, &[json!(copy.id)]);

    let revision = written.revision.unwrap();
    let why = get(&client, &format!("/revisions/{revision}"))
        .await
        .unwrap();
    assert_eq!(why["request"]["run"], run.id.as_str());
    assert_eq!(why["run"]["id"], run.id.as_str());
    assert_eq!(why["causes"][0]["trigger"]["object"]["name"], "sky");
    let steady = cluster.ledger().mark();
    cluster.settled().await.unwrap();
    cluster.ledger().assert_no_writes(steady).await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_failing_assertion_prints_the_timeline() {
    let cluster = TestCluster::start().await;
    let start = cluster.ledger().mark();
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    maps.create(&PostParams::default(), &map("sky", &[]))
        .await
        .unwrap();
    let checked = tokio::spawn(async move { cluster.ledger().assert_no_writes(start).await });
    let panic = checked.await.unwrap_err().into_panic();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(
        text.contains("unexpected: client: create configmaps default/sky"),
        "{text}"
    );
    assert!(text.contains("configmaps default/sky\n"), "{text}");
    assert!(text.contains(": created\n"), "{text}");
}

#[tokio::test]
async fn a_server_without_a_ledger_sends_and_serves_nothing() {
    use kubewright_apiserver::Body;
    let api = kubewright_kube_apiserver::KubeApiServer::builder()
        .build()
        .await
        .unwrap();
    let ask = async |path: &str| {
        let request = http::Request::get(path).body(Body::empty()).unwrap();
        api.server().handle(request).await
    };
    assert_eq!(ask("/kubewright/v1/requests").await.status(), 404);
    let answer = ask("/version").await;
    assert!(!answer.headers().contains_key("kubewright-ledger"));
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_reported_only_to_servers_with_a_ledger() {
    use kubewright_kube_apiserver::KubeApiServer;
    use tower::ServiceExt;
    for has_ledger in [false, true] {
        let ledger = has_ledger.then(kubewright_ledger::Ledger::new);
        let api = KubeApiServer::builder()
            .ledger(ledger)
            .build()
            .await
            .unwrap();
        let named = Arc::new(AtomicUsize::new(0));
        let seen = named.clone();
        let look = move |request: http::Request<kube::client::Body>| {
            let is_named = request.headers().contains_key("kubewright-run");
            seen.fetch_add(usize::from(is_named), Ordering::SeqCst);
            request
        };
        let client = Client::new(api.server().clone().map_request(look), "default");
        let manager = Manager::new(client.clone());
        let copier = Controller::for_::<ConfigMap>().named("copier");
        copier.build(&manager, count).unwrap();
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        maps.create(&PostParams::default(), &map("sky", &[]))
            .await
            .unwrap();
        let settled = async {
            manager.settled(Duration::from_secs(30)).await.unwrap();
        };
        manager.run(settled).await.unwrap();
        assert!(maps.get_opt("sky-copy").await.unwrap().is_some());
        let names = named.load(Ordering::SeqCst);
        assert_eq!(names > 0, has_ledger, "{names} requests named their run");
    }
}
