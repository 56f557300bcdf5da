//! Mutates objects, to test validation.

use serde_json::{Value, json};

use super::rng::Rng;

/// Changes one value in the spec or the status of an object: another value, another type, an added or removed field.
///
/// The object may still be valid afterwards.
///
/// ```
/// use kubewright_resource::generate::{Rng, mutate};
/// use serde_json::json;
///
/// let before = json!({"spec": {"masts": 3}});
/// let mut after = before.clone();
/// mutate(&mut after, &mut Rng::new(1));
/// assert_ne!(after, before);
/// ```
pub fn mutate(object: &mut Value, rng: &mut Rng) {
    let part = match object.get("status").is_some() && rng.one_in(3) {
        true => "status",
        false => "spec",
    };
    let mut paths = Vec::new();
    if let Some(value) = object.get(part) {
        collect(value, format!("/{part}"), &mut paths, 0);
    }
    let Some(path) = rng.pick(&paths).cloned() else {
        return;
    };
    let Some(value) = object.pointer_mut(&path) else {
        return;
    };
    change(value, rng);
}

fn collect(value: &Value, path: String, paths: &mut Vec<String>, depth: usize) {
    if depth > 100 {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(field, format!("{path}/{key}"), paths, depth + 1);
            }
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                collect(item, format!("{path}/{i}"), paths, depth + 1);
            }
        }
        _ => {}
    }
    paths.push(path);
}

fn change(value: &mut Value, rng: &mut Rng) {
    if rng.one_in(5) {
        let others = [
            json!(null),
            json!(true),
            json!(-1),
            json!(1.5),
            json!(""),
            json!("x y"),
            json!([]),
            json!([1, 1]),
            json!({}),
            json!({"unknown": 1}),
        ];
        *value = rng.pick(&others).cloned().unwrap_or_default();
        return;
    }
    match value {
        Value::Null => *value = json!("was null"),
        Value::Bool(flag) => *flag = !*flag,
        Value::Number(n) => {
            let n = n.as_i64().unwrap_or_default();
            let others = [
                n.saturating_neg(),
                n.saturating_mul(1000),
                0,
                -1,
                n.saturating_add(1),
            ];
            *value = json!(rng.pick(&others));
        }
        Value::String(text) => match rng.below(3) {
            0 => text.clear(),
            1 => text.push_str("-Ä!"),
            _ => *text = text.repeat(20).chars().take(400).collect(),
        },
        Value::Array(items) => match (rng.below(3), items.first().cloned()) {
            (0, _) => items.clear(),
            (_, Some(first)) => {
                for _ in 0..rng.below(12) + 1 {
                    items.push(first.clone());
                }
            }
            _ => items.push(json!("more")),
        },
        Value::Object(fields) => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            match (rng.one_in(2), rng.pick(&keys)) {
                (true, Some(key)) => {
                    fields.remove(key);
                }
                _ => {
                    fields.insert("unknown".into(), json!(1));
                }
            }
        }
    }
}
