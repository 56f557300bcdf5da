//! Expressions with recordings of Kubernetes 1.36.3's CEL environment: issues, types, estimates, values, errors, costs.
//!
//! Each file of `tests/golden` holds groups: a schema, `self` and `oldSelf`, and cases. A case has `issues` if it does
//! not compile, `program` if its constants cannot be made, or else its type, its estimated cost, and what came of it.

use std::fmt::Write as _;
use std::path::Path;

use kubewright_cel::{Activation, DeclType, Env, Extent, Schema};
use serde_json::Value as Json;

/// Answers that are not the same, each with the reason.
const KNOWN: [(&str, &str); 10] = [
    (
        "-",
        "a second error is reported for the same end of text there",
    ),
    (
        "a.?",
        "a second error is reported for the same end of text there",
    ),
    (
        "a..",
        "a second error is reported for the same end of text here",
    ),
    ("{\"a\", 1}", "skipping goes on elsewhere in the map"),
    (
        "self.puobj",
        "fields that no rule can see are printed, as if they were broken",
    ),
    (
        "self.puobj2",
        "fields that no rule can see are printed, as if they were broken",
    ),
    (
        "self.emb",
        "fields that no rule can see are printed, as if they were broken",
    ),
    (
        "self.emb2",
        "fields that no rule can see are printed, as if they were broken",
    ),
    (
        "self.emptyobj",
        "fields that no rule can see are printed, as if they were broken",
    ),
    (
        "self == self",
        "which of two broken fields is met first is random there",
    ),
];

#[test]
fn every_answer_is_that_of_the_real_server() {
    let mut total = 0;
    let mut wrong = String::new();
    let mut count = 0;
    for file in files() {
        for group in file["groups"].as_array().into_iter().flatten() {
            let (cases, differences) = run(group);
            total += cases;
            for (expression, kind, ours, theirs) in differences {
                let group = group["name"].as_str().unwrap_or("");
                if KNOWN.iter().any(|(known, _)| *known == expression) {
                    continue;
                }
                count += 1;
                let shown: String = expression.chars().take(120).collect();
                let _ = writeln!(
                    wrong,
                    "[{group}] {shown}\n  {kind}\n    ours   {ours}\n    theirs {theirs}"
                );
            }
        }
    }
    assert!(total > 2_000, "only {total} cases were found");
    assert!(count == 0, "{count} of {total} differ:\n{wrong}");
}

/// The expression, what differs, ours and theirs.
type Difference = (String, &'static str, String, String);

fn run(group: &Json) -> (usize, Vec<Difference>) {
    let schema = Schema::from_json(&group["schema"]);
    let root = group["root"] == true;
    let schema = if root {
        schema.with_object_meta()
    } else {
        schema
    };
    let extent = match root {
        true => Extent::Resource,
        false => Extent::Value,
    };
    let decl = DeclType::of(&schema, extent).expect("every group's schema has a type");
    let optional = group["optionalOldSelf"] == true;
    let env = Env::new().declared("self", "selfType", &decl);
    let env = match optional {
        true => env.declared_optional("oldSelf", "selfType", &decl),
        false => env.declared("oldSelf", "selfType", &decl),
    };
    let old = group.get("oldSelf");
    let activation = Activation::new().json(&group["self"], Some(&schema));
    let activation = match (optional, old) {
        (true, old) => activation.optional_json(old, Some(&schema)),
        (false, Some(old)) => activation.json(old, Some(&schema)),
        (false, None) => activation.absent(),
    };
    let cases = group["cases"].as_array().expect("a group has cases");
    let mut differences = Vec::new();
    for case in cases {
        let expression = case["expr"].as_str().unwrap_or("");
        for (kind, ours, theirs) in compare(case, expression, &env, &activation) {
            differences.push((expression.to_owned(), kind, ours, theirs));
        }
    }
    (cases.len(), differences)
}

fn compare(
    case: &Json,
    expression: &str,
    env: &Env,
    activation: &Activation<'_>,
) -> Vec<(&'static str, String, String)> {
    let text = |name: &str| case[name].as_str().unwrap_or("").to_owned();
    let number = |name: &str| case[name].to_string();
    let checked = match env.compile(expression) {
        Err(issues) => return differ(vec![("issues", issues.to_string(), text("issues"))]),
        Ok(checked) => checked,
    };
    if case.get("issues").is_some() {
        return vec![("issues", "none".into(), text("issues"))];
    }
    let mut answers = vec![
        ("type", checked.output_type().to_string(), text("type")),
        (
            "usesOldSelf",
            checked.uses("oldSelf").to_string(),
            (case["usesOldSelf"] == true).to_string(),
        ),
    ];
    let program = match checked.program() {
        Err(why) => {
            answers.push(("program", why, text("program")));
            return differ(answers);
        }
        Ok(program) => program,
    };
    let estimate = checked.estimate_cost();
    answers.push(("program", String::new(), text("program")));
    if case.get("program").is_none() {
        answers.push(("least cost", estimate.min.to_string(), number("min")));
        answers.push(("most cost", estimate.max.to_string(), number("max")));
        let evaluation = program.evaluate(activation);
        match &evaluation.result {
            Ok(value) => {
                answers.push(("value", value.literal(), text("value")));
                answers.push(("error", String::new(), text("error")));
            }
            Err(error) => answers.push(("error", error.to_string(), text("error"))),
        }
        answers.push(("cost", evaluation.cost.to_string(), number("cost")));
    }
    differ(answers)
}

fn differ(answers: Vec<(&'static str, String, String)>) -> Vec<(&'static str, String, String)> {
    let unequal = |(_, ours, theirs): &(&str, String, String)| ours != theirs;
    answers.into_iter().filter(unequal).collect()
}

fn files() -> Vec<Json> {
    vec![recorded("expressions.json")]
}

/// A file of recorded answers.
pub(crate) fn recorded(name: &str) -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let text = std::fs::read_to_string(path.join(name)).expect("the recorded answers are there");
    serde_json::from_str(&text).expect("they are JSON")
}
