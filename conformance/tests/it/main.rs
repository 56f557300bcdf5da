//! Kubewright answers as kube-apiserver did when it was recorded: one test for each area of scenarios.

use std::{collections::BTreeSet, fmt::Write, sync::OnceLock};

use kubewright_conformance::{
    compare::{Reasons, compare_file},
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

areas! { access apply cluster core managers network patch policy storage workloads }

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
    let names: BTreeSet<&str> = files().iter().map(|f| f.name.as_str()).collect();
    for file in reasons.files() {
        assert!(names.contains(file), "{file}");
    }
}

fn files() -> &'static [ScenarioFile] {
    static FILES: OnceLock<Vec<ScenarioFile>> = OnceLock::new();
    FILES.get_or_init(|| scenario::load(&folder().join("scenarios")).unwrap())
}

async fn check(area: &str) {
    let reasons = Reasons::load(&folder().join("differences.yaml")).unwrap();
    let mut complaints = String::new();
    let mut names = Vec::new();
    let prefix = format!("{area}/");
    for file in files().iter().filter(|f| f.name.starts_with(&prefix)) {
        let recorded = golden::load(&folder().join("golden"), &file.name).unwrap();
        let comparison = compare_file(None, file, &recorded, &reasons).await.unwrap();
        for difference in comparison.unexplained() {
            let (scenario, step) = (&difference.scenario, difference.step);
            _ = writeln!(
                complaints,
                "{}: {scenario}, step {step}: {}",
                file.name, difference.title
            );
            for field in &difference.fields {
                _ = writeln!(complaints, "    {field}");
            }
        }
        names.push(file.name.as_str());
    }
    for reason in reasons.unused(&names) {
        _ = writeln!(complaints, "a reason for no difference: {reason}");
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}
