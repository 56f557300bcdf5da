//! Hostile inputs. Threads here have the stack of a server's worker.

use std::time::{Duration, Instant};

use kubewright_catalog::types::StructType;
use kubewright_schema::{
    decode_typed, decode_untyped, encode, parse_json,
    structural::{ConformOptions, Structural, conform},
    yaml::parse_yaml,
};

fn ty(group: &str, resource: &str) -> &'static StructType {
    kubewright_catalog::resource(group, "v1", resource)
        .expect("built in")
        .ty
}

fn on_a_small_stack<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(test)
        .expect("a thread")
        .join()
        .expect("no panic")
}

#[test]
fn deep_json_is_refused() {
    on_a_small_stack(|| {
        for depth in [121, 10_000, 100_000] {
            for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
                let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
                let error = parse_json(text.as_bytes()).unwrap_err();
                assert!(error.message.ends_with("exceeded max depth"), "{error}");
                let unclosed = open.repeat(depth);
                assert!(parse_json(unclosed.as_bytes()).is_err());
            }
        }
    });
}

#[test]
fn the_deepest_json_that_is_accepted_goes_all_the_way() {
    on_a_small_stack(|| {
        let schema = format!("{}{{}}{}", "{\"not\":".repeat(110), "}".repeat(110));
        let text = format!(
            r#"{{"metadata":{{"name":"a"}},"spec":{{"versions":[{{"name":"v1","schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
        );
        let node = parse_json(text.as_bytes()).unwrap();
        let crd = ty("apiextensions.k8s.io", "customresourcedefinitions");
        let typed = decode_typed(node.clone(), crd).unwrap();
        let bytes = encode(&typed.value);
        let again: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(again, typed.value);
        decode_untyped(node).unwrap();
    });
}

#[test]
fn deep_yaml_is_refused() {
    on_a_small_stack(|| {
        for depth in [200, 10_000, 100_000] {
            for text in [
                "[".repeat(depth),
                "{a: ".repeat(depth),
                "- ".repeat(depth) + "x",
                "? ".repeat(depth) + "x",
            ] {
                assert!(parse_yaml(text.as_bytes()).is_err());
            }
        }
        let indented: String = (0..1000)
            .map(|i| format!("{}a:\n", " ".repeat(i)))
            .collect();
        assert!(parse_yaml(indented.as_bytes()).is_err());
    });
}

#[test]
fn an_alias_bomb_is_refused_quickly() {
    let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for i in 1..12 {
        let items = vec![format!("*a{}", i - 1); 10].join(",");
        text.push_str(&format!("a{i}: &a{i} [{items}]\n"));
    }
    let start = Instant::now();
    assert_eq!(
        parse_yaml(text.as_bytes()).unwrap_err().to_string(),
        "yaml: document contains excessive aliasing"
    );
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn aliases_of_large_scalars_are_refused_before_they_fill_the_memory() {
    let scalar = "s".repeat(1 << 20);
    let aliases = vec!["*x"; 6_000].join(",");
    let items = "\n- *x".repeat(6_000);
    let nested = format!("b: &b [{}]\n", vec!["*x"; 70].join(","));
    let keys: String = (0..6_000).map(|i| format!("- {{*x : {i}}}\n")).collect();
    let start = Instant::now();
    for text in [
        format!("x: &x {scalar}\na: [{aliases}]\n"),
        format!("x: &x {scalar}\na:{items}\n"),
        format!("x: &x \"{scalar}\"\na: {{b: [{aliases}]}}\n"),
        format!("x: &x !!binary {scalar}\na: [{aliases}]\n"),
        format!("x: &x {{k: {scalar}}}\na:{}\n", "\n- <<: *x".repeat(6_000)),
        format!("x: &x {{k: {scalar}}}\na: {{<<: [{aliases}]}}\n"),
        format!(
            "x: &x {scalar}\n{nested}c: [{}]\n",
            vec!["*b"; 100].join(",")
        ),
        format!("- &x k{}\n{keys}", "k".repeat(500_000)),
        format!("x: &x [{}]\na: [{aliases}]\n", vec!["1"; 100_000].join(",")),
    ] {
        assert_eq!(
            parse_yaml(text.as_bytes()).unwrap_err().to_string(),
            "yaml: document contains excessive aliasing",
            "{}",
            &text[..20]
        );
    }
    assert!(start.elapsed() < Duration::from_secs(30));
    // A few of them are fine.
    let text = format!("x: &x {scalar}\na: [*x, *x]\n");
    assert!(parse_yaml(text.as_bytes()).is_ok());
}

#[test]
fn large_documents_take_time_in_proportion_to_their_size() {
    const SIZE: usize = 1 << 20;
    let fill = |part: &str| part.repeat(SIZE / part.len());
    let start = Instant::now();
    for text in [
        fill("&a "),
        fill("&a x\n"),
        fill("- &a x\n"),
        fill("? "),
        fill("? x\n"),
        fill(": "),
        fill("a: b\n"),
        fill("- a: b\n"),
        fill("{"),
        fill("[],"),
        fill("x "),
        fill("x\n"),
        fill("#\n"),
        fill("# "),
        fill("!t "),
        fill("!<t> "),
        fill("%TAG ! t\n"),
        fill("---\n"),
        fill("\"a\" "),
        fill("'"),
        fill("\\"),
        fill("*a "),
        fill("|\n"),
        fill("\n"),
        fill(" "),
        fill("\t"),
        fill("<<: {}\n"),
        format!("[{}]", fill("[],")),
        format!("[{}]", fill("a: b,")),
        format!("[{}]", fill("? a: b,")),
        format!("[{}]", fill("\"a\",")),
        format!("{{{}}}", fill("a,")),
        format!("a: |\n{}", fill("  x\n")),
        format!("a: >\n{}", fill("  x\n\n")),
        format!("a: |\n{}", fill("\n")),
        format!("a: {}", fill("x ")),
        format!("a: \"{}\"", fill("\\n")),
        format!("a: \"{}\"", fill("x\n  ")),
        format!("a: '{}'", fill("''")),
        (0..100_000).map(|i| format!("k{i}: v\n")).collect(),
        (0..50_000)
            .map(|i| format!("k{i}: &a{i} v\nl{i}: *a{i}\n"))
            .collect(),
    ] {
        let one = Instant::now();
        let _ = parse_yaml(text.as_bytes());
        assert!(
            one.elapsed() < Duration::from_secs(20),
            "{:?} took {:?}",
            text.get(..20),
            one.elapsed()
        );
    }
    eprintln!("{:?}", start.elapsed());
}

#[test]
fn aliases_do_not_nest_beyond_the_bound() {
    on_a_small_stack(|| {
        let mut text = String::from("a0: &a0 x\n");
        for i in 1..500 {
            text.push_str(&format!("a{i}: &a{i} [*a{}]\n", i - 1));
        }
        assert!(parse_yaml(text.as_bytes()).is_err());
    });
}

#[test]
fn a_million_items_and_a_hundred_thousand_keys_are_fine() {
    let items = vec!["\"x\""; 1_000_000].join(",");
    let text = format!(r#"{{"metadata":{{"finalizers":[{items}]}},"spec":[{items}]}}"#);
    let typed = decode_typed(parse_json(text.as_bytes()).unwrap(), ty("", "configmaps")).unwrap();
    let finalizers = typed.value["metadata"]["finalizers"].as_array().unwrap();
    assert_eq!(finalizers.len(), 1_000_000);
    assert_eq!(typed.problems.unknown().collect::<Vec<_>>(), ["spec"]);

    let keys: Vec<_> = (0..100_000).map(|i| format!("\"k{i}\":1")).collect();
    let text = format!("{{{}}}", keys.join(","));
    let (value, problems) = decode_untyped(parse_json(text.as_bytes()).unwrap()).unwrap();
    assert_eq!(value.as_object().unwrap().len(), 100_000);
    assert!(problems.is_empty());
}

#[test]
fn the_same_key_a_hundred_thousand_times_is_one_problem() {
    let keys = vec!["\"data\":{\"a\":\"b\"}"; 100_000].join(",");
    let text = format!("{{{keys}}}");
    let typed = decode_typed(parse_json(text.as_bytes()).unwrap(), ty("", "configmaps")).unwrap();
    assert_eq!(typed.problems.duplicate().collect::<Vec<_>>(), ["data"]);
    let yaml = "a: 1\n".repeat(100_000);
    assert!(parse_yaml(yaml.as_bytes()).unwrap().problem.is_some());
}

#[test]
fn a_long_key_is_not_copied_for_every_problem_below_it() {
    let long = "k".repeat(1 << 20);
    let items = vec![r#"{"a":1,"a":2}"#; 100_000].join(",");
    let start = Instant::now();

    let text = format!(r#"{{"spec":{{"{long}":[{items}]}}}}"#);
    let (mut value, problems) = decode_untyped(parse_json(text.as_bytes()).unwrap()).unwrap();
    let size: usize = problems.duplicate().map(str::len).sum();
    assert!((1..1 << 20).contains(&size), "{size}");

    let schema = Structural::compile(&serde_json::json!({"type": "object", "properties": {
        "spec": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "object"}}},
    }}))
    .unwrap();
    let options = ConformOptions {
        track: true,
        drop_invalid: false,
    };
    let unknown = conform(&mut value, &schema, options).unwrap();
    let size: usize = unknown.iter().map(String::len).sum();
    assert!((1..10 << 20).contains(&size), "{size}");

    let text =
        format!(r#"{{"metadata":{{"{long}":[{items}]}},"spec":{{"containers":[{items}]}}}}"#);
    let typed = decode_typed(parse_json(text.as_bytes()).unwrap(), ty("", "pods")).unwrap();
    let size: usize = typed.problems.iter().map(|p| p.to_string().len()).sum();
    assert!(size < 2 << 20, "{size}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn huge_numbers_are_checked_by_their_type() {
    let digits = "9".repeat(100_000);
    let text = format!(r#"{{"metadata":{{"generation":{digits}}}}}"#);
    let error = decode_typed(parse_json(text.as_bytes()).unwrap(), ty("", "configmaps"));
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("json: cannot unmarshal number 999"));
    let text = format!(r#"{{"spec":{{"hard":{{"cpu":"1e{digits}","memory":{digits}}}}}}}"#);
    // Refused or capped, but answered.
    let _ = decode_typed(
        parse_json(text.as_bytes()).unwrap(),
        ty("", "resourcequotas"),
    );
    assert!(decode_untyped(parse_json(br#"{"a":1e999}"#).unwrap()).is_err());
}

#[test]
fn garbage_is_an_error_and_not_a_panic() {
    for bytes in [
        &b"\xff\xfe\x00"[..],
        b"\"\xed\xa0\x80\"",
        b"{\"\xff\":1}",
        b"\"\\ud800\\u",
        b"\"\\ud800\\ud8",
        b"\xef\xbb\xbf{}",
        b"%",
        b"!<",
        b"&",
        b"*",
        b"? ",
        b": :",
        b"- -\n-",
        b"\t\t",
        b"|",
        b">+9",
    ] {
        let _ = parse_json(bytes).map(decode_untyped);
        let _ = parse_yaml(bytes).map(|y| decode_untyped(y.node));
    }
}
