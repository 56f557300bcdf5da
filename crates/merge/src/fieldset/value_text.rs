//! `FieldsV1` as it stands in an encoded object: with keys in the order of a map.

use super::codec::write_element;
use super::{FieldSet, KeyField, Node, PathElement};
use kubewright_machinery::go::JsonStyle;
use serde_json::Value;
use std::ops::Range;

impl FieldSet {
    /// Writes the text of [`FieldSet::to_value`] as Go would encode it, without building the value.
    pub fn write_value_text(&self, out: &mut String) {
        self.write_below(out, false);
    }

    /// Writes the set below an element, which is a member itself if `member`.
    fn write_below(&self, out: &mut String, member: bool) {
        out.push('{');
        if member {
            out.push_str("\".\":{}");
        }
        let mut first = !member;
        let fields = self
            .nodes
            .partition_point(|node| matches!(node.element, PathElement::FieldName(_)));
        let (fields, others) = self.nodes.split_at(fields);
        for node in fields {
            if let PathElement::FieldName(name) = &node.element {
                out.push_str(if std::mem::take(&mut first) {
                    "\"f:"
                } else {
                    ",\"f:"
                });
                JsonStyle::Standard.write_escaped(out, name);
                node.write_below(out);
            }
        }
        if are_plain_keys(others) {
            for (node, (name, value)) in others.iter().filter_map(|n| Some((n, plain_key(n)?))) {
                out.push_str(if std::mem::take(&mut first) {
                    "\"k:{\\\""
                } else {
                    ",\"k:{\\\""
                });
                out.push_str(name);
                out.push_str("\\\":\\\"");
                out.push_str(value);
                out.push_str("\\\"}");
                node.write_below(out);
            }
        } else {
            write_sorted(out, others, first);
        }
        out.push('}');
    }
}

impl Node {
    /// The end of the node's name, and everything below it.
    fn write_below(&self, out: &mut String) {
        out.push_str("\":");
        match &self.below {
            None => out.push_str("{}"),
            Some(below) => below.write_below(out, self.member),
        }
    }
}

/// Reports whether all nodes are list items with the same single key, and values for which the order of elements is the
/// order of their texts: nothing in them is escaped or sorts before a quote.
fn are_plain_keys(nodes: &[Node]) -> bool {
    let mut keys = nodes.iter().map(plain_key);
    match keys.next() {
        None => true,
        Some(None) => false,
        Some(Some((first, _))) => keys.all(|key| key.is_some_and(|(name, _)| name == first)),
    }
}

/// The name and value of the only key of a list item, if they are plain.
fn plain_key(node: &Node) -> Option<(&str, &str)> {
    let is_plain = |text: &str| {
        let plain = |b| matches!(b, b'#'..=b'~') && !matches!(b, b'&' | b'<' | b'>' | b'\\');
        text.bytes().all(plain)
    };
    match &node.element {
        PathElement::Key(fields) => match &**fields {
            [
                KeyField {
                    name,
                    value: Value::String(value),
                },
            ] if is_plain(name) && is_plain(value) => Some((name, value)),
            _ => None,
        },
        _ => None,
    }
}

/// Writes elements that are not fields. As keys of a map they have another order than as elements.
fn write_sorted(out: &mut String, nodes: &[Node], mut first: bool) {
    let mut texts = String::new();
    let mut nodes: Vec<_> = nodes
        .iter()
        .map(|node| {
            let start = texts.len();
            write_element(&mut texts, &node.element);
            (start..texts.len(), node)
        })
        .collect();
    let text = |range: &Range<usize>| texts.get(range.clone()).unwrap_or_default();
    nodes.sort_by(|(a, _), (b, _)| text(a).cmp(text(b)));
    for (range, node) in &nodes {
        out.push_str(if std::mem::take(&mut first) {
            "\""
        } else {
            ",\""
        });
        JsonStyle::Standard.write_escaped(out, text(range));
        node.write_below(out);
    }
}
