//! Users of a test cluster: [`TestCluster::client_as`], their permissions, and denied requests.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use http::Request;
use kubewright_apiserver::{
    auth::{AlwaysAllow, Attributes, Authorizer, Decision, LocalUser, MASTERS, Rules},
    boxed_async,
    request::UserInfo,
};
use kubewright_cluster::{AccessLog, ClusterUser, Error, InProcess, KubeconfigUser, Permission};
use kubewright_controller::Unsettled;
use kubewright_kube_apiserver::Rbac;
use kubewright_store::MemoryStore;
use parking_lot::Mutex;
use tower::ServiceExt;

use crate::{cluster::TestCluster, perturb::Patient, recording::Record};

/// The authorizer of a test cluster. It allows everything until RBAC is enabled.
#[derive(Clone)]
pub(crate) struct Gate(Arc<GateState>);

struct GateState {
    rbac: Rbac,
    is_closed: AtomicBool,
}

/// The permissions that users needed, and the users whose requests must not be denied.
#[derive(Clone, Default)]
pub(crate) struct Watched {
    pub(crate) log: AccessLog,
    users: Arc<Mutex<Vec<String>>>,
    pub(crate) records: Arc<Mutex<Vec<Record>>>,
}

impl Gate {
    pub(crate) fn new(store: &MemoryStore, is_closed: bool) -> Self {
        Self(Arc::new(GateState {
            rbac: Rbac::new(Arc::new(store.clone())),
            is_closed: AtomicBool::new(is_closed),
        }))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed.load(Ordering::SeqCst)
    }

    fn authorizer(&self) -> &dyn Authorizer {
        match self.is_closed() {
            true => &self.0.rbac,
            false => &AlwaysAllow,
        }
    }
}

#[boxed_async]
impl Authorizer for Gate {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        self.authorizer().authorize(attributes).await
    }

    async fn rules_for(&self, user: &UserInfo, namespace: &str) -> Rules {
        self.authorizer().rules_for(user, namespace).await
    }
}

/// Returns the administrator, the user of [`TestCluster::client`].
pub(crate) fn admin() -> LocalUser {
    LocalUser::new(UserInfo {
        name: "admin".to_owned(),
        groups: vec![MASTERS.to_owned()],
        ..UserInfo::default()
    })
}

/// Returns an authenticated user.
///
/// # Panics
///
/// Panics if the text is not a valid user.
pub(crate) fn local_user(text: &str) -> (LocalUser, Option<String>) {
    let user: ClusterUser = match text.parse() {
        Ok(user) => user,
        Err(error) => panic!("{text:?} is not a valid user: {error}"),
    };
    let mut groups = user.groups().to_vec();
    let namespace = user.service_account().map(|(namespace, _)| namespace);
    if let Some(namespace) = namespace {
        groups.push("system:serviceaccounts".to_owned());
        groups.push(format!("system:serviceaccounts:{namespace}"));
    }
    let known = LocalUser::new(UserInfo {
        name: user.name().to_owned(),
        groups,
        ..UserInfo::default()
    });
    (known, namespace.map(str::to_owned))
}

impl Watched {
    /// Returns the error for the first watched user with a denied request.
    fn denied(&self) -> Option<Unsettled> {
        let users = self.users.lock().clone();
        let advice = users.iter().find_map(|user| self.log.advice(user))?;
        Some(Unsettled {
            reason: format!("a request was denied: {advice}"),
        })
    }

    /// Waits until a request of a watched user is denied.
    pub(crate) async fn until_denied(&self) -> Unsettled {
        let mut denials = self.log.denials();
        loop {
            if let Some(denied) = self.denied() {
                return denied;
            }
            if denials.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}

impl TestCluster {
    /// Enables RBAC: creates the roles and bindings of a new cluster, and from then on allows users only what roles grant. The
    /// administrator, the user of [`client`](Self::client), is allowed everything.
    ///
    /// # Panics
    ///
    /// Panics if the roles cannot be created.
    pub async fn enable_rbac(&self) {
        if self.gate.is_closed() {
            return;
        }
        let created = self.api_server().ensure_default_policy().await;
        created.expect("a cluster in memory stores its roles");
        self.gate.0.is_closed.store(true, Ordering::SeqCst);
    }

    /// Returns a client that acts as a user, without a socket: `alice`, `alice=dev,ops` with groups, or a service account such
    /// as `system:serviceaccount:shop:web`, which need not exist. The default namespace of the client is that of the service
    /// account, as in a pod, or `default` for other users.
    ///
    /// Without RBAC, the user may do everything.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kube::Api;
    /// use kubewright_testing::TestCluster;
    ///
    /// let cluster = TestCluster::builder().rbac().start().await;
    /// let web = "system:serviceaccount:default:web";
    /// let secrets: Api<Secret> = Api::default_namespaced(cluster.client_as(web));
    /// let error = secrets.list(&Default::default()).await.unwrap_err();
    /// assert!(error.to_string().contains(r#"cannot list resource "secrets""#));
    ///
    /// // The denied permission is recorded, with the rule that would allow it.
    /// assert_eq!(cluster.denied_permissions(web)[0].to_string(), r#"list secrets in the namespace "default""#);
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the text is not a valid user.
    pub fn client_as(&self, user: &str) -> kube::Client {
        let (user, namespace) = local_user(user);
        let namespace = namespace.as_deref().unwrap_or("default");
        self.client_of(user, namespace)
    }

    /// Returns a client that acts as a user.
    pub(crate) fn client_of(&self, user: LocalUser, namespace: &str) -> kube::Client {
        let server = Patient::new(self.service(), self.calls.clone());
        let service = server.map_request(move |request| known(request, &user));
        kube::Client::new(InProcess::new(service), namespace)
    }

    /// Issues a credential for a socket: a token for a service account, which is created if it is missing, or a certificate
    /// for any other user. [`Endpoint::add_user`](crate::Endpoint::add_user) adds it to a kubeconfig.
    ///
    /// # Errors
    ///
    /// Fails if the service account cannot be created.
    pub async fn credential(&self, user: &ClusterUser) -> Result<KubeconfigUser, Error> {
        self.cluster.credential(user).await
    }

    /// Returns the permissions that requests of a user needed, allowed or not. Those of the administrator are not recorded.
    pub fn used_permissions(&self, user: &str) -> Vec<Permission> {
        self.watched.log.used(user)
    }

    /// Returns the missing permissions of a user: those whose last request was denied.
    pub fn denied_permissions(&self, user: &str) -> Vec<Permission> {
        self.watched.log.denied(user)
    }

    /// Makes [`settled`](Self::settled) fail once a request of this user is denied. The error names the rule to add. This is
    /// enabled for operators that are started by `Operator::start_test` or `start_on`.
    pub fn fail_on_denied(&self, user: &str) {
        let mut users = self.watched.users.lock();
        if !users.iter().any(|known| known == user) {
            users.push(user.to_owned());
        }
    }

    /// Lets [`settled`](Self::settled) succeed even if requests of this user are denied, for programs that expect it.
    pub fn tolerate_denied(&self, user: &str) {
        self.watched.users.lock().retain(|known| known != user);
    }
}

/// Adds the authenticated user to a request.
pub(crate) fn known<B>(mut request: Request<B>, user: &LocalUser) -> Request<B> {
    request.extensions_mut().insert(user.clone());
    request
}
