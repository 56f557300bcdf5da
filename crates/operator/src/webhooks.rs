//! The webhooks of an operator: defaulters, validators and conversions.

use std::fmt::Display;

use kubewright_controller::Object;
use kubewright_resource::CustomKind;
use kubewright_webhook::{
    self as webhook, Converter, Defaulter, ManagedCertificates, Validator, Webhook, Webhooks,
};
use serde::de::DeserializeOwned;

use crate::{
    Operator, OperatorError,
    model::{WebhookModel, WebhookType},
    names::WebhookNames,
};

impl Operator {
    /// Adds a [`Defaulter`], which changes objects before they are stored.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_operator::Operator;
    ///
    /// fn register(operator: &mut Operator) {
    ///     operator.defaulter(|map: &mut ConfigMap| map.immutable = map.immutable.or(Some(true)));
    /// }
    /// # let model = Operator::new("keeper", register).model().unwrap();
    /// # assert_eq!(model.webhooks[0].path, "/mutate--v1-configmap");
    /// ```
    pub fn defaulter<K: Object, D: Defaulter<K>>(&mut self, defaulter: D) -> &mut Self {
        self.webhook(Webhook::defaulter(defaulter))
    }

    /// Adds a [`Validator`], which allows or rejects objects before they are stored.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_operator::Operator;
    ///
    /// fn register(operator: &mut Operator) {
    ///     operator.validator(|map: &ConfigMap| match map.data {
    ///         Some(_) => Ok(()),
    ///         None => Err("a ConfigMap needs data".into()),
    ///     });
    /// }
    /// # let model = Operator::new("keeper", register).model().unwrap();
    /// # assert_eq!(model.webhooks[0].path, "/validate--v1-configmap");
    /// ```
    pub fn validator<K: Object, V: Validator<K>>(&mut self, validator: V) -> &mut Self {
        self.webhook(Webhook::validator(validator))
    }

    /// Adds a webhook with its own rules and policies, or one for objects without a Rust type.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_operator::Operator;
    /// use kubewright_webhook::{FailurePolicy, Webhook};
    ///
    /// fn register(operator: &mut Operator) {
    ///     let webhook = Webhook::defaulter(|map: &mut ConfigMap| map.immutable = Some(true));
    ///     operator.webhook(webhook.failure_policy(FailurePolicy::Ignore));
    /// }
    /// # let model = Operator::new("keeper", register).model().unwrap();
    /// # assert_eq!(model.webhooks[0].webhook["failurePolicy"], "Ignore");
    /// ```
    pub fn webhook(&mut self, webhook: Webhook) -> &mut Self {
        self.webhooks = std::mem::take(&mut self.webhooks).webhook(webhook);
        self
    }

    /// Adds the conversion between two versions of a kind.
    ///
    /// Conversions are chained: two pairs are enough for three versions, and objects are converted through the shared version.
    pub fn conversion<A, B>(&mut self) -> &mut Self
    where
        A: CustomKind + DeserializeOwned + TryFrom<B, Error: Display>,
        B: CustomKind + DeserializeOwned + TryFrom<A, Error: Display>,
    {
        self.converter = std::mem::take(&mut self.converter).between::<A, B>();
        self
    }

    /// Returns the converter for the objects of the operator's kinds.
    pub fn converter(&self) -> Converter {
        self.converter.clone()
    }

    /// Returns the webhooks as a service. All calls return the same one.
    ///
    /// # Errors
    ///
    /// Fails if two webhooks have the same path, or if one is invalid.
    pub fn webhooks(&self) -> Result<Webhooks, OperatorError> {
        let build = || {
            let webhooks = self.webhooks.clone().converter(self.converter());
            webhooks.build()
        };
        Ok(self.service.get_or_init(build).clone()?)
    }

    /// Returns certificates for the webhooks, which the operator issues and stores in a Secret, as the program does in a pod.
    /// They are valid for a Service, and the Secret is named as `kubewright generate` names it. Their authority is written to
    /// the `caBundle` of the webhook configurations, and of the CustomResourceDefinitions whose objects the operator converts.
    ///
    /// ```no_run
    /// # async fn run(operator: kubewright_operator::Operator, client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use kubewright_webhook::{Certificates, WebhookServer};
    ///
    /// let managed = operator.managed_certificates(client, "crew-system", "crew-webhook-service")?;
    /// let listener = tokio::net::TcpListener::bind("0.0.0.0:9443").await?;
    /// let server = WebhookServer::new(operator.webhooks()?, Certificates::managed(managed));
    /// server.serve(listener, std::future::pending()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if two webhooks have the same path, or if one is invalid.
    pub fn managed_certificates(
        &self,
        client: kube::Client,
        namespace: &str,
        service: &str,
    ) -> Result<ManagedCertificates, OperatorError> {
        let webhooks = self.webhooks()?;
        let names = WebhookNames::of(service);
        let mut managed =
            ManagedCertificates::new(client, namespace, service).secret(&names.secret);
        let types = webhooks.admission().iter();
        let types: Vec<_> = types.map(|it| it.registration().type_).collect();
        if types.contains(&webhook::WebhookType::Mutating) {
            managed = managed.mutating_configuration(&names.mutating);
        }
        if types.contains(&webhook::WebhookType::Validating) {
            managed = managed.validating_configuration(&names.validating);
        }
        let crds = webhooks.converter().crds();
        Ok(crds.iter().fold(managed, |managed, crd| managed.crd(crd)))
    }

    /// Returns the descriptions of the admission webhooks.
    pub(crate) fn webhook_models(&self) -> Result<Vec<WebhookModel>, OperatorError> {
        let model = |webhook: &Webhook| {
            let registration = webhook.registration();
            WebhookModel {
                type_: match registration.type_ {
                    webhook::WebhookType::Mutating => WebhookType::Mutating,
                    webhook::WebhookType::Validating => WebhookType::Validating,
                },
                path: registration.path.clone(),
                webhook: serde_json::to_value(registration).unwrap_or_default(),
            }
        };
        Ok(self.webhooks()?.admission().iter().map(model).collect())
    }
}
