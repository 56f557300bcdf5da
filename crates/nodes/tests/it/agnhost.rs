//! The image of Kubernetes' own tests.

use std::time::Duration;

use http::Request;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{Api, Client, core::DynamicObject};
use kubewright_controller::wait::wait_for;
use kubewright_nodes::Nodes;
use kubewright_testing::TestCluster;
use serde_json::{Value, from_value, json};

const IMAGE: &str = "registry.k8s.io/e2e-test-images/agnhost:2.63.0";

pub(crate) async fn start() -> TestCluster {
    let builder = TestCluster::builder().workloads().nodes(Nodes::new(1));
    builder.start().await
}

pub(crate) async fn create(cluster: &TestCluster, path: &str, object: Value) {
    let request = Request::post(path).header("content-type", "application/json");
    let request = request.body(object.to_string().into_bytes()).unwrap();
    let created = cluster.client().request::<Value>(request).await;
    created.unwrap();
}

async fn run(cluster: &TestCluster, name: &str, arguments: &[&str], more: Value) {
    let mut container = json!({"name": "c", "image": IMAGE, "args": arguments});
    let mut spec = json!({"restartPolicy": "Never"});
    for (key, value) in more.as_object().unwrap() {
        match key.as_str() {
            "volumes" => spec[key] = value.clone(),
            _ => container[key] = value.clone(),
        }
    }
    spec["containers"] = json!([container]);
    let pod = json!({"metadata": {"name": name, "labels": {"app": name}}, "spec": spec});
    create(cluster, "/api/v1/namespaces/default/pods", pod).await;
}

pub(crate) async fn until(cluster: &TestCluster, name: &str, is: impl Fn(&Pod) -> bool) {
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    let reached = wait_for(&pods, name, Duration::from_secs(60), |pod: Option<&Pod>| {
        pod.is_some_and(&is)
    });
    reached.await.unwrap();
}

fn is_ready(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

pub(crate) fn has_ended(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

async fn get(client: &Client, path: &str) -> Result<String, kube::Error> {
    let request = Request::get(path).body(Vec::new()).unwrap();
    client.request_text(request).await
}

pub(crate) async fn log(cluster: &TestCluster, pod: &str) -> String {
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    pods.logs(pod, &Default::default()).await.unwrap()
}

#[tokio::test]
async fn a_webhook_in_a_pod_is_called_through_its_service() {
    let cluster = start().await;
    let pair = rcgen::generate_simple_self_signed(["hook.default.svc".to_owned()]).unwrap();
    let certificate = pair.cert.pem();
    let secret = json!({
        "metadata": {"name": "certs"},
        "stringData": {"tls.crt": certificate, "tls.key": pair.signing_key.serialize_pem()},
    });
    create(&cluster, "/api/v1/namespaces/default/secrets", secret).await;
    let arguments = [
        "webhook",
        "--tls-cert-file=/certs/tls.crt",
        "--tls-private-key-file=/certs/tls.key",
        "--port=8444",
    ];
    let probe = json!({
        "httpGet": {"scheme": "HTTPS", "port": 8444, "path": "/readyz"}, "periodSeconds": 1,
    });
    let more = json!({
        "volumes": [{"name": "certs", "secret": {"secretName": "certs"}}],
        "volumeMounts": [{"name": "certs", "mountPath": "/certs"}],
        "readinessProbe": probe,
    });
    run(&cluster, "hook", &arguments, more).await;
    let service = json!({
        "metadata": {"name": "hook"},
        "spec": {"selector": {"app": "hook"}, "ports": [{"port": 8443, "targetPort": 8444}]},
    });
    create(&cluster, "/api/v1/namespaces/default/services", service).await;
    until(&cluster, "hook", is_ready).await;
    cluster.settled().await.unwrap();

    use base64::{Engine, prelude::BASE64_STANDARD};
    let hook = |path: &str, name: &str| {
        json!({
            "name": name,
            "clientConfig": {
                "caBundle": BASE64_STANDARD.encode(&certificate),
                "service": {"namespace": "default", "name": "hook", "port": 8443, "path": path},
            },
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"],
            }],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "reinvocationPolicy": "IfNeeded",
        })
    };
    let webhooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    let configuration = json!({
        "metadata": {"name": "hooks"},
        "webhooks": [hook("/mutating-configmaps", "stages.example.com")],
    });
    create(&cluster, webhooks, configuration).await;
    let mut denying = hook("/configmaps", "denies.example.com");
    denying
        .as_object_mut()
        .unwrap()
        .remove("reinvocationPolicy");
    let webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let configuration = json!({"metadata": {"name": "hooks"}, "webhooks": [denying]});
    create(&cluster, webhooks, configuration).await;

    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let map = |data: Value| -> ConfigMap {
        from_value(json!({"metadata": {"name": "m"}, "data": data})).unwrap()
    };
    let start = map(json!({"mutation-start": "yes"}));
    let created = maps.create(&Default::default(), &start).await.unwrap();
    assert_eq!(created.data.unwrap()["mutation-stage-1"], "yes");
    let unwanted = map(json!({"webhook-e2e-test": "webhook-disallow"}));
    let error = maps.create(&Default::default(), &unwanted).await;
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("the configmap contains unwanted key and value"),
        "{error}"
    );
}

#[tokio::test]
async fn custom_resources_are_converted_in_a_pod() {
    let cluster = start().await;
    let pair = rcgen::generate_simple_self_signed(["hook.default.svc".to_owned()]).unwrap();
    let secret = json!({
        "metadata": {"name": "certs"},
        "stringData": {"tls.crt": pair.cert.pem(), "tls.key": pair.signing_key.serialize_pem()},
    });
    create(&cluster, "/api/v1/namespaces/default/secrets", secret).await;
    let arguments = [
        "crd-conversion-webhook",
        "--tls-cert-file=/certs/tls.crt",
        "--tls-private-key-file=/certs/tls.key",
        "--port=9443",
    ];
    let more = json!({
        "volumes": [{"name": "certs", "secret": {"secretName": "certs"}}],
        "volumeMounts": [{"name": "certs", "mountPath": "/certs"}],
    });
    run(&cluster, "hook", &arguments, more).await;
    let service = json!({
        "metadata": {"name": "hook"},
        "spec": {"selector": {"app": "hook"}, "ports": [{"port": 443, "targetPort": 9443}]},
    });
    create(&cluster, "/api/v1/namespaces/default/services", service).await;
    until(&cluster, "hook", is_ready).await;
    cluster.settled().await.unwrap();

    use base64::{Engine, prelude::BASE64_STANDARD};
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let definition = json!({
        "metadata": {"name": "hosts.stable.example.com"},
        "spec": {
            "group": "stable.example.com",
            "scope": "Namespaced",
            "names": {"plural": "hosts", "kind": "Host"},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": schema},
                {"name": "v2", "served": true, "storage": false, "schema": schema},
            ],
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {
                    "caBundle": BASE64_STANDARD.encode(pair.cert.pem()),
                    "service": {"namespace": "default", "name": "hook", "path": "/crdconvert"},
                },
            }},
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    create(&cluster, definitions, definition).await;
    let path = "/apis/stable.example.com/v1/namespaces/default/hosts";
    let host = json!({
        "apiVersion": "stable.example.com/v1", "kind": "Host", "metadata": {"name": "h"}, "hostPort": "localhost:80",
    });
    create(&cluster, path, host).await;
    let text = get(
        &cluster.client(),
        &format!("{}/h", path.replace("v1", "v2")),
    )
    .await;
    let converted: DynamicObject = serde_json::from_str(&text.unwrap()).unwrap();
    assert_eq!(converted.data["host"], "localhost");
    assert_eq!(converted.data["port"], "80");
}

#[tokio::test]
async fn ports_with_tls_answer_behind_proxies() {
    let cluster = start().await;
    let more = json!({"env": [
        {"name": "SERVE_PORT_8080", "value": "plain"}, {"name": "SERVE_TLS_PORT_8443", "value": "secret"},
    ]});
    run(&cluster, "porter", &["porter"], more).await;
    until(&cluster, "porter", is_ready).await;
    let client = cluster.client();
    let base = "/api/v1/namespaces/default/pods";
    let plain = get(&client, &format!("{base}/porter:8080/proxy/")).await;
    assert_eq!(plain.unwrap(), "plain");
    let secret = get(&client, &format!("{base}/https:porter:8443/proxy/")).await;
    assert_eq!(secret.unwrap(), "secret");
    let wrong = get(&client, &format!("{base}/https:porter:8080/proxy/")).await;
    assert!(wrong.is_err());
}

#[tokio::test]
async fn volumes_are_described() {
    let cluster = start().await;
    let arguments = [
        "mounttest",
        "--fs_type=/data",
        "--new_file_0660=/data/f",
        "--file_mode=/data/f",
        "--file_perm=/data",
        "--file_content=/missing",
    ];
    let more = json!({
        "volumes": [{"name": "data", "emptyDir": {"medium": "Memory"}}],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    });
    run(&cluster, "mounts", &arguments, more).await;
    until(&cluster, "mounts", has_ended).await;
    let expected = "mount type of \"/data\": tmpfs\n\
        content of file \"/data/f\": mount-tester new file\n\
        mode of file \"/data/f\": -rw-rw----\n\
        perms of file \"/data\": -rwxrwxrwx\n\
        error reading file content for \"/missing\": open /missing: No such file or directory\n";
    assert_eq!(log(&cluster, "mounts").await, expected);
}

#[tokio::test]
async fn commands_print_what_tests_look_for() {
    let cluster = start().await;
    let more = json!({"env": [{"name": "WORD", "value": "b"}]});
    run(
        &cluster,
        "words",
        &["entrypoint-tester", "a", "$(WORD)"],
        more,
    )
    .await;
    run(
        &cluster,
        "refused",
        &["connect", "10.244.0.200:80", "--timeout=1s"],
        json!({}),
    )
    .await;
    let arguments = [
        "logs-generator",
        "--log-lines-total",
        "3",
        "--run-duration",
        "3ms",
    ];
    run(&cluster, "lines", &arguments, json!({})).await;
    for name in ["words", "refused", "lines"] {
        until(&cluster, name, has_ended).await;
    }
    let words = log(&cluster, "words").await;
    assert_eq!(words, "[/agnhost entrypoint-tester a b]\n");
    assert_eq!(log(&cluster, "refused").await, "OTHER: No route to host\n");
    let lines = log(&cluster, "lines").await;
    assert_eq!(lines.lines().count(), 3);
    assert!(lines.lines().nth(2).unwrap().contains("] 2 "), "{lines}");
}

#[tokio::test]
async fn a_guestbook_is_kept_on_a_primary_and_its_replica() {
    let cluster = start().await;
    let service = |name: &str| {
        json!({
            "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"port": 6379}]},
        })
    };
    for name in ["agnhost-primary", "agnhost-replica"] {
        let path = "/api/v1/namespaces/default/services";
        create(&cluster, path, service(name)).await;
    }
    run(
        &cluster,
        "agnhost-primary",
        &["guestbook", "--http-port", "6379"],
        json!({}),
    )
    .await;
    until(&cluster, "agnhost-primary", is_ready).await;
    let replica = [
        "guestbook",
        "--replicaof",
        "agnhost-primary",
        "--http-port",
        "6379",
    ];
    run(&cluster, "agnhost-replica", &replica, json!({})).await;
    run(
        &cluster,
        "frontend",
        &["guestbook", "--backend-port", "6379"],
        json!({}),
    )
    .await;
    for name in ["agnhost-replica", "frontend"] {
        until(&cluster, name, is_ready).await;
    }
    cluster.settled().await.unwrap();
    let base = "/api/v1/namespaces/default/pods";
    let nodes = cluster.nodes().unwrap();
    let replica = nodes.container("default", "agnhost-replica", "c");
    assert!(replica.wait_for_log("Registered to node").await.unwrap());
    let client = cluster.client();
    let call = |query: &str| {
        let path = format!("{base}/frontend:80/proxy/guestbook?{query}");
        let client = client.clone();
        async move { get(&client, &path).await.unwrap() }
    };
    let set = call("cmd=set&key=messages&value=hi%20there").await;
    assert_eq!(set, "{\"message\":\"Updated\"}");
    assert_eq!(
        call("cmd=get&key=messages").await,
        "{\"data\":\"hi there\"}"
    );
}

#[tokio::test]
async fn net_exec_runs_commands_calls_others_and_exits() {
    let cluster = start().await;
    run(&cluster, "a", &["netexec"], json!({})).await;
    run(&cluster, "b", &["netexec", "--http-port=80"], json!({})).await;
    for name in ["a", "b"] {
        until(&cluster, name, is_ready).await;
    }
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    let ip = pods.get("b").await.unwrap().status.unwrap().pod_ip.unwrap();
    let client = cluster.client();
    let call = |path: String| {
        let path = format!("/api/v1/namespaces/default/pods/a:8080/proxy/{path}");
        let client = client.clone();
        async move { get(&client, &path).await }
    };
    assert_eq!(call("echo?msg=a%20b".to_owned()).await.unwrap(), "a b");
    let output = call("shell?cmd=echo%20%24HOSTNAME".to_owned()).await;
    assert_eq!(output.unwrap(), "{\"output\":\"a\\n\"}");
    let dialed = call(format!("dial?host={ip}&port=80&request=hostname")).await;
    assert_eq!(dialed.unwrap(), "{\"responses\":[\"b\"]}");
    let dialed = call(format!(
        "dial?host={ip}&protocol=udp&port=8081&request=hostname"
    ));
    assert_eq!(dialed.await.unwrap(), "{\"responses\":[\"b\"]}");
    let piped = format!("shell?cmd=echo%20echo%20hello%20|%20nc%20-u%20-w%201%20{ip}%208081");
    let piped = call(piped).await.unwrap();
    assert_eq!(piped, "{\"output\":\"hello\"}");
    call("exit?code=3".to_owned()).await.unwrap();
    until(&cluster, "a", has_ended).await;
    let status = pods.get("a").await.unwrap().status.unwrap();
    let state = status.container_statuses.unwrap().remove(0).state.unwrap();
    assert_eq!(state.terminated.unwrap().exit_code, 3);
}

#[tokio::test]
async fn pause_runs_until_it_is_stopped() {
    let cluster = start().await;
    run(&cluster, "agnhost", &["pause"], json!({})).await;
    run(&cluster, "none", &[], json!({})).await;
    run(
        &cluster,
        "pause",
        &[],
        json!({"image": "registry.k8s.io/pause:3.10"}),
    )
    .await;
    cluster.settled().await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    for name in ["agnhost", "none", "pause"] {
        let status = pods.get(name).await.unwrap().status.unwrap();
        assert_eq!(status.phase.as_deref(), Some("Running"), "{name}");
    }
    assert_eq!(log(&cluster, "none").await, "Paused\n");
}

#[tokio::test]
async fn lifecycle_hooks_call_other_pods() {
    let cluster = start().await;
    run(&cluster, "server", &["netexec"], json!({})).await;
    run(&cluster, "contacts", &["nettest"], json!({})).await;
    for name in ["server", "contacts"] {
        until(&cluster, name, is_ready).await;
    }
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    let ip = async |name: &str| {
        let status = pods.get(name).await.unwrap().status.unwrap();
        status.pod_ip.unwrap()
    };
    let (server, contacts) = (ip("server").await, ip("contacts").await);
    let write =
        format!("wget -O- --post-data='{{\"Source\": \"prestop\"}}' http://{contacts}:8080/write");
    let more = json!({"lifecycle": {
        "postStart": {"httpGet": {"path": "/echo?msg=poststart", "host": server, "port": 8080}},
        "preStop": {"exec": {"command": ["sh", "-c", write]}},
    }});
    run(&cluster, "hooked", &["pause"], more).await;
    until(&cluster, "hooked", is_ready).await;
    assert!(
        log(&cluster, "server")
            .await
            .contains("GET /echo?msg=poststart")
    );
    pods.delete("hooked", &Default::default()).await.unwrap();
    cluster.settled().await.unwrap();
    assert!(pods.get_opt("hooked").await.unwrap().is_none());
    let path = "/api/v1/namespaces/default/pods/contacts:8080/proxy/read";
    let state = get(&cluster.client(), path).await.unwrap();
    let state: Value = serde_json::from_str(&state).unwrap();
    assert_eq!(state["Received"], json!({"prestop": 1}));
}

#[tokio::test]
async fn names_of_services_and_pods_resolve_as_in_dns() {
    let cluster = start().await;
    let services = "/api/v1/namespaces/default/services";
    for service in [
        json!({"metadata": {"name": "web"}, "spec": {
            "clusterIP": "10.96.0.77", "selector": {"app": "web-0"},
            "ports": [{"name": "http", "port": 80}],
        }}),
        json!({"metadata": {"name": "peers"}, "spec": {
            "clusterIP": "None", "selector": {"app": "web-0"},
            "ports": [{"name": "http", "port": 80}],
        }}),
        json!({"metadata": {"name": "elsewhere"}, "spec": {
            "type": "ExternalName", "externalName": "web.default.svc.cluster.local",
        }}),
    ] {
        create(&cluster, services, service).await;
    }
    let pod = json!({
        "metadata": {"name": "web-0", "labels": {"app": "web-0"}},
        "spec": {
            "hostname": "web-0", "subdomain": "peers",
            "hostAliases": [{"ip": "10.1.2.3", "hostnames": ["alias", "other"]}],
            "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": ["resolv.conf.local"]},
            "containers": [{"name": "c", "image": IMAGE, "args": ["netexec", "--http-port=80"]}],
        },
    });
    create(&cluster, "/api/v1/namespaces/default/pods", pod).await;
    until(&cluster, "web-0", is_ready).await;
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    let pod = pods.get("web-0").await.unwrap();
    let ip = pod.status.unwrap().pod_ip.unwrap();
    let control = cluster.nodes().unwrap().container("default", "web-0", "c");
    let run = async |script: &str| control.execute(&["sh", "-c", script]).await.unwrap().1;
    let reversed: Vec<&str> = ip.rsplit('.').collect();
    let reversed = reversed.join(".");
    let peer = format!("{ip}\n");
    for (script, expected) in [
        ("dig +short web.default.svc.cluster.local", "10.96.0.77\n"),
        ("dig +short web", ""),
        ("dig +short +search web", "10.96.0.77\n"),
        ("dig +short +search peers.default.svc", &peer),
        ("dig +short +search web-0.peers", &peer),
        ("dig +short +search missing", ""),
        (
            "dig +short +search elsewhere",
            "web.default.svc.cluster.local.\n10.96.0.77\n",
        ),
        (
            "dig +noall +answer _http._tcp.web.default.svc.cluster.local SRV",
            "_http._tcp.web.default.svc.cluster.local.\t30\tIN\tSRV\t0 100 80 web.default.svc.cluster.local.\n",
        ),
        (
            "dig +short -x 10.96.0.77",
            "web.default.svc.cluster.local.\n",
        ),
        (
            &format!("dig +short {reversed}.in-addr.arpa. PTR"),
            "web-0.peers.default.svc.cluster.local.\n",
        ),
        ("getent hosts alias", "10.1.2.3        alias other\n"),
        (
            "getent hosts web",
            "10.96.0.77      web.default.svc.cluster.local\n",
        ),
        ("getent hosts missing || echo none", "none\n"),
        (
            "getent hosts web-0.peers.default.svc.cluster.local | cut -d' ' -f1",
            &peer,
        ),
        ("/agnhost dns-server-list", "10.96.0.10,1.1.1.1"),
        (
            "/agnhost dns-suffix",
            "default.svc.cluster.local,svc.cluster.local,cluster.local,resolv.conf.local",
        ),
        ("/agnhost connect web:81 --timeout=1s", "REFUSED\n"),
        ("/agnhost connect web:80 --timeout=1s && echo yes", "yes\n"),
    ] {
        assert_eq!(run(script).await, expected, "{script}");
    }
}

#[tokio::test]
async fn a_server_is_not_ready_on_a_port_that_it_does_not_serve() {
    let cluster = start().await;
    for (name, port) in [("served", 80), ("closed", 81)] {
        let probe = json!({"readinessProbe": {"httpGet": {"path": "/", "port": port}}});
        run(&cluster, name, &["test-webserver"], probe).await;
    }
    until(&cluster, "served", is_ready).await;
    cluster.settled().await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(cluster.client());
    assert!(!is_ready(&pods.get("closed").await.unwrap()));
}
