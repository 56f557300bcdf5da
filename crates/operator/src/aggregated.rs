//! Aggregated APIs: kinds that the operator's program serves, behind the API server of the cluster.

use std::{collections::BTreeMap, sync::Arc};

use kube::Client;
use kubewright_extension_apiserver::{
    BuildError, Delegation, ExtensionServer, ExtensionServerBuilder, Kind, ServedKind,
};
use kubewright_store::Store;
use kubewright_webhook::ManagedCertificates;
use parking_lot::Mutex;
use serde_json::Value;

use crate::{Operator, OperatorError, model::SubresourceModel, names::ApiServerNames};

/// The kinds that a program serves.
#[derive(Default)]
pub(crate) struct Aggregated {
    definitions: Vec<Result<Value, BuildError>>,
    /// The subresources of the kinds, by the name of the definition.
    pub(crate) subresources: BTreeMap<String, Vec<SubresourceModel>>,
    /// The builder of the server, until the server is built.
    builder: Mutex<ExtensionServerBuilder>,
    /// The server of a test cluster.
    #[cfg(feature = "testing")]
    pub(crate) built: std::sync::OnceLock<Result<ExtensionServer, BuildError>>,
}

impl Operator {
    /// Serves a kind in this program, behind the API server of the cluster, which forwards requests for its group version.
    /// Objects can be stored anywhere: see [`Storage`](kubewright_extension_apiserver::Storage).
    ///
    /// All kinds of a group version must be served by the same server: either all here, or all as custom resources.
    ///
    /// ```
    /// # extern crate kubewright_resource as kubewright;
    /// use kube::CustomResource;
    /// use kubewright::Schema;
    /// use kubewright_extension_apiserver::Kind;
    /// use kubewright_operator::Operator;
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(CustomResource, Schema, Clone, Debug, Serialize, Deserialize)]
    /// #[kube(group = "sky.example.com", version = "v1", kind = "Comet")]
    /// pub struct CometSpec {
    ///     years: u32,
    /// }
    ///
    /// fn register(operator: &mut Operator) {
    ///     operator.aggregated_api(Kind::<Comet>::stored_by_server());
    /// }
    /// let model = Operator::new("sky", register).model()?;
    /// assert_eq!(model.aggregated[0]["spec"]["names"]["plural"], "comets");
    /// # Ok::<_, kubewright_operator::OperatorError>(())
    /// ```
    pub fn aggregated_api<K: ServedKind>(&mut self, kind: Kind<K>) -> &mut Self {
        let definition = kind.definition();
        if let Ok(definition) = &definition
            && !kind.subresources().is_empty()
        {
            let name = definition["metadata"]["name"].as_str().unwrap_or_default();
            let of_kind = kind
                .subresources()
                .iter()
                .map(|subresource| SubresourceModel {
                    name: subresource.name.clone(),
                    verbs: subresource.verbs.clone(),
                });
            let subresources = &mut self.aggregated.subresources;
            subresources.insert(name.to_owned(), of_kind.collect());
        }
        self.aggregated.definitions.push(definition);
        self.configure_apiserver(|server| server.kind(kind))
    }

    /// Configures the server of the aggregated APIs: admission, untyped resources, audit.
    pub fn configure_apiserver(
        &mut self,
        configure: impl FnOnce(ExtensionServerBuilder) -> ExtensionServerBuilder,
    ) -> &mut Self {
        let builder = self.aggregated.builder.get_mut();
        *builder = configure(std::mem::take(builder));
        self
    }

    /// Returns the server of the aggregated APIs, which delegates authentication and authorization to the cluster. `store`
    /// holds the objects of kinds that are stored by the server. Only the first call returns the kinds; later ones return a
    /// server without any.
    ///
    /// # Errors
    ///
    /// Fails if the schema of a kind is invalid.
    pub fn apiserver(
        &self,
        delegation: &Delegation,
        store: Arc<dyn Store>,
    ) -> Result<ExtensionServer, OperatorError> {
        self.build_apiserver(delegation, store, |server| server)
    }

    /// Returns the server of the aggregated APIs with the options of the program.
    pub(crate) fn build_apiserver(
        &self,
        delegation: &Delegation,
        store: Arc<dyn Store>,
        configure: impl FnOnce(ExtensionServerBuilder) -> ExtensionServerBuilder,
    ) -> Result<ExtensionServer, OperatorError> {
        let builder = self.aggregated.take().default_store(store);
        let builder = builder.delegate(delegation).check_namespaces(delegation);
        Ok(configure(builder).build()?)
    }

    /// Returns certificates for the server of the aggregated APIs, which the operator issues and stores in a Secret, as the
    /// program does in a pod. They are valid for a Service, and the Secret is named as `kubewright generate` names it. Their
    /// authority is written to the `caBundle` of the APIServices.
    ///
    /// # Errors
    ///
    /// Fails as [`model`](Self::model) does.
    pub fn apiserver_certificates(
        &self,
        client: Client,
        namespace: &str,
        service: &str,
    ) -> Result<ManagedCertificates, OperatorError> {
        let secret = ApiServerNames::of(service).secret;
        let managed = ManagedCertificates::new(client, namespace, service).secret(&secret);
        let names = self.model()?.api_service_names();
        let names = names.iter();
        Ok(names.fold(managed, |managed, name| managed.api_service(name)))
    }
}

impl Aggregated {
    /// Returns the definitions of the kinds, as CustomResourceDefinitions.
    pub(crate) fn definitions(&self) -> Result<Vec<Value>, OperatorError> {
        let definitions = self.definitions.iter().cloned();
        Ok(definitions.collect::<Result<_, _>>()?)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// Takes the builder of the server. Only the first call returns the kinds.
    fn take(&self) -> ExtensionServerBuilder {
        std::mem::take(&mut *self.builder.lock())
    }

    /// Returns the server for a cluster in this process that authenticates and authorizes requests.
    #[cfg(feature = "testing")]
    pub(crate) fn in_process(&self, client: Client) -> Result<ExtensionServer, OperatorError> {
        let build = || {
            let store = kubewright_store::MemoryStore::new();
            let builder = self.take().default_store(Arc::new(store));
            builder.check_namespaces_with(client).build()
        };
        Ok(self.built.get_or_init(build).clone()?)
    }
}
