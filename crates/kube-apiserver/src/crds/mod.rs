//! Custom resource definitions: kinds that are declared while the server runs.
//!
//! A definition is an object like any other; `Definitions` stands behind the handlers of its kind. When one is written, its
//! names are accepted or not, it is established, and its resources are served before the writer has its answer. When one is
//! deleted, its objects go first.
//!
//! | module | what it holds |
//! |---|---|
//! | `definition` | a definition, read |
//! | `conditions` | what its status says |
//! | `handlers` | create, update and delete of definitions |
//! | `cleanup`, `instances` | the objects of a definition that is being deleted |
//! | `resource` | from a definition to resources |
//! | `strategy`, `scale`, `table`, `jsonpath` | what these resources do |
//! | [`convert`], [`webhook`], [`in_process`] | between versions |
//!
//! Invariants: one definition is dealt with at a time; a registry is swapped in as a whole; what the store holds when the
//! server starts is served from its first request on.

mod cleanup;
mod conditions;
pub mod convert;
mod definition;
mod handlers;
pub mod in_process;
mod instances;
mod jsonpath;
mod resource;
mod scale;
mod strategy;
mod table;
pub mod webhook;

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use kubewright_apiserver::{
    clock::rfc3339,
    managed::FieldManager,
    registry::{
        Registry, RegistryBuilder, Resource, Shape,
        generic::{Generic, GenericOptions, Plain},
    },
    server::{ApiServer, WeakApiServer},
};
use kubewright_catalog::generated::apiextensions_v1::CUSTOM_RESOURCE_DEFINITION;
use kubewright_machinery::{
    Status,
    gvk::{GroupResource, GroupVersionKind},
    version::compare_kube_versions,
};
use kubewright_store::{Range, Store};
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};

use crate::kinds::{Environment, collection, selectable_of};
use conditions::Taken;
use convert::{Conversion, Renamed};
use definition::{Definition, Names};
use instances::Instances;

const GROUP: &str = "apiextensions.k8s.io";
const PLURAL: &str = "customresourcedefinitions";
/// Who writes the status of definitions.
const MANAGER: &str = "kube-apiserver";

/// The definitions of a server.
pub(crate) struct Definitions {
    environment: Environment,
    /// The definitions themselves, outside the rules that bind clients.
    stored: Generic,
    status_manager: FieldManager,
    /// The resources that are always there.
    built_in: OnceLock<Vec<Arc<Resource>>>,
    server: OnceLock<WeakApiServer>,
    installed: Mutex<BTreeMap<String, Installed>>,
}

/// A definition whose names are known.
struct Installed {
    group: String,
    accepted: Names,
    /// What its resources were made from.
    source: Source,
    resources: Vec<Arc<Resource>>,
    /// Watches go on as long as this is there: until the definition says something else, or is gone.
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
    /// Whether watches may go on. Whether new objects are taken makes no difference to them.
    fn serves_the_same(&self, other: &Source) -> bool {
        *self
            == Source {
                terminating: self.terminating,
                ..other.clone()
            }
    }
}

impl Definitions {
    /// Puts itself behind the handlers of the kind in a registry.
    pub(crate) fn install(environment: &Environment, registry: Registry) -> (Registry, Arc<Self>) {
        let kind = GroupVersionKind::new(GROUP, "v1", "CustomResourceDefinition");
        let shape = Shape::Typed(&CUSTOM_RESOURCE_DEFINITION);
        let this = Arc::new(Self {
            stored: Generic::new(GenericOptions {
                store: environment.store.clone(),
                collection: collection(GROUP, PLURAL),
                resource: GroupResource::new(GROUP, PLURAL),
                kind: kind.clone(),
                namespaced: false,
                shape,
                selectable: Arc::new(selectable_of(GROUP, "v1", PLURAL)),
                strategy: Arc::new(Plain),
                converter: None,
                clock: environment.clock.clone(),
            }),
            status_manager: FieldManager::new(&kind, shape, "status", &["spec"]),
            environment: environment.clone(),
            built_in: OnceLock::new(),
            server: OnceLock::new(),
            installed: Mutex::default(),
        });
        let mut all = Vec::new();
        for group in registry.groups() {
            for (_, resources) in &group.versions {
                for resource in resources {
                    let own = group.name == GROUP && resource.plural == PLURAL;
                    all.push(if own {
                        Arc::new(handlers::wrap(&this, resource))
                    } else {
                        resource.clone()
                    });
                }
            }
        }
        let registry = assemble(&all, &BTreeMap::new());
        let _ = this.built_in.set(all);
        (registry, this)
    }

    /// Serves what is in the store, from now on at this server.
    pub(crate) async fn start(self: &Arc<Self>, server: &ApiServer) -> Result<(), Status> {
        let _ = self.server.set(server.downgrade());
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
            self.settle(&mut installed, &name, Some(crd)).await?;
        }
        if !installed.is_empty() {
            self.publish(&installed);
        }
        drop(installed);
        for name in going {
            cleanup::spawn(self, name);
        }
        Ok(())
    }

    /// A definition was written or is gone: its status and what is served follow.
    async fn sync(self: &Arc<Self>, name: &str) -> Result<(), Status> {
        let mut installed = self.installed.lock().await;
        let crd = self.read(name).await?;
        let mut changed = self.settle(&mut installed, name, crd).await?;
        // A name that became free may be what another definition is waiting for.
        let waiting: Vec<String> = installed
            .iter()
            .filter(|(other, entry)| *other != name && !entry.source.served)
            .map(|(other, _)| other.clone())
            .collect();
        for other in waiting {
            let crd = self.read(&other).await?;
            changed |= self.settle(&mut installed, &other, crd).await?;
        }
        if changed {
            self.publish(&installed);
        }
        Ok(())
    }

    /// Brings one definition up to date. Says whether what is served changed.
    async fn settle(
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
        // Whoever has the names it wants is not in anybody's way.
        if own != Names::read(&crd["spec"]["names"]) {
            // A short name may not be what the definition is called by already.
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
        let judge = |crd: &mut Value| {
            let accepted = conditions::accept_names(crd, &taken, &now);
            let established = conditions::establish(crd, sound, &now);
            conditions::approve(crd, &now) || established || accepted
        };
        crd = self.amend(name, crd, &judge).await?;
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
        let watched = installed
            .remove(name)
            .filter(|before| before.source.serves_the_same(&source))
            .map(|before| before.watched)
            .unwrap_or_default();
        let resources = if source.served {
            self.resources(&crd, &watched)
        } else {
            Vec::new()
        };
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

    fn resources(&self, crd: &Value, watched: &watch::Sender<()>) -> Vec<Arc<Resource>> {
        match self.known(crd) {
            Some((definition, conversion)) => {
                resource::resources(&self.environment, &definition, &conversion, watched)
            }
            None => Vec::new(),
        }
    }

    /// A definition, and what converts its objects.
    fn known(&self, crd: &Value) -> Option<(Definition, Arc<dyn Conversion>)> {
        let (definition, declared) = read(crd)?;
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        let conversion = self.environment.conversions.or(name, declared);
        Some((definition, conversion))
    }

    /// The objects of a definition, past the rules that bind clients.
    fn instances(&self, crd: &Value) -> Option<Instances> {
        let (definition, conversion) = self.known(crd)?;
        let watched = watch::Sender::default();
        resource::instances(&self.environment, &definition, &conversion, &watched)
    }

    /// Changes the status of a definition, where there is something to change, as the server's own manager.
    async fn amend(
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
            self.status_manager.update(Some(&before), crd, MANAGER, now);
            Ok(())
        };
        let written = self.stored.rewrite_in("", name, false, &as_manager).await?;
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
        let internal = |e: &dyn std::fmt::Display| kubewright_machinery::status::internal(e);
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

    fn publish(&self, installed: &BTreeMap<String, Installed>) {
        let server = self.server.get().and_then(WeakApiServer::upgrade);
        if let (Some(server), Some(built_in)) = (server, self.built_in.get()) {
            server.set_registry(assemble(built_in, installed));
        }
    }
}

/// A definition, read, and how its objects get from version to version.
fn read(crd: &Value) -> Option<(Definition, Arc<dyn Conversion>)> {
    let definition = match Definition::read(crd) {
        Ok(definition) => definition,
        Err(e) => {
            // Validation keeps such definitions out; one that got in is not served.
            let name = &crd["metadata"]["name"];
            tracing::error!(%name, "a definition cannot be served: {e}");
            return None;
        }
    };
    let conversion: Arc<dyn Conversion> = match definition.conversion["strategy"].as_str() {
        Some("Webhook") => Arc::new(webhook::Webhook::new(&definition.conversion["webhook"])),
        _ => Arc::new(Renamed),
    };
    Some((definition, conversion))
}

/// A definition as far as its status depends on it. Schemas are large, and copies of them slow.
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

/// The resources that are always there, then the declared ones: groups by name, versions by their age.
fn assemble(built_in: &[Arc<Resource>], installed: &BTreeMap<String, Installed>) -> Registry {
    let mut builder = RegistryBuilder::default();
    for resource in built_in {
        builder.add_shared(resource.clone());
    }
    let mut declared: Vec<&Arc<Resource>> = installed.values().flat_map(|i| &i.resources).collect();
    declared.sort_by(|a, b| {
        let (x, y) = (&a.group_version, &b.group_version);
        x.group
            .cmp(&y.group)
            .then_with(|| match x.version == y.version {
                true => std::cmp::Ordering::Equal,
                false => compare_kube_versions(&y.version, &x.version),
            })
            .then_with(|| a.plural.cmp(&b.plural))
    });
    for resource in declared {
        builder.add_shared(resource.clone());
    }
    builder.build()
}
