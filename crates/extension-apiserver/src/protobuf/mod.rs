//! The protobuf form of a kind: messages from its schema, numbers from its type and from a `.proto` file.
//!
//! | module | contents |
//! |---|---|
//! | `outline` | the messages of a schema, with the numbers of their fields |
//! | `record` | the numbers in a `.proto` file |
//! | `print` | the text of a `.proto` file |

mod outline;
mod print;
mod record;

use std::collections::{BTreeMap, HashMap};

use kubewright_protobuf::DeclaredType;
use kubewright_resource::Versions;
use serde_json::Value;

use crate::storage::ServedKind;

use self::{
    outline::{NewNumbers, Outline},
    record::Record,
};

/// The sources of the numbers of a kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// Whether the version of the type is served with the numbers of the type alone.
    pub(crate) of_type: bool,
    /// The texts of `.proto` files.
    pub(crate) files: Vec<String>,
}

impl Numbers {
    /// Returns the protobuf forms of a kind, by version.
    ///
    /// # Errors
    ///
    /// Fails if a field has no number, or has two.
    pub(crate) fn types<K: ServedKind>(
        &self,
        manifest: &Value,
        versions: Option<&Versions<K>>,
    ) -> Result<HashMap<String, DeclaredType>, String> {
        let records = self.records::<K>(manifest)?;
        let mut types = HashMap::new();
        for (version, record) in &records {
            let outline = outline::<K>(manifest, versions, version, record, NewNumbers::Rejected)?;
            let names = &manifest["spec"]["names"];
            let text = |key: &str| names[key].as_str().unwrap_or_default();
            let api_version = format!("{}/{version}", K::group(&()));
            let (kind, list_kind) = (text("kind"), text("listKind"));
            let declared = DeclaredType::new(&api_version, kind, list_kind, &outline.message);
            types.insert(version.clone(), declared.map_err(|e| e.to_string())?);
        }
        Ok(types)
    }

    /// Returns the text of the `.proto` file of a version. Recorded numbers stay, and new fields get new ones.
    ///
    /// # Errors
    ///
    /// Fails if a field has two numbers, or if the version does not exist.
    pub(crate) fn print<K: ServedKind>(
        &self,
        manifest: &Value,
        versions: Option<&Versions<K>>,
        version: &str,
    ) -> Result<String, String> {
        let records = self.records::<K>(manifest)?;
        let empty = Record::default();
        let record = records.get(version).unwrap_or(&empty);
        let outline = outline::<K>(manifest, versions, version, record, NewNumbers::Assigned)?;
        let list_kind = manifest["spec"]["names"]["listKind"].as_str();
        Ok(print::file(
            &package(&K::group(&()), version),
            &outline,
            list_kind.unwrap_or_default(),
        ))
    }

    /// Returns the recorded numbers by version; none for a version that is numbered by the type alone.
    fn records<K: ServedKind>(&self, manifest: &Value) -> Result<BTreeMap<String, Record>, String> {
        let mut records = BTreeMap::new();
        for text in &self.files {
            // A new file is empty, and of the version of the type.
            let record = Record::read(text)?;
            let names = version_names(manifest);
            let version = match record.package.as_deref() {
                None => K::version(&()).into_owned(),
                Some(given) => names
                    .into_iter()
                    .find(|version| package(&K::group(&()), version) == given)
                    .ok_or_else(|| format!("the package {given} belongs to none of its versions"))?
                    .to_owned(),
            };
            if records.contains_key(&version) {
                return Err(format!("there are two .proto files of {version}"));
            }
            records.insert(version, record);
        }
        if self.of_type {
            records.entry(K::version(&()).into_owned()).or_default();
        }
        Ok(records)
    }
}

/// Returns the protobuf package of a group version.
fn package(group: &str, version: &str) -> String {
    format!("{group}.{version}").replace('-', "_")
}

fn version_names(manifest: &Value) -> Vec<&str> {
    let versions = manifest["spec"]["versions"].as_array();
    let names = versions.into_iter().flatten();
    names.filter_map(|v| v["name"].as_str()).collect()
}

fn outline<K: ServedKind>(
    manifest: &Value,
    versions: Option<&Versions<K>>,
    version: &str,
    record: &Record,
    new: NewNumbers,
) -> Result<Outline, String> {
    let all = manifest["spec"]["versions"].as_array();
    let found = all.into_iter().flatten().find(|v| v["name"] == version);
    let found = found.ok_or_else(|| format!("there is no version {version}"))?;
    let numbers = match versions {
        Some(versions) => versions.protobuf_numbers(version),
        None => K::protobuf_numbers(),
    };
    let schema = &found["schema"]["openAPIV3Schema"];
    Outline::new(&K::kind(&()), schema, &numbers, record, new)
}
