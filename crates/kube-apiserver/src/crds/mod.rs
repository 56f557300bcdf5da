//! Custom resources: CustomResourceDefinitions (CRDs) and the kinds that they define.
//!
//! `Crds` wraps the handlers of CRDs. When a CRD is written, its names are accepted or not, it is established, and its
//! resources are served before the writer gets its response. When a CRD is deleted, its objects are deleted first.
//!
//! | module | contents |
//! |---|---|
//! | `conditions` | the conditions of its status |
//! | `handlers` | create, update and delete of CRDs |
//! | `cleanup`, `instances` | deletion of the objects of a CRD |
//! | `others` | CRDs that other servers of the same store write |
//! | `webhook`, `in_process` | conversion between versions |
//!
//! The resources themselves are built by `kubewright-custom-kinds`.
//!
//! Invariants: CRDs are processed one at a time; a registry is swapped in as a whole; the CRDs of the store are served from
//! the first request of the server.

mod cleanup;
mod conditions;
mod handlers;
mod in_process;
mod instances;
mod others;
mod webhook;

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock, Weak},
};

use kubewright_apiserver::{
    ApiServer, FieldManager, WeakApiServer,
    registry::{DryRun, Generic, Registry, RegistryBuilder, Resource, ResourceSpec, Shape},
    rfc3339,
};
use kubewright_catalog::generated::apiextensions_v1::CUSTOM_RESOURCE_DEFINITION;
use kubewright_custom_kinds::{Conversion, CustomResources, Definition, Names, Renamed};
use kubewright_machinery::{Status, gvk::GroupVersionKind, status, version::compare_kube_versions};
use kubewright_store::{Range, Store};
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};

use crate::{
    aggregation::Aggregation,
    kinds::{Environment, collection, selectable_of},
    outgoing::Outgoing,
};
pub use in_process::Conversions;

use conditions::Taken;
use instances::Instances;

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";
/// The field manager that writes the status of CRDs.
const MANAGER: &str = "kube-apiserver";

/// The CRDs of a server.
pub(crate) struct Crds {
    environment: Environment,
    /// The registry of CRDs, without the rules for clients.
    stored: Generic,
    status_manager: FieldManager,
    /// The built-in resources. The registry of the server owns them, and the handlers of one of them own this.
    built_in: OnceLock<Vec<Weak<Resource>>>,
    server: OnceLock<WeakApiServer>,
    aggregation: OnceLock<Arc<Aggregation>>,
    installed: Mutex<BTreeMap<String, Installed>>,
}

/// A CRD whose names are known.
struct Installed {
    group: String,
    accepted: Names,
    /// The parts of the CRD that its resources depend on.
    source: Source,
    resources: Vec<Arc<Resource>>,
    /// Keeps watches open. It is dropped when the CRD changes in a way that concerns them, or is deleted.
    watched: watch::Sender<()>,
}

#[derive(Clone, PartialEq, Eq)]
struct Source {
    uid: String,
    generation: i64,
    accepted: Names,
    terminating: bool,
    served: bool,
}

impl Source {
    /// Returns whether watches may continue. They do not depend on whether objects may be created.
    fn serves_the_same(&self, other: &Source) -> bool {
        *self
            == Source {
                terminating: self.terminating,
                ..other.clone()
            }
    }
}

impl Crds {
    /// Wraps the handlers of CRDs in a registry.
    pub(crate) fn install(environment: &Environment, registry: Registry) -> (Registry, Arc<Self>) {
        let kind = GroupVersionKind::new(GROUP, "v1", "CustomResourceDefinition");
        let shape = Shape::Typed(&CUSTOM_RESOURCE_DEFINITION);
        let spec = ResourceSpec {
            shape,
            selectable: selectable_of(GROUP, "v1", PLURAL),
            ..ResourceSpec::new(kind.clone(), PLURAL)
        };
        let this = Arc::new(Self {
            stored: Generic::new(spec, environment.store.clone())
                .with_clock(environment.clock.clone()),
            status_manager: FieldManager::new(&kind, shape, "status", &["spec"]),
            environment: environment.clone(),
            built_in: OnceLock::new(),
            server: OnceLock::new(),
            aggregation: OnceLock::new(),
            installed: Mutex::default(),
        });
        let mut all = Vec::new();
        for group in registry.groups() {
            for (_, resources) in &group.versions {
                for resource in resources {
                    let own = group.name == GROUP && resource.spec().plural == PLURAL;
                    all.push(if own {
                        Arc::new(handlers::wrap(&this, resource))
                    } else {
                        resource.clone()
                    });
                }
            }
        }
        let registry = assemble(&all, &BTreeMap::new());
        let _ = this.built_in.set(all.iter().map(Arc::downgrade).collect());
        (registry, this)
    }

    /// Serves the CRDs of the store.
    pub(crate) async fn start(
        self: &Arc<Self>,
        server: &ApiServer,
        aggregation: Arc<Aggregation>,
    ) -> Result<(), Status> {
        let _ = self.server.set(server.downgrade());
        let _ = self.aggregation.set(aggregation);
        let mut going = Vec::new();
        let mut installed = self.installed.lock().await;
        for crd in self.all().await? {
            let name = crd["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            if cleanup::is_due(&crd) {
                going.push(name.clone());
            }
            self.process(&mut installed, &name, Some(crd)).await?;
        }
        if !installed.is_empty() {
            self.publish(&installed).await?;
        }
        drop(installed);
        for name in going {
            cleanup::spawn(self, name);
        }
        Ok(())
    }

    /// Updates the status of a CRD and the served resources after it was written or deleted. This continues if the writer's
    /// request ends before, since the CRD is stored.
    async fn sync(self: &Arc<Self>, name: &str) -> Result<(), Status> {
        let (this, name) = (self.clone(), name.to_owned());
        let task = tokio::spawn(async move { this.update_served(&name).await });
        task.await.map_err(status::internal)?
    }

    async fn update_served(&self, name: &str) -> Result<(), Status> {
        let mut installed = self.installed.lock().await;
        let crd = self.read(name).await?;
        let mut changed = self.process(&mut installed, name, crd).await?;
        // Another CRD may be waiting for names that are free now.
        let waiting: Vec<String> = installed
            .iter()
            .filter(|(other, entry)| *other != name && !entry.source.served)
            .map(|(other, _)| other.clone())
            .collect();
        for other in waiting {
            let crd = self.read(&other).await?;
            changed |= self.process(&mut installed, &other, crd).await?;
        }
        if changed {
            self.publish(&installed).await?;
        }
        Ok(())
    }

    /// Processes one CRD. Returns whether the served resources changed.
    async fn process(
        &self,
        installed: &mut BTreeMap<String, Installed>,
        name: &str,
        crd: Option<Value>,
    ) -> Result<bool, Status> {
        let Some(mut crd) = crd else {
            return Ok(installed
                .remove(name)
                .is_some_and(|gone| gone.source.served));
        };
        let group = crd["spec"]["group"].as_str().unwrap_or_default().to_owned();
        let mut taken = Taken::default();
        let own = Names::read(&crd["status"]["acceptedNames"]);
        // The names that a CRD holds itself do not conflict with it.
        if own != Names::read(&crd["spec"]["names"]) {
            // A short name must differ from the plural, the singular and the other names of the CRD.
            taken.add(&own);
            for (_, entry) in installed
                .iter()
                .filter(|(other, e)| *other != name && e.group == group)
            {
                taken.add(&entry.accepted);
            }
        }
        let sound = webhook::ca_bundle_is_sound(&crd["spec"]["conversion"]);
        let now = rfc3339(self.environment.clock.now());
        let conditions_of = |crd: &mut Value| {
            let accepted = conditions::accept_names(crd, &taken, &now);
            let established = conditions::establish(crd, sound, &now);
            conditions::approve(crd, &now) || established || accepted
        };
        crd = self.update_status(name, crd, &conditions_of).await?;
        let accepted = Names::read(&crd["status"]["acceptedNames"]);
        let source = Source {
            uid: crd["metadata"]["uid"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            generation: crd["metadata"]["generation"].as_i64().unwrap_or_default(),
            accepted: accepted.clone(),
            terminating: conditions::is_true(&crd, "Terminating"),
            served: conditions::is_true(&crd, "NamesAccepted")
                || conditions::is_true(&crd, "Established"),
        };
        if installed
            .get(name)
            .is_some_and(|known| known.source == source)
        {
            return Ok(false);
        }
        let compiled = match source.served {
            true => self.known(crd).await?,
            false => None,
        };
        // Nothing below waits, so that a registry is never left without the CRD.
        let watched = installed
            .remove(name)
            .filter(|before| before.source.serves_the_same(&source))
            .map(|before| before.watched)
            .unwrap_or_default();
        let resources = compiled.map_or_else(Vec::new, |(decoded, conversion)| {
            let served = self.resources(&decoded, conversion, &watched).served();
            served.into_iter().map(Arc::new).collect()
        });
        let entry = Installed {
            group,
            accepted,
            source,
            resources,
            watched,
        };
        installed.insert(name.to_owned(), entry);
        Ok(true)
    }

    /// Compiles a CRD, and returns it with its conversion.
    async fn known(&self, crd: Value) -> Result<Option<(Definition, Arc<dyn Conversion>)>, Status> {
        let conversions = self.environment.conversions.clone();
        let outgoing = self.environment.outgoing.clone();
        let compile = move || {
            let (decoded, own_conversion) = read(&outgoing, &crd)?;
            let name = crd["metadata"]["name"].as_str().unwrap_or_default();
            let conversion = conversions.or(name, own_conversion, &outgoing);
            // The first object of the kind would compile them otherwise, on an async worker.
            decoded.compile_rules();
            Some((decoded, conversion))
        };
        self.environment.compiler.run(compile).await
    }

    /// Returns the objects of a CRD, without the rules for clients.
    async fn instances(&self, crd: Value) -> Result<Option<Instances>, Status> {
        let Some((decoded, conversion)) = self.known(crd).await? else {
            return Ok(None);
        };
        let watched = watch::Sender::default();
        let stored = self.resources(&decoded, conversion, &watched).stored();
        Ok(stored.map(|(objects, resource)| Instances {
            objects,
            resource: Arc::new(resource),
        }))
    }

    /// Returns the builder of the resources of a CRD.
    fn resources<'a>(
        &self,
        crd: &'a Definition,
        conversion: Arc<dyn Conversion>,
        watched: &watch::Sender<()>,
    ) -> CustomResources<'a> {
        CustomResources::new(crd, self.environment.store.clone())
            .clock(self.environment.clock.clone())
            .conversion(conversion)
            .watches_until(watched)
            .validation_pool(self.environment.validation.clone())
    }

    /// Updates the status of a CRD if it changes, with the field manager of the server.
    async fn update_status(
        &self,
        name: &str,
        crd: Value,
        change: &(dyn Fn(&mut Value) -> bool + Send + Sync),
    ) -> Result<Value, Status> {
        if !change(&mut without_schemas(&crd)) {
            return Ok(crd);
        }
        let now = self.environment.clock.now().as_second();
        let as_manager = |crd: &mut Value| {
            let before = crd.clone();
            change(crd);
            self.status_manager.update(&before, crd, MANAGER, now);
            Ok(())
        };
        let written = self
            .stored
            .rewrite_in("", name, DryRun::No, &as_manager)
            .await?;
        written.to_value()
    }

    async fn read(&self, name: &str) -> Result<Option<Value>, Status> {
        match self.stored.read_in("", name).await {
            Ok(crd) => Ok(Some(crd)),
            Err(e) if e.code == 404 => Ok(None),
            Err(e) => Err(e),
        }
    }

    async fn all(&self) -> Result<Vec<Value>, Status> {
        let internal = |e: &dyn std::fmt::Display| status::internal(e);
        let store: &Arc<dyn Store> = &self.environment.store;
        let snapshot = store.snapshot(None).await.map_err(|e| internal(&e))?;
        let range = Range {
            prefix: String::new(),
            start: String::new(),
            limit: usize::MAX,
        };
        let page = snapshot
            .range(&collection(GROUP, PLURAL), range)
            .await
            .map_err(|e| internal(&e))?;
        let decode = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|e| internal(&e));
        page.entries
            .iter()
            .map(|entry| decode(&entry.bytes))
            .collect()
    }

    /// Serves the custom resources, and registers their group versions.
    async fn publish(&self, installed: &BTreeMap<String, Installed>) -> Result<(), Status> {
        let server = self.server.get().and_then(WeakApiServer::upgrade);
        if let (Some(server), Some(built_in)) = (server, self.built_in.get()) {
            let built_in = built_in.iter().filter_map(Weak::upgrade);
            server.set_registry(assemble(&built_in.collect::<Vec<_>>(), installed));
        }
        let Some(aggregation) = self.aggregation.get() else {
            return Ok(());
        };
        let resources = installed.values().flat_map(|entry| &entry.resources);
        let resources: Vec<Arc<Resource>> = resources.cloned().collect();
        aggregation.register_custom(&resources).await
    }
}

/// Decodes a CRD, and returns its conversion.
fn read(outgoing: &Outgoing, crd: &Value) -> Option<(Definition, Arc<dyn Conversion>)> {
    let decoded = match Definition::read(crd) {
        Ok(decoded) => decoded,
        Err(e) => {
            // Validation rejects such CRDs; one that is stored nevertheless is not served.
            let name = &crd["metadata"]["name"];
            tracing::error!(%name, error = %e, "cannot serve a CRD");
            return None;
        }
    };
    let conversion: Arc<dyn Conversion> = match decoded.conversion()["strategy"].as_str() {
        Some("Webhook") => Arc::new(webhook::Webhook::new(
            &decoded.conversion()["webhook"],
            outgoing,
        )),
        _ => Arc::new(Renamed),
    };
    Some((decoded, conversion))
}

/// Returns the parts of a CRD that its status depends on, without the schemas, which are large.
fn without_schemas(crd: &Value) -> Value {
    let spec = &crd["spec"];
    json!({
        "metadata": {
            "annotations": crd["metadata"]["annotations"],
            "finalizers": crd["metadata"]["finalizers"],
        },
        "spec": {"group": spec["group"], "names": spec["names"]},
        "status": crd["status"],
    })
}

/// Returns a registry of the built-in and custom resources: groups by name, versions by priority.
fn assemble(built_in: &[Arc<Resource>], installed: &BTreeMap<String, Installed>) -> Registry {
    let mut builder = RegistryBuilder::default();
    for resource in built_in {
        builder.add_shared(resource.clone());
    }
    let mut own_conversion: Vec<&Arc<Resource>> =
        installed.values().flat_map(|i| &i.resources).collect();
    own_conversion.sort_by(|a, b| {
        let (x, y) = (&a.spec().group_version, &b.spec().group_version);
        x.group
            .cmp(&y.group)
            .then_with(|| match x.version == y.version {
                true => std::cmp::Ordering::Equal,
                false => compare_kube_versions(&y.version, &x.version),
            })
            .then_with(|| a.spec().plural.cmp(&b.spec().plural))
    });
    for resource in own_conversion {
        builder.add_shared(resource.clone());
    }
    builder.build()
}
