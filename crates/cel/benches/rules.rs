//! How long a typical rule takes: `cargo bench -p kubewright-cel`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use kubewright_cel::limits::RUNTIME_COST_BUDGET;
use kubewright_cel::{Activation, DeclType, Env, Schema, Validator};
use serde_json::{Value as Json, json};

fn main() {
    let schema = schema();
    let object = object();
    let decl = DeclType::of(&schema, false).expect("the schema has a type");
    let env = Env::new()
        .declared("self", "selfType", &decl)
        .declared("oldSelf", "selfType", &decl);
    for rule in RULES {
        let checked = env.compile(rule).expect("the rule compiles");
        let program = checked.program().expect("the rule is ready");
        let run = measure(|| {
            let activation = Activation::new()
                .json(&object, Some(&schema))
                .json(&object, Some(&schema));
            black_box(program.evaluate(&activation).cost);
        });
        let compile = measure(|| {
            black_box(
                env.compile(rule)
                    .map(|checked| checked.program().is_ok())
                    .is_ok(),
            );
        });
        println!("{run:>10.2?} run {compile:>10.2?} compile  {rule}");
    }
    let validator = Validator::new(&schema, false).expect("the schema has rules");
    let all = measure(|| {
        let outcome = validator.validate(&object, Some(&object), RUNTIME_COST_BUDGET, true);
        assert!(outcome.errors.is_empty());
    });
    println!("{all:>10.2?} all rules of the schema on an update");
}

const RULES: [&str; 12] = [
    "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas",
    "self.name == oldSelf.name",
    "has(self.a) != has(self.b)",
    "self.mode == 'A' ? has(self.a) : has(self.b)",
    "self.mode in ['A', 'B', 'C']",
    "self.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
    "self.name.startsWith('w') && self.name.size() < 10",
    "self.ports.all(p, p.port > 0 && p.port < 65536)",
    "self.ports.all(p, self.ports.exists_one(q, p.name == q.name))",
    "self.ports.map(p, p.name).join(',') != ''",
    "quantity(self.quota).isGreaterThan(quantity('100m'))",
    "self.image.contains(':') && !self.image.endsWith(':latest')",
];

fn schema() -> Schema {
    let rules: Vec<Json> = RULES.iter().map(|rule| json!({"rule": rule})).collect();
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
                "properties": {
                    "name": {"type": "string", "maxLength": 15},
                    "port": {"type": "integer"},
                    "protocol": {"type": "string"},
                },
            }},
            "mode": {"type": "string"},
            "a": {"type": "object", "properties": {"x": {"type": "string"}}},
            "b": {"type": "object", "properties": {"y": {"type": "string"}}},
            "quota": {"type": "string", "maxLength": 20},
            "image": {"type": "string", "maxLength": 200},
        },
    }))
}

fn object() -> Json {
    json!({
        "name": "web", "replicas": 3, "minReplicas": 1, "maxReplicas": 5, "mode": "A", "a": {"x": "1"},
        "ports": [
            {"name": "http", "port": 80, "protocol": "TCP"},
            {"name": "https", "port": 443, "protocol": "TCP"},
            {"name": "dns", "port": 53, "protocol": "UDP"},
        ],
        "quota": "500m", "image": "registry.example.com/team/nginx:1.2",
    })
}

/// The mean time of a call, over a fifth of a second.
fn measure(mut call: impl FnMut()) -> Duration {
    let began = Instant::now();
    let mut count = 0u32;
    while began.elapsed() < Duration::from_millis(200) {
        for _ in 0..100 {
            call();
        }
        count += 100;
    }
    began.elapsed() / count
}
