//! CustomResourceDefinitions on a server, and the documents about them.
//!
//! A server may take its time to serve and describe a new kind, so requests are repeated until it does.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

use super::{
    Project,
    recorded::{in_order, shortened},
};
use crate::{
    normal::{Normal, without_numbers},
    run::Outcome,
    server::{Answer, Server},
};

/// The path of CustomResourceDefinitions.
const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The number of attempts, and the pause between them.
const ATTEMPTS: usize = 600;
const PAUSE: Duration = Duration::from_millis(100);

/// Creates the CustomResourceDefinitions of a project, and reads each once it is established or rejected.
pub async fn install(server: &Server, project: &Project) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for definition in &project.definitions {
        let made = ask(server, "POST", PATH, definition.to_string()).await?;
        let name = name(definition);
        let answer = match made.code {
            201 => until(server, &format!("{PATH}/{name}"), settled).await?,
            _ => made.clone(),
        };
        let mut outcome = outcome(&answer, &format!("POST {name}"))?;
        outcome.code = made.code;
        // Several controllers add conditions, in any order.
        let conditions = outcome.body.pointer_mut("/status/conditions");
        if let Some(conditions) = conditions.and_then(Value::as_array_mut) {
            conditions.sort_by_cached_key(|condition| condition["type"].to_string());
        }
        outcome.warnings = made.warnings;
        outcomes.push(in_order(outcome));
    }
    Ok(outcomes)
}

/// Returns whether the server has decided about the names and serves the accepted ones.
fn settled(definition: &Value) -> bool {
    let is = |ty, status| has_condition(definition, ty, status);
    // Another controller checks the approval of protected groups, in its own time.
    let annotations = &definition["metadata"]["annotations"];
    let approved = annotations["api-approved.kubernetes.io"].is_null()
        || is("KubernetesAPIApprovalPolicyConformant", "True");
    (is("Established", "True") && approved) || is("NamesAccepted", "False")
}

fn has_condition(definition: &Value, ty: &str, status: &str) -> bool {
    let conditions = definition["status"]["conditions"].as_array().into_iter();
    let mut conditions = conditions.flatten();
    conditions.any(|c| c["type"] == ty && c["status"] == status)
}

/// Returns the CustomResourceDefinitions of a project that are served.
pub fn established<'a>(project: &'a Project, installed: &[Outcome]) -> Vec<&'a Value> {
    let all = project.definitions.iter().zip(installed);
    let established =
        all.filter(|(_, outcome)| has_condition(&outcome.body, "Established", "True"));
    established.map(|(definition, _)| definition).collect()
}

/// Fetches the discovery and OpenAPI documents about CustomResourceDefinitions.
pub async fn documents(server: &Server, definitions: &[&Value]) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    let mut versions: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for definition in definitions {
        let spec = &definition["spec"];
        for version in served(definition) {
            let version = version["name"]
                .as_str()
                .context("a version without a name")?;
            let plural = spec["names"]["plural"].as_str().context("no plural")?;
            let key = (text(&spec["group"]), version.to_owned());
            versions.entry(key).or_default().insert(plural.to_owned());
        }
    }
    let groups: BTreeSet<&String> = versions.keys().map(|(group, _)| group).collect();
    for ((group, version), plurals) in &versions {
        let path = format!("/apis/{group}/{version}");
        let lists_all = |document: &Value| {
            let resources = document["resources"].as_array().into_iter().flatten();
            let names: BTreeSet<&str> = resources.filter_map(|r| r["name"].as_str()).collect();
            plurals.iter().all(|plural| names.contains(plural.as_str()))
        };
        let discovery = until(server, &path, lists_all).await?;
        let mut listed = outcome(&discovery, &format!("GET {path}"))?;
        // They come in any order.
        if let Some(resources) = listed.body["resources"].as_array_mut() {
            resources.sort_by_cached_key(|resource| resource["name"].to_string());
        }
        outcomes.push(listed);
        let path = format!("/openapi/v3/apis/{group}/{version}");
        let describes_all = |document: &Value| {
            let paths = document["paths"].as_object();
            plurals.iter().all(|plural| {
                let end = format!("/{plural}");
                paths.is_some_and(|paths| paths.keys().any(|path| path.ends_with(&end)))
            })
        };
        let document = until(server, &path, describes_all).await?;
        outcomes.push(outcome(&document, &format!("GET {path}"))?);
    }
    let has_groups = |document: &Value| {
        versions.iter().all(|((group, version), plurals)| {
            plurals.iter().all(|plural| {
                let (start, end) = (format!("/apis/{group}/{version}/"), format!("/{plural}"));
                let paths = document["paths"].as_object().into_iter().flatten();
                let mut paths = paths.map(|(path, _)| path);
                paths.any(|path| path.starts_with(&start) && path.ends_with(&end))
            })
        })
    };
    let whole = until(server, "/openapi/v2", has_groups).await?;
    let document: Value = serde_json::from_slice(&whole.body)?;
    for group in groups {
        let mut one = outcome(&whole, &format!("GET /openapi/v2, of {group}"))?;
        one.body = shortened(of_group(&document, group));
        outcomes.push(one);
    }
    Ok(outcomes)
}

/// Returns the part of an OpenAPI v2 document about a group.
fn of_group(document: &Value, group: &str) -> Value {
    let mut reversed: Vec<&str> = group.split('.').collect();
    reversed.reverse();
    let path = format!("/apis/{group}/");
    let is_path = |key: &str| key.starts_with(&path) || *key == path[..path.len() - 1];
    // A version follows the group; another group may have a longer name with the same prefix.
    let definition = format!("{}.", reversed.join("."));
    let is_definition = |key: &str| {
        let rest = key.strip_prefix(&definition).unwrap_or_default();
        rest.split('.').count() == 2
    };
    let part = |key: &str, wanted: &dyn Fn(&str) -> bool| {
        let fields = document[key].as_object().into_iter().flatten();
        let fields = fields.filter(|(key, _)| wanted(key));
        fields
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect::<Map<_, _>>()
    };
    json!({"paths": part("paths", &is_path), "definitions": part("definitions", &is_definition)})
}

/// Fails if a CustomResourceDefinition exists before it is installed.
pub async fn refuse_if_there(server: &Server, project: &Project) -> Result<()> {
    for definition in &project.definitions {
        let name = name(definition);
        let answer = ask(server, "GET", &format!("{PATH}/{name}"), String::new()).await?;
        ensure!(answer.code == 404, "{name} already exists");
    }
    Ok(())
}

/// Deletes the CustomResourceDefinitions of a project, and waits until they are gone.
pub async fn remove(server: &Server, project: &Project) -> Result<()> {
    for definition in &project.definitions {
        let path = format!("{PATH}/{}", name(definition));
        ask(server, "DELETE", &path, String::new()).await?;
    }
    for definition in &project.definitions {
        let path = format!("{PATH}/{}", name(definition));
        let mut attempts = 0;
        while ask(server, "GET", &path, String::new()).await?.code != 404 {
            attempts += 1;
            ensure!(attempts < ATTEMPTS, "{path} stays");
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(())
}

/// Returns the served versions of a CustomResourceDefinition.
pub fn served(definition: &Value) -> impl Iterator<Item = &Value> {
    let versions = definition["spec"]["versions"].as_array().into_iter();
    versions.flatten().filter(|v| v["served"] == true)
}

fn name(definition: &Value) -> String {
    text(&definition["metadata"]["name"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Repeats a request until the answer is accepted.
async fn until(server: &Server, path: &str, good: impl Fn(&Value) -> bool) -> Result<Answer> {
    for _ in 0..ATTEMPTS {
        let answer = ask(server, "GET", path, String::new()).await?;
        let document = serde_json::from_slice(&answer.body).unwrap_or_default();
        if answer.code == 200 && good(&document) {
            return Ok(answer);
        }
        // A server in this process needs no time.
        if !server.is_shared() {
            return Ok(answer);
        }
        tokio::time::sleep(PAUSE).await;
    }
    bail!("{path} did not reach the expected state")
}

async fn ask(server: &Server, method: &str, path: &str, body: String) -> Result<Answer> {
    let mut headers = BTreeMap::from([
        ("accept".to_owned(), "application/json".to_owned()),
        ("user-agent".to_owned(), "conformance/1.0".to_owned()),
    ]);
    if !body.is_empty() {
        headers.insert("content-type".to_owned(), "application/json".to_owned());
    }
    server.ask(method, path, &headers, body.into_bytes()).await
}

fn outcome(answer: &Answer, step: &str) -> Result<Outcome> {
    let body: Value = serde_json::from_slice(&answer.body)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&answer.body).into_owned()));
    let body = Normal::new("\0").value(&shortened(body));
    Ok(Outcome {
        step: step.to_owned(),
        code: answer.code,
        content_type: answer.content_type.clone(),
        warnings: answer.warnings.clone(),
        headers: BTreeMap::new(),
        body: without_numbers(body),
        stored: None,
        calls: Vec::new(),
    })
}
