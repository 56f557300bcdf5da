//! The selectors of an access review: as text, or as a list of requirements.

use kubewright_apiserver::auth::Selection;
use kubewright_machinery::{
    fields::{FieldOperator, FieldSelector, FieldTerm},
    go,
    json::Read,
    labels::{LabelSelector, Operator, Requirement},
};
use serde_json::Value;

/// The selectors of an access review.
pub(super) struct Selectors<'a> {
    fields: Given<'a, FieldSelector>,
    labels: Given<'a, LabelSelector>,
}

/// A selector as a review gives it.
enum Given<'a, S> {
    Text(&'a str),
    /// The requirements that are understood, if any, and why others are not.
    Requirements(Option<S>, Option<String>),
}

impl<'a> Selectors<'a> {
    /// Reads the selectors of resource attributes.
    pub(super) fn of(attributes: &'a Value) -> Self {
        Self {
            fields: Given::of(&attributes["fieldSelector"], field_term, FieldSelector::new),
            labels: Given::of(
                &attributes["labelSelector"],
                label_requirement,
                LabelSelector::new,
            ),
        }
    }

    pub(super) fn fields(&self) -> Selection<'_, FieldSelector> {
        self.fields.selection()
    }

    pub(super) fn labels(&self) -> Selection<'_, LabelSelector> {
        self.labels.selection()
    }

    /// Returns what the review says about selectors that are not understood.
    pub(super) fn problems(&self) -> impl Iterator<Item = String> {
        let fields = self.fields().parsed().err();
        let labels = self.labels().parsed().err();
        [
            fields.map(|_| ("fieldSelector", self.fields.is_partial())),
            labels.map(|_| ("labelSelector", self.labels.is_partial())),
        ]
        .into_iter()
        .flatten()
        .map(|(field, partial)| {
            let how = if partial {
                "partially ignored"
            } else {
                "ignored"
            };
            format!("spec.resourceAttributes.{field} {how} due to parse error")
        })
    }
}

impl<'a, S> Given<'a, S> {
    fn of<T>(
        selector: &'a Value,
        read: fn(&Value) -> Result<T, String>,
        combine: fn(Vec<T>) -> S,
    ) -> Self {
        let requirements = selector["requirements"].items();
        if requirements.is_empty() {
            return Self::Text(selector["rawSelector"].text());
        }
        let (mut understood, mut errors) = (Vec::new(), Vec::new());
        for requirement in requirements {
            match read(requirement) {
                Ok(requirement) => understood.push(requirement),
                Err(error) => errors.push(error),
            }
        }
        let selector = (!understood.is_empty()).then(|| combine(understood));
        let error = (!errors.is_empty()).then(|| go::aggregate(errors));
        Self::Requirements(selector, error)
    }

    fn selection(&self) -> Selection<'_, S> {
        match self {
            Self::Text(text) => Selection::of_text(text),
            Self::Requirements(rest, Some(error)) => Selection::Invalid {
                error,
                rest: rest.as_ref(),
            },
            Self::Requirements(Some(selector), None) => Selection::Parsed(selector),
            Self::Requirements(None, None) => Selection::None,
        }
    }

    fn is_partial(&self) -> bool {
        matches!(self, Self::Requirements(Some(_), Some(_)))
    }
}

/// Reads a requirement on a field. Fields have one value, and none that may be missing.
fn field_term(requirement: &Value) -> Result<FieldTerm, String> {
    let values: Vec<&str> = requirement["values"].texts().collect();
    if values.len() > 1 {
        return Err("fieldSelectors do not yet support multiple values".to_owned());
    }
    let operator = requirement["operator"].text();
    let (operator, missing) = match operator {
        "In" => (
            FieldOperator::Equals,
            "fieldSelectors in must have one value",
        ),
        "NotIn" => (
            FieldOperator::NotEquals,
            "fieldSelectors not in must have one value",
        ),
        "Exists" | "DoesNotExist" => {
            return Err(format!("fieldSelectors do not yet support {operator}"));
        }
        other => {
            let other = go::quote(other);
            return Err(format!("{other} is not a valid field selector operator"));
        }
    };
    let [value] = values[..] else {
        return Err(missing.to_owned());
    };
    Ok(FieldTerm {
        field: requirement["key"].text().to_owned(),
        operator,
        value: value.to_owned(),
    })
}

fn label_requirement(requirement: &Value) -> Result<Requirement, String> {
    let operator = match requirement["operator"].text() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        other => {
            let other = go::quote(other);
            return Err(format!("{other} is not a valid label selector operator"));
        }
    };
    let values = requirement["values"].texts().map(str::to_owned).collect();
    let key = requirement["key"].text().to_owned();
    Requirement::new(key, operator, values).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requirements_become_selectors() {
        let attributes = json!({
            "fieldSelector": {"requirements": [{"key": "spec.nodeName", "operator": "In", "values": ["n1"]}]},
            "labelSelector": {"requirements": [
                {"key": "b", "operator": "NotIn", "values": ["c"]},
                {"key": "a", "operator": "Exists"},
            ]},
        });
        let selectors = Selectors::of(&attributes);
        let fields = selectors.fields().parsed().unwrap().unwrap();
        assert_eq!(fields.required_value("spec.nodeName"), Some("n1"));
        let labels = selectors.labels().parsed().unwrap().unwrap();
        assert_eq!(labels.to_string(), "a,b notin (c)");
        assert_eq!(selectors.problems().count(), 0);
    }

    #[test]
    fn requirements_that_are_not_understood_are_left_out() {
        let good = json!({"key": "a", "operator": "In", "values": ["b"]});
        let bad = [
            json!({"key": "a", "operator": "In", "values": ["b", "c"]}),
            json!({"key": "a", "operator": "In"}),
            json!({"key": "a", "operator": "Exists"}),
            json!({"key": "a", "operator": "Odd", "values": ["b"]}),
        ];
        for bad in bad {
            let attributes = json!({"fieldSelector": {"requirements": [bad, good]}});
            let selectors = Selectors::of(&attributes);
            let problems: Vec<String> = selectors.problems().collect();
            assert_eq!(
                problems,
                ["spec.resourceAttributes.fieldSelector partially ignored due to parse error"]
            );
            let Selection::Invalid {
                rest: Some(rest), ..
            } = selectors.fields()
            else {
                panic!("the rest of the selector");
            };
            assert_eq!(rest.required_value("a"), Some("b"));
        }
        let attributes = json!({
            "fieldSelector": {"rawSelector": "==="},
            "labelSelector": {"requirements": [{"key": "a", "operator": "Odd"}]},
        });
        let selectors = Selectors::of(&attributes);
        assert_eq!(
            selectors.problems().collect::<Vec<_>>(),
            [
                "spec.resourceAttributes.fieldSelector ignored due to parse error",
                "spec.resourceAttributes.labelSelector ignored due to parse error",
            ]
        );
    }
}
