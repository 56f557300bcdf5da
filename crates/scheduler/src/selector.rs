//! Selectors of labels and nodes that can be compared and hashed.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Labels of an object.
pub(crate) type Labels = BTreeMap<String, String>;

/// A label selector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Selector {
    pub(crate) match_labels: Labels,
    pub(crate) match_expressions: Vec<Requirement>,
}

/// One condition of a selector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default)]
pub(crate) struct Requirement {
    pub(crate) key: String,
    pub(crate) operator: String,
    pub(crate) values: Vec<String>,
}

/// A term of a node affinity, all of whose conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct NodeTerm {
    pub(crate) match_expressions: Vec<Requirement>,
    pub(crate) match_fields: Vec<Requirement>,
}

impl Selector {
    pub(crate) fn matches(&self, labels: &Labels) -> bool {
        self.match_labels
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|r| r.matches(labels))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }
}

impl Requirement {
    fn matches(&self, labels: &Labels) -> bool {
        self.holds(labels.get(&self.key).map(String::as_str))
    }

    fn holds(&self, value: Option<&str>) -> bool {
        let listed = |value: &str| self.values.iter().any(|other| other == value);
        let number = |text: &str| text.parse::<i64>().ok();
        let bound = self.values.first().and_then(|text| number(text));
        match self.operator.as_str() {
            "In" => value.is_some_and(listed),
            "NotIn" => !value.is_some_and(listed),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "Gt" => matches!((value.and_then(number), bound), (Some(a), Some(b)) if a > b),
            "Lt" => matches!((value.and_then(number), bound), (Some(a), Some(b)) if a < b),
            _ => false,
        }
    }
}

impl NodeTerm {
    /// Reports whether a node matches. A term without conditions matches nothing.
    pub(crate) fn matches(&self, name: &str, labels: &Labels) -> bool {
        let fields = |r: &Requirement| r.key == "metadata.name" && r.holds(Some(name));
        !(self.match_expressions.is_empty() && self.match_fields.is_empty())
            && self.match_expressions.iter().all(|r| r.matches(labels))
            && self.match_fields.iter().all(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(list: &[(&str, &str)]) -> Labels {
        let list = list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        list.collect()
    }

    fn requirement(key: &str, operator: &str, values: &[&str]) -> Requirement {
        Requirement {
            key: key.to_owned(),
            operator: operator.to_owned(),
            values: values.iter().map(|v| (*v).to_owned()).collect(),
        }
    }

    #[test]
    fn every_operator_compares_as_kubernetes_does() {
        let labels = labels(&[("a", "1"), ("b", "x")]);
        let holds =
            |key, operator, values: &[&str]| requirement(key, operator, values).matches(&labels);
        assert!(holds("a", "In", &["1", "2"]) && !holds("c", "In", &["1"]));
        assert!(holds("c", "NotIn", &["1"]) && !holds("a", "NotIn", &["1"]));
        assert!(holds("a", "Exists", &[]) && holds("c", "DoesNotExist", &[]));
        assert!(holds("a", "Gt", &["0"]) && !holds("a", "Gt", &["1"]));
        assert!(holds("a", "Lt", &["2"]) && !holds("b", "Lt", &["2"]));
    }

    #[test]
    fn an_empty_node_term_matches_nothing() {
        assert!(!NodeTerm::default().matches("n", &labels(&[])));
        let term = NodeTerm {
            match_fields: vec![requirement("metadata.name", "In", &["n"])],
            ..NodeTerm::default()
        };
        assert!(term.matches("n", &labels(&[])) && !term.matches("m", &labels(&[])));
    }
}
