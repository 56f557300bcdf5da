//! From the catalog to resources: every built-in kind over the generic registry.

mod converter;
pub mod namespaces;
mod services;
pub(crate) mod strategy;
mod table;

use std::sync::Arc;

use kubewright_apiserver::{
    auth::{Authenticator, Authorizer},
    clock::SharedClock,
    managed::{FieldManager, SeeAs},
    object::{Selectable, SelectableField},
    registry::{
        Registry, RegistryBuilder, Resource, Shape, Subresource, SubresourceKind, Table,
        generic::{Generic, GenericOptions},
        resource::PatchTypes,
    },
};
use kubewright_builtins::{KindRules, convert, rules};
use kubewright_catalog::resource::{ResourceInfo, SubresourceInfo};
use kubewright_machinery::gvk::{GroupKind, GroupResource, GroupVersion, GroupVersionKind};
use kubewright_store::Store;

use crate::{crds::in_process::Conversions, reviews, service_range::ServiceRange, subresources};
use strategy::{BuiltIn, Endpoint};

/// What the built-in kinds need of their surroundings.
#[derive(Clone)]
pub struct Environment {
    /// Where objects live.
    pub store: Arc<dyn Store>,
    /// The time.
    pub clock: SharedClock,
    /// Who is who, for token reviews.
    pub authenticator: Arc<dyn Authenticator>,
    /// Who may what, for access reviews.
    pub authorizer: Arc<dyn Authorizer>,
    /// Where cluster IPs come from.
    pub service_range: ServiceRange,
    /// What converts in this process.
    pub conversions: Conversions,
}

/// The resources whose `status` cannot be shown as a table.
const STATUS_WITHOUT_TABLE: [&str; 3] =
    ["apiservices", "customresourcedefinitions", "resourceclaims"];

/// A built-in kind as it is being put together.
pub(crate) struct BuiltInKind<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) kind: GroupVersionKind,
    pub(crate) info: &'static ResourceInfo,
    pub(crate) rules: &'static KindRules,
    pub(crate) generic: Generic,
}

/// Every kind of the catalog.
pub fn registry(environment: &Environment) -> Registry {
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

/// Where the objects of a resource live.
pub(crate) fn collection(group: &str, plural: &str) -> Arc<str> {
    match (group, plural) {
        ("", plural) => plural.into(),
        // One object, seen two ways.
        ("events.k8s.io", "events") => "events".into(),
        (group, plural) => format!("{group}/{plural}").into(),
    }
}

fn resource(
    environment: &Environment,
    group: &'static str,
    version: &'static str,
    info: &'static ResourceInfo,
) -> Resource {
    let kind = GroupVersionKind::new(
        info.kind_group.unwrap_or(group),
        info.kind_version.unwrap_or(version),
        info.kind,
    );
    let rules = rules(group, info.kind);
    let mut resource = Resource::new(kind.clone(), info.plural, info.namespaced);
    resource.group_version = GroupVersion::new(group, version);
    resource.singular = info.singular.to_owned();
    resource.short_names = owned(info.short_names);
    resource.categories = owned(info.categories);
    resource.storage_version_hash = info.storage_version_hash.to_owned();
    resource.verbs = owned(info.verbs);
    resource.shape = Shape::Typed(info.ty);
    resource.bare_items = true;
    resource.patches = PatchTypes::All;
    resource.selectable = Arc::new(selectable(info));
    resource.table = Arc::new(table::Printed::new(
        group,
        info.kind,
        environment.clock.clone(),
    ));
    resource.default = Some(Arc::new(rules.default));
    resource.deprecation = deprecation(group, info.kind).map(str::to_owned);
    resource.clock = environment.clock.clone();
    resource.managed = Some(Arc::new(
        FieldManager::new(&kind, resource.shape, "", rules.reset_fields)
            .with_versions(versions(group, info.kind)),
    ));
    resource.field_label = Some(Arc::new(move |label| {
        kubewright_catalog::field_labels::find(group, version, info, label).map(|_| ())
    }));
    if let Some(handlers) = reviews::handlers(environment, group, info) {
        resource.handlers = handlers;
        return resource;
    }
    let is_service = group.is_empty() && info.plural == "services";
    let services = is_service.then(|| services::Services::new(environment));
    let stored = convert::storage_version(group, info.kind);
    let converter = stored
        .filter(|stored| *stored != (group, version))
        .map(|stored| {
            Arc::new(converter::Between {
                served: (group, version),
                stored,
                kind: info.kind,
            }) as _
        });
    let generic = Generic::new(GenericOptions {
        store: environment.store.clone(),
        collection: collection(group, info.plural),
        resource: GroupResource::new(group, info.plural),
        kind: kind.clone(),
        namespaced: info.namespaced,
        shape: resource.shape,
        selectable: resource.selectable.clone(),
        strategy: Arc::new(
            BuiltIn::new(group, info.kind, rules, Endpoint::main(rules))
                .with_services(services)
                .with_clock(info.kind, &environment.clock),
        ),
        converter,
        clock: environment.clock.clone(),
    });
    // Both groups of events are one kind to the real server.
    let generic = match (group, info.kind) {
        ("events.k8s.io", "Event") => generic.named_in_errors(GroupKind::new("", "Event")),
        _ => generic,
    };
    let built_in = BuiltInKind {
        environment,
        kind,
        info,
        rules,
        generic,
    };
    resource.handlers = built_in.generic.clone().handlers();
    subresources::special_handlers(&built_in, &mut resource);
    resource.subresources = info
        .subresources
        .iter()
        .filter_map(|s| subresource(&built_in, s))
        .collect();
    resource
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
        _ if own => kind.rules.reset_fields,
        _ => &[],
    };
    let managed = match &speaks {
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
        SubresourceKind::Other(..) => None,
    };
    let clock = &kind.environment.clock;
    let table = match (&speaks, info.name) {
        (SubresourceKind::Other(gvk, _), _) if gvk.kind == "Scale" => Some(scale_table(clock)),
        (SubresourceKind::Parent, "status")
            if !STATUS_WITHOUT_TABLE.contains(&kind.info.plural) =>
        {
            let table = table::Printed::new(&kind.kind.group, kind.info.kind, clock.clone());
            Some(Arc::new(table) as Arc<dyn Table>)
        }
        _ => None,
    };
    Some(Subresource {
        managed,
        table,
        name: info.name.to_owned(),
        kind: speaks,
        verbs: owned(info.verbs),
        handlers,
    })
}

/// The columns of every `scale`.
pub(crate) fn scale_table(clock: &SharedClock) -> Arc<dyn Table> {
    Arc::new(table::Printed::new("autoscaling", "Scale", clock.clone()))
}

impl BuiltInKind<'_> {
    /// The same objects under the rules of another endpoint.
    pub(crate) fn at(&self, endpoint: Endpoint) -> Generic {
        let strategy = BuiltIn::new(&self.kind.group, &self.kind.kind, self.rules, endpoint)
            .with_clock(&self.kind.kind, &self.environment.clock);
        self.generic.with_strategy(Arc::new(strategy))
    }
}

/// What every request of a deprecated kind is warned of.
fn deprecation(group: &str, kind: &str) -> Option<&'static str> {
    match (group, kind) {
        ("", "Endpoints") => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        }
        ("", "ComponentStatus") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        _ => None,
    }
}

/// The other versions of a kind that is served in several.
fn versions(group: &str, kind: &'static str) -> Option<SeeAs> {
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

/// The selectable fields of a built-in resource.
pub(crate) fn selectable_of(group: &str, version: &str, plural: &str) -> Selectable {
    kubewright_catalog::resource(group, version, plural)
        .map(selectable)
        .unwrap_or_default()
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
