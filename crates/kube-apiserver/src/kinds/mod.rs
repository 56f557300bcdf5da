//! The built-in kinds: resources built from the catalog over the generic registry.

pub(crate) mod component_statuses;
mod converter;
pub(crate) mod namespaces;
mod services;
pub(crate) mod strategy;
mod versions;

use std::sync::Arc;

use kubewright_apiserver::{
    ConvertVersion, FieldManager, Selectable, SelectableField, SharedClock,
    auth::Authenticator,
    registry::{
        BlockingPool, Defaulter, Generic, Printed, Registry, RegistryBuilder, Resource,
        ResourceSpec, Shape, Subresource, SubresourceKind, Table,
    },
};
use kubewright_builtins::{KindRules, certificates::certificate_signing_request, convert, rules};
use kubewright_catalog::resource::{ResourceInfo, SubresourceInfo};
use kubewright_machinery::gvk::{GroupKind, GroupVersion, GroupVersionKind};
use kubewright_store::Store;
use kubewright_streams::Kubelets;

use crate::{
    admission::{
        policy::{
            Family as _, Params, Policies, mutating::Mutating, param_access::ParamAccess,
            validating::Validating,
        },
        webhook::{self, Configurations, Family as _},
    },
    aggregation::{self, ApiServices},
    crds::Conversions,
    flow_control::{self, Flows},
    follow::{Following, Noted},
    outgoing::Outgoing,
    rbac::{Escalation, Policy},
    reviews,
    service_accounts::ServiceAccounts,
    service_range::ServiceRange,
    subresources,
};
use component_statuses::Component;
use strategy::{BuiltIn, Endpoint};
use versions::BuiltInVersions;

/// The dependencies of the built-in kinds.
#[derive(Clone)]
pub(crate) struct Environment {
    /// The store that holds the objects.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: SharedClock,
    /// The authenticator that token reviews ask.
    pub authenticator: Arc<dyn Authenticator>,
    /// The tokens of service accounts.
    pub(crate) service_accounts: ServiceAccounts,
    /// The stored roles and bindings.
    pub(crate) policy: Arc<Policy>,
    /// The stored flow schemas and priority levels.
    pub(crate) flows: Arc<Flows>,
    /// The stored validating policies and their bindings.
    pub(crate) validating_policies: Arc<Policies<Validating>>,
    /// The stored mutating policies and their bindings.
    pub(crate) mutating_policies: Arc<Policies<Mutating>>,
    /// The parameters of policies.
    pub(crate) params: Params,
    /// Compiles schemas and expressions.
    pub(crate) compiler: BlockingPool,
    /// Validates custom objects that are large or have expensive rules.
    pub(crate) validation: BlockingPool,
    /// The range of cluster IPs.
    pub(crate) service_range: ServiceRange,
    /// Whether other servers write to the store too.
    pub(crate) is_store_shared: bool,
    /// In-process conversions of custom resources.
    pub(crate) conversions: Conversions,
    /// The stored mutating webhooks.
    pub(crate) mutating_webhooks: Arc<Following<Configurations<webhook::Mutating>>>,
    /// The stored validating webhooks.
    pub(crate) validating_webhooks: Arc<Following<Configurations<webhook::Validating>>>,
    /// The stored APIServices.
    pub(crate) api_services: Arc<Following<ApiServices>>,
    /// Calls webhooks and aggregated servers.
    pub(crate) outgoing: Outgoing,
    /// The nodes that answer.
    pub(crate) kubelets: Option<Arc<dyn Kubelets>>,
    /// The components that run beside the server.
    pub(crate) components: Vec<Component>,
}

/// A built-in kind while its resource is built.
pub(crate) struct BuiltInKind<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) kind: GroupVersionKind,
    pub(crate) info: &'static ResourceInfo,
    pub(crate) rules: &'static KindRules,
    pub(crate) generic: Generic,
}

/// Returns a registry of every kind of the catalog.
pub(crate) fn registry(environment: &Environment) -> Registry {
    let mut builder = RegistryBuilder::default();
    for group in kubewright_catalog::groups() {
        for version in group.versions {
            for info in version.resources {
                builder.add(resource(environment, group.name, version.version, info));
            }
        }
    }
    builder.build()
}

/// Returns the collection of the store that holds the objects of a built-in resource.
pub(crate) fn collection(group: &str, plural: &str) -> Arc<str> {
    match group {
        "" => plural.into(),
        group => format!("{group}/{plural}").into(),
    }
}

/// Describes a built-in resource.
pub(crate) fn spec(group: &str, version: &str, info: &ResourceInfo) -> ResourceSpec {
    let kind = GroupVersionKind::new(
        info.kind_group.unwrap_or(group),
        info.kind_version.unwrap_or(version),
        info.kind,
    );
    ResourceSpec {
        group_version: GroupVersion::new(group, version),
        singular: info.singular.to_owned(),
        namespaced: info.namespaced,
        short_names: owned(info.short_names),
        categories: owned(info.categories),
        storage_version_hash: info.storage_version_hash.to_owned(),
        verbs: owned(info.verbs),
        shape: Shape::Typed(info.ty),
        selectable: selectable(info),
        bare_items: true,
        deprecation: rules(group, info.kind).deprecation.map(str::to_owned),
        ..ResourceSpec::new(kind, info.plural)
    }
}

fn resource(
    environment: &Environment,
    group: &'static str,
    version: &'static str,
    info: &'static ResourceInfo,
) -> Resource {
    let spec = Arc::new(spec(group, version, info));
    let rules = rules(group, info.kind);
    let (kind, shape) = (spec.kind.clone(), spec.shape);
    let resource = match reviews::handlers(environment, group, info) {
        Some(handlers) => Resource::computed(spec, handlers),
        None => {
            let built_in = BuiltInKind {
                environment,
                kind: kind.clone(),
                info,
                rules,
                generic: generic(environment, spec, info, rules),
            };
            let resource = built_in.generic.clone().into_resource();
            let resource = subresources::special_handlers(&built_in, resource);
            let subresources = info.subresources.iter();
            subresources
                .filter_map(|s| subresource(&built_in, s))
                .fold(resource, Resource::with_subresource)
        }
    };
    let resource = match BuiltInVersions::of(group, info.kind) {
        Some(versions) => resource.with_versions(Arc::new(versions)),
        None => resource,
    };
    resource
        .with_table(Arc::new(Printed::new(
            group,
            info.kind,
            environment.clock.clone(),
        )))
        .with_defaults(defaulter(rules))
        .with_clock(environment.clock.clone())
        .with_field_manager(
            FieldManager::new(&kind, shape, "", rules.reset_fields)
                .with_versions(versions(group, info.kind)),
        )
        .with_field_label_check(Arc::new(move |label| {
            kubewright_catalog::field_labels::find(group, version, info, label).map(|_| ())
        }))
}

/// Returns the generic registry of a built-in kind.
fn generic(
    environment: &Environment,
    spec: Arc<ResourceSpec>,
    info: &'static ResourceInfo,
    rules: &'static KindRules,
) -> Generic {
    let served = spec.group_version.clone();
    let policy = &environment.policy;
    let escalation = Escalation::of(&served.group, info.kind, policy);
    let (store, flows) = (environment.store.clone(), &environment.flows);
    let store: Arc<dyn Store> = match &escalation {
        Some(_) => Arc::new(Noted::new(store, policy.clone())),
        None if served.group == flow_control::GROUP => Arc::new(Noted::new(store, flows.clone())),
        None if served.group == aggregation::GROUP => {
            Arc::new(Noted::new(store, environment.api_services.clone()))
        }
        None if served.group == webhook::GROUP => match info.plural {
            webhook::Mutating::PLURAL => {
                Arc::new(Noted::new(store, environment.mutating_webhooks.clone()))
            }
            webhook::Validating::PLURAL => {
                Arc::new(Noted::new(store, environment.validating_webhooks.clone()))
            }
            plural if Validating::has(plural) => {
                Arc::new(Noted::new(store, environment.validating_policies.clone()))
            }
            plural if Mutating::has(plural) => {
                Arc::new(Noted::new(store, environment.mutating_policies.clone()))
            }
            _ => store,
        },
        None => store,
    };
    let strategy = BuiltIn::new(rules, Endpoint::main(rules), environment)
        .with_services(environment)
        .with_escalation(escalation)
        .with_param_access(ParamAccess::of(&served.group, info.kind, environment));
    let generic = Generic::new(spec, store)
        .with_strategy(Arc::new(strategy))
        .with_clock(environment.clock.clone());
    // A kind that is served in two groups or versions is stored in one, and errors name that one.
    let Some(stored) = convert::storage_version(&served.group, info.kind) else {
        return generic;
    };
    let generic = generic
        .with_collection(collection(stored.0, info.plural))
        .with_kind_in_errors(GroupKind::new(stored.0, info.kind));
    if (served.group.as_str(), served.version.as_str()) == stored {
        return generic;
    }
    generic.with_converter(Arc::new(converter::Between {
        served,
        stored,
        kind: info.kind,
    }))
}

fn subresource(kind: &BuiltInKind<'_>, info: &SubresourceInfo) -> Option<Subresource> {
    let handlers = subresources::handlers(kind, info)?;
    let own = info.kind == kind.info.kind && info.kind_group.is_none();
    let speaks = if own {
        SubresourceKind::Parent
    } else {
        let gvk = GroupVersionKind::new(
            info.kind_group.unwrap_or(&kind.kind.group),
            info.kind_version.unwrap_or(&kind.kind.version),
            info.kind,
        );
        let shape = info.ty.map_or(Shape::Untyped, Shape::Typed);
        SubresourceKind::Other(gvk, shape)
    };
    let reset: &[&str] = match info.name {
        "status" => kind.rules.reset_fields_status,
        "approval" => certificate_signing_request::RESET_FIELDS_APPROVAL,
        _ if own => kind.rules.reset_fields,
        _ => &[],
    };
    let field_manager = match &speaks {
        SubresourceKind::Parent => {
            let shape = Shape::Typed(kind.info.ty);
            let manager = FieldManager::new(&kind.kind, shape, info.name, reset);
            Some(Arc::new(
                manager.with_versions(versions(&kind.kind.group, kind.info.kind)),
            ))
        }
        SubresourceKind::Other(gvk, shape) if info.name == "scale" => Some(Arc::new(
            FieldManager::new(gvk, *shape, info.name, &["status"]),
        )),
        SubresourceKind::Other(gvk, shape)
            if matches!(info.name, "binding" | "eviction" | "token") =>
        {
            Some(Arc::new(FieldManager::new(gvk, *shape, info.name, &[])))
        }
        SubresourceKind::Other(..) => None,
    };
    let default = match &speaks {
        SubresourceKind::Parent => None,
        SubresourceKind::Other(gvk, _) => Some(defaulter(rules(&gvk.group, &gvk.kind))),
    };
    let clock = &kind.environment.clock;
    let table = match (&speaks, info.name) {
        (SubresourceKind::Other(gvk, _), _) if gvk.kind == "Scale" => Some(scale_table(clock)),
        (SubresourceKind::Parent, "status") if kind.rules.status_has_table => {
            let table = Printed::new(&kind.kind.group, kind.info.kind, clock.clone());
            Some(Arc::new(table) as Arc<dyn Table>)
        }
        _ => None,
    };
    Some(Subresource {
        object: None,
        default,
        field_manager,
        table,
        name: info.name.to_owned(),
        kind: speaks,
        verbs: owned(info.verbs),
        handlers,
    })
}

fn defaulter(rules: &'static KindRules) -> Defaulter {
    Arc::new(move |object| {
        (rules.default)(object);
        Ok(())
    })
}

/// Returns the columns of every `scale`.
fn scale_table(clock: &SharedClock) -> Arc<dyn Table> {
    Arc::new(Printed::new("autoscaling", "Scale", clock.clone()))
}

impl BuiltInKind<'_> {
    /// Returns the registry with the rules of another endpoint.
    pub(crate) fn at(&self, endpoint: Endpoint) -> Generic {
        let strategy = BuiltIn::new(self.rules, endpoint, self.environment);
        self.generic.clone().with_strategy(Arc::new(strategy))
    }
}

/// Returns the conversion between the versions of a kind that is served in several.
fn versions(group: &str, kind: &'static str) -> Option<ConvertVersion> {
    convert::storage_version(group, kind)?;
    Some(Arc::new(move |object, api_version| {
        let given = GroupVersion::parse(object["apiVersion"].as_str()?)?;
        let from = (given.group.as_str(), given.version.as_str());
        let wanted = GroupVersion::parse(api_version)?;
        let ty = kubewright_catalog::kind_type(&wanted.group, &wanted.version, kind)?;
        let to = (wanted.group.as_str(), wanted.version.as_str());
        let object = convert::convert(object.clone(), from, to, kind);
        let object = kubewright_schema::normalize_typed(object, ty).ok()?;
        Some((object, Shape::Typed(ty)))
    }))
}

fn selectable(info: &ResourceInfo) -> Selectable {
    Selectable::new(info.field_labels.iter().map(|label| SelectableField {
        label: label.label.into(),
        paths: label.paths.iter().map(|path| (*path).into()).collect(),
        default: label.default.into(),
    }))
}

/// Returns the selectable fields of a built-in resource.
pub(crate) fn selectable_of(group: &str, version: &str, plural: &str) -> Selectable {
    kubewright_catalog::resource(group, version, plural)
        .map(selectable)
        .unwrap_or_default()
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
