//! `metrics.k8s.io`, computed from the usage of simulated containers, for `kubectl top` and autoscalers.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use kubewright_apiserver::{
    Body, boxed_async,
    request::{Query, UserInfo},
};
use kubewright_kube_apiserver::{KubeApiServer, KubeApiServerBuilder, ServiceHandler, Services};
use kubewright_machinery::{
    Status,
    fields::FieldSelector,
    gvk::GroupResource,
    labels::{LabelSelector, SelectorError},
    status,
};
use kubewright_nodes::Nodes;
use serde_json::{Value, json};

use crate::Error;

/// The namespace of the service that the APIService names. The service has no address: this process serves it.
const NAMESPACE: &str = "kube-system";
const SERVICE: &str = "metrics-server";

const GROUP: &str = "metrics.k8s.io";
const BASE: &str = "/apis/metrics.k8s.io/v1beta1";

/// The fields that selectors may name.
const FIELDS: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// Serves `metrics.k8s.io` on a server in this process, with the usage of simulated nodes and their pods. `services` must be
/// the [services](kubewright_kube_apiserver::KubeApiServerBuilder::services) of the server. A [`Cluster`](crate::Cluster) with
/// nodes does so by itself.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use kubewright_cluster::{Cluster, Nodes, Services, serve_metrics};
///
/// let services = Services::default();
/// let own = services.clone();
/// let cluster = Cluster::builder().api_server(|server| server.services(own)).start().await?;
/// // Nodes of another manager.
/// let nodes = Nodes::new(2);
/// serve_metrics(cluster.api_server(), &services, &nodes).await?;
/// let client = cluster.client();
/// let request = http::Request::get("/apis/metrics.k8s.io/v1beta1/nodes").body(Vec::new()).unwrap();
/// assert!(client.request_text(request).await.unwrap().contains("NodeMetricsList"));
/// # Ok::<_, kubewright_cluster::Error>(()) }).unwrap();
/// ```
///
/// # Errors
///
/// Fails if the API cannot be registered.
pub async fn serve_metrics(
    server: &KubeApiServer,
    services: &Services,
    nodes: &Nodes,
) -> Result<(), Error> {
    services.set_handler(NAMESPACE, SERVICE, 443, Arc::new(Metrics(nodes.clone())));
    let registered = register(server).await;
    registered.map_err(|status| Error::Server(Box::new(status)))
}

/// Serves the metrics of the nodes in process.
pub(crate) fn answer(server: KubeApiServerBuilder, nodes: &Nodes) -> KubeApiServerBuilder {
    server.service(NAMESPACE, SERVICE, 443, Arc::new(Metrics(nodes.clone())))
}

/// Registers the API unless it is registered already.
pub(crate) async fn register(server: &KubeApiServer) -> Result<(), Status> {
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io"},
        "spec": {
            "group": GROUP, "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
            "insecureSkipTLSVerify": true, "service": {"namespace": NAMESPACE, "name": SERVICE},
        },
    });
    let request = Request::post("/apis/apiregistration.k8s.io/v1/apiservices")
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(service.to_string()))
        .map_err(status::internal)?;
    let user = Arc::new(UserInfo {
        name: "system:apiserver".to_owned(),
        groups: vec!["system:masters".to_owned()],
        ..UserInfo::default()
    });
    let answer = server.server().handle_as(user, request).await;
    match answer.status() {
        StatusCode::CREATED | StatusCode::CONFLICT => Ok(()),
        code => Err(status::internal(format!(
            "{GROUP} could not be registered: {code}"
        ))),
    }
}

struct Metrics(Nodes);

#[boxed_async]
impl ServiceHandler for Metrics {
    async fn call(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        let (code, answer) = match self.answer(&request) {
            Ok(answer) => (200, answer),
            Err(status) => {
                let answer = serde_json::from_slice(&status.to_json());
                (status.code, answer.map_err(|e| e.to_string())?)
            }
        };
        Response::builder()
            .status(code)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Bytes::from(answer.to_string()))
            .map_err(|e| e.to_string())
    }
}

impl Metrics {
    fn answer(&self, request: &Request<Bytes>) -> Result<Value, Status> {
        let path = request.uri().path().trim_end_matches('/');
        let rest = path
            .strip_prefix(BASE)
            .ok_or_else(status::resource_not_found)?;
        if request.method() != Method::GET {
            let resource = GroupResource::new(GROUP, "pods");
            return Err(status::method_not_allowed(&resource, "create"));
        }
        let selected = Selected::parse(request.uri().query())?;
        let parts: Vec<&str> = rest.split('/').skip(1).collect();
        match parts[..] {
            [] => Ok(resources()),
            ["nodes"] => Ok(list("NodeMetricsList", self.0.node_metrics(), &selected)),
            ["nodes", name] => one("nodes", self.0.node_metrics(), None, name),
            ["pods"] => Ok(list("PodMetricsList", self.0.pod_metrics(), &selected)),
            ["namespaces", namespace, "pods"] => {
                let mut pods = self.0.pod_metrics();
                pods.retain(|pod| pod["metadata"]["namespace"] == namespace);
                Ok(list("PodMetricsList", pods, &selected))
            }
            ["namespaces", namespace, "pods", name] => {
                one("pods", self.0.pod_metrics(), Some(namespace), name)
            }
            _ => Err(status::resource_not_found()),
        }
    }
}

/// The selectors of a query.
struct Selected {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selected {
    fn parse(query: Option<&str>) -> Result<Self, Status> {
        let query = Query::parse(query);
        let refuse = |error: SelectorError| status::bad_request(error.to_string());
        let labels = query.first("labelSelector").unwrap_or_default();
        let fields = query.first("fieldSelector").unwrap_or_default();
        let fields = FieldSelector::parse(fields).map_err(refuse)?;
        if let Some(term) = fields
            .terms()
            .iter()
            .find(|term| !FIELDS.contains(&&*term.field))
        {
            return Err(status::bad_request(format!(
                "{:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                term.field
            )));
        }
        Ok(Self {
            labels: LabelSelector::parse(labels).map_err(refuse)?,
            fields,
        })
    }

    fn matches(&self, item: &Value) -> bool {
        let metadata = &item["metadata"];
        let labels = metadata["labels"].as_object();
        let value = |name: &str| labels.and_then(|labels| labels.get(name)?.as_str());
        let field = |name: &str| {
            let name = name.strip_prefix("metadata.")?;
            Some(metadata[name].as_str().unwrap_or_default().into())
        };
        self.labels.matches(value) && self.fields.matches(field)
    }
}

fn list(kind: &str, mut items: Vec<Value>, selected: &Selected) -> Value {
    items.retain(|item| selected.matches(item));
    json!({"kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items})
}

fn one(
    plural: &str,
    items: Vec<Value>,
    namespace: Option<&str>,
    name: &str,
) -> Result<Value, Status> {
    let is_wanted = |item: &Value| {
        let metadata = &item["metadata"];
        metadata["name"] == name
            && namespace.is_none_or(|namespace| metadata["namespace"] == namespace)
    };
    let found = items.into_iter().find(is_wanted);
    found.ok_or_else(|| status::not_found(&GroupResource::new(GROUP, plural), name))
}

/// Returns the resources of the group, for discovery.
fn resources() -> Value {
    let resource = |name, namespaced, kind| {
        json!({
            "name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get", "list"],
        })
    };
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "metrics.k8s.io/v1beta1",
        "resources": [resource("nodes", false, "NodeMetrics"), resource("pods", true, "PodMetrics")],
    })
}
