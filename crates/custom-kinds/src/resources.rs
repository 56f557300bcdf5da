//! [`CustomResources`]: the resources of a kind, built from its definition.

use std::{collections::HashMap, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use kubewright_apiserver::{
    FieldManager, ReplicasPaths, Selectable, SelectableField, SharedClock, SystemClock,
    registry::{
        BlockingPool, Custom, Defaulter, Generic, Handlers, Printed, Resource, ResourceSpec, Shape,
        Subresource, UnknownFields, Versions, scale_handlers,
    },
};
use kubewright_catalog::generated::autoscaling_v1::SCALE;
use kubewright_machinery::gvk::{GroupResource, GroupVersionKind};
use kubewright_protobuf::DeclaredType;
use kubewright_schema::structural::{
    ConformOptions, StatusWrites, Structural, apply_defaults, conform, conform_metadata, prune,
};
use kubewright_store::Store;
use ring::digest::{SHA256, digest};
use serde_json::Value;
use tokio::sync::watch;

use crate::{
    convert::{Conversion, Convertible, Renamed, Schemas, Versioned},
    definition::{Definition, Version},
    scale::Scale,
    strategy::{GracePeriod, Main, Rules, StatusOnly},
    table::Columns,
    versions::CustomVersions,
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

/// Replaces the handlers of a version.
type HandlersOf = dyn Fn(&Generic, Handlers) -> Handlers + Send + Sync;

/// Builds the resources of a kind from its [`Definition`], over a store.
///
/// Each served version is a [`Resource`] with validation and defaulting by its schema, printer columns, selectable fields,
/// managed fields, and `status` and `scale` if the version has them.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_custom_kinds::{CustomResources, Definition};
/// use kubewright_store::MemoryStore;
/// use serde_json::json;
///
/// let comets = Definition::read(&json!({"spec": {
///     "group": "sky.example.com",
///     "scope": "Cluster",
///     "names": {"plural": "comets", "singular": "comet", "kind": "Comet", "listKind": "CometList"},
///     "versions": [{
///         "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
///         "schema": {"openAPIV3Schema": {"type": "object"}},
///     }],
/// }}))?;
/// let resources = CustomResources::new(&comets, Arc::new(MemoryStore::new())).served();
/// assert_eq!(resources[0].spec().plural, "comets");
/// assert!(resources[0].subresource("status").is_some());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct CustomResources<'a> {
    definition: &'a Definition,
    store: Arc<dyn Store>,
    clock: SharedClock,
    conversion: Arc<dyn Conversion>,
    watched: Option<watch::Receiver<()>>,
    handlers: Option<Arc<HandlersOf>>,
    grace_period: Option<Arc<GracePeriod>>,
    protobuf: HashMap<String, DeclaredType>,
    validation_pool: BlockingPool,
}

impl<'a> CustomResources<'a> {
    /// Builds resources whose objects are in a store, and whose versions differ only in `apiVersion`.
    pub fn new(definition: &'a Definition, store: Arc<dyn Store>) -> Self {
        Self {
            definition,
            store,
            clock: Arc::new(SystemClock),
            conversion: Arc::new(Renamed),
            watched: None,
            handlers: None,
            grace_period: None,
            protobuf: HashMap::new(),
            validation_pool: BlockingPool::new(1),
        }
    }

    /// Sets the clock (default: the system clock).
    #[must_use]
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the conversion between versions.
    #[must_use]
    pub fn conversion(mut self, conversion: Arc<dyn Conversion>) -> Self {
        self.conversion = conversion;
        self
    }

    /// Ends all watches when the sender is dropped, because the kind is no longer served.
    #[must_use]
    pub fn watches_until(mut self, watched: &watch::Sender<()>) -> Self {
        self.watched = Some(watched.subscribe());
        self
    }

    /// Replaces the handlers of each version. The function receives the generic registry of the version and its handlers.
    /// Discovery lists the verbs that have a handler.
    #[must_use]
    pub fn handlers(
        mut self,
        handlers: impl Fn(&Generic, Handlers) -> Handlers + Send + Sync + 'static,
    ) -> Self {
        self.handlers = Some(Arc::new(handlers));
        self
    }

    /// Deletes objects gracefully. The function returns the grace period in seconds, from the object and the requested period. By
    /// default, objects are deleted immediately.
    #[must_use]
    pub fn grace_period(
        mut self,
        period: impl Fn(&Value, Option<i64>) -> i64 + Send + Sync + 'static,
    ) -> Self {
        self.grace_period = Some(Arc::new(period));
        self
    }

    /// Serves and accepts protobuf in these versions. By default, objects are JSON or YAML.
    #[must_use]
    pub fn protobuf(mut self, types: HashMap<String, DeclaredType>) -> Self {
        self.protobuf = types;
        self
    }

    /// Sets the pool that validates large objects and evaluates expensive rules (default: one thread of its own).
    #[must_use]
    pub fn validation_pool(mut self, pool: BlockingPool) -> Self {
        self.validation_pool = pool;
        self
    }

    /// Returns a resource for each served version.
    pub fn served(&self) -> Vec<Resource> {
        let parts = Parts::new(self);
        let served = self.definition.versions.iter().filter(|v| v.served);
        served
            .map(|version| parts.resource(version, &parts.generic(version)))
            .collect()
    }

    /// Returns the registry and the resource of the stored version, which need not be served.
    pub fn stored(&self) -> Option<(Generic, Resource)> {
        let versions = &self.definition.versions;
        let version = versions
            .iter()
            .find(|version| version.name == self.definition.storage)?;
        let parts = Parts::new(self);
        let objects = parts.generic(version);
        let resource = parts.resource(version, &objects);
        Some((objects, resource))
    }
}

/// The parts that are shared by the versions of a kind.
struct Parts<'a> {
    setup: &'a CustomResources<'a>,
    crd: &'a Definition,
    schemas: Schemas,
    replicas: ReplicasPaths,
    convertible: Arc<Convertible>,
}

/// The schema of a custom resource in one version.
struct Schema {
    group: String,
    kind: String,
    list_kind: String,
    schema: Arc<Structural>,
    protobuf: Option<DeclaredType>,
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

    fn protobuf(&self) -> Option<&DeclaredType> {
        self.protobuf.as_ref()
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
    /// Reports whether an object has the kind, in any version.
    fn is_of(&self, object: &Value) -> bool {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        object["kind"] == self.kind && group == self.group
    }
}

impl<'a> Parts<'a> {
    fn new(setup: &'a CustomResources<'a>) -> Self {
        let crd = setup.definition;
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
            setup,
            crd,
            convertible: Arc::new(Convertible {
                schemas: schemas.clone(),
                conversion: setup.conversion.clone(),
            }),
            schemas,
            replicas,
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
            selectable: selectable(version),
            deprecation: version.deprecation.clone(),
            openapi: Some(version.document.clone()),
            ..ResourceSpec::new(kind, &names.plural)
        }
    }

    fn resource(&self, version: &Version, generic: &Generic) -> Resource {
        let (crd, clock) = (self.crd, &self.setup.clock);
        let kind = &generic.spec().kind;
        let reset: &[&str] = if version.has_status { &["status"] } else { &[] };
        let namespaced = crd.namespaced;
        let resource = self
            .main(generic)
            .with_clock(clock.clone())
            .with_table(Arc::new(Columns::new(&version.columns, clock.clone())))
            .with_custom(Arc::new(Schema {
                group: crd.group.clone(),
                kind: crd.names.kind.clone(),
                list_kind: crd.names.list_kind.clone(),
                schema: version.schema.clone(),
                protobuf: self.setup.protobuf.get(&version.name).cloned(),
            }))
            .with_defaults(self.defaults(version))
            .with_field_manager(self.field_manager(kind, "", reset))
            .with_field_label_check(Arc::new(move |label| match label {
                "metadata.namespace" if namespaced => Ok(()),
                label => Err(format!("field label not supported: {label}")),
            }));
        let resource = match self.versions() {
            Some(versions) => resource.with_versions(versions),
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
        let generic = Generic::new(spec, self.setup.store.clone())
            .with_strategy(Arc::new(strategy))
            .with_converter(Arc::new(converter))
            .with_clock(self.setup.clock.clone());
        match &self.setup.watched {
            Some(watched) => generic.with_watches_until(watched.clone()),
            None => generic,
        }
    }

    /// Returns the resource with its handlers, and the verbs that they support.
    fn main(&self, generic: &Generic) -> Resource {
        let mut handlers = generic.clone().handlers();
        if let Some(replace) = &self.setup.handlers {
            handlers = replace(generic, handlers);
        }
        let supported = handlers.verbs();
        let verbs = VERBS
            .into_iter()
            .filter(|v| supported.iter().any(|s| s == v));
        let spec = ResourceSpec {
            verbs: verbs.map(str::to_owned).collect(),
            ..(**generic.spec()).clone()
        };
        Resource::computed(spec, handlers)
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
            grace_period: self.setup.grace_period.clone(),
            validation_pool: self.setup.validation_pool.clone(),
        }
    }

    /// Adds `status` and `scale`, with those of their verbs that the kind itself has.
    fn add_subresources(
        &self,
        mut resource: Resource,
        version: &Version,
        generic: &Generic,
    ) -> Resource {
        let kind = &generic.spec().kind;
        let supported = resource.spec().verbs.clone();
        let supports = |verb: &str| supported.iter().any(|v| v == verb);
        if !supports("get") {
            return resource;
        }
        let verbs = ["get", "patch", "update"];
        let verbs: Vec<&str> = verbs.into_iter().filter(|verb| supports(verb)).collect();
        let limited = |handlers: Handlers| Handlers {
            update: handlers.update.filter(|_| supports("update")),
            ..handlers
        };
        if version.has_status {
            let strategy = StatusOnly(Arc::new(self.rules(kind, version)));
            let handlers = generic.clone().with_strategy(Arc::new(strategy));
            let handlers = limited(handlers.subresource_handlers());
            let manager = self.field_manager(kind, "status", &["metadata", "spec"]);
            let table = resource.table().clone();
            resource = resource.with_subresource(
                Subresource::new("status", handlers)
                    .with_verbs(verbs.iter().copied())
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
                Subresource::new("scale", limited(scale_handlers(handlers)))
                    .with_kind(scale, Shape::Typed(&SCALE))
                    .with_verbs(verbs)
                    .with_field_manager(manager)
                    .with_table(Arc::new(Printed::new(
                        "autoscaling",
                        "Scale",
                        generic.clock().clone(),
                    ))),
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
            .with_custom_versions(self.schemas.clone(), self.versions())
    }

    /// Returns the versions, if there are several.
    fn versions(&self) -> Option<Arc<dyn Versions>> {
        let versions = CustomVersions::of(self.crd, &self.convertible)?;
        Some(Arc::new(versions))
    }

    /// Returns the function that sets defaults. It skips objects of other kinds.
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
