//! No expression can crash the process or keep it busy.

use std::time::{Duration, Instant};

use kubewright_cel::limits::PER_CALL_LIMIT;
use kubewright_cel::{Activation, DeclType, Env, Evaluation, Extent, Schema};
use serde_json::{Value as Json, json};

fn schema() -> Schema {
    Schema::from_json(&json!({
        "type": "object",
        "properties": {
            "s": {"type": "string"},
            "i": {"type": "integer"},
            "l": {"type": "array", "items": {"type": "string"}},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
            "d": {"x-kubernetes-int-or-string": true},
        },
    }))
}

fn object() -> Json {
    json!({"s": "text", "i": 3, "l": ["a", "b"], "m": {"k": 1}, "d": "50%"})
}

/// Compiles, estimates and runs, and gives the cost.
fn run(expression: &str, schema: &Schema, object: &Json) -> Option<u64> {
    let decl = DeclType::of(schema, Extent::Value).expect("the schema has a type");
    let env = Env::new().declared("self", "selfType", &decl);
    let checked = env.compile(expression).map_err(|issues| issues.to_string());
    let checked = checked.ok()?;
    checked.estimate_cost();
    let program = checked.program().ok()?;
    let activation = Activation::new().json(object, Some(schema));
    let Evaluation { result, cost } = program.evaluate(&activation);
    if let Ok(value) = result {
        value.literal();
    }
    Some(cost)
}

#[test]
fn any_mixture_of_tokens_is_answered() {
    const TOKENS: &[&str] = &[
        "self",
        ".s",
        ".i",
        ".l",
        ".m",
        ".d",
        ".x",
        "?",
        ":",
        ".",
        ".?",
        "[",
        "]",
        "[?",
        "(",
        ")",
        "{",
        "}",
        ",",
        "+",
        "-",
        "*",
        "/",
        "%",
        "!",
        "==",
        "!=",
        "<",
        ">=",
        "&&",
        "||",
        " in ",
        "1",
        "0",
        "-1",
        "2u",
        "1.5",
        "'a'",
        "\"b\"",
        "b'c'",
        "r'\\d'",
        "true",
        "false",
        "null",
        "x",
        "y",
        "has(self.s)",
        ".all(x, x == 'a')",
        ".exists(x, ",
        ".map(x, ",
        ".filter(y, ",
        ".size()",
        "size(",
        "int(",
        "string(",
        "dyn(",
        ".matches('a.*')",
        ".contains('a')",
        ".split(',')",
        ".join()",
        "optional.of(",
        ".orValue(1)",
        ".hasValue()",
        "type(",
        "[1, 2]",
        "{'a': 1}",
        "timestamp('2020-01-01T00:00:00Z')",
        "duration('1h')",
        ".format([self.s])",
        "quantity('1')",
        "ip('::1')",
        "url('https://a')",
        "\n",
        "\\",
        "'",
        "@",
        "é",
        "//",
        "lists.range(3)",
        ".sortBy(x, x)",
        ".sum()",
    ];
    let (schema, object) = (schema(), object());
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut compiled = 0;
    for _ in 0..20_000 {
        let length = 1 + random(12);
        let expression: String = (0..length).map(|_| TOKENS[random(TOKENS.len())]).collect();
        compiled += usize::from(run(&expression, &schema, &object).is_some());
    }
    assert!(compiled > 100, "only {compiled} mixtures were expressions");
}

#[test]
fn deep_expressions_fit_the_stack() {
    let (schema, object) = (schema(), object());
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    for times in [100, 245, 400, 30_000] {
        for expression in [
            nested("(", "1", ")", times),
            nested("[", "1", "]", times),
            nested("{1:", "1", "}", times),
            nested("dyn(", "1", ")", times),
            nested("!(", "true", ")", times),
            nested("true ? (", "1", ") : 2", times),
            nested("[1].map(x, ", "x", ")", times),
            nested("[1].all(x, ", "true", ")", times),
            nested("(true && ", "true", ")", times),
            nested("optional.of(", "1", ")", times),
            nested("[1].map(a, {a: ", "a", "})", times),
            nested("self.l[", "0", "]", times),
            nested("has(", "self.s", ")", times),
            nested("", "1", " + 1", times),
            nested("", "self", ".s", times),
            nested("-", "1", "", times),
            nested("", "[1]", ".map(x, x)", times),
            nested("", "optional.of(1)", ".optMap(x, x)", times.min(40)),
        ] {
            run(&expression, &schema, &object);
        }
    }
}

#[test]
fn expensive_expressions_end_early() {
    let items: Vec<Json> = (0..3_000).map(|i| json!(format!("item {i}"))).collect();
    let object = json!({"s": "a".repeat(100_000), "i": 3, "l": items, "m": {}});
    let schema = schema();
    for expression in [
        "self.l.all(x, self.l.all(y, self.l.all(z, x != y || y != z || true)))",
        "lists.range(1000000).map(x, lists.range(1000000)).size() > 0",
        "lists.range(999999999999).size() > 0",
        "self.s.matches('(a|a)*$')",
        "self.s.matches('(a{1,500}){1,500}b')",
        "self.l.map(x, self.s + x).size() > 0",
        "self.l.distinct().size() > 0",
        "self.l.all(x, self.l.sort() == self.l.reverse())",
        "self.s.split('').map(c, self.s.replace(c, 'bbbbbbbbbb')).size() > 0",
        "self.l.transformMapEntry(i, v, {v: self.s}).size() > 0",
        "sets.contains(self.l, self.l) && sets.equivalent(self.l, self.l)",
        "self.l.exists(x, x in self.l && self.l.indexOf(x) == -1)",
    ] {
        let began = Instant::now();
        if let Some(cost) = run(expression, &schema, &object) {
            assert!(cost <= 100 * PER_CALL_LIMIT, "{expression} cost {cost}");
        }
        let took = began.elapsed();
        assert!(took < Duration::from_secs(20), "{expression} took {took:?}");
    }
}

#[test]
fn numbers_at_the_edges_are_results_or_errors() {
    let object = json!({"s": "abc", "i": 3, "l": ["a"], "m": {}});
    let schema = schema();
    for expression in [
        "quantity('1.5e-2147483648').add(quantity('1')).isInteger()",
        "quantity('1.5e-2147483640').isInteger()",
        "quantity('1e2147483647').add(quantity('1n')).isInteger()",
        "quantity('1n').add(quantity('1e2147483647')).asApproximateFloat() > 0.0",
        "quantity('1e2147483647').sub(quantity('-1e-2147483648')).isInteger()",
        "quantity('9223372036854775807Ei').add(9223372036854775807).isInteger()",
        "quantity('-9223372036854775808').sub(-9223372036854775808).asInteger() == 0",
        "9223372036854775807 + 1 > 0",
        "-9223372036854775808 - 1 < 0",
        "-9223372036854775808 / -1 > 0",
        "-9223372036854775808 % -1 == 0",
        "-(-9223372036854775808) > 0",
        "9223372036854775807 * 2 > 0",
        "18446744073709551615u + 1u > 0u",
        "0u - 1u > 0u",
        "1 / 0 > 0",
        "1 % 0 > 0",
        "int(9223372036854775807.0) > 0",
        "int(1e300) > 0",
        "uint(-1.0) > 0u",
        "int(18446744073709551615u) > 0",
        "duration('2562047h47m16.854775807s') + duration('1ns') > duration('0s')",
        "-duration('-2562047h47m16.854775808s') > duration('0s')",
        "timestamp('9999-12-31T23:59:59.999999999Z') + duration('1ns') > timestamp('0001-01-01T00:00:00Z')",
        "timestamp('0001-01-01T00:00:00Z') - duration('1ns') < timestamp('9999-12-31T23:59:59Z')",
        "timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z') > duration('0s')",
        "timestamp(9223372036854775807) > timestamp(0)",
        "timestamp('0001-01-01T00:00:00Z').getFullYear('-23:59') < 1",
        "lists.range(-9223372036854775808).size() == 0",
        "self.l.slice(0, 9223372036854775807).size() == 0",
        "self.l.flatten(9223372036854775807).size() == 1",
        "self.l[9223372036854775807] == 'a'",
        "self.s.substring(-9223372036854775808, 9223372036854775807) == ''",
        "self.s.charAt(9223372036854775807) == ''",
        "self.s.indexOf('a', 9223372036854775807) == -1",
        "self.s.lastIndexOf('a', -9223372036854775808) == -1",
        "self.s.replace('a', 'b', 9223372036854775807) == 'bbc'",
        "self.s.split('', -9223372036854775808).size() > 0",
        "self.s.findAll('.', 9223372036854775807).size() > 0",
        "'%.2147483647f'.format([1.0]).size() > 0",
        "'%.99999999999999999999e'.format([1.0]).size() > 0",
        "math.abs(-9223372036854775808) > 0",
        "math.bitShiftLeft(1, 9223372036854775807) == 0",
        "math.bitShiftRight(-1, 64) == 0",
        "semver('18446744073709551615.18446744073709551616.0').major() > 0",
        "[9223372036854775807, 1].sum() > 0",
        "cidr('::/128').masked().prefixLength() == 128",
    ] {
        let began = Instant::now();
        run(expression, &schema, &object);
        assert!(began.elapsed() < Duration::from_secs(20), "{expression}");
    }
}
