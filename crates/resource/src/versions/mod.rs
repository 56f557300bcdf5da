//! Several versions of one kind: one CustomResourceDefinition, conversion through a hub, round-trip tests.

mod error;
mod round_trip;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    marker::PhantomData,
};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{crd::CrdError, custom_kind::CustomKind};
pub use error::{ConversionError, VersionsError};
pub use round_trip::{Counterexample, round_trip};

/// The versions of a kind: one hub and its spokes.
///
/// One version is the hub. Every other version is a spoke, with `From` or `TryFrom` to the hub and back, or identical to the
/// hub except for its name. `Versions` merges them into one CustomResourceDefinition and converts between any two.
///
/// ```
/// # extern crate kubewright_resource as kubewright;
/// # mod v1 {
/// #     use kube::CustomResource;
/// #     use serde::{Deserialize, Serialize};
/// #     #[derive(CustomResource, kubewright::Schema, Clone, Debug, Serialize, Deserialize)]
/// #     #[kube(group = "crew.example.com", version = "v1", kind = "Ship", namespaced)]
/// #     pub struct ShipSpec { pub masts: i32 }
/// # }
/// # mod v1beta1 {
/// #     use kube::CustomResource;
/// #     use serde::{Deserialize, Serialize};
/// #     #[derive(CustomResource, kubewright::Schema, Clone, Debug, Serialize, Deserialize)]
/// #     #[kube(group = "crew.example.com", version = "v1beta1", kind = "Ship", namespaced)]
/// #     pub struct ShipSpec { pub poles: i32 }
/// # }
/// use kubewright::{SameAsHub, Versions};
/// use serde_json::json;
///
/// impl From<v1beta1::Ship> for v1::Ship {
///     fn from(old: v1beta1::Ship) -> Self {
///         let spec = v1::ShipSpec { masts: old.spec.poles };
///         v1::Ship { metadata: old.metadata, spec }
///     }
/// }
/// # impl From<v1::Ship> for v1beta1::Ship {
/// #     fn from(new: v1::Ship) -> Self {
/// #         let spec = v1beta1::ShipSpec { poles: new.spec.masts };
/// #         v1beta1::Ship { metadata: new.metadata, spec }
/// #     }
/// # }
/// // ... and the same the other way.
///
/// let ships = Versions::<v1::Ship>::hub()
///     .spoke::<v1beta1::Ship>()
///     .same_as_hub(SameAsHub::new("v1alpha1").unserved());
/// assert_eq!(ships.manifest()?["spec"]["versions"][0]["storage"], true);
///
/// let old = json!({
///     "apiVersion": "crew.example.com/v1beta1", "kind": "Ship",
///     "metadata": {"name": "pequod"}, "spec": {"poles": 3},
/// });
/// let new = ships.convert(&old, "crew.example.com/v1")?;
/// assert_eq!(new["spec"]["masts"], 3);
///
/// // The objects are generated from the schemas.
/// ships.check_round_trips(100)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Versions<H> {
    versions: Vec<Version>,
    storage: Option<String>,
    webhook: Option<Value>,
    hub: PhantomData<fn() -> H>,
}

/// A version that is identical to the hub except for its name.
///
/// ```
/// use kubewright_resource::SameAsHub;
///
/// let old = SameAsHub::new("v1alpha1").deprecated_with("use crew.example.com/v1");
/// # let _ = old;
/// ```
#[derive(Clone, Debug)]
pub struct SameAsHub {
    name: String,
    served: bool,
    /// Set if the version is deprecated, with the warning if there is one.
    deprecated: Option<Option<String>>,
}

/// Converts an object, or returns the reason why it cannot.
type Convert = fn(&Value) -> Result<Value, String>;

struct Version {
    name: String,
    manifest: Result<Value, CrdError>,
    /// The numbers of fields in protobuf.
    numbers: fn() -> BTreeMap<String, u16>,
    /// Set if the version is identical to the hub except for its name.
    is_hub: bool,
    to_hub: Convert,
    from_hub: Convert,
    round_trips: fn(u64) -> Result<(), Box<Counterexample>>,
}

impl SameAsHub {
    /// Creates a version with this name, served and not deprecated.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            served: true,
            deprecated: None,
        }
    }

    /// Stops serving the version.
    #[must_use]
    pub fn unserved(mut self) -> Self {
        self.served = false;
        self
    }

    /// Deprecates the version, with the default warning of the server.
    #[must_use]
    pub fn deprecated(mut self) -> Self {
        self.deprecated = Some(None);
        self
    }

    /// Deprecates the version, with this warning.
    #[must_use]
    pub fn deprecated_with(mut self, warning: impl Into<String>) -> Self {
        self.deprecated = Some(Some(warning.into()));
        self
    }
}

impl<H: CustomKind> Versions<H> {
    /// Starts with the hub, which is the storage version unless [`stored_as`](Self::stored_as) names another.
    pub fn hub() -> Self {
        Self {
            versions: vec![Version {
                name: H::version(&()).into_owned(),
                manifest: H::manifest(),
                numbers: H::protobuf_numbers,
                is_hub: true,
                to_hub: same,
                from_hub: same,
                round_trips: |_| Ok(()),
            }],
            storage: None,
            webhook: None,
            hub: PhantomData,
        }
    }

    /// Adds a version with its own type. `#[kube(...)]` decides whether it is served and deprecated.
    #[must_use]
    pub fn spoke<S>(mut self) -> Self
    where
        S: CustomKind + DeserializeOwned + TryFrom<H, Error: Display>,
        H: DeserializeOwned + TryFrom<S, Error: Display>,
    {
        self.versions.push(Version {
            name: S::version(&()).into_owned(),
            manifest: S::manifest(),
            numbers: S::protobuf_numbers,
            is_hub: false,
            to_hub: typed::<S, H>,
            from_hub: typed::<H, S>,
            round_trips: |cases| {
                round_trip::<S, H>(cases)?;
                round_trip::<H, S>(cases)
            },
        });
        self
    }

    /// Adds a version that is identical to the hub except for its name.
    #[must_use]
    pub fn same_as_hub(mut self, version: SameAsHub) -> Self {
        let manifest = H::manifest().map(|mut manifest| {
            let own = &mut manifest["spec"]["versions"][0];
            own["name"] = json!(version.name);
            own["served"] = json!(version.served);
            if let Some(fields) = own.as_object_mut() {
                fields.remove("deprecated");
                fields.remove("deprecationWarning");
            }
            if let Some(warning) = &version.deprecated {
                own["deprecated"] = json!(true);
                if let Some(warning) = warning {
                    own["deprecationWarning"] = json!(warning);
                }
            }
            manifest
        });
        self.versions.push(Version {
            name: version.name,
            manifest,
            numbers: H::protobuf_numbers,
            is_hub: true,
            to_hub: same,
            from_hub: same,
            round_trips: |_| Ok(()),
        });
        self
    }

    /// Sets the storage version.
    #[must_use]
    pub fn stored_as(mut self, version: impl Into<String>) -> Self {
        self.storage = Some(version.into());
        self
    }

    /// Sets the conversion webhook. `client_config` is the `clientConfig` of the CRD: `{"url": ...}` or
    /// `{"service": {...}}`, with a `caBundle`. Without a webhook the server changes only `apiVersion`.
    #[must_use]
    pub fn webhook(mut self, client_config: Value) -> Self {
        self.webhook = Some(client_config);
        self
    }

    /// Returns the numbers of the fields of a version in protobuf, as [`CustomKind::protobuf_numbers`] does.
    pub fn protobuf_numbers(&self, version: &str) -> BTreeMap<String, u16> {
        let known = self.versions.iter().find(|known| known.name == version);
        known.map_or_else(BTreeMap::new, |known| (known.numbers)())
    }

    /// Returns one CustomResourceDefinition with all versions, sorted by name, as JSON.
    ///
    /// # Errors
    ///
    /// Fails if versions contradict each other, or if the CRD of one is not valid.
    pub fn manifest(&self) -> Result<Value, VersionsError> {
        let Some(hub) = self.versions.first() else {
            return Err(VersionsError::NoneServed);
        };
        let storage = self.storage.as_deref().unwrap_or(&hub.name);
        let mut manifest = hub.manifest.clone()?;
        let mut merged = Vec::new();
        let mut names = BTreeSet::new();
        for version in &self.versions {
            let theirs = version.manifest.as_ref().map_err(Clone::clone)?;
            check_agreement(&manifest, theirs, &version.name)?;
            if !names.insert(version.name.as_str()) {
                return Err(VersionsError::Duplicate(version.name.clone()));
            }
            let mut own = theirs["spec"]["versions"][0].clone();
            own["storage"] = json!(version.name == storage);
            merged.push(own);
        }
        if !names.contains(storage) {
            return Err(VersionsError::NoStorageVersion(storage.to_owned()));
        }
        if !merged.iter().any(|version| version["served"] == true) {
            return Err(VersionsError::NoneServed);
        }
        merged.sort_by(|a, b| a["name"].as_str().cmp(&b["name"].as_str()));
        manifest["spec"]["versions"] = Value::Array(merged);
        if let Some(client_config) = &self.webhook {
            manifest["spec"]["conversion"] = json!({
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": client_config,
                    "conversionReviewVersions": ["v1"],
                },
            });
        }
        Ok(manifest)
    }

    /// Returns one CustomResourceDefinition with all versions.
    ///
    /// # Errors
    ///
    /// Fails as [`manifest`](Self::manifest) does.
    pub fn custom_resource_definition(&self) -> Result<CustomResourceDefinition, VersionsError> {
        serde_json::from_value(self.manifest()?).map_err(VersionsError::Malformed)
    }

    /// Converts an object to another version, through the hub. Of the metadata only labels and annotations can change.
    ///
    /// # Errors
    ///
    /// Fails if the object is of another kind, if a version is not known, or if a conversion fails.
    pub fn convert(&self, object: &Value, to: &str) -> Result<Value, ConversionError> {
        let given = object["apiVersion"].as_str().unwrap_or_default();
        let (group, from) = given.split_once('/').unwrap_or(("", given));
        let target = to.rsplit_once('/').map_or(to, |(_, version)| version);
        let own = H::group(&());
        let foreign = to.rsplit_once('/').is_some_and(|(group, _)| group != own);
        if group != own || foreign || object["kind"] != *H::kind(&()) {
            return Err(ConversionError::Foreign {
                given: format!(
                    "{given}, Kind={}",
                    object["kind"].as_str().unwrap_or_default()
                ),
                to: to.to_owned(),
            });
        }
        let known = |name: &str| {
            let found = self.versions.iter().find(|version| version.name == name);
            found.ok_or_else(|| ConversionError::UnknownVersion(name.to_owned()))
        };
        let (source, target) = (known(from)?, known(target)?);
        if source.name == target.name {
            return Ok(object.clone());
        }
        let failed = |from: &str, to: &str| {
            let (from, to) = (from.to_owned(), to.to_owned());
            move |why: String| ConversionError::Failed { from, to, why }
        };
        let hub_version = H::version(&()).into_owned();
        let hub = relabel(object, &own, &hub_version, source.is_hub);
        let hub = (source.to_hub)(&hub).map_err(failed(from, &hub_version))?;
        let mut out = (target.from_hub)(&hub).map_err(failed(&hub_version, &target.name))?;
        out["apiVersion"] = json!(format!("{own}/{}", target.name));
        keep_metadata(&mut out, object);
        Ok(out)
    }

    /// Checks with `cases` generated objects each that no spoke loses anything on the way to the hub and back, and that the
    /// hub loses nothing on the way through a spoke.
    ///
    /// # Errors
    ///
    /// Returns the first object that is changed by a round trip, reduced to a small one.
    pub fn check_round_trips(&self, cases: u64) -> Result<(), Box<Counterexample>> {
        self.versions
            .iter()
            .try_for_each(|version| (version.round_trips)(cases))
    }
}

#[allow(clippy::unnecessary_wraps)]
fn same(object: &Value) -> Result<Value, String> {
    Ok(object.clone())
}

fn typed<A, B>(object: &Value) -> Result<Value, String>
where
    A: DeserializeOwned,
    B: Serialize + TryFrom<A, Error: Display>,
{
    let from: A = serde_json::from_value(object.clone()).map_err(|e| e.to_string())?;
    let to = B::try_from(from).map_err(|e| e.to_string())?;
    serde_json::to_value(&to).map_err(|e| e.to_string())
}

/// Gives an object of a version that is identical to the hub the apiVersion of the hub.
fn relabel(object: &Value, group: &str, hub: &str, is_hub: bool) -> Value {
    let mut object = object.clone();
    if is_hub {
        object["apiVersion"] = json!(format!("{group}/{hub}"));
    }
    object
}

/// Keeps the metadata of the original except for labels and annotations: the rest belongs to the server.
fn keep_metadata(converted: &mut Value, original: &Value) {
    let mut metadata = original["metadata"].clone();
    if let Some(fields) = metadata.as_object_mut() {
        for key in ["labels", "annotations"] {
            match converted["metadata"].get(key) {
                Some(value) if !value.is_null() => fields.insert(key.into(), value.clone()),
                _ => fields.remove(key),
            };
        }
    }
    converted["metadata"] = metadata;
}

/// Checks the properties that must be the same in all versions.
fn check_agreement(hub: &Value, version: &Value, name: &str) -> Result<(), VersionsError> {
    for pointer in ["/spec/group", "/spec/scope", "/spec/names"] {
        let (ours, theirs) = (hub.pointer(pointer), version.pointer(pointer));
        if ours != theirs {
            return Err(VersionsError::Differs {
                version: name.to_owned(),
                field: pointer.trim_start_matches('/').replace('/', "."),
                ours: ours.cloned().unwrap_or_default(),
                theirs: theirs.cloned().unwrap_or_default(),
            });
        }
    }
    Ok(())
}
