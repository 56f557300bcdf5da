//! [`Controllers`]: a selection of built-in controllers with their options.

use std::{collections::BTreeSet, fmt, future::Future, str::FromStr, sync::Arc, time::Duration};

use kubewright_client::ClientOptions;
use kubewright_controller::{Manager, ManagerError, events::EventApi};
use kubewright_x509::Authority;

use crate::{
    certificates, garbage,
    names::{Name, UnknownController},
    namespace, policy_status, protection, role_aggregation, root_ca, service_account,
    token_secrets::{self, TokenGenerator},
};

/// The field manager and user agent of kube-controller-manager.
pub(crate) const FIELD_MANAGER: &str = "kube-controller-manager";

/// The time that a read waits for the caches to show the writes of workload controllers: as long as kube-controller-manager
/// waits for its expectations.
const READ_TIMEOUT: Duration = Duration::from_secs(300);

/// The time for which a node may be silent.
const NODE_GRACE: Duration = Duration::from_secs(50);

/// The time between two nodes of a zone whose pods are evicted.
const NODE_EVICTION_INTERVAL: Duration = Duration::from_secs(10);

/// A set of built-in controllers, to add to a [`Manager`] or to [run](Self::run) alone.
///
/// ```
/// use kubewright_builtin_controllers::{Controllers, Name};
///
/// // By default those that every cluster needs; those for workloads are asked for.
/// assert!(!Controllers::default().has(Name::Deployment));
/// assert!(Controllers::all().has(Name::Deployment));
/// assert_eq!(Controllers::none().names().count(), 0);
/// let some = Controllers::parse("*,-garbagecollector").unwrap();
/// assert!(some.has(Name::Namespace) && !some.has(Name::GarbageCollector));
/// assert!(Controllers::parse("gardener").is_err());
/// ```
#[derive(Clone)]
pub struct Controllers {
    names: BTreeSet<Name>,
    root_ca: String,
    namespace_grace: Duration,
    node_grace: Duration,
    node_eviction_interval: Duration,
    authority: Option<Authority>,
    tokens: Option<Arc<dyn TokenGenerator>>,
}

impl Controllers {
    /// Returns an empty set.
    pub fn none() -> Self {
        Self {
            names: BTreeSet::new(),
            root_ca: String::new(),
            namespace_grace: Duration::ZERO,
            node_grace: NODE_GRACE,
            node_eviction_interval: NODE_EVICTION_INTERVAL,
            authority: None,
            tokens: None,
        }
    }

    /// Returns the set of all controllers, those for workloads included: `*`.
    pub fn all() -> Self {
        Self::these(Name::ALL.into_iter().filter(|name| !name.is_optional()))
    }

    /// Returns a set of controllers.
    pub fn these(names: impl IntoIterator<Item = Name>) -> Self {
        Self {
            names: names.into_iter().collect(),
            ..Self::none()
        }
    }

    /// Parses the format of kube-controller-manager's `--controllers`: a comma-separated list in which `*` selects
    /// [all](Self::all) controllers, `name` enables one, and `-name` disables one. The first mention of a controller wins.
    /// `default` and `none` are accepted too.
    ///
    /// # Errors
    ///
    /// Fails if a controller is unknown.
    pub fn parse(list: &str) -> Result<Self, UnknownController> {
        match list.trim() {
            "default" => return Ok(Self::default()),
            "none" | "" => return Ok(Self::none()),
            _ => {}
        }
        let words: Vec<&str> = list.split(',').map(str::trim).collect();
        let mut said: Vec<(Name, bool)> = Vec::new();
        for word in words.iter().filter(|word| **word != "*") {
            match word.strip_prefix('-') {
                Some(name) => said.push((name.parse()?, false)),
                None => said.push((word.parse()?, true)),
            }
        }
        let all = words.contains(&"*");
        let runs = |name: &Name| {
            let first = said.iter().find(|(other, _)| other == name);
            first.map_or(all && !name.is_optional(), |(_, runs)| *runs)
        };
        Ok(Self::these(Name::ALL.into_iter().filter(runs)))
    }

    /// Sets the certificate authority (PEM) that is published in `kube-root-ca.crt`. Defaults to an empty string.
    #[must_use]
    pub fn root_ca(mut self, pem: impl Into<String>) -> Self {
        self.root_ca = pem.into();
        self
    }

    /// Sets the certificate authority that issues certificates for approved certificate signing requests. Without one, the
    /// signing controller does not run, like that of kube-controller-manager without `--cluster-signing-cert-file`.
    #[must_use]
    pub fn authority(mut self, authority: Authority) -> Self {
        self.authority = Some(authority);
        self
    }

    /// Sets the generator of tokens for Secrets of service accounts. Without one, the controller that fills them does not
    /// run, like that of kube-controller-manager without `--service-account-private-key-file`.
    #[must_use]
    pub fn token_generator(mut self, generator: Arc<dyn TokenGenerator>) -> Self {
        self.tokens = Some(generator);
        self
    }

    /// Sets the delay before a deleted namespace is processed. Defaults to zero. kube-controller-manager waits five
    /// seconds, until all API servers reject new objects in the namespace.
    #[must_use]
    pub fn namespace_grace(mut self, grace: Duration) -> Self {
        self.namespace_grace = grace;
        self
    }

    /// Sets the time for which a node may be silent before its pods are replaced, like kube-controller-manager's
    /// `--node-monitor-grace-period`. Defaults to 50 seconds.
    #[must_use]
    pub fn node_monitor_grace(mut self, grace: Duration) -> Self {
        self.node_grace = grace;
        self
    }

    /// Sets the time between two silent nodes of a zone whose pods are replaced, the inverse of kube-controller-manager's
    /// `--node-eviction-rate`. Defaults to ten seconds.
    #[must_use]
    pub fn node_eviction_interval(mut self, interval: Duration) -> Self {
        self.node_eviction_interval = interval;
        self
    }

    /// Adds a controller.
    ///
    /// ```
    /// use kubewright_builtin_controllers::{Controllers, Name};
    ///
    /// let controllers = Controllers::all().with(Name::LoadBalancer);
    /// assert!(controllers.has(Name::LoadBalancer) && !Controllers::all().has(Name::LoadBalancer));
    /// ```
    #[must_use]
    pub fn with(mut self, name: Name) -> Self {
        self.names.insert(name);
        self
    }

    /// Removes the controllers that are in another set.
    #[must_use]
    pub fn without(mut self, other: &Self) -> Self {
        self.names.retain(|name| !other.has(*name));
        self
    }

    /// Returns the names of the controllers.
    pub fn names(&self) -> impl Iterator<Item = Name> {
        self.names.iter().copied()
    }

    /// Returns whether a controller is in the set.
    pub fn has(&self, name: Name) -> bool {
        self.names.contains(&name)
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Adds the controllers to a manager.
    ///
    /// # Errors
    ///
    /// Fails if the manager already has a controller of that name.
    pub fn add_to(&self, manager: &Manager) -> Result<(), ManagerError> {
        for name in self.names() {
            match name {
                Name::Namespace => namespace::add_to(manager, self.namespace_grace)?,
                Name::GarbageCollector => garbage::add_to(manager)?,
                Name::ServiceAccount => service_account::add_to(manager)?,
                Name::RootCaPublisher => root_ca::add_to(manager, self.root_ca.clone())?,
                Name::ClaimProtection => protection::add_claims_to(manager)?,
                Name::VolumeProtection => protection::add_volumes_to(manager)?,
                Name::ClassProtection => protection::add_classes_to(manager)?,
                Name::ServiceAccountToken => {
                    if let Some(tokens) = &self.tokens {
                        token_secrets::add_to(manager, tokens.clone(), &self.root_ca)?;
                    }
                }
                Name::RequestSigning => {
                    if let Some(authority) = &self.authority {
                        certificates::add_signing_to(manager, authority.clone())?;
                    }
                }
                Name::RequestApproving => certificates::add_approving_to(manager)?,
                Name::RequestCleaner => certificates::add_cleaning_to(manager)?,
                Name::ClusterRoleAggregation => role_aggregation::add_to(manager)?,
                Name::PolicyStatus => policy_status::add_to(manager)?,
                workload => self.add_workload(manager, workload)?,
            }
        }
        Ok(())
    }

    #[cfg(feature = "workloads")]
    fn add_workload(&self, manager: &Manager, name: Name) -> Result<(), ManagerError> {
        let monitor = crate::workloads::NodeMonitor {
            grace: self.node_grace,
            eviction_interval: self.node_eviction_interval,
        };
        crate::workloads::add_to(manager, name, monitor)
    }

    /// Rejects a controller that is not compiled in.
    #[cfg(not(feature = "workloads"))]
    fn add_workload(&self, _: &Manager, name: Name) -> Result<(), ManagerError> {
        Err(ManagerError::Runnable {
            name: name.to_string(),
            cause: "not compiled in: enable the feature `workloads` of kubewright".into(),
        })
    }

    /// Returns a manager that runs only these controllers, as kube-controller-manager.
    ///
    /// # Errors
    ///
    /// Fails if a controller cannot be built.
    ///
    /// # Panics
    ///
    /// Panics outside a tokio runtime.
    pub fn manager(&self, client: kube::Client) -> Result<Manager, ManagerError> {
        let options = ClientOptions::new()
            .user_agent(FIELD_MANAGER)
            .field_manager(FIELD_MANAGER);
        // The others write little and read live where it matters, so there is no need to wait for caches.
        let manager = Manager::builder(options.wrap(client))
            .read_your_writes(self.names().any(Name::is_workload))
            .read_timeout(READ_TIMEOUT)
            .event_api(EventApi::Core)
            .build()?;
        self.add_to(&manager)?;
        Ok(manager)
    }

    /// Runs the controllers until `shutdown` completes.
    ///
    /// # Errors
    ///
    /// Fails if a controller cannot be built, or ends with an error.
    pub async fn run(
        &self,
        client: kube::Client,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), ManagerError> {
        if self.is_empty() {
            shutdown.await;
            return Ok(());
        }
        self.manager(client)?.run(shutdown).await
    }
}

impl fmt::Debug for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(&self.names).finish()
    }
}

/// Returns the set of the controllers that every cluster needs.
impl Default for Controllers {
    fn default() -> Self {
        Self::these(Name::ALL.into_iter().filter(|name| !name.is_workload()))
    }
}

impl FromStr for Controllers {
    type Err = UnknownController;

    fn from_str(list: &str) -> Result<Self, Self::Err> {
        Self::parse(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str) -> Vec<Name> {
        Controllers::parse(list).unwrap().names().collect()
    }

    #[test]
    fn a_list_names_those_that_run() {
        let own = Name::ALL.into_iter().filter(|name| !name.is_workload());
        assert_eq!(names("default"), own.collect::<Vec<_>>());
        let all = Name::ALL.into_iter().filter(|name| !name.is_optional());
        assert_eq!(names("*"), all.clone().collect::<Vec<_>>());
        assert_eq!(names("*,simulated-load-balancer"), Name::ALL);
        assert_eq!(names("deployment"), [Name::Deployment]);
        assert_eq!(names("none"), []);
        assert_eq!(names("namespace"), [Name::Namespace]);
        assert_eq!(
            names("serviceaccount-controller, namespace-controller"),
            [Name::Namespace, Name::ServiceAccount]
        );
        assert_eq!(names("-namespace"), []);
        assert_eq!(names("*,-namespace").len(), all.count() - 1);
    }

    #[test]
    fn of_several_words_about_one_the_first_counts() {
        assert_eq!(names("namespace,-namespace"), [Name::Namespace]);
        assert_eq!(names("-namespace,namespace"), []);
        let others = names("-namespace,*,namespace-controller").len();
        assert_eq!(others, names("*").len() - 1);
    }

    #[test]
    fn unknown_names_are_refused_also_when_they_are_not_to_run() {
        assert!(Controllers::parse("*,-gardener").is_err());
        assert!(Controllers::parse("*,,namespace").is_err());
    }
}
