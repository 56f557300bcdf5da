//! Builds a [`KubeApiServer`] from its options.

use std::sync::Arc;

use kubewright_apiserver::{
    ApiServer, ApiServerBuilder,
    admission::{AdmissionChain, NamespaceLifecycle, Plugin},
    registry::BlockingPool,
};
use kubewright_machinery::{Status, status};
use kubewright_metrics::TextWriter;
use kubewright_store::MemoryStore;

use super::{FIRST_REVISION, KubeApiServer, KubeApiServerBuilder, health::health_checks};
use crate::{
    AuthorizationMode,
    admission::{
        self, AdmissionMetrics, PodSecurityConfiguration, Selection, policy::Params, stored::Stored,
    },
    aggregation::Aggregation,
    bootstrap::KubernetesService,
    crds::Crds,
    flow_control::{self, Flows},
    follow::Following,
    kinds::{self, Environment, namespaces},
    openapi::BuiltInDescriptions,
    outgoing::{Identity, Outgoing},
    rbac::{self, Policy},
};

/// The number of threads that compile schemas, patterns and expressions of users.
const COMPILER_THREADS: usize = 1;

/// The number of threads that validate custom objects whose validation takes long.
const VALIDATION_THREADS: usize = 2;

/// The options of admission.
struct AdmissionOptions {
    selection: Selection,
    pod_security: PodSecurityConfiguration,
    plugins: Vec<Arc<dyn Plugin>>,
}

impl KubeApiServerBuilder {
    /// Builds the server: registers every kind, serves the CRDs in the store, and creates the objects of a new cluster.
    ///
    /// # Errors
    ///
    /// Returns the [`Status`] of the first read or write of the store that fails, or a 400 if an option of authentication
    /// is invalid or an admission plugin is not supported.
    pub async fn build(self) -> Result<KubeApiServer, Status> {
        let store = self
            .store
            .unwrap_or_else(|| Arc::new(MemoryStore::starting_at(FIRST_REVISION)));
        let policy = Arc::new(Policy::new(store.clone()));
        let flows = Arc::new(Flows::new(store.clone()));
        let matcher = flow_control::Matcher::new(
            flows.clone(),
            store.clone(),
            self.clock.clone(),
            self.fairness,
        );
        let matcher = Arc::new(matcher);
        let accounts = self.service_accounts;
        let accounts = accounts.build(&store, &self.clock, &self.address);
        let accounts = accounts.map_err(status::bad_request)?;
        let client_authorities = self.authentication.authorities();
        let trust = self.authentication.trust();
        let authenticator = self.authentication.build(&accounts, &self.clock);
        let authenticator = authenticator.map_err(status::bad_request)?;
        let proxy_identity = match self.proxy_certificate {
            Some((certificate, key)) => Some(
                Identity::from_pem(&certificate, &key)
                    .map_err(|e| status::bad_request(format!("proxy-client-cert-file: {e}")))?,
            ),
            None => None,
        };
        let environment = Environment {
            store: store.clone(),
            clock: self.clock,
            authenticator: authenticator.clone(),
            service_accounts: accounts.clone(),
            policy: policy.clone(),
            flows,
            validating_policies: Arc::new(Following::new(store.clone())),
            mutating_policies: Arc::new(Following::new(store.clone())),
            params: Params::new(store.clone()),
            compiler: BlockingPool::new(COMPILER_THREADS),
            validation: BlockingPool::new(VALIDATION_THREADS),
            service_range: self.service_range,
            is_store_shared: self.is_store_shared,
            conversions: self.conversions,
            mutating_webhooks: Arc::new(Following::new(store.clone())),
            validating_webhooks: Arc::new(Following::new(store.clone())),
            api_services: Arc::new(Following::new(store.clone())),
            outgoing: Outgoing::new(
                self.services,
                Stored(store.clone()),
                self.kubelets.clone(),
                proxy_identity,
            ),
            kubelets: self.kubelets,
            components: self.components,
        };
        self.selection
            .check()
            .map_err(|e| status::bad_request(e.to_string()))?;
        let provision = admission::provision(&environment, &self.selection);
        let metrics = AdmissionMetrics::default();
        let chain = AdmissionOptions {
            selection: self.selection,
            pod_security: self.pod_security,
            plugins: self.plugins,
        };
        let first = provision.clone().map(|plugin| plugin as Arc<dyn Plugin>);
        let chain = chain.chain(&environment, first, &metrics);
        let registry = kinds::registry(&environment);
        let (registry, crds) = Crds::install(&environment, registry);
        let aggregation = Aggregation::new(&environment);
        let aggregator = aggregation.front();
        let server = ApiServer::builder(registry)
            .aggregator(aggregator.clone())
            .authenticator(authenticator)
            .audiences(accounts.issuer.audiences().to_vec())
            .authorizer(AuthorizationMode::authorizer(
                &self.authorization,
                &policy,
                &store,
            ))
            .admission(chain)
            .flow_control(matcher.clone())
            .in_flight_limits(self.in_flight)
            .clock(environment.clock.clone())
            .descriptions(Arc::new(BuiltInDescriptions))
            .health(health_checks(&store))
            .address(self.address.as_str());
        let documents = accounts.documents.iter().flat_map(|d| d.served());
        let server = documents.fold(server, ApiServerBuilder::document);
        let server = match self.access_observer {
            Some(observer) => server.access_observer(observer),
            None => server,
        };
        let server = match self.ledger {
            Some(ledger) => server.ledger(ledger),
            None => server,
        };
        let server = server.build();
        let collect = move |out: &mut TextWriter| metrics.collect(out);
        server.metrics().collect_with(collect);
        accounts.tokens.start(&server);
        matcher.start(&server);
        if let Some(plugin) = provision {
            plugin.start(&server);
        }
        environment.params.start(&server);
        crds.start(&server, aggregation).await?;
        if self.is_store_shared {
            crds.follow_others().await?;
        }
        aggregator.start(&server).await?;
        namespaces::bootstrap(&server).await?;
        let is_rbac = |mode: &AuthorizationMode| matches!(mode, AuthorizationMode::Rbac);
        if self.authorization.iter().any(is_rbac) {
            rbac::bootstrap(&server, &store, &*environment.clock).await?;
        }
        matcher.bootstrap(&server).await?;
        admission::priority::bootstrap(&server).await?;
        trust.publish(&server, &environment).await?;
        if !trust.is_empty() {
            aggregator.spawn(trust.keep(server.downgrade(), environment.clone()));
        }
        KubernetesService::new(&environment, &self.address)
            .start(&server)
            .await;
        if let Some((policy, sink)) = self.audit {
            server.audit(policy, sink);
        }
        Ok(KubeApiServer {
            server,
            store,
            clock: environment.clock,
            service_account_keys: accounts.keys,
            client_authorities: client_authorities.into(),
        })
    }
}

impl AdmissionOptions {
    /// Returns the admission plugins in the order of kube-apiserver, after `first`.
    fn chain(
        self,
        environment: &Environment,
        first: Option<Arc<dyn Plugin>>,
        metrics: &AdmissionMetrics,
    ) -> AdmissionChain {
        let mut chain: Vec<Arc<dyn Plugin>> = first.into_iter().collect();
        if self.selection.has("NamespaceLifecycle") {
            let stored = namespaces::Stored::new(environment.store.clone());
            chain.push(Arc::new(NamespaceLifecycle::new(Arc::new(stored))));
        }
        chain.extend(admission::plugins(
            environment,
            &self.selection,
            self.pod_security,
            metrics,
        ));
        // No in-tree plugin changes custom objects, but webhooks do, which the chain notices.
        let spares = self.plugins.is_empty();
        chain.extend(self.plugins);
        chain.extend(admission::policies_and_webhooks(
            environment,
            &self.selection,
            metrics,
        ));
        chain.extend(admission::last_plugins(environment, &self.selection));
        match spares {
            true => AdmissionChain::new(chain).sparing_custom_objects(),
            false => AdmissionChain::new(chain),
        }
    }
}
