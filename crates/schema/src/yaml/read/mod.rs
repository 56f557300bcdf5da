//! Reads YAML text into a [`Node`], as the real server does: YAML becomes JSON first, and JSON is what gets decoded.
//!
//! Plain scalars are read by the rules of YAML 1.1 (`yes` is true, `010` is eight), keys become strings, `<<` merges,
//! keys come out sorted, and of repeated keys the last wins; a strict reader's objection to those is kept beside the
//! document. Only the first document of a stream is read.
//!
//! It is not a YAML 1.1 scanner: text is tokenized by the rules of YAML 1.2, which differ in corner cases.
//!
//! Invariants: depth is bounded as in JSON; aliases that expand a small text too much, in nodes or in bytes, are
//! rejected.

mod errors;
mod json;
mod resolve;

use kubewright_machinery::{
    go,
    limits::{DOCUMENT_DEPTH, MAX_REQUEST_BYTES},
};
use std::{borrow::Cow, collections::HashMap, fmt};

use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Tag};

use crate::{document::Node, problems::Problem};
use resolve::Scalar;

/// The maximum number of bytes that aliases may add to a document, counted in compact JSON without aliases.
const MAX_ALIASED_BYTES: usize = MAX_REQUEST_BYTES;

/// The maximum number of repeated keys that are reported.
const MAX_DUPLICATES: usize = 100;

/// A YAML document.
///
/// ```
/// use kubewright_schema::yaml::parse_yaml;
/// use serde_json::json;
///
/// let yaml = parse_yaml(b"a: x\na: w\n")?;
/// let problem = yaml.problem.expect("a key is repeated");
/// assert_eq!(problem.warnings(), [r#"line 2: key "a" already set in map"#]);
/// assert_eq!(yaml.node.into_value()?, json!({"a": "w"}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Yaml<'a> {
    /// The document. Its keys are sorted and occur once.
    pub node: Node<'a>,
    /// The problem that a strict reader rejects: keys given more than once. It comes before all problems of decoding.
    pub problem: Option<Problem>,
}

/// The text is not YAML, or not YAML that JSON can express. `Display` is the message of the real server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    message: String,
}

/// Reads the first document of a YAML text. Empty text is `null`.
///
/// # Errors
///
/// Returns an error if the text is not YAML, or cannot be expressed as JSON, or if its aliases stand for too much.
pub fn parse_yaml(bytes: &[u8]) -> Result<Yaml<'_>, YamlError> {
    match json::parse(bytes) {
        Some(node) => Ok(Yaml {
            node,
            problem: None,
        }),
        None => read_yaml(bytes),
    }
}

fn read_yaml(bytes: &[u8]) -> Result<Yaml<'static>, YamlError> {
    let text = errors::check_text(bytes)?;
    errors::check_escapes(text)?;
    let mut tree = Tree::default();
    let Some(root) = tree.read(text)? else {
        return Ok(Yaml {
            node: Node::Null,
            problem: None,
        });
    };
    let mut expander = Expander {
        tree: &tree,
        duplicates: Vec::new(),
        entries: 0,
        active: Vec::new(),
        decoded: 0,
        aliased: 0,
        aliased_bytes: 0,
    };
    let node = expander.node(root, 0)?.into_json()?;
    let problem = expander.problem();
    Ok(Yaml { node, problem })
}

impl YamlError {
    fn new(message: impl Into<String>) -> Self {
        YamlError {
            message: message.into(),
        }
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for YamlError {}

/// The document as written, aliases not yet followed.
#[derive(Default)]
struct Tree<'a> {
    nodes: Vec<Written<'a>>,
    anchors: HashMap<usize, (usize, String)>,
}

struct Written<'a> {
    /// The line, from 1.
    line: usize,
    content: Content<'a>,
}

enum Content<'a> {
    Scalar(Cow<'a, str>, ScalarStyle, Option<Cow<'a, Tag>>),
    Sequence(Vec<usize>),
    /// Keys and values, alternating.
    Mapping(Vec<usize>),
    Alias(usize),
}

impl<'a> Tree<'a> {
    /// Reads the first document and returns its root.
    fn read(&mut self, text: &'a str) -> Result<Option<usize>, YamlError> {
        let mut options = Options::default();
        options.set_emit_comments(false);
        options.emit_anchor_events = true;
        options.flow_nesting_limit = DOCUMENT_DEPTH;
        options.block_nesting_limit = DOCUMENT_DEPTH;
        let mut open: Vec<usize> = Vec::new();
        let mut last = None;
        for event in Parser::new_from_str_with_options(text, options) {
            let (event, span) = event.map_err(|error| errors::scan(&error, text))?;
            let content = match event {
                Event::Scalar(value, style, _, tag) => Content::Scalar(value, style, tag),
                Event::Alias(id) => Content::Alias(id),
                Event::SequenceStart(..) => Content::Sequence(Vec::new()),
                Event::MappingStart(..) => Content::Mapping(Vec::new()),
                Event::Anchor(id, name) => {
                    if let Some(node) = last {
                        self.anchors.insert(id, (node, name.into_owned()));
                    }
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    open.pop();
                    continue;
                }
                Event::DocumentEnd => break,
                _ => continue,
            };
            let index = self.nodes.len();
            last = Some(index);
            if let Some(parent) = open.last().and_then(|p| self.nodes.get_mut(*p))
                && let Content::Sequence(children) | Content::Mapping(children) =
                    &mut parent.content
            {
                children.push(index);
            }
            if matches!(content, Content::Sequence(_) | Content::Mapping(_)) {
                open.push(index);
                if open.len() > DOCUMENT_DEPTH {
                    return Err(errors::too_deep());
                }
            }
            self.nodes.push(Written {
                line: span.start.line(),
                content,
            });
        }
        Ok((!self.nodes.is_empty()).then_some(0))
    }
}

/// A value of YAML's own types.
enum Meant {
    Scalar(Scalar),
    Sequence(Vec<Meant>),
    /// Sorted by key, without repeated keys.
    Mapping(Vec<Entry>),
}

struct Entry {
    key: Key,
    value: Meant,
    line: usize,
    /// The position among all entries of the document, by which repeated keys are reported.
    order: usize,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    text: String,
    /// The kind of scalar: `1` and `"1"` are two keys to a strict reader.
    kind: u8,
}

struct Expander<'t, 'a> {
    tree: &'t Tree<'a>,
    /// The first repeated keys, with their order.
    duplicates: Vec<(usize, String)>,
    entries: usize,
    /// Anchors being followed.
    active: Vec<usize>,
    /// The nodes so far.
    decoded: usize,
    /// Those of them that were reached through an alias, and the size of their text.
    aliased: usize,
    aliased_bytes: usize,
}

impl<'t, 'a> Expander<'t, 'a> {
    fn node(&mut self, index: usize, depth: usize) -> Result<Meant, YamlError> {
        if depth > DOCUMENT_DEPTH {
            return Err(errors::too_deep());
        }
        let tree: &'t Tree<'a> = self.tree;
        let Some(written) = tree.nodes.get(index) else {
            return Ok(Meant::Scalar(Scalar::Null));
        };
        self.spend(&written.content)?;
        match &written.content {
            Content::Scalar(value, style, tag) => {
                resolve::resolve(value, *style, tag.as_deref()).map(Meant::Scalar)
            }
            Content::Alias(id) => {
                let Some((target, name)) = tree.anchors.get(id) else {
                    return Ok(Meant::Scalar(Scalar::Null));
                };
                if self.active.contains(id) {
                    return Err(YamlError::new(format!(
                        "yaml: anchor '{name}' value contains itself"
                    )));
                }
                self.active.push(*id);
                let meant = self.node(*target, depth + 1)?;
                self.active.pop();
                Ok(meant)
            }
            Content::Sequence(children) => {
                let mut items = Vec::with_capacity(children.len().min(4096));
                for child in children {
                    items.push(self.node(*child, depth + 1)?);
                }
                Ok(Meant::Sequence(items))
            }
            Content::Mapping(children) => {
                let mut map = Vec::new();
                for pair in children.chunks_exact(2) {
                    if let [key, value] = pair {
                        self.entry(*key, *value, depth, &mut map)?;
                    }
                }
                self.settle(&mut map);
                Ok(Meant::Mapping(map))
            }
        }
    }

    fn entry(
        &mut self,
        key: usize,
        value: usize,
        depth: usize,
        map: &mut Vec<Entry>,
    ) -> Result<(), YamlError> {
        let line = self.tree.nodes.get(value).map_or(0, |n| n.line);
        if self.is_merge(key) {
            return self.merge(value, line, depth, map);
        }
        let key = match self.node(key, depth + 1)? {
            Meant::Scalar(key) => key,
            other => {
                return Err(YamlError::new(format!(
                    "yaml: invalid map key: {}",
                    other.go_syntax()
                )));
            }
        };
        let value = self.node(value, depth + 1)?;
        let Some(key) = key.into_key() else {
            return Err(YamlError::new(format!(
                "unsupported map key of type: %!s(<nil>), key: <nil>, value: {}",
                value.go_syntax()
            )));
        };
        self.set(key, value, line, map);
        Ok(())
    }

    fn set(&mut self, key: Key, value: Meant, line: usize, map: &mut Vec<Entry>) {
        map.push(Entry {
            key,
            value,
            line,
            order: self.entries,
        });
        self.entries += 1;
    }

    /// Sorts the entries of a mapping. Of a repeated key the last one is kept, and each but the first is reported.
    fn settle(&mut self, map: &mut Vec<Entry>) {
        map.sort_by(|a, b| a.key.cmp(&b.key));
        map.dedup_by(|later, earlier| {
            let again = later.key == earlier.key;
            if again {
                self.report(later);
                std::mem::swap(earlier, later);
            }
            again
        });
    }

    fn report(&mut self, again: &Entry) {
        let shown = match again.key.kind {
            resolve::STRING_KEY => go::quote(&again.key.text),
            _ => again.key.text.clone(),
        };
        let message = format!("line {}: key {shown} already set in map", again.line);
        self.duplicates.push((again.order, message));
        if self.duplicates.len() >= 2 * MAX_DUPLICATES {
            self.order_duplicates();
        }
    }

    fn order_duplicates(&mut self) {
        self.duplicates.sort_unstable_by_key(|(order, _)| *order);
        self.duplicates.truncate(MAX_DUPLICATES);
    }

    /// The problem of repeated keys, in the order in which they occur.
    fn problem(mut self) -> Option<Problem> {
        self.order_duplicates();
        let messages: Vec<_> = self.duplicates.into_iter().map(|(_, text)| text).collect();
        (!messages.is_empty()).then(|| {
            Problem::Other(format!(
                "yaml: unmarshal errors:\n  {}",
                messages.join("\n  ")
            ))
        })
    }

    fn is_merge(&self, index: usize) -> bool {
        matches!(
            self.tree.nodes.get(index).map(|n| &n.content),
            Some(Content::Scalar(value, ScalarStyle::Plain, None)) if value == "<<"
        )
    }

    fn merge(
        &mut self,
        value: usize,
        line: usize,
        depth: usize,
        map: &mut Vec<Entry>,
    ) -> Result<(), YamlError> {
        let wrong =
            || YamlError::new("yaml: map merge requires map or sequence of maps as the value");
        let sources = match self.node(value, depth + 1)? {
            // Earlier maps of a sequence win over later ones.
            Meant::Sequence(items) => items.into_iter().rev().collect(),
            other => vec![other],
        };
        for source in sources {
            let Meant::Mapping(source) = source else {
                return Err(wrong());
            };
            for entry in source {
                self.set(entry.key, entry.value, line, map);
            }
        }
        Ok(())
    }

    /// Counts a node and rejects documents that consist of aliases: 99 of 100 nodes up to 400,000, falling to 10 of
    /// 100 at 4,000,000, or more than [`MAX_ALIASED_BYTES`].
    fn spend(&mut self, content: &Content<'_>) -> Result<(), YamlError> {
        const LOW: f64 = 400_000.0;
        const HIGH: f64 = 4_000_000.0;
        self.decoded += 1;
        if self.active.is_empty() {
            return Ok(());
        }
        let excessive = || YamlError::new("yaml: document contains excessive aliasing");
        self.aliased += 1;
        // Quotes or brackets, and a comma.
        self.aliased_bytes += 3;
        if let Content::Scalar(text, ..) = content {
            self.aliased_bytes = self.aliased_bytes.saturating_add(text.len());
        }
        if self.aliased_bytes > MAX_ALIASED_BYTES {
            return Err(excessive());
        }
        let decoded = self.decoded as f64;
        let allowed = 0.99 - 0.89 * ((decoded - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
        if self.aliased > 100 && self.decoded > 1000 && self.aliased as f64 / decoded > allowed {
            return Err(excessive());
        }
        Ok(())
    }
}

impl Meant {
    fn into_json(self) -> Result<Node<'static>, YamlError> {
        Ok(match self {
            Meant::Scalar(scalar) => scalar.into_json()?,
            Meant::Sequence(items) => Node::Array(
                items
                    .into_iter()
                    .map(Meant::into_json)
                    .collect::<Result<_, _>>()?,
            ),
            Meant::Mapping(map) => {
                let mut entries: Vec<(Cow<'static, str>, Node<'static>)> =
                    Vec::with_capacity(map.len());
                for Entry { key, value, .. } in map {
                    let value = value.into_json()?;
                    match entries.last_mut() {
                        Some((last, slot)) if *last == key.text => *slot = value,
                        _ => entries.push((Cow::Owned(key.text), value)),
                    }
                }
                Node::Object(entries)
            }
        })
    }

    /// The value as Go source, as messages show it.
    fn go_syntax(&self) -> String {
        match self {
            Meant::Scalar(Scalar::Null) => "interface {}(nil)".to_owned(),
            Meant::Scalar(Scalar::Bool(b)) => b.to_string(),
            Meant::Scalar(Scalar::Int(i)) => i.to_string(),
            Meant::Scalar(Scalar::Float(float)) => go::float(*float),
            Meant::Scalar(Scalar::String(s)) => go::quote(s),
            Meant::Sequence(items) => {
                let items: Vec<_> = items.iter().map(Meant::go_syntax).collect();
                format!("[]interface {{}}{{{}}}", items.join(", "))
            }
            Meant::Mapping(map) => {
                let entries: Vec<_> = map
                    .iter()
                    .map(|entry| {
                        format!("{}:{}", go::quote(&entry.key.text), entry.value.go_syntax())
                    })
                    .collect();
                format!(
                    "map[interface {{}}]interface {{}}{{{}}}",
                    entries.join(", ")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests;
