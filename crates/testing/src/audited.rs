//! The requests to a cluster, as audit events.

use std::sync::Arc;

use kubewright_apiserver::audit::{Level, Policy, Ring, Stage};

use crate::TestCluster;

/// The number of events that are kept.
const EVENTS: usize = 10_000;

impl TestCluster {
    /// Returns the latest requests to the cluster as audit events: the user, the verb, the object that was sent, and the
    /// outcome. A test can count and inspect them.
    ///
    /// Recording begins with the first call, and costs nothing before. Each request is one event at the level `Request`, recorded
    /// when its response is complete; [`audit_with`](Self::audit_with) changes that. The latest 10,000 events are kept.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
    /// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// use kube::api::{Api, Patch, PatchParams, PostParams};
    /// use kubewright_controller::{Action, Context, Controller, Manager, Request};
    /// use kubewright_testing::TestCluster;
    /// use serde_json::{Value, json};
    ///
    /// // A controller that applies a Deployment for each ConfigMap of the namespace `default`.
    /// fn deployment(name: &str) -> Value {
    ///     let pod = json!({"containers": [{"name": "web", "image": "web"}]});
    ///     json!({
    ///         "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
    ///         "spec": {
    ///             "selector": {"matchLabels": {"app": "web"}},
    ///             "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod},
    ///         },
    ///     })
    /// }
    /// let cluster = TestCluster::start().await;
    /// let manager = Manager::new(cluster.client());
    /// let deployments: Api<Deployment> = Api::default_namespaced(cluster.client());
    /// Controller::for_::<ConfigMap>()
    ///     .build(&manager, move |_: Context, request: Request| {
    ///         let deployments = deployments.clone();
    ///         async move {
    ///             if request.namespace() != Some("default") {
    ///                 return Ok(Action::done());
    ///             }
    ///             let deployment = deployment(request.name());
    ///             let params = PatchParams::apply("web-controller");
    ///             deployments.patch(request.name(), &params, &Patch::Apply(&deployment)).await?;
    ///             Ok(Action::done())
    ///         }
    ///     })
    ///     .unwrap();
    ///
    /// let audit = cluster.audit();
    /// let running = cluster.run(&manager);
    /// let mut map = ConfigMap::default();
    /// map.metadata.name = Some("web".into());
    /// let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    /// maps.create(&PostParams::default(), &map).await.unwrap();
    /// cluster.settled().await.unwrap();
    ///
    /// // This reconcile wrote the Deployment exactly once.
    /// let written = audit.matching(|event| event.is("patch", "deployments"));
    /// assert_eq!(written.len(), 1);
    /// assert_eq!(written[0].code(), 201);
    /// assert_eq!(written[0].request_value().unwrap()["kind"], "Deployment");
    /// running.stop().await.unwrap();
    /// # });
    /// ```
    pub fn audit(&self) -> &Ring {
        self.audit.get_or_init(|| {
            let policy = Policy::everything(Level::Request);
            let policy = policy
                .without(Stage::RequestReceived)
                .without(Stage::ResponseStarted);
            self.record(policy)
        })
    }

    /// Starts recording with another policy, and returns the events from now on.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kube::{Api, api::ListParams};
    /// use kubewright_testing::{TestCluster, audit::{Level, Policy, Stage}};
    ///
    /// let cluster = TestCluster::start().await;
    /// let audit = cluster.audit_with(Policy::everything(Level::RequestResponse).without(Stage::RequestReceived));
    /// let secrets: Api<Secret> = Api::default_namespaced(cluster.client());
    /// secrets.list(&ListParams::default()).await.unwrap();
    /// assert_eq!(audit.events()[0].response_value().unwrap()["kind"], "SecretList");
    /// # });
    /// ```
    pub fn audit_with(&self, policy: Policy) -> Ring {
        self.record(policy)
    }

    fn record(&self, policy: Policy) -> Ring {
        let ring = Ring::new(EVENTS);
        let server = self.api_server().server();
        server.audit(policy, Arc::new(ring.clone()));
        ring
    }
}
