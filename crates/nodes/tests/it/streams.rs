//! Logs, ports and statistics, through the API server.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{AsyncBufReadExt, TryStreamExt};
use http::{Request, Response};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client, api::LogParams};
use kubewright_controller::wait::wait_for;
use kubewright_nodes::{Container, HttpBody, Nodes};
use kubewright_testing::TestCluster;
use serde_json::{Value, from_value, json};

/// Starts a cluster with nodes that serve requests.
async fn start(nodes: Nodes) -> TestCluster {
    TestCluster::builder()
        .workloads()
        .nodes(nodes)
        .start()
        .await
}

async fn create(cluster: &TestCluster, name: &str, spec: Value) -> Api<Pod> {
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    let pod = json!({"metadata": {"name": name, "labels": {"app": name}}, "spec": spec});
    let pod: Pod = from_value(pod).unwrap();
    pods.create(&Default::default(), &pod).await.unwrap();
    cluster.settled().await.unwrap();
    pods
}

fn script(text: &str, policy: &str) -> Value {
    let container = json!({"name": "c", "image": "busybox", "command": ["sh", "-c", text]});
    json!({"restartPolicy": policy, "containers": [container]})
}

/// Waits until a pod has a phase.
async fn until(pods: &Api<Pod>, name: &str, phase: &str) {
    let limit = Duration::from_secs(60);
    let reached = wait_for(pods, name, limit, |pod: Option<&Pod>| {
        let status = pod.and_then(|pod| pod.status.as_ref());
        status.is_some_and(|status| status.phase.as_deref() == Some(phase))
    });
    reached.await.unwrap();
}

async fn get(client: &Client, path: &str) -> Result<String, (u16, String)> {
    let request = Request::get(path).body(Vec::new()).unwrap();
    match client.request_text(request).await {
        Ok(text) => Ok(text),
        Err(kube::Error::Api(status)) => Err((status.code, status.message.clone())),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn logs_of_scripts_are_served() {
    let cluster = start(Nodes::new(1)).await;
    let text = "for i in 1 2 3; do echo line $i from $(hostname); done; exit 3";
    let pods = create(&cluster, "job", script(text, "Never")).await;
    until(&pods, "job", "Failed").await;
    let log = |params: LogParams| {
        let pods = pods.clone();
        async move { pods.logs("job", &params).await.unwrap() }
    };
    let all = "line 1 from job\nline 2 from job\nline 3 from job\n";
    assert_eq!(log(LogParams::default()).await, all);
    let tail_lines = Some(1);
    let last = LogParams {
        tail_lines,
        ..LogParams::default()
    };
    assert_eq!(log(last).await, "line 3 from job\n");
    let limit_bytes = Some(4);
    let cut = LogParams {
        limit_bytes,
        ..LogParams::default()
    };
    assert_eq!(log(cut).await, "line");
    let timed = LogParams {
        timestamps: true,
        tail_lines,
        ..LogParams::default()
    };
    let timed = log(timed).await;
    let (time, rest) = timed.split_once(' ').unwrap();
    assert!(
        time.parse::<jiff::Timestamp>().is_ok() && rest == "line 3 from job\n",
        "{timed}"
    );
    let follow = LogParams {
        follow: true,
        ..LogParams::default()
    };
    let lines = pods.log_stream("job", &follow).await.unwrap().lines();
    assert_eq!(lines.try_collect::<Vec<_>>().await.unwrap().len(), 3);
}

#[tokio::test]
async fn missing_logs_have_the_errors_of_a_kubelet() {
    let cluster = start(Nodes::new(1)).await;
    let pods = create(&cluster, "p", script("sleep infinity", "Always")).await;
    until(&pods, "p", "Running").await;
    let client = cluster.client();
    let base = "/api/v1/namespaces/default/pods";
    let failed = |path: String| {
        let client = client.clone();
        async move { get(&client, &path).await.unwrap_err() }
    };
    let previous = failed(format!("{base}/p/log?previous=true")).await;
    let text = "previous terminated container \"c\" in pod \"p\" not found";
    assert_eq!(previous, (400, text.to_owned()));
    let unknown = failed(format!("{base}/p/log?container=x")).await;
    assert_eq!(
        unknown,
        (400, "container x is not valid for pod p".to_owned())
    );
    let spec = json!({"containers": [{"name": "c", "image": "broken"}]});
    let behavior = kubewright_nodes::Behavior::fails_to_pull("manifest unknown");
    cluster
        .nodes()
        .unwrap()
        .images()
        .register("broken", behavior);
    create(&cluster, "q", spec).await;
    let waiting = failed(format!("{base}/q/log")).await;
    let text = "container \"c\" in pod \"q\" is waiting to start: trying and failing to pull image";
    assert_eq!(waiting, (400, text.to_owned()));
    cluster.nodes().unwrap().node("node-1").go_silent().await;
    let (code, text) = failed(format!("{base}/p/log")).await;
    assert_eq!(code, 500);
    assert!(text.ends_with("connect: connection refused"), "{text}");
}

#[tokio::test]
async fn functions_serve_behind_services_and_proxies() {
    let nodes = Nodes::new(2);
    nodes
        .images()
        .register_fn("example.com/hello", |container: Container| async move {
            let name = container.pod().to_owned();
            let service = tower::service_fn(move |request: Request<HttpBody>| {
                let text = format!("{} says hello to {}", name, request.uri().path());
                async move { Ok(Response::new(Bytes::from(text))) }
            });
            i32::from(container.serve(8080, service).await.is_err())
        });
    let cluster = start(nodes).await;
    let ports = json!([{"containerPort": 8080}]);
    let container = json!({"name": "c", "image": "example.com/hello", "ports": ports});
    create(&cluster, "web", json!({"containers": [container]})).await;
    let client = cluster.client();
    let service = json!({
        "metadata": {"name": "front"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    let services: Api<k8s_openapi::api::core::v1::Service> =
        Api::default_namespaced(client.clone());
    services
        .create(&Default::default(), &from_value(service).unwrap())
        .await
        .unwrap();
    cluster.settled().await.unwrap();
    let base = "/api/v1/namespaces/default";
    let answer = get(&client, &format!("{base}/pods/web/proxy/you"))
        .await
        .unwrap();
    assert_eq!(answer, "web says hello to /you");
    let answer = get(&client, &format!("{base}/services/front:80/proxy/all/"))
        .await
        .unwrap();
    assert_eq!(answer, "web says hello to /all/");
    let (code, text) = get(&client, &format!("{base}/pods/web:81/proxy/"))
        .await
        .unwrap_err();
    assert_eq!(code, 503);
    assert!(
        text.starts_with("error trying to reach service: dial tcp 10.244."),
        "{text}"
    );
    assert!(text.ends_with(":81: connect: connection refused"), "{text}");
    let missing = get(&client, &format!("{base}/services/front:82/proxy/"))
        .await
        .unwrap_err();
    assert_eq!(
        missing,
        (
            503,
            "no service port 82 found for service \"front\"".to_owned()
        )
    );
    // Another pod reaches it by the name of its service.
    let text = "wget -qO- http://front/script && echo && wget -qO- http://front.default.svc.cluster.local/again && echo; wget -qO- nowhere";
    let pods = create(&cluster, "client", script(text, "Never")).await;
    until(&pods, "client", "Failed").await;
    let log = pods.logs("client", &LogParams::default()).await.unwrap();
    let expected =
        "web says hello to /script\nweb says hello to /again\nwget: bad address 'nowhere'\n";
    assert_eq!(log, expected);
}

#[tokio::test]
async fn well_known_web_servers_need_no_registration() {
    let cluster = start(Nodes::new(1)).await;
    create(
        &cluster,
        "web",
        json!({"containers": [{"name": "c", "image": "nginx:1.27"}]}),
    )
    .await;
    let client = cluster.client();
    let base = "/api/v1/namespaces/default/pods/web/proxy";
    let page = get(&client, &format!("{base}/")).await.unwrap();
    assert!(page.contains("Welcome to nginx!"), "{page}");
    let (code, _) = get(&client, &format!("{base}/missing")).await.unwrap_err();
    assert_eq!(code, 404);
    let pods: Api<Pod> = Api::default_namespaced(client);
    let log = pods.logs("web", &LogParams::default()).await.unwrap();
    assert!(log.contains("\"GET /missing HTTP/1.1\" 404"), "{log}");
}

#[tokio::test]
async fn nodes_report_health_pods_and_statistics() {
    let cluster = start(Nodes::new(1)).await;
    let requests = json!({"requests": {"cpu": "200m", "memory": "64Mi"}});
    let container = json!({"name": "c", "image": "example.com/a", "resources": requests});
    create(&cluster, "p", json!({"containers": [container]})).await;
    let client = cluster.client();
    let base = "/api/v1/nodes/node-1/proxy";
    assert_eq!(
        get(&client, &format!("{base}/healthz")).await.unwrap(),
        "ok"
    );
    let summary = get(&client, &format!("{base}/stats/summary"))
        .await
        .unwrap();
    let summary: Value = serde_json::from_str(&summary).unwrap();
    let used = &summary["pods"][0]["containers"][0];
    assert_eq!(used["cpu"]["usageNanoCores"], 20_000_000);
    assert_eq!(summary["node"]["cpu"]["usageNanoCores"], 120_000_000);
    let missing = get(&client, "/api/v1/nodes/node-9/proxy/healthz")
        .await
        .unwrap_err();
    assert_eq!(missing, (404, "nodes \"node-9\" not found".to_owned()));
}

#[tokio::test]
async fn scripts_have_their_environment_and_volumes() {
    let cluster = start(Nodes::new(1)).await;
    let client = cluster.client();
    let maps: Api<k8s_openapi::api::core::v1::ConfigMap> = Api::default_namespaced(client.clone());
    let map = json!({"metadata": {"name": "settings"}, "data": {"colour": "blue", "size": "9"}});
    maps.create(&Default::default(), &from_value(map).unwrap())
        .await
        .unwrap();
    let text = "echo $COLOUR $WHO $size; cat /etc/settings/colour; echo; cat /shared/note";
    let mounts = json!([
        {"name": "settings", "mountPath": "/etc/settings"}, {"name": "shared", "mountPath": "/shared"},
    ]);
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [{
            "name": "first", "image": "busybox", "command": ["sh", "-c", "echo hello > /shared/note"], "volumeMounts": mounts,
        }],
        "containers": [{
            "name": "c", "image": "busybox", "command": ["sh", "-c", text], "volumeMounts": mounts,
            "envFrom": [{"configMapRef": {"name": "settings"}}],
            "env": [
                {"name": "COLOUR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "colour"}}},
                {"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ],
        }],
        "volumes": [{"name": "settings", "configMap": {"name": "settings"}}, {"name": "shared", "emptyDir": {}}],
    });
    let pods = create(&cluster, "p", spec).await;
    until(&pods, "p", "Succeeded").await;
    let params = LogParams {
        container: Some("c".to_owned()),
        ..LogParams::default()
    };
    let log = pods.logs("p", &params).await.unwrap();
    assert!(log.starts_with("blue p 9\nblue\nhello\n"), "{log}");
}
