//! temp
use kubewright_schema::*;
use std::io::Read;
fn main() {
    let mode = std::env::args().nth(1).unwrap();
    if mode == "golden" {
        let mut n = 0;
        let mut bad = 0;
        let mut skipped = 0;
        for e in std::fs::read_dir("/root/go/pkg/mod/k8s.io/api@v0.36.3/testdata/HEAD").unwrap() {
            let p = e.unwrap().path();
            if p.extension().is_none_or(|x| x != "json") {
                continue;
            }
            let name = p.file_name().unwrap().to_str().unwrap().to_owned();
            let bytes = std::fs::read(&p).unwrap();
            let node = parse_json(&bytes).unwrap();
            let (av, kind) = read_type_meta(&node).unwrap();
            let (g, v) = av.split_once('/').unwrap_or(("", av));
            let Some(ty) = kubewright_catalog::kind_type(g, v, kind) else {
                skipped += 1;
                continue;
            };
            n += 1;
            let want: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            match decode_typed(node, ty) {
                Err(e) => {
                    bad += 1;
                    println!("{name}: {e}");
                }
                Ok(t) => {
                    if !t.problems.is_empty() {
                        println!("{name}: {}", t.problems);
                    }
                    if t.value != want {
                        bad += 1;
                        println!("{name} differs");
                        diff(&want, &t.value, String::new());
                    }
                    let again = normalize_typed(t.value.clone(), ty).unwrap();
                    if again != t.value {
                        println!("{name} unstable");
                    }
                    let y = std::fs::read(p.with_extension("yaml")).unwrap();
                    let y = parse_yaml(&y).map(|y| decode_typed(y.node, ty).map(|t| t.value));
                    match y {
                        Ok(Ok(v)) if v == t.value => {}
                        Ok(Ok(v)) => {
                            println!("{name} yaml differs");
                            diff(&t.value, &v, String::new());
                        }
                        other => println!("{name} yaml {other:?}"),
                    }
                }
            }
        }
        println!("{n} checked, {bad} bad, {skipped} skipped");
        return;
    }
    // lines: path \t ctype \t json-string body
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    for line in s.lines() {
        let (gvr, rest) = line.split_once('\t').unwrap();
        let (ct, body) = rest.split_once('\t').unwrap();
        let body: String = serde_json::from_str(body).unwrap();
        let mut it = gvr.split(',');
        let (g, v, r) = (it.next().unwrap(), it.next().unwrap(), it.next().unwrap());
        let ty = kubewright_catalog::resource(g, v, r).unwrap().ty;
        let out = run(ct, body.as_bytes(), ty);
        println!("{}", serde_json::to_string(&out).unwrap());
    }
}
fn run(ct: &str, body: &[u8], ty: &'static kubewright_catalog::types::StructType) -> String {
    let (node, first) = if ct == "json" {
        match parse_json(body) {
            Ok(n) => (n, None),
            Err(e) => return format!("{TYPE_META_CONTEXT}{e}"),
        }
    } else {
        match parse_yaml(body) {
            Ok(y) => (y.node, y.problem),
            Err(e) => return e.to_string(),
        }
    };
    if let Err(e) = read_type_meta(&node) {
        return format!("{TYPE_META_CONTEXT}{e}");
    }
    match decode_typed(node, ty) {
        Err(e) => e.to_string(),
        Ok(mut t) => {
            if let Some(p) = first {
                t.problems.push_first(p);
            }
            if t.problems.is_empty()
                || t.problems.unknown().next().is_none()
                    && t.problems.duplicate().next().is_some()
                    && std::env::args().nth(2).is_some()
            {
                format!("OK {}", String::from_utf8(encode(&t.value)).unwrap())
            } else {
                t.problems.to_string()
            }
        }
    }
}
fn diff(a: &serde_json::Value, b: &serde_json::Value, path: String) {
    use serde_json::Value::*;
    match (a, b) {
        (Object(x), Object(y)) => {
            for (k, v) in x {
                match y.get(k) {
                    Some(w) => diff(v, w, format!("{path}.{k}")),
                    None => println!("  -{path}.{k} = {v}"),
                }
            }
            for (k, v) in y {
                if !x.contains_key(k) {
                    println!("  +{path}.{k} = {v}")
                }
            }
        }
        (Array(x), Array(y)) => {
            for (i, (v, w)) in x.iter().zip(y).enumerate() {
                diff(v, w, format!("{path}[{i}]"))
            }
        }
        (x, y) if x != y => println!("  ~{path}: {x} vs {y}"),
        _ => {}
    }
}
