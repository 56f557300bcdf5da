//! Measures the cost of writes: `cargo bench -p kubewright-merge --bench merge`, optionally with a part of a name
//! after `--`.
#![allow(missing_docs)]

#[path = "../tests/it/types.rs"]
mod types;

use kubewright_machinery::time::Time;
use kubewright_merge::managed::{Apply, Endpoint, Form, OneVersion, apply, update, update_as};
use kubewright_merge::{json_patch, merge_patch, strategic};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;
use types::{CONFIG_MAP, DEPLOYMENT, Kind, Type, deployment, empty_deployment};

/// The allocator of the `kubewright` tool.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs `work` on fresh input in small batches and prints the time of the fastest one, so that a busy machine does not
/// show. The making of the input is not counted.
fn measure<I>(name: &str, input: impl Fn() -> I, mut work: impl FnMut(I)) {
    const BATCHES: usize = 400;
    if std::env::args()
        .skip(1)
        .any(|only| !only.starts_with('-') && !name.contains(&only))
    {
        return;
    }
    const ROUNDS: usize = 10;
    let mut best = f64::MAX;
    for _ in 0..BATCHES {
        let inputs: Vec<I> = (0..ROUNDS).map(|_| input()).collect();
        let start = Instant::now();
        inputs.into_iter().for_each(&mut work);
        best = best.min(start.elapsed().as_secs_f64() / ROUNDS as f64);
    }
    println!("{name:<50} {:>8.2} us", best * 1e6);
}

fn main() {
    let versions = OneVersion::default();
    let endpoint = |kind: &'static Kind, api_version, name| Endpoint {
        schema: Type(kind),
        api_version,
        kind: name,
        subresource: "",
        versions: &versions,
    };
    let deployments = endpoint(&DEPLOYMENT, "apps/v1", "Deployment");
    let config_maps = endpoint(&CONFIG_MAP, "v1", "ConfigMap");
    let now = Time::from_unix(1_700_000_000, 0);

    let empty = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"a": "1", "b": "2"}});
    measure(
        "create ConfigMap",
        || config_map.clone(),
        |mut new| {
            update_as(&empty, &mut new, &config_maps, "bench", now, Form::Text).expect("tracked");
            black_box(new);
        },
    );

    let empty = empty_deployment();
    let new = deployment();
    println!("Deployment: {} bytes", new.to_string().len());
    measure(
        "create Deployment",
        || new.clone(),
        |mut new| {
            update_as(&empty, &mut new, &deployments, "bench", now, Form::Text).expect("tracked");
            black_box(new);
        },
    );

    let mut live = deployment();
    update(&empty, &mut live, &deployments, "bench", now).expect("tracked");
    let mut scaled = live.clone();
    scaled["spec"]["replicas"] = json!(5);
    measure(
        "update Deployment: scale",
        || scaled.clone(),
        |mut new| {
            update(&live, &mut new, &deployments, "other", now).expect("tracked");
            black_box(new);
        },
    );

    let mut config = deployment();
    config.as_object_mut().expect("object").remove("status");
    config["metadata"]
        .as_object_mut()
        .expect("object")
        .remove("uid");
    let request = |live, patch, manager| Apply {
        live,
        empty: &empty,
        patch,
        manager,
        force: true,
        now,
    };
    let applied = apply(&request(&empty, &config, "bench"), &deployments)
        .expect("applied")
        .object;
    measure(
        "apply Deployment: first",
        || (),
        |()| {
            black_box(apply(&request(&empty, &config, "bench"), &deployments).expect("applied"));
        },
    );
    measure(
        "apply Deployment: unchanged",
        || (),
        |()| {
            black_box(apply(&request(&applied, &config, "bench"), &deployments).expect("applied"));
        },
    );
    let mut fewer = config.clone();
    fewer["spec"]["template"]["spec"]["containers"]
        .as_array_mut()
        .expect("list")
        .pop();
    measure(
        "apply Deployment: drop a container",
        || (),
        |()| {
            black_box(apply(&request(&applied, &fewer, "bench"), &deployments).expect("applied"));
        },
    );

    let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "x", "env": [{"name": "NODE", "value": "z"}]}]}}}});
    let input = || (live.clone(), patch.clone());
    measure(
        "strategic merge patch",
        input,
        |(live, patch): (Value, Value)| {
            black_box(strategic::apply(Type(&DEPLOYMENT), live, patch).expect("patched"));
        },
    );
    measure("merge patch", input, |(mut live, patch): (Value, Value)| {
        merge_patch::apply(&mut live, patch).expect("patched");
        black_box(live);
    });
    let body = br#"[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"x"}]"#;
    measure(
        "JSON patch",
        || live.clone(),
        |live| {
            let patch =
                json_patch::Patch::decode(body, json_patch::Decoding::Checked).expect("patch");
            black_box(json_patch::apply(live, &patch).expect("patched"));
        },
    );
}
