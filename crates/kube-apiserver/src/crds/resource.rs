//! Resources built from a CRD.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_apiserver::{
    FieldManager, ReplicasPaths, Selectable, SelectableField,
    registry::{
        Custom, Defaulter, Generic, Resource, ResourceSpec, Shape, Subresource, UnknownFields,
    },
};
use kubewright_catalog::generated::autoscaling_v1::SCALE;
use kubewright_machinery::gvk::{GroupResource, GroupVersionKind};
use kubewright_schema::structural::{
    ConformOptions, StatusWrites, Structural, apply_defaults, conform, conform_metadata, prune,
};
use ring::digest::{SHA256, digest};
use serde_json::Value;
use tokio::sync::watch;

use super::{
    convert::{Conversion, Convertible, Schemas, Versioned},
    crd::{Crd, Version},
    instances::Instances,
    scale::Scale,
    strategy::{Main, Rules, StatusOnly},
    table::Columns,
    versions::CustomVersions,
};
use crate::{
    kinds::{Environment, scale_table},
    scaling,
};

/// The verbs of a custom resource, in the order of discovery.
const VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

/// Returns the resources of a CRD: one for each version that is served.
pub(super) fn resources(
    environment: &Environment,
    crd: &Crd,
    conversion: &Arc<dyn Conversion>,
    watched: &watch::Sender<()>,
) -> Vec<Arc<Resource>> {
    let parts = Parts::new(environment, crd, conversion, watched);
    let served = crd.versions.iter().filter(|version| version.served);
    served
        .map(|version| Arc::new(parts.resource(version, &parts.generic(version))))
        .collect()
}

/// Returns the objects of a CRD in the stored version, which need not be served.
pub(super) fn instances(
    environment: &Environment,
    crd: &Crd,
    conversion: &Arc<dyn Conversion>,
    watched: &watch::Sender<()>,
) -> Option<Instances> {
    let is_storage = |version: &&Version| version.name == crd.storage;
    let version = crd.versions.iter().find(is_storage)?;
    let parts = Parts::new(environment, crd, conversion, watched);
    let objects = parts.generic(version);
    Some(Instances {
        resource: Arc::new(parts.resource(version, &objects)),
        objects,
    })
}

/// The parts that the versions of a CRD share.
struct Parts<'a> {
    environment: &'a Environment,
    crd: &'a Crd,
    schemas: Schemas,
    replicas: ReplicasPaths,
    convertible: Arc<Convertible>,
    watched: &'a watch::Sender<()>,
}

/// The schema of a custom resource in one version.
struct Schema {
    group: String,
    kind: String,
    list_kind: String,
    schema: Arc<Structural>,
}

impl Custom for Schema {
    fn list_kind(&self) -> &str {
        &self.list_kind
    }

    fn prune(&self, object: &mut Value, unknown: UnknownFields) -> Result<Vec<String>, String> {
        let options = ConformOptions {
            track: unknown == UnknownFields::Report,
            drop_invalid: false,
        };
        match self.is_of(object) {
            true => conform(object, &self.schema, options),
            false => conform_metadata(object, options),
        }
    }

    fn prune_mutated(&self, object: &mut Value) {
        let options = ConformOptions {
            track: false,
            drop_invalid: true,
        };
        // Dropping invalid metadata never fails.
        let _ = conform_metadata(object, options);
        if self.is_of(object) {
            prune(object, &self.schema, None);
        }
    }
}

impl Schema {
    /// Reports whether an object is of the kind, in any version.
    fn is_of(&self, object: &Value) -> bool {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        object["kind"] == self.kind && group == self.group
    }
}

impl<'a> Parts<'a> {
    fn new(
        environment: &'a Environment,
        crd: &'a Crd,
        conversion: &'a Arc<dyn Conversion>,
        watched: &'a watch::Sender<()>,
    ) -> Self {
        let api_version = |version: &Version| format!("{}/{}", crd.group, version.name);
        let schemas: Vec<(String, Arc<Structural>)> = crd
            .versions
            .iter()
            .map(|version| (api_version(version), version.schema.clone()))
            .collect();
        let mut replicas = ReplicasPaths::default();
        for version in &crd.versions {
            let path = version
                .scale
                .as_ref()
                .map(|scale| scale.spec_replicas.as_str());
            replicas.add(&api_version(version), path);
        }
        let schemas: Schemas = schemas.into();
        Self {
            environment,
            crd,
            convertible: Arc::new(Convertible {
                schemas: schemas.clone(),
                conversion: conversion.clone(),
            }),
            schemas,
            replicas,
            watched,
        }
    }

    fn spec(&self, version: &Version) -> ResourceSpec {
        let (crd, names) = (self.crd, &self.crd.names);
        let kind = GroupVersionKind::new(&crd.group, &version.name, &names.kind);
        ResourceSpec {
            singular: names.singular.clone(),
            namespaced: crd.namespaced,
            short_names: names.short_names.clone(),
            categories: names.categories.clone(),
            storage_version_hash: self.storage_version_hash(),
            verbs: VERBS.map(str::to_owned).to_vec(),
            selectable: selectable(version),
            deprecation: version.deprecation.clone(),
            openapi: Some(version.document.clone()),
            ..ResourceSpec::new(kind, &names.plural)
        }
    }

    fn resource(&self, version: &Version, generic: &Generic) -> Resource {
        let (crd, clock) = (self.crd, &self.environment.clock);
        let kind = &generic.spec().kind;
        let reset: &[&str] = if version.has_status { &["status"] } else { &[] };
        let namespaced = crd.namespaced;
        let resource = generic
            .clone()
            .into_resource()
            .with_table(Arc::new(Columns::new(&version.columns, clock.clone())))
            .with_custom(Arc::new(Schema {
                group: crd.group.clone(),
                kind: crd.names.kind.clone(),
                list_kind: crd.names.list_kind.clone(),
                schema: version.schema.clone(),
            }))
            .with_defaults(self.defaults(version))
            .with_field_manager(self.field_manager(kind, "", reset))
            .with_field_label_check(Arc::new(move |label| match label {
                "metadata.namespace" if namespaced => Ok(()),
                label => Err(format!("field label not supported: {label}")),
            }));
        let resource = match CustomVersions::of(crd, &self.convertible) {
            Some(versions) => resource.with_versions(Arc::new(versions)),
            None => resource,
        };
        self.add_subresources(resource, version, generic)
    }

    fn generic(&self, version: &Version) -> Generic {
        let crd = self.crd;
        let spec = self.spec(version);
        let converter = Versioned {
            versions: self.convertible.clone(),
            served: spec.kind.api_version(),
            mark: if version.name == crd.storage {
                version.mark
            } else {
                0
            },
            stored: format!("{}/{}", crd.group, crd.storage),
        };
        let strategy = Main(Arc::new(self.rules(&spec.kind, version)));
        Generic::new(spec, self.environment.store.clone())
            .with_strategy(Arc::new(strategy))
            .with_converter(Arc::new(converter))
            .with_clock(self.environment.clock.clone())
            .with_watches_until(self.watched.subscribe())
    }

    fn rules(&self, kind: &GroupVersionKind, version: &Version) -> Rules {
        let crd = self.crd;
        Rules {
            kind: kind.clone(),
            resource: GroupResource::new(&crd.group, &crd.names.plural),
            namespaced: crd.namespaced,
            schema: version.schema.clone(),
            cel: version.rules.clone(),
            status: match version.has_status {
                true => StatusWrites::Subresource,
                false => StatusWrites::Object,
            },
            stored: version.name == crd.storage,
            scale: version.scale.clone(),
            terminating: crd.terminating,
        }
    }

    fn add_subresources(
        &self,
        mut resource: Resource,
        version: &Version,
        generic: &Generic,
    ) -> Resource {
        let kind = &generic.spec().kind;
        let verbs = ["get", "patch", "update"];
        if version.has_status {
            let strategy = StatusOnly(Arc::new(self.rules(kind, version)));
            let handlers = generic.clone().with_strategy(Arc::new(strategy));
            let manager = self.field_manager(kind, "status", &["metadata", "spec"]);
            let table = resource.table().clone();
            resource = resource.with_subresource(
                Subresource::new("status", handlers.subresource_handlers())
                    .with_verbs(verbs)
                    .with_field_manager(manager)
                    .with_table(table),
            );
        }
        if let Some(paths) = &version.scale {
            let scale = GroupVersionKind::new("autoscaling", "v1", "Scale");
            let handlers = Scale {
                parents: generic.clone(),
                api_version: kind.api_version(),
                resource: generic.spec().group_resource(),
                paths: paths.clone(),
                replicas: self.replicas.clone(),
            };
            let manager = FieldManager::new(&scale, Shape::Typed(&SCALE), "scale", &[])
                .with_failing_apply(
                    "request to convert CR to an invalid group/version: autoscaling/v1",
                );
            resource = resource.with_subresource(
                Subresource::new("scale", scaling::handlers(handlers))
                    .with_kind(scale, Shape::Typed(&SCALE))
                    .with_verbs(verbs)
                    .with_field_manager(manager)
                    .with_table(scale_table(generic.clock())),
            );
        }
        resource
    }

    fn field_manager(
        &self,
        kind: &GroupVersionKind,
        subresource: &str,
        reset: &[&str],
    ) -> FieldManager {
        FieldManager::new(kind, Shape::Untyped, subresource, reset)
            .with_custom_versions(self.schemas.clone())
    }

    /// Returns the function that fills in defaults. It skips objects of another kind.
    fn defaults(&self, version: &Version) -> Defaulter {
        let (schema, kind) = (version.schema.clone(), self.crd.names.kind.clone());
        Arc::new(move |object| {
            if object["kind"] == kind {
                apply_defaults(object, &schema)?;
            }
            Ok(())
        })
    }

    fn storage_version_hash(&self) -> String {
        let crd = self.crd;
        let text = format!("{}/{}/{}", crd.group, crd.storage, crd.names.kind);
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
