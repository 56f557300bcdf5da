//! CEL rules, evaluated on an object in memory.

use std::{hint::black_box, time::Duration};

use anyhow::{Context, ensure};
use kubewright_cel::{
    Activation, DeclType, Env, Extent, Ratcheting, Schema, Validator, limits::RUNTIME_COST_BUDGET,
};
use serde_json::{Value, json};

use super::{Bench, Case, OURS, micros};
use crate::{
    contest::{Contestant, Digests, Sample, hold},
    proc,
    results::Section,
    rows::Row,
};

pub(crate) const CASE: Case = Case {
    name: "cel",
    title: "CEL rules",
    what: "Ours alone, in process: processor time of one evaluation of a compiled rule on an object of a few fields, and of all five \
           rules of its schema as an update evaluates them. Every evaluation must come out true.",
    run,
};

const RULES: [(&str, &str, &str); 5] = [
    (
        "compare",
        "two comparisons of integers",
        "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas",
    ),
    (
        "immutable",
        "a field that may not change",
        "self.name == oldSelf.name",
    ),
    (
        "pattern",
        "a regular expression",
        "self.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
    ),
    (
        "list",
        "a rule for each of three items",
        "self.ports.all(p, p.port > 0 && p.port < 65536)",
    ),
    (
        "quantity",
        "a comparison of quantities",
        "quantity(self.quota).isGreaterThan(quantity('100m'))",
    ),
];

fn run(bench: &Bench, section: &mut Section) -> anyhow::Result<()> {
    let one = |(key, label, _): (&str, &str, &str)| Row::cost(key, label, "µs").at_most(5.0);
    section.rows = RULES.map(one).into();
    section
        .rows
        .push(Row::cost("all", "all five on an update", "µs"));
    let count = bench.size(20_000, 1000);
    let ours = Contestant::new(OURS, move || turn(count));
    hold(section, bench.rounds(5), &Digests::new(), vec![ours]);
    Ok(())
}

fn turn(count: u32) -> anyhow::Result<Sample> {
    let (schema, object) = (schema(), object());
    let decl = DeclType::of(&schema, Extent::Value).context("the schema has no type")?;
    let env = Env::new()
        .declared("self", "selfType", &decl)
        .declared("oldSelf", "selfType", &decl);
    let mut sample = Sample::default();
    for (key, _, rule) in RULES {
        let checked = env.compile(rule);
        let checked = checked.map_err(|e| anyhow::anyhow!("{rule} does not compile: {e:?}"))?;
        let program = checked.program();
        let program = program.map_err(|e| anyhow::anyhow!("{rule} is not ready: {e:?}"))?;
        let time = each(count, || {
            let activation = Activation::new()
                .json(&object, Some(&schema))
                .json(&object, Some(&schema));
            black_box(program.evaluate(&activation).cost);
        })?;
        sample.figures.insert(key.to_owned(), micros(time));
    }
    let validator = Validator::new(&schema, Extent::Value).context("the schema has no rules")?;
    let validate = || {
        validator.validate(
            &object,
            Some(&object),
            RUNTIME_COST_BUDGET,
            Ratcheting::Enabled,
        )
    };
    ensure!(
        validate().errors.is_empty(),
        "scores nothing: a rule that holds came out false"
    );
    let time = each(count, || {
        black_box(validate().errors.len());
    })?;
    sample.figures.insert("all".to_owned(), micros(time));
    Ok(sample)
}

/// Returns the processor time of one call.
fn each(count: u32, mut call: impl FnMut()) -> anyhow::Result<Duration> {
    let before = proc::thread_time()?;
    for _ in 0..count {
        call();
    }
    Ok((proc::thread_time()? - before) / count)
}

fn schema() -> Schema {
    let rules: Vec<Value> = RULES
        .iter()
        .map(|(_, _, rule)| json!({"rule": rule}))
        .collect();
    Schema::from_json(&json!({
        "type": "object",
        "x-kubernetes-validations": rules,
        "properties": {
            "name": {"type": "string", "maxLength": 63},
            "replicas": {"type": "integer"},
            "minReplicas": {"type": "integer"},
            "maxReplicas": {"type": "integer"},
            "ports": {"type": "array", "maxItems": 20, "items": {
                "type": "object",
                "properties": {"name": {"type": "string", "maxLength": 15}, "port": {"type": "integer"}},
            }},
            "quota": {"type": "string", "maxLength": 20},
        },
    }))
}

fn object() -> Value {
    json!({
        "name": "web", "replicas": 3, "minReplicas": 1, "maxReplicas": 5, "quota": "500m",
        "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}, {"name": "dns", "port": 53}],
    })
}
