//! The cost of access control by roles.

use std::{cell::Cell, fs, hint::black_box, rc::Rc, sync::Arc, time::Duration};

use anyhow::ensure;
use http::Request;
use kubewright_apiserver::{
    ApiServer, Body,
    auth::{Attributes, Authorizer, MASTERS, ResourceAttributes},
    request::UserInfo,
};
use kubewright_kube_apiserver::{AuthorizationMode, KubeApiServer};
use serde_json::{Value, json};

use super::{
    Bench, Case, OURS, ask, micros, on_one_thread,
    servers::{self, CONNECTIONS, USUAL, VALUE_BYTES, WARM_UP, Way},
};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    endpoint::Endpoint,
    load::{Load, scattered},
    proc,
    requests::{self, Template},
    results::Section,
    rows::Row,
    server::Server,
};

pub(crate) const CASE: Case = Case {
    name: "rbac",
    title: "decisions by roles, beside a server that allows everything",
    what: "Ours with RBAC, and ours with AlwaysAllow. In process: processor time of one decision for a service account that one \
           of 100, and one of 10,000, ClusterRoles and ClusterRoleBindings is about. Over TLS with 32 connections: a user who is \
           bound to a role creates ConfigMaps of 512 bytes, and reads one of 1,000.",
    run,
};

/// The column of the server that allows everything.
const OPEN: &str = "AlwaysAllow";

/// The user of the requests, and the token.
const USER: &str = "system:serviceaccount:shop:web";
const TOKEN: &str = "worker";

/// The number of ConfigMaps that are read.
const OBJECTS: u64 = 1000;

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = vec![
        Row::cost("few", "one decision, 100 roles and bindings", "µs").at_most(2.0),
        Row::cost("many", "one decision, 10,000 roles and bindings", "µs").at_most(5.0),
        Row::rate("create", "created over 32 connections", "/s").better(0.97, OPEN),
        Row::rate("get", "read over 32 connections", "/s").better(0.97, OPEN),
    ];
    let side = |name: &'static str, mode: &'static str| {
        let server = bench.server.clone();
        let many = bench.size(10_000, 1000);
        let count = bench.size(200_000, 2000);
        let time = Duration::from_millis(bench.size(2000, 800));
        Contestant::new(name, move || {
            let mut sample = Sample::default();
            for (key, roles) in [("few", 100), ("many", many)] {
                let cost = on_one_thread(decision(mode, roles, count))?;
                sample.figures.insert(key.to_owned(), micros(cost));
            }
            let mut server = start(&server, mode)?;
            servers::in_time(async {
                grant(&server.endpoint).await?;
                let namespace = servers::namespace(&server.endpoint).await?;
                TOKEN.clone_into(&mut server.endpoint.token);
                loads(&server.endpoint, &namespace, time, &mut sample).await
            })?;
            Ok(sample)
        })
    };
    let both = vec![side(OURS, "RBAC"), side(OPEN, OPEN)];
    hold(section, bench.rounds(3), &Digests::new(), both);
    Ok(())
}

/// Returns the processor time of one decision about a user among others.
async fn decision(mode: &str, roles: usize, count: u32) -> anyhow::Result<Duration> {
    let mode: AuthorizationMode = mode.parse()?;
    let api = KubeApiServer::builder().authorization([mode]).build().await;
    let api = api.map_err(|status| anyhow::anyhow!(status.message))?;
    for n in 0..roles {
        let user = match n {
            0 => USER.to_owned(),
            n => format!("system:serviceaccount:shop:other-{n}"),
        };
        let [role, binding] = role_and_binding(&format!("bench-{n}"), &user);
        store(api.server(), "clusterroles", &role).await?;
        store(api.server(), "clusterrolebindings", &binding).await?;
    }
    let user = UserInfo {
        name: USER.to_owned(),
        groups: [
            "system:serviceaccounts",
            "system:serviceaccounts:shop",
            "system:authenticated",
        ]
        .map(str::to_owned)
        .into(),
        ..UserInfo::default()
    };
    let map = ResourceAttributes {
        version: "v1",
        resource: "configmaps",
        namespace: "shop",
        name: "settings",
        ..ResourceAttributes::default()
    };
    let attributes = Attributes::of_resource(&user, "get", map);
    let authorizer: &dyn Authorizer = &**api.server().authorizer();
    ensure!(
        authorizer.authorize(&attributes).await.is_allow(),
        "scores nothing: the request is denied"
    );
    let before = proc::thread_time()?;
    for _ in 0..count {
        black_box(
            authorizer
                .authorize(black_box(&attributes))
                .await
                .is_allow(),
        );
    }
    Ok((proc::thread_time()? - before) / count)
}

/// Stores an object as an administrator.
async fn store(server: &ApiServer, resource: &str, object: &Value) -> anyhow::Result<()> {
    let admin = Arc::new(UserInfo {
        name: "admin".to_owned(),
        groups: vec![MASTERS.to_owned()],
        ..UserInfo::default()
    });
    let path = format!("/apis/rbac.authorization.k8s.io/v1/{resource}");
    let request = Request::post(path)
        .header("content-type", "application/json")
        .body(Body::from(object.to_string()))?;
    let status = server.handle_as(admin, request).await.status();
    ensure!(status == 201, "cannot store a role: {status}");
    Ok(())
}

/// Returns a role for ConfigMaps, and its binding to a user.
fn role_and_binding(name: &str, user: &str) -> [Value; 2] {
    let group = "rbac.authorization.k8s.io";
    [
        json!({
            "metadata": {"name": name},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "get", "list"]}],
        }),
        json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        }),
    ]
}

/// Starts a server that knows an administrator and the user.
fn start(program: &std::path::Path, mode: &str) -> anyhow::Result<Server> {
    let name = format!("kubewright-bench-tokens-{}", std::process::id());
    let tokens = std::env::temp_dir().join(name);
    fs::write(
        &tokens,
        format!("admin,admin,1,\"{MASTERS}\"\n{TOKEN},{USER},2\n"),
    )?;
    let file = tokens.display().to_string();
    let more = ["--authorization-mode", mode, "--token-auth-file", &file];
    let server = Server::ours_with(program, &more);
    fs::remove_file(&tokens)?;
    server
}

/// Lets the user do what the loads do.
async fn grant(endpoint: &Endpoint) -> anyhow::Result<()> {
    let objects = role_and_binding("bench", USER);
    for (resource, object) in ["clusterroles", "clusterrolebindings"].iter().zip(objects) {
        let path = format!("/apis/rbac.authorization.k8s.io/v1/{resource}");
        let request = Template::new(endpoint, "POST", &path, &object.to_string());
        ask(endpoint, &request, 201).await?;
    }
    Ok(())
}

async fn loads(
    endpoint: &Endpoint,
    namespace: &str,
    time: Duration,
    sample: &mut Sample,
) -> anyhow::Result<()> {
    let path = requests::config_maps(namespace);
    let next = Rc::new(Cell::new(0));
    let numbers = next.clone();
    let way: Way = USUAL;
    let create = Load {
        endpoint,
        connections: CONNECTIONS,
        request: way.request(endpoint, "POST", &path, &requests::config_map(VALUE_BYTES))?,
        status: 201,
        numbers: Rc::new(move || Some(numbers.replace(numbers.get() + 1))),
        warm_up: WARM_UP,
        time,
    };
    let created = create.run().await?;
    ensure!(
        next.get() >= OBJECTS,
        "scores nothing: too few objects to read"
    );
    servers::check_count(endpoint, &path, next.get()).await?;
    let one = format!("{path}/{}", requests::hole());
    let get = Load {
        endpoint,
        connections: CONNECTIONS,
        request: way.request(endpoint, "GET", &one, "")?,
        status: 200,
        numbers: scattered(OBJECTS),
        warm_up: WARM_UP,
        time,
    };
    let read = get.run().await?;
    for (key, outcome) in [("create", created), ("get", read)] {
        sample.figures.insert(key.to_owned(), outcome.rate());
    }
    Ok(())
}
