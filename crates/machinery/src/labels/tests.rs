use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parse(text: &str) -> LabelSelector {
    LabelSelector::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn message(text: &str) -> String {
    LabelSelector::parse(text).unwrap_err().to_string()
}

#[test]
fn selectors_print_sorted_by_key() {
    for (text, printed) in [
        ("", ""),
        (" ", ""),
        ("x=a,y=b,z=c", "x=a,y=b,z=c"),
        ("z!=c , x==a", "x==a,z!=c"),
        ("x", "x"),
        ("!x", "!x"),
        ("! x", "!x"),
        ("x in (b,a,a)", "x in (a,b)"),
        ("x notin (b , a)", "x notin (a,b)"),
        ("x in ()", "x in ()"),
        ("x in (,a)", "x in (,a)"),
        ("x in (a,)", "x in (,a)"),
        ("x=", "x="),
        ("x=,z= ", "x=,z="),
        ("x>1,y<2", "x>1,y<2"),
        ("in in (notin)", "in in (notin)"),
        ("notin=in", "notin=in"),
        ("example.com/app=web", "example.com/app=web"),
    ] {
        assert_eq!(parse(text).to_string(), printed, "{text}");
        assert_eq!(parse(printed), parse(text), "{text}");
    }
}

#[test]
fn wrong_selectors_say_what_is_wrong() {
    for (text, expected) in [
        (
            "x=<b",
            "unable to parse requirement: found '<', expected: identifier",
        ),
        (
            "x in (a b)",
            "unable to parse requirement: found 'b', expected: ',' or ')'",
        ),
        (
            "x in a",
            "unable to parse requirement: found 'a' expected: '('",
        ),
        (
            "x in (=)",
            "unable to parse requirement: found '=', expected: ',', ')' or identifier",
        ),
        (
            "x in (,=)",
            "unable to parse requirement: found '=', expected: ',', or identifier",
        ),
        (
            "x y",
            "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt",
        ),
        ("x=a,", "found '', expected: identifier after ','"),
        ("x=a b", "found 'b', expected: ',' or 'end of string'"),
        ("!x=a", "found '=', expected: ',' or 'end of string'"),
        (
            "=a",
            "found '=', expected: !, identifier, or 'end of string'",
        ),
        (
            "!",
            "unable to parse requirement: found '', expected: identifier",
        ),
        (
            "x>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        (
            "x>-",
            "unable to parse requirement: [values[0]: Invalid value: \"-\": for 'Gt', 'Lt' operators, the value must be an integer, values[0][x]: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]",
        ),
        (
            "a/b/c",
            "unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        ),
    ] {
        assert_eq!(message(text), expected, "{text}");
    }
    let long = "x".repeat(70);
    assert_eq!(
        message(&long),
        format!(
            "unable to parse requirement: <nil>: Invalid value: \"{long}\": name part must be no more than 63 bytes"
        )
    );
}

#[test]
fn operators_mean_what_they_say() {
    let labels = |key: &str| match key {
        "a" => Some("b"),
        "n" => Some("5"),
        _ => None,
    };
    for (text, matches) in [
        ("", true),
        ("a=b", true),
        ("a==c", false),
        ("z=b", false),
        ("a!=b", false),
        ("a!=c", true),
        ("z!=b", true),
        ("a in (b,c)", true),
        ("z in (b)", false),
        ("a notin (b)", false),
        ("z notin (b)", true),
        ("a", true),
        ("!a", false),
        ("!z", true),
        ("n>4", true),
        ("n>5", false),
        ("n<6", true),
        ("a>1", false),
        ("z<1", false),
        ("a=b,n=5", true),
        ("a=b,n=6", false),
    ] {
        assert_eq!(parse(text).matches(labels), matches, "{text}");
    }
}

#[test]
fn the_object_form_is_the_same_selector() {
    let selector = json!({
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            {"key": "tier", "operator": "NotIn", "values": ["b", "a"]},
            {"key": "alpha", "operator": "DoesNotExist"},
        ],
    });
    let parsed = LabelSelector::from_label_selector(&selector).unwrap();
    assert_eq!(parsed, parse("!alpha,app=web,tier notin (a,b)"));
    assert_eq!(parsed.required_value("app"), Some("web"));
    assert_eq!(parsed.required_value("tier"), None);
    assert_eq!(parsed.required_label(), Some(("app", "web")));
    assert_eq!(parse("!alpha,tier notin (a,b)").required_label(), None);
}

#[test]
fn null_matches_nothing_and_the_empty_object_everything() {
    let nothing = LabelSelector::from_label_selector(&json!(null)).unwrap();
    assert!(!nothing.matches(|_| Some("x")) && !nothing.is_empty() && nothing.is_nothing());
    let everything = LabelSelector::from_label_selector(&json!({})).unwrap();
    assert!(everything.matches(|_| None) && everything.is_empty());
}

#[test]
fn the_object_form_is_printed_for_tables() {
    for (selector, printed) in [
        (json!(null), "<none>"),
        (json!({}), "<none>"),
        (json!({"matchLabels": {"b": "2", "a": "1"}}), "a=1,b=2"),
        (
            json!({"matchExpressions": [{"key": "a", "operator": "Like"}]}),
            "<error>",
        ),
        (json!({"matchLabels": {"a b": "1"}}), "<error>"),
    ] {
        assert_eq!(LabelSelector::format_label_selector(&selector), printed);
    }
}

#[test]
fn a_wrong_object_form_says_what_is_wrong() {
    let error = |expression| {
        let selector = json!({"matchExpressions": [expression]});
        LabelSelector::from_label_selector(&selector)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error(json!({"key": "a", "operator": "Like"})),
        "\"Like\" is not a valid label selector operator"
    );
    assert_eq!(
        error(json!({"key": "a", "operator": "In"})),
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
    );
    assert_eq!(
        error(json!({"key": "a", "operator": "Exists", "values": ["z", "a"]})),
        "values: Invalid value: [\"z\",\"a\"]: values set must be empty for exists and does not exist"
    );
}

#[test]
fn a_million_terms_take_no_time() {
    let n = 1_000_000;
    assert_eq!(parse(&vec!["a=b"; n].join(",")).requirements().len(), n);
    let values: Vec<String> = (0..n).rev().map(|i| i.to_string()).collect();
    let selector = parse(&format!("a in ({})", values.join(",")));
    assert!(selector.matches(|_| Some("77777")));
    assert_eq!(selector.requirements()[0].values().len(), n);
    assert!(LabelSelector::parse(&"(".repeat(n)).is_err());
    assert!(LabelSelector::parse(&"!".repeat(n)).is_err());
    assert!(LabelSelector::parse(&format!("a in ({}", ",".repeat(n))).is_err());
}

fn requirements() -> impl Strategy<Value = Requirement> {
    let key = "([a-z]{1,3}/)?[A-Za-z0-9]([-_.A-Za-z0-9]{0,5}[A-Za-z0-9])?";
    let value = "([A-Za-z0-9]([-_.A-Za-z0-9]{0,5}[A-Za-z0-9])?)?";
    let values = prop::collection::btree_set(value, 1..4);
    let operator = prop::sample::select(vec![
        Operator::In,
        Operator::NotIn,
        Operator::Equals,
        Operator::DoubleEquals,
        Operator::NotEquals,
        Operator::Exists,
        Operator::DoesNotExist,
        Operator::GreaterThan,
        Operator::LessThan,
    ]);
    (key, operator, values, 0..1000u32).prop_map(|(key, operator, values, number)| {
        let mut values: Vec<String> = values.into_iter().collect();
        match operator {
            Operator::In | Operator::NotIn => {}
            Operator::Exists | Operator::DoesNotExist => values.clear(),
            Operator::GreaterThan | Operator::LessThan => values = vec![number.to_string()],
            _ => values.truncate(1),
        }
        Requirement::new(key, operator, values).unwrap()
    })
}

proptest! {
    #[test]
    fn printed_text_parses_to_the_same_value(list in prop::collection::vec(requirements(), 0..5)) {
        let selector = LabelSelector::new(list);
        prop_assert_eq!(parse(&selector.to_string()), selector);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[a-z=!<>(), \\x00é/]{0,30}") {
        if let Ok(selector) = LabelSelector::parse(&text) {
            let _ = selector.matches(|_| Some("a"));
        }
    }
}
