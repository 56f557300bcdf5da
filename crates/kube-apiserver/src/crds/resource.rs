//! From a definition to the resources that are served.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_apiserver::{
    managed::{FieldManager, scale::ReplicasPaths},
    object::{Selectable, SelectableField},
    registry::{
        Custom, Resource, Shape, Subresource, SubresourceKind,
        generic::{Generic, GenericOptions},
        resource::PatchTypes,
    },
};
use kubewright_catalog::generated::autoscaling_v1::SCALE;
use kubewright_machinery::gvk::{GroupResource, GroupVersionKind};
use kubewright_schema::structural::{
    ConformOptions, Structural, apply_defaults, conform, conform_metadata,
};
use ring::digest::{SHA256, digest};
use serde_json::Value;
use tokio::sync::watch;

use super::{
    convert::{Conversion, Schemas, Versioned},
    definition::{Definition, Version},
    instances::Instances,
    scale::Scale,
    strategy::{Main, Rules, StatusOnly},
    table::Columns,
};
use crate::{
    kinds::{Environment, collection, scale_table},
    scaling,
};

/// The resources of a definition: one for each version that is served.
pub(super) fn resources(
    environment: &Environment,
    definition: &Definition,
    conversion: &Arc<dyn Conversion>,
    watched: &watch::Sender<()>,
) -> Vec<Arc<Resource>> {
    let parts = Parts::new(environment, definition, conversion, watched);
    let served = definition.versions.iter().filter(|version| version.served);
    served
        .map(|version| Arc::new(parts.resource(version)))
        .collect()
}

/// The objects of a definition in the version they are stored in, which need not be served.
pub(super) fn instances(
    environment: &Environment,
    definition: &Definition,
    conversion: &Arc<dyn Conversion>,
    watched: &watch::Sender<()>,
) -> Option<Instances> {
    let is_storage = |version: &&Version| version.name == definition.storage;
    let version = definition.versions.iter().find(is_storage)?;
    let parts = Parts::new(environment, definition, conversion, watched);
    let resource = parts.resource(version);
    let kind = GroupVersionKind::new(&definition.group, &version.name, &definition.names.kind);
    Some(Instances {
        objects: parts.generic(&kind, version, &resource),
        resource: Arc::new(resource),
    })
}

/// What the versions of a definition share.
struct Parts<'a> {
    environment: &'a Environment,
    definition: &'a Definition,
    schemas: Schemas,
    replicas: ReplicasPaths,
    conversion: &'a Arc<dyn Conversion>,
    watched: &'a watch::Sender<()>,
}

/// What is known about a declared kind.
struct Declared {
    group: String,
    kind: String,
    list_kind: String,
    schema: Arc<Structural>,
}

impl Custom for Declared {
    fn list_kind(&self) -> &str {
        &self.list_kind
    }

    fn conform(&self, object: &mut Value, track: bool) -> Result<Vec<String>, String> {
        let options = ConformOptions {
            track,
            drop_invalid: false,
        };
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        if object["kind"] != self.kind || group != self.group {
            return conform_metadata(object, options);
        }
        conform(object, &self.schema, options)
    }
}

impl<'a> Parts<'a> {
    fn new(
        environment: &'a Environment,
        definition: &'a Definition,
        conversion: &'a Arc<dyn Conversion>,
        watched: &'a watch::Sender<()>,
    ) -> Self {
        let api_version = |version: &Version| format!("{}/{}", definition.group, version.name);
        let schemas: Vec<(String, Arc<Structural>)> = definition
            .versions
            .iter()
            .map(|version| (api_version(version), version.schema.clone()))
            .collect();
        let mut replicas = ReplicasPaths::default();
        for version in &definition.versions {
            let path = version
                .scale
                .as_ref()
                .map(|scale| scale.spec_replicas.as_str());
            replicas.add(&api_version(version), path);
        }
        Self {
            environment,
            definition,
            schemas: schemas.into(),
            replicas,
            conversion,
            watched,
        }
    }

    fn resource(&self, version: &Version) -> Resource {
        let definition = self.definition;
        let (names, clock) = (&definition.names, &self.environment.clock);
        let kind = GroupVersionKind::new(&definition.group, &version.name, &names.kind);
        let mut resource = Resource::new(kind.clone(), &names.plural, definition.namespaced);
        resource.singular = names.singular.clone();
        resource.short_names = names.short_names.clone();
        resource.categories = names.categories.clone();
        resource.storage_version_hash = self.storage_version_hash();
        resource.verbs = owned(&[
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch",
        ]);
        resource.selectable = Arc::new(selectable(version));
        resource.table = Arc::new(Columns::new(&version.columns, clock.clone()));
        resource.patches = PatchTypes::WithApply;
        resource.clock = clock.clone();
        resource.deprecation = version.deprecation.clone();
        resource.openapi = Some(version.document.clone());
        resource.custom = Some(Arc::new(Declared {
            group: definition.group.clone(),
            kind: names.kind.clone(),
            list_kind: names.list_kind.clone(),
            schema: version.schema.clone(),
        }));
        resource.default = Some(self.defaults(version));
        resource.managed = Some(Arc::new(self.field_manager(
            &kind,
            "",
            if version.has_status { &["status"] } else { &[] },
        )));
        let namespaced = definition.namespaced;
        resource.field_label = Some(Arc::new(move |label| match label {
            "metadata.namespace" if namespaced => Ok(()),
            label => Err(format!("field label not supported: {label}")),
        }));
        let generic = self.generic(&kind, version, &resource);
        resource.handlers = generic.clone().handlers();
        self.add_subresources(&mut resource, &kind, version, &generic);
        resource
    }

    fn generic(&self, kind: &GroupVersionKind, version: &Version, resource: &Resource) -> Generic {
        let definition = self.definition;
        let stored = format!("{}/{}", definition.group, definition.storage);
        let converter = Versioned {
            schemas: self.schemas.clone(),
            served: kind.api_version(),
            mark: if version.name == definition.storage {
                version.mark
            } else {
                0
            },
            stored,
            conversion: self.conversion.clone(),
        };
        Generic::new(GenericOptions {
            store: self.environment.store.clone(),
            collection: collection(&definition.group, &definition.names.plural),
            resource: GroupResource::new(&definition.group, &definition.names.plural),
            kind: kind.clone(),
            namespaced: definition.namespaced,
            shape: Shape::Untyped,
            selectable: resource.selectable.clone(),
            strategy: Arc::new(Main(Arc::new(self.rules(kind, version)))),
            converter: Some(Arc::new(converter)),
            clock: self.environment.clock.clone(),
        })
        .until(self.watched.subscribe())
    }

    fn rules(&self, kind: &GroupVersionKind, version: &Version) -> Rules {
        let definition = self.definition;
        Rules {
            kind: kind.clone(),
            resource: GroupResource::new(&definition.group, &definition.names.plural),
            namespaced: definition.namespaced,
            schema: version.schema.clone(),
            cel: version.rules.clone(),
            has_status: version.has_status,
            stored: version.name == definition.storage,
            scale: version.scale.clone(),
            terminating: definition.terminating,
        }
    }

    fn add_subresources(
        &self,
        resource: &mut Resource,
        kind: &GroupVersionKind,
        version: &Version,
        generic: &Generic,
    ) {
        let verbs = owned(&["get", "patch", "update"]);
        if version.has_status {
            let strategy = StatusOnly(Arc::new(self.rules(kind, version)));
            resource.subresources.push(Subresource {
                name: "status".into(),
                kind: SubresourceKind::Parent,
                verbs: verbs.clone(),
                handlers: generic
                    .with_strategy(Arc::new(strategy))
                    .subresource_handlers(),
                managed: Some(Arc::new(self.field_manager(
                    kind,
                    "status",
                    &["metadata", "spec"],
                ))),
                table: Some(resource.table.clone()),
            });
        }
        if let Some(paths) = &version.scale {
            let scale = GroupVersionKind::new("autoscaling", "v1", "Scale");
            let handlers = Scale {
                parents: generic.clone(),
                api_version: kind.api_version(),
                resource: resource.group_resource(),
                paths: paths.clone(),
                replicas: self.replicas.clone(),
            };
            let manager = FieldManager::new(&scale, Shape::Typed(&SCALE), "scale", &[])
                .with_failing_apply(
                    "request to convert CR to an invalid group/version: autoscaling/v1",
                );
            resource.subresources.push(Subresource {
                name: "scale".into(),
                kind: SubresourceKind::Other(scale, Shape::Typed(&SCALE)),
                verbs,
                handlers: scaling::handlers(handlers),
                managed: Some(Arc::new(manager)),
                table: Some(scale_table(generic.clock())),
            });
        }
    }

    fn field_manager(
        &self,
        kind: &GroupVersionKind,
        subresource: &str,
        reset: &[&str],
    ) -> FieldManager {
        FieldManager::new(kind, Shape::Untyped, subresource, reset)
            .with_declared(self.schemas.clone())
    }

    /// Fills in defaults, of objects of the kind and no others.
    fn defaults(&self, version: &Version) -> kubewright_apiserver::registry::resource::Defaulter {
        let (schema, kind) = (version.schema.clone(), self.definition.names.kind.clone());
        Arc::new(move |object| {
            if object["kind"] == kind {
                apply_defaults(object, &schema);
            }
        })
    }

    fn storage_version_hash(&self) -> String {
        let definition = self.definition;
        let text = format!(
            "{}/{}/{}",
            definition.group, definition.storage, definition.names.kind
        );
        STANDARD.encode(&digest(&SHA256, text.as_bytes()).as_ref()[..8])
    }
}

fn selectable(version: &Version) -> Selectable {
    Selectable::new(version.selectable.iter().map(|path| SelectableField {
        label: path.as_str().into(),
        paths: [path.as_str().into()].into(),
        default: "".into(),
    }))
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
