//! Compares Kubewright with the recorded answers of kube-apiserver: one test for each area of scenarios.

use std::{collections::BTreeSet, fmt::Write, sync::OnceLock};

use kubewright_conformance::{
    compare::{Comparison, Reasons, compare_file},
    definitions::{self, Project, recorded::Recording},
    folder, golden,
    scenario::{self, ScenarioFile},
};

macro_rules! areas {
    ($($area:ident)*) => {
        const AREAS: &[&str] = &[$(stringify!($area)),*];
        $(
            #[tokio::test]
            async fn $area() {
                check(stringify!($area)).await;
            }
        )*
    };
}

areas! { access admission aggregation apply cluster core flow identity managers network patch policy signing storage webhooks workloads }

macro_rules! projects {
    ($($test:ident: $project:literal;)*) => {
        const PROJECTS: &[&str] = &[$($project),*];
        $(
            #[tokio::test]
            async fn $test() {
                check_project($project).await;
            }
        )*
    };
}

projects! {
    definitions_of_argo_rollouts: "definitions/argo-rollouts";
    definitions_of_argo_workflows: "definitions/argo-workflows";
    definitions_of_cert_manager: "definitions/cert-manager";
    definitions_of_cluster_api: "definitions/cluster-api";
    definitions_of_gateway_api: "definitions/gateway-api";
    definitions_of_our_own: "definitions/own";
    definitions_of_prometheus_operator: "definitions/prometheus-operator";
}

#[test]
fn every_project_has_a_test() {
    let found: BTreeSet<&str> = all_projects().iter().map(|p| p.name.as_str()).collect();
    let listed: BTreeSet<&str> = PROJECTS.iter().copied().collect();
    assert_eq!(found, listed);
}

#[test]
fn every_area_has_a_test() {
    let found: BTreeSet<&str> = files()
        .iter()
        .filter_map(|f| f.name.split('/').next())
        .collect();
    let listed: BTreeSet<&str> = AREAS.iter().copied().collect();
    assert_eq!(found, listed);
}

#[test]
fn every_difference_has_a_file() {
    let reasons = Reasons::load(&folder().join("differences.yaml")).unwrap();
    let mut names: BTreeSet<&str> = files().iter().map(|f| f.name.as_str()).collect();
    names.extend(PROJECTS);
    for file in reasons.files() {
        assert!(names.contains(file), "{file}");
    }
}

fn files() -> &'static [ScenarioFile] {
    static FILES: OnceLock<Vec<ScenarioFile>> = OnceLock::new();
    FILES.get_or_init(|| scenario::load(&folder().join("scenarios")).unwrap())
}

fn all_projects() -> &'static [Project] {
    static ALL: OnceLock<Vec<Project>> = OnceLock::new();
    ALL.get_or_init(|| definitions::load().unwrap())
}

async fn check_project(name: &str) {
    let reasons = Reasons::load(&folder().join("differences.yaml")).unwrap();
    let project = all_projects().iter().find(|p| p.name == name).unwrap();
    let recording = Recording::load(&folder().join("golden"), project).unwrap();
    let comparison = definitions::compare(None, project, &recording, &reasons);
    let mut complaints = String::new();
    complain(&mut complaints, &comparison.await.unwrap());
    for reason in reasons.unused(&[name]) {
        _ = writeln!(complaints, "a reason without a difference: {reason}");
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}

fn complain(complaints: &mut String, comparison: &Comparison) {
    for difference in comparison.unexplained() {
        let (scenario, step) = (&difference.scenario, difference.step);
        _ = writeln!(
            complaints,
            "{}: {scenario}, step {step}: {}",
            comparison.file, difference.title
        );
        for field in &difference.fields {
            _ = writeln!(complaints, "    {field}");
        }
    }
}

async fn check(area: &str) {
    let reasons = Reasons::load(&folder().join("differences.yaml")).unwrap();
    let mut complaints = String::new();
    let mut names = Vec::new();
    let prefix = format!("{area}/");
    for file in files().iter().filter(|f| f.name.starts_with(&prefix)) {
        let recorded = golden::load(&folder().join("golden"), &file.name).unwrap();
        let comparison = compare_file(None, file, &recorded, &reasons, false)
            .await
            .unwrap();
        complain(&mut complaints, &comparison);
        names.push(file.name.as_str());
    }
    for reason in reasons.unused(&names) {
        _ = writeln!(complaints, "a reason without a difference: {reason}");
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}
