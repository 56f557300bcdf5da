//! Recognizes rules that count fields, and writes them as attributes such as `exactly_one_of("a", "b")`.
//!
//! controller-gen writes them in a fixed form and order at the end of the rules; only that form is recognized.

use serde_json::{Value, json};

/// The counting rules in their order: attribute, comparison, and words of the message.
const WAYS: [(&str, &str, &str, &str); 3] = [
    ("at_most_one_of", "<= 1", "at most one", "may"),
    ("exactly_one_of", "== 1", "exactly one", "must"),
    ("at_least_one_of", ">= 1", "at least one", "must"),
];

/// Removes the recognized rules at the end and returns them as attributes. `optional` reports whether a field may be absent.
pub(super) fn take(rules: &mut Vec<Value>, optional: impl Fn(&str) -> bool) -> Vec<String> {
    let mut schema_attrs = Vec::new();
    let mut last = WAYS.len();
    while let Some((way, names)) = rules.last().and_then(group) {
        if way > last || !names.iter().all(|name| optional(name)) {
            break;
        }
        let names: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
        schema_attrs.insert(0, format!("{}({})", WAYS[way].0, names.join(", ")));
        last = way;
        rules.pop();
    }
    schema_attrs
}

/// Returns the kind of counting and the fields, if the rule has exactly that form.
fn group(rule: &Value) -> Option<(usize, Vec<String>)> {
    let text = rule.get("rule")?.as_str()?;
    let (list, rest) = text
        .strip_prefix('[')?
        .split_once("].filter(x,x==true).size() ")?;
    let way = WAYS
        .iter()
        .position(|(_, compared, ..)| *compared == rest)?;
    let names: Option<Vec<String>> = list.split(',').map(field).collect();
    let names = names.filter(|names| names.len() > 1)?;
    let (_, compared, how_many, verb) = WAYS[way];
    let has: Vec<String> = names
        .iter()
        .map(|name| format!("has(self.{name})"))
        .collect();
    let same = json!({
        "rule": format!("[{}].filter(x,x==true).size() {compared}", has.join(",")),
        "message": format!("{how_many} of the fields in [{}] {verb} be set", names.join(" ")),
    });
    (*rule == same).then_some((way, names))
}

/// Returns a field name that needs no escaping in CEL.
fn field(text: &str) -> Option<String> {
    let name = text.strip_prefix("has(self.")?.strip_suffix(')')?;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric());
    (plain && !name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(compared: &str, words: &str) -> Value {
        json!({
            "rule": format!("[has(self.a),has(self.b)].filter(x,x==true).size() {compared}"),
            "message": format!("{words} be set"),
        })
    }

    #[test]
    fn rules_that_count_fields_are_marks() {
        let own = json!({"rule": "self.a != 'x'"});
        let most = counted("<= 1", "at most one of the fields in [a b] may");
        let one = counted("== 1", "exactly one of the fields in [a b] must");
        let mut rules = vec![own.clone(), most.clone(), one.clone()];
        let schema_attrs = take(&mut rules, |_| true);
        assert_eq!(
            schema_attrs,
            [
                "at_most_one_of(\"a\", \"b\")",
                "exactly_one_of(\"a\", \"b\")"
            ]
        );
        assert_eq!(rules, vec![own.clone()]);

        // In another order, before another rule, with required fields or other messages they stay rules.
        let mut rules = vec![one.clone(), most.clone()];
        assert_eq!(take(&mut rules, |_| true).len(), 1);
        assert_eq!(rules, vec![one.clone()]);
        let mut rules = vec![one.clone(), own];
        assert!(take(&mut rules, |_| true).is_empty());
        let mut rules = vec![one];
        assert!(take(&mut rules, |name| name != "b").is_empty());
        let mut rules = vec![counted("== 1", "one of these must")];
        assert!(take(&mut rules, |_| true).is_empty());
    }
}
