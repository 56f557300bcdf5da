//! The data of an export: what the pages would ask for, by their requests without the parameters that choose a part.

use std::collections::BTreeMap;

use http::StatusCode;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::{
    kinds::{Kind, discover},
    metrics::Sampler,
    own::Own,
    stream::read_table,
    tree::Graph,
};

/// The maximum number of rows of a table.
const ROWS: usize = 1000;

/// The maximum number of objects with their history.
const OBJECTS: usize = 300;

/// The maximum number of revisions of an object.
const REVISIONS: usize = 30;

/// The maximum number of runs with their causes.
const RUNS: usize = 300;

/// The path of the ledger.
const LEDGER: &str = "/kubewright/v1";

/// The lists of the ledger.
const LISTS: [&str; 5] = ["findings", "controllers", "runs", "requests", "denials"];

/// The kinds whose objects are not recorded.
const LEFT_OUT: [&str; 3] = ["secrets", "events", "leases"];

type Failed = (StatusCode, String);

/// The answers so far.
struct Recording {
    own: Own,
    answers: BTreeMap<String, Value>,
}

/// Records the state of a cluster.
pub(crate) async fn record(client: kube::Client, title: &str) -> Result<Value, Failed> {
    let kinds = discover(&client).await?;
    let mut recording = Recording {
        own: Own {
            metrics: Sampler::new(client.clone(), None),
            client: client.clone(),
            title: title.to_owned(),
            is_local: false,
            lab: None,
            operator: None,
            perturbations: None,
            sessions: None,
        },
        answers: BTreeMap::new(),
    };
    recording.add("/kubewright/v1/console/kinds", "").await;
    let session = recording.own.answer("GET", "session", "", &[]).await?;
    let has_ledger = session["ledger"].is_object();
    let answers = &mut recording.answers;
    answers.insert("/kubewright/v1/console/session".to_owned(), session);
    recording.add("/api/v1/events", "limit=500").await;
    if has_ledger {
        for list in LISTS {
            let limit = format!("limit={ROWS}");
            recording.add(&format!("{LEDGER}/{list}"), &limit).await;
        }
        for id in recording.newest_runs() {
            recording.add(&format!("{LEDGER}/runs/{id}"), "").await;
        }
    }
    let mut tables = BTreeMap::new();
    for kind in &kinds {
        let path = kind.path(None);
        if let Some((columns, rows)) = read_table(&client, &path, ROWS).await {
            let rows: Vec<Value> = rows.values().map(|row| json!(**row)).collect();
            tables.insert(path, json!({"columns": columns, "rows": rows}));
        }
    }
    let objects = match has_ledger {
        true => recording.written_last(&kinds),
        false => of_tables(&kinds, &tables),
    };
    let graph = Graph::read(&client, None, None).await.unwrap_or_default();
    for (kind, namespace, name) in objects.into_iter().take(OBJECTS) {
        recording
            .object(kind, &namespace, &name, has_ledger, &graph)
            .await;
    }
    Ok(json!({
        "title": title,
        "at": jiff::Timestamp::now().to_string(),
        "answers": recording.answers,
        "tables": tables,
    }))
}

impl Recording {
    /// Records an answer, unless it is an error.
    async fn add(&mut self, path: &str, query: &str) -> Option<&Value> {
        let asked = match query {
            "" => path.to_owned(),
            query => format!("{path}?{query}"),
        };
        let (code, body) = self.own.get(&asked).await;
        if !code.is_success() {
            return None;
        }
        self.answers.insert(path.to_owned(), body);
        self.answers.get(path)
    }

    /// Records an answer about an object under its parameters.
    async fn add_about(&mut self, path: &str, about: &[(&str, &str)], more: &str) {
        let given = || about.iter().filter(|(_, value)| !value.is_empty());
        let encoded = given().map(|(name, value)| format!("{name}={}", encoded(value)));
        let encoded: Vec<String> = encoded.collect();
        let (code, body) = self
            .own
            .get(&format!("{path}?{}{more}", encoded.join("&")))
            .await;
        if code.is_success() {
            self.answers.insert(key_about(path, about), body);
        }
    }

    /// Records an object with its history.
    async fn object(
        &mut self,
        kind: &Kind,
        namespace: &str,
        name: &str,
        has_ledger: bool,
        graph: &Graph,
    ) {
        let scope = (!namespace.is_empty()).then_some(namespace);
        let collection = kind.path(scope);
        let (code, body) = self
            .own
            .get(&format!("{collection}/{}", encoded(name)))
            .await;
        if !code.is_success() {
            return;
        }
        let uid = body["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        self.answers.insert(format!("{collection}/{name}"), body);
        if let Some(tree) = graph.tree(&uid) {
            let about = [("uid", uid.as_str()), ("namespace", namespace)];
            let key = key_about("/kubewright/v1/console/tree", &about);
            self.answers.insert(key, tree);
        }
        if !has_ledger {
            return;
        }
        let about = [
            ("group", kind.group.as_str()),
            ("resource", kind.resource.as_str()),
            ("namespace", namespace),
            ("name", name),
        ];
        let revisions = format!("&objects=true&limit={REVISIONS}");
        for (endpoint, more) in [
            ("history", revisions.as_str()),
            ("timeline", "&limit=200"),
            ("fields", ""),
        ] {
            let path = format!("{LEDGER}/{endpoint}");
            self.add_about(&path, &about, more).await;
        }
    }

    /// Returns the ids of the newest runs.
    fn newest_runs(&self) -> Vec<String> {
        let runs = self.answers.get(&format!("{LEDGER}/runs"));
        let items = runs.and_then(|runs| runs["items"].as_array());
        let ids = items.into_iter().flatten().rev().take(RUNS);
        ids.filter_map(|run| run["id"].as_str().map(str::to_owned))
            .collect()
    }

    /// Returns the objects of the newest writes: those of custom kinds first, and newest first.
    fn written_last<'k>(&self, kinds: &'k [Kind]) -> Vec<(&'k Kind, String, String)> {
        let requests = self.answers.get(&format!("{LEDGER}/requests"));
        let items = requests.and_then(|requests| requests["items"].as_array());
        let mut found: Vec<(&Kind, String, String)> = Vec::new();
        for commit in items
            .into_iter()
            .flatten()
            .rev()
            .filter_map(|request| request["commits"].as_array())
            .flatten()
        {
            let text = |field: &str| commit[field].as_str().unwrap_or_default();
            let is_its =
                |kind: &&Kind| kind.group == text("group") && kind.resource == text("resource");
            let Some(kind) = kinds.iter().find(is_its).filter(is_recorded) else {
                continue;
            };
            let object = (kind, text("namespace").to_owned(), text("name").to_owned());
            let is_known = |known: &(&Kind, String, String)| {
                known.0.group == kind.group
                    && known.0.resource == kind.resource
                    && known.1 == object.1
                    && known.2 == object.2
            };
            if !found.iter().any(is_known) {
                found.push(object);
            }
        }
        found.sort_by_key(|(kind, _, _)| !is_custom(kind));
        found
    }
}

/// Returns the key of an answer about an object: the parameters that are set, sorted.
fn key_about(path: &str, about: &[(&str, &str)]) -> String {
    let given = about.iter().filter(|(_, value)| !value.is_empty());
    let mut pairs: Vec<String> = given
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.sort();
    format!("{path}?{}", pairs.join("&"))
}

/// Returns the objects of tables, those of custom kinds first.
fn of_tables<'k>(
    kinds: &'k [Kind],
    tables: &BTreeMap<String, Value>,
) -> Vec<(&'k Kind, String, String)> {
    let mut sorted: Vec<&Kind> = kinds.iter().filter(is_recorded).collect();
    sorted.sort_by_key(|kind| !is_custom(kind));
    let mut found = Vec::new();
    for kind in sorted {
        let rows = tables.get(&kind.path(None)).map(|table| &table["rows"]);
        for row in rows.and_then(Value::as_array).into_iter().flatten() {
            let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
            found.push((kind, text("namespace"), text("name")));
        }
    }
    found
}

/// Reports whether a kind is defined by users of the cluster.
fn is_custom(kind: &Kind) -> bool {
    kind.group.contains('.') && !kind.group.ends_with(".k8s.io")
}

fn is_recorded(kind: &&Kind) -> bool {
    !LEFT_OUT.contains(&kind.resource.as_str())
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
