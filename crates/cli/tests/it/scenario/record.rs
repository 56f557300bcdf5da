//! Records the output of a server, to create a new scenario. Expectations that hold are kept; others become the output,
//! with placeholders for values that are known to vary.

use super::{
    pattern::{is_age, is_time, is_uid},
    session::Session,
    text::{Part, Scenario},
};

/// The scenario with the answers of this session.
pub(crate) fn recorded(
    mut session: Session<'_>,
    mut scenario: Scenario,
) -> Result<Scenario, String> {
    for part in &mut scenario.parts {
        let Part::Step(step) = part else { continue };
        if let Err(answer) = session.step(step, true)? {
            step.expected = answer
                .output
                .trim_end()
                .lines()
                .map(with_placeholders)
                .collect::<Vec<_>>()
                .join("\n");
            step.exit = answer.exit;
            // Once more, for the values of the placeholders.
            session.remember(&step.expected, &answer.output);
        }
    }
    Ok(scenario)
}

fn with_placeholders(line: &str) -> String {
    let mut text = String::new();
    let bounds = |c: char| c.is_whitespace() || c == '"' || c == ',';
    for piece in line.split_inclusive(bounds) {
        let word = piece.trim_end_matches(bounds);
        let rest = &piece[word.len()..];
        let before = text.trim_end_matches([' ', '"', ':']);
        text.push_str(match word {
            word if is_uid(word) => "<uid>",
            word if is_time(word) => "<time>",
            word if is_age(word) => "<age>",
            word if before.ends_with("resourceVersion") && word.parse::<u64>().is_ok() => "<rv>",
            word => word,
        });
        text.push_str(rest);
    }
    text.trim_end().to_owned()
}

#[test]
fn varying_values_become_placeholders() {
    assert_eq!(
        with_placeholders("a   1/1   5m2s   x"),
        "a   1/1   <age>   x"
    );
    assert_eq!(
        with_placeholders(r#"  resourceVersion: "12""#),
        r#"  resourceVersion: "<rv>""#
    );
    assert_eq!(
        with_placeholders("uid: 01234567-89ab-cdef-0123-456789abcdef"),
        "uid: <uid>"
    );
}
