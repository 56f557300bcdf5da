//! Aggregated APIs of an operator: on a test cluster in the same process, and deployed, over TLS with generated roles.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use kube::{
    Api, Client, Config, CustomResource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_cluster::{AuthorizationMode, CertificateAuthority, Cluster, Services};
use kubewright_controller::{Action, Context, Controller, Result, wait::wait_for};
use kubewright_extension_apiserver::{
    Delegation, Kind, ListQuery, Listing, Storage, Verbs, log_of,
};
use kubewright_machinery::Status;
use kubewright_operator::{Model, Operator};
use kubewright_resource::Schema;
use kubewright_scaffold::{
    WebhookCertificates,
    generate::{Settings, Target, render},
    parse_manifests,
};
use kubewright_store::MemoryStore;
use kubewright_webhook::Certificates;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot};

/// A planet, computed on request.
#[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "sky.example.com", version = "v1", kind = "Planet")]
pub(crate) struct PlanetSpec {
    moons: u32,
}

/// A comet, kept in the store of the server.
#[derive(CustomResource, Schema, Clone, Debug, Default, Serialize, Deserialize)]
#[kube(
    group = "sky.example.com",
    version = "v1",
    kind = "Comet",
    namespaced,
    status = "CometStatus"
)]
pub(crate) struct CometSpec {
    #[schema(minimum = 1)]
    years: u32,
}

#[derive(Schema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CometStatus {
    seen: bool,
}

struct Planets;

#[async_trait]
impl Storage<Planet> for Planets {
    fn verbs(&self) -> Verbs {
        Verbs::READ
    }

    async fn get(&self, _: &str, name: &str) -> Result<Option<Planet>, Status> {
        Ok((name == "mars").then(|| Planet::new("mars", PlanetSpec { moons: 2 })))
    }

    async fn list(&self, _: &ListQuery) -> Result<Listing<Planet>, Status> {
        let mars = Planet::new("mars", PlanetSpec { moons: 2 });
        Ok(Listing::new(vec![mars]))
    }
}

struct Tail;

#[async_trait]
impl kubewright_extension_apiserver::LogSubresource<Comet> for Tail {
    async fn log(
        &self,
        _: &kubewright_apiserver::request::RequestContext,
        comet: Comet,
    ) -> Result<kubewright_extension_apiserver::LogStream, Status> {
        Ok(log_of([format!("{} shines\n", comet.name_any())]))
    }
}

fn register(operator: &mut Operator) {
    let comets = Kind::<Comet>::stored_by_server().log("tail", Tail);
    operator
        .aggregated_api(Kind::computed(Planets))
        .aggregated_api(comets)
        .controller(Controller::for_::<Comet>(), reconcile);
}

async fn reconcile(ctx: Context<Comet>, _: Arc<Comet>) -> Result<Action> {
    ctx.status(|status: &mut CometStatus| status.seen = true)
        .await?;
    Ok(Action::done())
}

fn halley() -> Comet {
    Comet::new("halley", CometSpec { years: 76 })
}

#[tokio::test]
async fn controllers_watch_aggregated_kinds_of_their_program() {
    let cluster = Operator::new("sky", register).start_test().await.unwrap();
    let planets: Api<Planet> = Api::all(cluster.client());
    assert_eq!(planets.get("mars").await.unwrap().spec.moons, 2);
    let all = planets.list(&ListParams::default()).await.unwrap();
    assert_eq!(all.items.len(), 1);

    let comets: Api<Comet> = Api::default_namespaced(cluster.client());
    let how = PostParams::default();
    comets.create(&how, &halley()).await.unwrap();
    // `settled` does not count the changes of aggregated APIs.
    let seen = |comet: Option<&Comet>| {
        comet.is_some_and(|it| it.status == Some(CometStatus { seen: true }))
    };
    let limit = Duration::from_secs(60);
    wait_for(&comets, "halley", limit, seen).await.unwrap();
    let request = kube::core::Request::new(comets.resource_url());
    let request = request.get_subresource("tail", "halley");
    let tail = cluster
        .client()
        .request_text(request.unwrap())
        .await
        .unwrap();
    assert_eq!(tail, "halley shines\n");

    // The schema of the type and the namespaces of the cluster are enforced.
    let wrong = Comet::new("wrong", CometSpec { years: 0 });
    let error = comets.create(&how, &wrong).await.unwrap_err();
    assert!(
        matches!(&error, kube::Error::Api(status) if status.code == 422),
        "{error}"
    );
    let elsewhere: Api<Comet> = Api::namespaced(cluster.client(), "nowhere");
    let error = elsewhere.create(&how, &halley()).await.unwrap_err();
    assert!(
        matches!(&error, kube::Error::Api(status) if status.code == 404),
        "{error}"
    );
    comets
        .delete("halley", &DeleteParams::default())
        .await
        .unwrap();
    assert!(comets.get_opt("halley").await.unwrap().is_none());
}

#[test]
fn invalid_aggregated_kinds_are_errors_of_the_model() {
    let operator = Operator::new("sky", register);
    let model = operator.model().unwrap();
    assert!(model.crds.is_empty());
    let names: Vec<&Value> = model
        .aggregated
        .iter()
        .map(|it| &it["spec"]["names"]["plural"])
        .collect();
    assert_eq!(names, ["planets", "comets"]);
    let json = serde_json::to_string(&model).unwrap();
    assert_eq!(Model::from_json(&json).unwrap(), model);
    // Both kinds share a group version, which has one APIService.
    let services = model.api_services("sky-system", "sky-apiserver");
    assert_eq!(services.len(), 1);
    assert_eq!(services[0]["spec"]["groupPriorityMinimum"], 1000);
}

/// The objects that `kubewright generate yaml` writes.
fn manifests(model: &Model) -> Vec<Value> {
    let settings = Settings {
        name: "sky".into(),
        domain: "example.com".into(),
        namespaced: false,
        image: "sky:0.1.0".into(),
        metrics_port: None,
        webhook_certificates: WebhookCertificates::Operator,
    };
    let files = render(model, &settings, &[Target::Yaml]).unwrap();
    parse_manifests(&files[0].text).unwrap()
}

async fn apply(client: &Client, object: &Value) {
    use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
    let object: DynamicObject = serde_json::from_value(object.clone()).unwrap();
    let types = object.types.clone().unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::try_from(&types).unwrap());
    let api: Api<DynamicObject> = match object.namespace() {
        Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let params = PatchParams::apply("tests").force();
    let (name, patch) = (object.name_any(), Patch::Apply(&object));
    let applied = api.patch(&name, &params, &patch).await;
    assert!(applied.is_ok(), "{}: {:?}", types.kind, applied.err());
}

/// Returns a client that authenticates as the account of the Deployment.
async fn account(cluster: &Cluster) -> Client {
    let user = "system:serviceaccount:sky-system:sky-controller-manager";
    let credential = cluster.credential(&user.parse().unwrap()).await.unwrap();
    let kubeconfig = cluster.endpoint().unwrap().kubeconfig_of(credential);
    let kubeconfig = Kubeconfig::from_yaml(&kubeconfig.to_yaml()).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn generated_roles_suffice_for_aggregated_apis() {
    let services = Services::default();
    let proxies = CertificateAuthority::generate("proxies", SystemTime::now()).unwrap();
    let cluster = Cluster::builder()
        .services(services.clone())
        .front_proxy_authority(proxies)
        .authorization([AuthorizationMode::Rbac])
        .listen("127.0.0.1:0".parse().unwrap())
        .start()
        .await
        .unwrap();
    let admin = cluster.client();
    let operator = Operator::new("sky", register);
    for object in manifests(&operator.model().unwrap()) {
        apply(&admin, &object).await;
    }

    // Runs the program in place of the pod.
    let client = account(&cluster).await;
    let delegation = Delegation::new(client.clone()).await.unwrap();
    let (namespace, service) = ("sky-system", "sky-apiserver");
    let certificates = operator.apiserver_certificates(client, namespace, service);
    let certificates = Certificates::managed(certificates.unwrap());
    let server = operator.apiserver(&delegation, Arc::new(MemoryStore::new()));
    let server = server.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    services.set_address(namespace, service, 443, listener.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel::<()>();
    let served = tokio::spawn(async move {
        let shutdown = async { drop(stopped.await) };
        let served = server.serve_tls(listener, &certificates, &delegation, shutdown);
        served.await.unwrap();
    });
    let path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.sky.example.com";
    loop {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let service: Value = admin.request(request).await.unwrap();
        if service["status"]["conditions"][0]["status"] == "True" {
            assert!(service["spec"]["caBundle"].is_string());
            break;
        }
        tokio::task::yield_now().await;
    }

    let planets: Api<Planet> = Api::all(admin.clone());
    assert_eq!(planets.get("mars").await.unwrap().spec.moons, 2);
    let comets: Api<Comet> = Api::default_namespaced(admin.clone());
    let apply = Patch::Apply(json!({
        "apiVersion": "sky.example.com/v1", "kind": "Comet",
        "metadata": {"name": "halley"}, "spec": {"years": 76},
    }));
    let params = PatchParams::apply("tests");
    let made = comets.patch("halley", &params, &apply).await.unwrap();
    assert_eq!(made.spec.years, 76);
    // The viewer role of the kind, as for custom resources.
    let roles: Api<k8s_openapi::api::rbac::v1::ClusterRole> = Api::all(admin.clone());
    let role = roles.get("sky-comet-viewer-role").await.unwrap();
    assert_eq!(
        role.rules.unwrap()[0].resources.as_ref().unwrap(),
        &["comets"]
    );

    drop(stop);
    served.await.unwrap();
    cluster.stop().await.unwrap();
}
