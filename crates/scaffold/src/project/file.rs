//! Reads `operator.toml` and edits it in place.

use std::collections::BTreeMap;

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, value};

use super::{
    Aggregated, ObjectData, PROJECT_FILE, Resource, SubresourceType, WebhookCertificates, Webhooks,
};
use crate::{Error, names::Gvk};

/// The parsed file. Unchanged parts keep their formatting.
#[derive(Clone, Debug)]
pub(crate) struct File(DocumentMut);

impl File {
    pub(crate) fn new(name: &str, domain: &str, namespaced: bool) -> File {
        let text = format!(
            "# What `kubewright` has scaffolded. It reads and keeps this file.\n\
             tool = {:?}\nname = {name:?}\ndomain = {domain:?}\n",
            env!("CARGO_PKG_VERSION")
        );
        let mut document: DocumentMut = text.parse().unwrap_or_default();
        if namespaced {
            document["namespaced"] = value(true);
        }
        File(document)
    }

    pub(crate) fn parse(text: &str) -> Result<File, Error> {
        let parsed = text.parse::<DocumentMut>().map_err(|e| {
            let message = e.message().lines().next().unwrap_or_default().to_owned();
            let line = e.span().map_or(1, |span| {
                text[..span.start.min(text.len())].matches('\n').count() + 1
            });
            Error::new(
                format_args!("{PROJECT_FILE} is not TOML: line {line}: {message}"),
                "correct it",
            )
        })?;
        Ok(File(parsed))
    }

    pub(crate) fn written(&self) -> String {
        self.0.to_string()
    }

    pub(crate) fn text(&self, key: &str) -> Result<String, Error> {
        let text = self.0.get(key).and_then(Item::as_str);
        text.map(str::to_owned).ok_or_else(|| {
            Error::new(
                format_args!("{PROJECT_FILE} has no {key:?}"),
                format_args!("add a line such as {key} = \"example\""),
            )
        })
    }

    /// Returns an optional string.
    pub(crate) fn some_text(&self, key: &str) -> Option<String> {
        self.0.get(key).and_then(Item::as_str).map(str::to_owned)
    }

    /// Returns an optional port.
    pub(crate) fn some_port(&self, key: &str) -> Result<Option<u16>, Error> {
        let Some(item) = self.0.get(key) else {
            return Ok(None);
        };
        let number = item.as_integer().and_then(|port| u16::try_from(port).ok());
        match number.filter(|port| *port > 0) {
            Some(port) => Ok(Some(port)),
            None => Err(Error::new(
                format_args!("{key:?} in {PROJECT_FILE} is not a port"),
                format_args!("write it as {key} = 8443"),
            )),
        }
    }

    /// Returns the source of certificates, which is a string.
    pub(crate) fn webhook_certificates(&self, key: &str) -> Result<WebhookCertificates, Error> {
        let Some(item) = self.0.get(key) else {
            return Ok(WebhookCertificates::default());
        };
        WebhookCertificates::parse(item.as_str().unwrap_or_default())
    }

    /// Returns an optional list of strings.
    pub(crate) fn some_texts(&self, key: &str) -> Result<Option<Vec<String>>, Error> {
        let Some(item) = self.0.get(key) else {
            return Ok(None);
        };
        let texts: Option<Vec<String>> = item.as_array().and_then(|list| {
            let texts = list.iter().map(|one| one.as_str().map(str::to_owned));
            texts.collect()
        });
        texts.map(Some).ok_or_else(|| {
            Error::new(
                format_args!("{key:?} in {PROJECT_FILE} is not a list of texts"),
                format_args!("write it as {key} = [\"crd\", \"rbac\"]"),
            )
        })
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        self.0.get(key).and_then(Item::as_bool).unwrap_or_default()
    }

    pub(crate) fn set_text(&mut self, key: &str, text: &str) {
        self.0[key] = value(text);
    }

    pub(crate) fn set_flag(&mut self, key: &str, on: bool) {
        self.0[key] = value(on);
    }

    pub(crate) fn resources(&self) -> Result<Vec<Resource>, Error> {
        let Some(item) = self.0.get("resources") else {
            return Ok(Vec::new());
        };
        let tables = item.as_array_of_tables().ok_or_else(|| {
            Error::new(
                format_args!("\"resources\" in {PROJECT_FILE} is not a list of tables"),
                "write each as [[resources]]",
            )
        })?;
        tables.iter().map(resource).collect()
    }

    /// Adds or updates an entry.
    pub(crate) fn put(&mut self, resource: &Resource) {
        let entries = self
            .0
            .entry("resources")
            .or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        let Some(entries) = entries.as_array_of_tables_mut() else {
            return;
        };
        if !entries.iter().any(|table| is_of(table, resource)) {
            entries.push(Table::new());
        }
        let last = entries.len().saturating_sub(1);
        let at = entries
            .iter()
            .position(|table| is_of(table, resource))
            .unwrap_or(last);
        let Some(table) = entries.get_mut(at) else {
            return;
        };
        for (key, text) in [
            ("group", &resource.group),
            ("version", &resource.version),
            ("kind", &resource.kind),
            ("plural", &resource.plural),
        ] {
            table[key] = value(text);
        }
        table["namespaced"] = value(resource.namespaced);
        table["api"] = value(resource.api);
        table["controllers"] = value(resource.controllers.iter().collect::<Array>());
        let owns: InlineTable = resource
            .owns
            .iter()
            .filter(|(_, kinds)| !kinds.is_empty())
            .map(|(name, kinds)| {
                let kinds = kinds.iter().map(Gvk::to_string);
                (name.as_str(), kinds.collect::<Array>())
            })
            .collect();
        match owns.is_empty() {
            true => drop(table.remove("owns")),
            false => table["owns"] = value(owns),
        }
        let aggregated = resource.aggregated.as_ref();
        match aggregated {
            None => drop(table.remove("aggregated")),
            Some(aggregated) => table["aggregated"] = value(aggregated.data.name()),
        }
        let subresources: InlineTable = aggregated
            .into_iter()
            .flat_map(|aggregated| &aggregated.subresources)
            .map(|(name, type_)| (name.as_str(), type_.name()))
            .collect();
        match subresources.is_empty() {
            true => drop(table.remove("subresources")),
            false => table["subresources"] = value(subresources),
        }
        match resource.webhooks.is_empty() {
            true => drop(table.remove("webhooks")),
            false => table["webhooks"] = value(webhooks_table(&resource.webhooks)),
        }
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, resource: &Resource) {
        let entries = self
            .0
            .get_mut("resources")
            .and_then(Item::as_array_of_tables_mut);
        if let Some(entries) = entries {
            entries.retain(|table| !is_of(table, resource));
            if entries.is_empty() {
                self.0.remove("resources");
            }
        }
    }
}

fn is_of(table: &Table, resource: &Resource) -> bool {
    let has = |key: &str, text: &str| table.get(key).and_then(Item::as_str) == Some(text);
    has("group", &resource.group)
        && has("version", &resource.version)
        && has("kind", &resource.kind)
}

fn resource(table: &Table) -> Result<Resource, Error> {
    let text = |key: &str| {
        let text = table.get(key).and_then(Item::as_str).map(str::to_owned);
        text.ok_or_else(|| {
            Error::new(
                format_args!("an entry of \"resources\" in {PROJECT_FILE} has no {key:?}"),
                "add it",
            )
        })
    };
    let flag = |key: &str| table.get(key).and_then(Item::as_bool);
    let controllers = table.get("controllers").and_then(Item::as_array);
    let resource = Resource {
        group: text("group")?,
        version: text("version")?,
        kind: text("kind")?,
        plural: text("plural")?,
        namespaced: flag("namespaced").unwrap_or(true),
        api: flag("api").unwrap_or(true),
        controllers: controllers
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
        owns: owns(table)?,
        webhooks: webhooks(table),
        aggregated: aggregated(table)?,
    };
    // These become file paths, so they are validated.
    crate::names::check_version(&resource.version)?;
    crate::names::check_kind(&resource.kind)?;
    if resource.api {
        crate::names::check_group(&resource.group)?;
    }
    Ok(resource)
}

/// Returns the kinds that the controllers own.
fn owns(table: &Table) -> Result<BTreeMap<String, Vec<Gvk>>, Error> {
    let entries = table.get("owns").and_then(Item::as_table_like);
    let mut owns = BTreeMap::new();
    for (name, kinds) in entries.into_iter().flat_map(|table| table.iter()) {
        let kinds = kinds.as_array().into_iter().flatten();
        let kinds = kinds.filter_map(|kind| kind.as_str()).map(Gvk::parse);
        owns.insert(name.to_owned(), kinds.collect::<Result<_, _>>()?);
    }
    Ok(owns)
}

/// Returns how the program serves the kind, if it does.
fn aggregated(table: &Table) -> Result<Option<Aggregated>, Error> {
    let Some(data) = table.get("aggregated").and_then(Item::as_str) else {
        return Ok(None);
    };
    let entries = table.get("subresources").and_then(Item::as_table_like);
    let mut subresources = BTreeMap::new();
    for (name, type_) in entries.into_iter().flat_map(|table| table.iter()) {
        // It becomes a file path.
        crate::names::check_subresource(name)?;
        let type_ = SubresourceType::parse(type_.as_str().unwrap_or_default())?;
        subresources.insert(name.to_owned(), type_);
    }
    Ok(Some(Aggregated {
        data: ObjectData::parse(data)?,
        subresources,
    }))
}

/// Returns the webhooks of an entry.
fn webhooks(table: &Table) -> Webhooks {
    let Some(table) = table.get("webhooks").and_then(Item::as_table_like) else {
        return Webhooks::default();
    };
    let flag = |key: &str| table.get(key).and_then(Item::as_bool).unwrap_or_default();
    let spokes = table.get("spoke").and_then(Item::as_array);
    let spokes = spokes.into_iter().flatten();
    Webhooks {
        name: table
            .get("name")
            .and_then(Item::as_str)
            .unwrap_or_default()
            .to_owned(),
        defaulting: flag("defaulting"),
        validation: flag("validation"),
        spokes: spokes
            .filter_map(|one| one.as_str().map(str::to_owned))
            .collect(),
    }
}

/// Returns webhooks as in kubebuilder's `PROJECT`.
fn webhooks_table(webhooks: &Webhooks) -> InlineTable {
    let mut table = InlineTable::new();
    if webhooks.has_admission() {
        table.insert("name", webhooks.name.as_str().into());
    }
    let flags = [
        ("defaulting", webhooks.defaulting),
        ("validation", webhooks.validation),
        ("conversion", !webhooks.spokes.is_empty()),
    ];
    for (key, _) in flags.into_iter().filter(|(_, on)| *on) {
        table.insert(key, true.into());
    }
    if !webhooks.spokes.is_empty() {
        table.insert("spoke", webhooks.spokes.iter().collect::<Array>().into());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captain() -> Resource {
        Resource {
            group: "crew".into(),
            version: "v1".into(),
            kind: "Captain".into(),
            plural: "captains".into(),
            namespaced: true,
            api: true,
            controllers: vec!["captain".into()],
            owns: BTreeMap::from([("captain".into(), vec![Gvk::parse("v1/ConfigMap").unwrap()])]),
            webhooks: Webhooks::default(),
            aggregated: None,
        }
    }

    #[test]
    fn comments_of_the_user_stay() {
        let text = "name = \"a\" # mine\ndomain = \"b.c\"\n\n# more\n[[resources]]\ngroup = \"crew\" # why\nversion = \"v1\"\nkind = \"Mate\"\nplural = \"mates\"\n";
        let mut file = File::parse(text).unwrap();
        file.put(&captain());
        assert!(file.written().starts_with(text));
        file.remove(&captain());
        assert_eq!(file.written(), text);
    }

    #[test]
    fn written_entries_are_read_again() {
        let mut file = File::new("a", "b.c", true);
        file.put(&captain());
        let mut changed = captain();
        changed.controllers.push("other".into());
        changed.webhooks = Webhooks {
            name: "captain".into(),
            validation: true,
            spokes: vec!["v2".into()],
            ..Webhooks::default()
        };
        changed.aggregated = Some(Aggregated {
            data: ObjectData::Store,
            subresources: BTreeMap::from([("log".into(), SubresourceType::Log)]),
        });
        file.put(&changed);
        let again = File::parse(&file.written()).unwrap();
        assert_eq!(again.resources().unwrap(), [changed]);
        assert!(again.flag("namespaced"));
    }

    #[test]
    fn a_file_that_is_wrong_says_where() {
        let error = File::parse("name = \"a\"\ndomain = \n")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("operator.toml is not TOML: line 2: "),
            "{error}"
        );
        let entry = "[[resources]]\ngroup = \"crew\"\nversion = \"../..\"\nkind = \"Captain\"\nplural = \"x\"\n";
        assert!(File::parse(entry).unwrap().resources().is_err());
    }
}
