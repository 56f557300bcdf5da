//! The Pod Security Standards: upstream's example pods for every level, version and check, packed by
//! `cargo xtask pod-security`.

use std::{collections::BTreeSet, io::Read as _, ops::RangeInclusive};

use flate2::read::GzDecoder;
use kubewright_schema::yaml::parse_yaml;
use serde_json::{Value, json};

use crate::client::Client;

const PODS: &[u8] = include_bytes!("recorded/pod_security.yaml.gz");
/// The newest version that upstream has examples for.
const NEWEST: u32 = 35;

/// A place where a pod passes or fails.
struct Place {
    level: String,
    passes: bool,
    minors: Vec<RangeInclusive<u32>>,
}

/// Returns the pods, each with its places.
fn examples() -> Vec<(Vec<Place>, Value)> {
    let mut text = String::new();
    let mut decoder = GzDecoder::new(PODS);
    decoder.read_to_string(&mut text).expect("the file is text");
    let documents = text.split("---\n").skip(1);
    let read = |document: &str| {
        let places = document.lines().filter_map(|line| line.strip_prefix("# "));
        let pod = parse_yaml(document.as_bytes()).expect("the pod is YAML");
        let pod = pod.node.into_value().expect("the pod is an object");
        (places.map(place).collect(), pod)
    };
    documents.map(read).collect()
}

/// Reads `restricted fail 0-24 26`.
fn place(text: &str) -> Place {
    let mut words = text.split(' ');
    let level = words.next().expect("a level").to_owned();
    let passes = words.next().expect("an outcome") == "pass";
    let range = |word: &str| {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let [first, last] = [first, last].map(|number| number.parse().expect("a number"));
        first..=last
    };
    Place {
        level,
        passes,
        minors: words.map(range).collect(),
    }
}

async fn client() -> Client {
    let client = Client::new().await;
    for level in ["baseline", "restricted"] {
        for minor in 0..=NEWEST {
            let labels = json!({
                "pod-security.kubernetes.io/enforce": level,
                "pod-security.kubernetes.io/enforce-version": format!("v1.{minor}"),
            });
            let metadata = json!({"name": format!("{level}-{minor}"), "labels": labels});
            let (code, _) = client
                .post("/api/v1/namespaces", &json!({"metadata": metadata}))
                .await;
            assert_eq!(code, 201);
        }
    }
    client
}

#[tokio::test]
async fn upstream_examples_pass_and_fail_as_they_should() {
    let client = client().await;
    let (mut seen, mut checks) = (BTreeSet::new(), BTreeSet::new());
    let (mut violations, mut invalid) = (0, 0);
    for (places, mut pod) in examples() {
        // Some of the names, which say the check, are not valid for pods.
        let name = pod["metadata"]["name"].take();
        let name = name.as_str().unwrap_or_default();
        let check = name.trim_end_matches(|c: char| c.is_ascii_digit());
        checks.insert(check.to_owned());
        pod["metadata"]["name"] = json!("test");
        for Place {
            level,
            passes,
            minors,
        } in places
        {
            for minor in minors.into_iter().flatten() {
                let path = format!("/api/v1/namespaces/{level}-{minor}/pods?dryRun=All");
                let (code, answer) = client.post(&path, &pod).await;
                let violates = format!(
                    "pods \"test\" is forbidden: violates PodSecurity \"{level}:v1.{minor}\": "
                );
                let message = answer["message"].as_str().unwrap_or_default();
                match (passes, code) {
                    (true, 201) => {}
                    (false, 403) if message.starts_with(&violates) => violations += 1,
                    // Some of them are not valid anyway, which is said first.
                    (false, 422) => invalid += 1,
                    _ => panic!("{level} 1.{minor} {pod}: {code}, {answer}"),
                }
                seen.insert((level.clone(), minor));
            }
        }
    }
    // As many as on a real server that allows privileged containers.
    assert_eq!((violations, invalid), (3262, 4));
    assert_eq!(seen.len(), 2 * (NEWEST as usize + 1));
    // 19 checks, and the smallest pods that pass: of any system, of Linux and of Windows.
    assert_eq!(checks.len(), 19 + 3, "{checks:?}");
}
