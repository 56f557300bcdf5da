//! Decoding, encoding, patches and managed fields of a Deployment, in memory.

use std::{hint::black_box, time::Duration};

use anyhow::{Context, anyhow};
use kubewright_apiserver::TypeSchema;
use kubewright_machinery::{merge_patch, time::Time};
use kubewright_merge::{
    json_patch,
    managed::{Apply, Endpoint, OneVersion, apply, update},
    strategic,
};
use kubewright_schema::{decode_typed, encode, normalize_typed, parse_json, yaml::parse_yaml};
use serde_json::{Value, json};

use super::{Bench, Case, OURS, micros};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    proc, requests,
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "documents",
    title: "decoding, patches and managed fields",
    what: "Ours alone, in process: processor time of one operation on a Deployment of about 4 KB. Patches and managed fields include \
           a clone of the object.",
    run,
};

const OPERATIONS: [(&str, &str); 9] = [
    ("json", "decode JSON"),
    ("yaml", "decode YAML"),
    ("encode", "encode JSON"),
    ("json-patch", "JSON patch"),
    ("merge-patch", "merge patch"),
    ("strategic", "strategic merge patch"),
    ("create", "managed fields of a create"),
    ("update", "managed fields of an update"),
    ("apply", "server-side apply without a change"),
];

const MANAGER: &str = "bench";

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    section.rows = OPERATIONS
        .map(|(key, label)| match key {
            "apply" => Row::cost(key, label, "µs").at_most(100.0),
            _ => Row::cost(key, label, "µs"),
        })
        .into();
    let count = bench.size(2000, 50);
    let ours = Contestant::new(OURS, move || turn(count));
    hold(section, bench.rounds(5), &Digests::new(), vec![ours]);
    Ok(())
}

fn turn(count: u32) -> anyhow::Result<Sample> {
    let resource = kubewright_catalog::resource("apps", "v1", "deployments");
    let ty = resource.context("Deployments are built in")?.ty;
    let text = requests::deployment();
    let object: Value = serde_json::from_str(&text)?;
    let mut sample = Sample::default();
    let mut record =
        |key: &str, time: Duration| sample.figures.insert(key.to_owned(), micros(time));

    record(
        "json",
        each(count, || {
            let node = parse_json(text.as_bytes()).map_err(|e| anyhow!("{e}"))?;
            drop(black_box(decode_typed(node, ty)));
            Ok(())
        })?,
    );
    record(
        "yaml",
        each(count, || {
            let yaml = parse_yaml(text.as_bytes()).map_err(|e| anyhow!("{e}"))?;
            drop(black_box(decode_typed(yaml.node, ty)));
            Ok(())
        })?,
    );
    record(
        "encode",
        each(count, || {
            drop(black_box(encode(&object)));
            Ok(())
        })?,
    );

    let body = br#"[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"x"}]"#;
    record(
        "json-patch",
        each(count, || {
            let patch = json_patch::Patch::decode(body, json_patch::Decoding::Checked);
            let patch = patch.map_err(|e| anyhow!("{e:?}"))?;
            let patched = json_patch::apply(object.clone(), &patch);
            drop(black_box(patched.map_err(|e| anyhow!("{e:?}"))?));
            Ok(())
        })?,
    );
    let containers =
        json!([{"name": "web", "image": "x", "env": [{"name": "NODE", "value": "z"}]}]);
    let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    record(
        "merge-patch",
        each(count, || {
            let mut patched = object.clone();
            merge_patch::apply(&mut patched, patch.clone()).map_err(|e| anyhow!("{e:?}"))?;
            drop(black_box(patched));
            Ok(())
        })?,
    );
    record(
        "strategic",
        each(count, || {
            let patched = strategic::apply(TypeSchema::Object(ty), object.clone(), patch.clone());
            drop(black_box(patched.map_err(|e| anyhow!("{e:?}"))?));
            Ok(())
        })?,
    );

    let versions = OneVersion::default();
    let endpoint = Endpoint {
        schema: TypeSchema::Object(ty),
        api_version: "apps/v1",
        kind: "Deployment",
        subresource: "",
        versions: &versions,
    };
    let now = Time::from_unix(1_700_000_000, 0);
    let empty = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}});
    let empty = normalize_typed(empty.clone(), ty).unwrap_or(empty);
    let track = |live: &Value, mut new: Value, manager: &str| {
        let tracked = update(live, &mut new, &endpoint, manager, now);
        tracked.map_err(|e| anyhow!("{e:?}")).map(|()| new)
    };
    record(
        "create",
        each(count, || {
            drop(black_box(track(&empty, object.clone(), MANAGER)?));
            Ok(())
        })?,
    );
    let live = track(&empty, object.clone(), MANAGER)?;
    let mut scaled = live.clone();
    scaled["spec"]["replicas"] = json!(5);
    record(
        "update",
        each(count, || {
            drop(black_box(track(&live, scaled.clone(), "other")?));
            Ok(())
        })?,
    );
    let applied = |live: &Value| {
        let request = Apply {
            live,
            empty: &empty,
            patch: &object,
            manager: MANAGER,
            force: true,
            now,
        };
        apply(&request, &endpoint).map_err(|e| anyhow!("{e:?}"))
    };
    let live = applied(&empty)?.object;
    record(
        "apply",
        each(count, || {
            drop(black_box(applied(&live)?));
            Ok(())
        })?,
    );
    Ok(sample)
}

/// Returns the processor time of one call.
fn each(count: u32, mut call: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let before = proc::thread_time()?;
    for _ in 0..count {
        call()?;
    }
    Ok((proc::thread_time()? - before) / count)
}
