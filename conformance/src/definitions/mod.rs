//! CustomResourceDefinitions of public projects and our own, and how kube-apiserver handles them.
//!
//! A project is a folder of CustomResourceDefinitions that is installed as a whole. The comparison covers the stored
//! definitions with their conditions, the documents that describe them (discovery, OpenAPI v3 and v2), and the answers
//! for valid and invalid objects generated from their schemas. The requests are recorded with the answers, so they do
//! not change with the code that generated them.
//!
//! | module | contents |
//! |---|---|
//! | [`cases`] | requests generated from a schema: every construct, satisfied and violated |
//! | `change` | changes of a valid object |
//! | [`install`] | CustomResourceDefinitions on a server, and the documents about them |
//! | [`recorded`] | the recorded requests and answers, compressed |

pub mod cases;
mod change;
pub mod install;
pub mod recorded;

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, anyhow};
use flate2::read::GzDecoder;
use futures_util::{StreamExt, stream};
use kubewright_schema::yaml::parse_yaml;
use serde_json::Value;

use crate::{
    compare::{Comparison, Difference, Reasons, differences},
    folder,
    run::{Outcome, run_scenario},
    scenario::Scenario,
    server::Server,
    setup::Setup,
};
use recorded::{Asked, Recording, in_order};

/// The prefix of projects among the names of scenario files.
pub const AREA: &str = "definitions";

/// The number of scenarios of a project that run concurrently.
const AT_ONCE: usize = 8;

/// A folder of CustomResourceDefinitions.
#[derive(Clone, Debug)]
pub struct Project {
    /// The area and the name of the folder: `definitions/cert-manager`.
    pub name: String,
    /// The CustomResourceDefinitions by file name.
    pub definitions: Vec<Value>,
}

/// Reads all projects.
pub fn load() -> Result<Vec<Project>> {
    let root = folder().join(AREA);
    let mut projects = Vec::new();
    for path in sorted(&root)?.into_iter().filter(|path| path.is_dir()) {
        let definitions = sorted(&path)?;
        let definitions = definitions.iter().map(|file| {
            read_definition(file).with_context(|| format!("the definition {}", file.display()))
        });
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        projects.push(Project {
            definitions: definitions.collect::<Result<_>>()?,
            name: format!("{AREA}/{name}"),
        });
    }
    Ok(projects)
}

fn read_definition(path: &Path) -> Result<Value> {
    let bytes = fs::read(path)?;
    let mut text = Vec::new();
    match path.extension().is_some_and(|e| e == "gz") {
        true => _ = GzDecoder::new(bytes.as_slice()).read_to_end(&mut text)?,
        false => text = bytes,
    }
    let yaml = parse_yaml(&text).map_err(|e| anyhow!("{e}"))?;
    yaml.node.into_value().map_err(|e| anyhow!("{e}"))
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Records the answers of a server about a project, in two runs that must agree.
///
/// The requests of the earlier recording are repeated; without one, they are generated from the schemas.
pub async fn record(
    server: &Server,
    project: &Project,
    before: Option<Recording>,
) -> Result<Recording> {
    let release = server.release().await?;
    install::refuse_if_there(server, project).await?;
    let installed = record_installed(server, project, before, release).await;
    install::remove(server, project).await?;
    installed
}

async fn record_installed(
    server: &Server,
    project: &Project,
    before: Option<Recording>,
    release: String,
) -> Result<Recording> {
    let definitions = install::install(server, project).await?;
    let established = install::established(project, &definitions);
    let documents = install::documents(server, &established).await?;
    let mut scenarios = Vec::new();
    match before {
        Some(before) => scenarios.extend(before.asked.into_iter().map(|asked| Scenario {
            name: asked.scenario,
            pending: None,
            hooks: Arc::default(),
            steps: asked.requests,
        })),
        None => {
            for definition in established {
                scenarios.extend(cases::scenarios(definition)?);
            }
        }
    }
    let runs = scenarios.into_iter().map(|scenario| async move {
        let steps = agreed(server, &scenario).await?;
        anyhow::Ok(Asked {
            scenario: scenario.name,
            requests: scenario.steps,
            steps,
        })
    });
    let asked: Vec<_> = stream::iter(runs).buffered(AT_ONCE).collect().await;
    Ok(Recording {
        server: release,
        definitions,
        documents,
        asked: asked.into_iter().collect::<Result<_>>()?,
    })
}

async fn agreed(server: &Server, scenario: &Scenario) -> Result<Vec<Outcome>> {
    let mut before = run_in_order(server, scenario).await?;
    for _ in 0..4 {
        let now = run_in_order(server, scenario).await?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
    Err(anyhow!(
        "answers to {:?} differ from run to run",
        scenario.name
    ))
}

async fn run_in_order(server: &Server, scenario: &Scenario) -> Result<Vec<Outcome>> {
    let outcomes = run_scenario(server, scenario).await?;
    Ok(outcomes.into_iter().map(in_order).collect())
}

/// Runs the recorded requests of a project against a server, and compares the answers.
pub async fn compare(
    server: Option<&Server>,
    project: &Project,
    recording: &Recording,
    reasons: &Reasons,
) -> Result<Comparison> {
    let own;
    let server = match server {
        Some(server) => server,
        None => {
            own = Server::in_process(Setup::Plain).await?;
            &own
        }
    };
    let definitions = install::install(server, project).await?;
    let established = install::established(project, &definitions);
    let documents = install::documents(server, &established).await?;
    let mut comparison = Comparison {
        file: project.name.clone(),
        about: recording.about(project),
        scenarios: recording.asked.len() + 2,
        ..Comparison::default()
    };
    note(
        &mut comparison,
        "the definitions",
        &recording.definitions,
        &definitions,
        reasons,
    )?;
    note(
        &mut comparison,
        "the documents",
        &recording.documents,
        &documents,
        reasons,
    )?;
    for asked in &recording.asked {
        let scenario = Scenario {
            name: asked.scenario.clone(),
            pending: None,
            hooks: Arc::default(),
            steps: asked.requests.clone(),
        };
        let outcomes = run_in_order(server, &scenario).await?;
        note(
            &mut comparison,
            &asked.scenario,
            &asked.steps,
            &outcomes,
            reasons,
        )?;
    }
    if server.is_shared() {
        install::remove(server, project).await?;
    }
    Ok(comparison)
}

fn note(
    comparison: &mut Comparison,
    scenario: &str,
    recorded: &[Outcome],
    outcomes: &[Outcome],
    reasons: &Reasons,
) -> Result<()> {
    comparison.steps += recorded.len();
    for (i, expected) in recorded.iter().enumerate() {
        let fields = match outcomes.get(i) {
            Some(outcome) => differences(expected, outcome)?,
            None => vec!["not answered".to_owned()],
        };
        if !fields.is_empty() {
            comparison.differences.push(Difference {
                reason: reasons.find(&comparison.file, scenario, i + 1, &fields),
                scenario: scenario.to_owned(),
                step: i + 1,
                title: expected.step.clone(),
                fields,
            });
        }
    }
    Ok(())
}
