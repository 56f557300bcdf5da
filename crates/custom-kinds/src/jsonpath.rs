//! The JSONPath of printer columns.
//!
//! It supports names, `['quoted names']`, indices (also from the end), `[*]`, slices, `..` and filters such as
//! `[?(@.type=="Ready")]`. A path that cannot be parsed matches nothing.

use kubewright_machinery::limits::DOCUMENT_DEPTH;
use serde_json::Value;

/// The maximum nesting of filters in filters.
const MAX_DEPTH: usize = 16;
/// The maximum number of values between two steps. Each `..` multiplies them by the number of values below.
const MAX_VALUES: usize = 10_000;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Fields(Vec<String>),
    Index(i64),
    Slice(Option<i64>, Option<i64>, i64),
    Each,
    Descend,
    Filter(Vec<Step>, Option<(Comparison, Literal)>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, PartialEq)]
enum Literal {
    Value(Value),
    Path(Vec<Step>),
}

impl JsonPath {
    /// Parses a path. Returns `None` if it is not supported.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser {
            rest: text,
            depth: 0,
        };
        let steps = parser.steps()?;
        parser.rest.is_empty().then_some(Self(steps))
    }

    /// Returns the dotted path of the field that contains everything the path reads; `None` if that is the whole object.
    pub(crate) fn field(&self) -> Option<String> {
        let names: Vec<&str> = self.0.iter().map_while(Step::plain_name).collect();
        (!names.is_empty()).then(|| names.join("."))
    }

    /// Returns the first value that matches the path.
    pub(crate) fn first<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        find(object, &self.0).into_iter().next()
    }
}

impl Step {
    /// Returns the name of a field that may be part of a dotted path.
    fn plain_name(&self) -> Option<&str> {
        match self {
            Self::Field(name) if !name.contains(['.', '#', '\\', '"']) => Some(name),
            _ => None,
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    /// The number of filters around the rest.
    depth: usize,
}

impl Parser<'_> {
    fn steps(&mut self) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        loop {
            if let Some(rest) = self.rest.strip_prefix("..") {
                self.rest = rest;
                steps.push(Step::Descend);
                if !rest.starts_with('[') {
                    steps.extend(self.name()?);
                }
            } else if let Some(rest) = self.rest.strip_prefix('.') {
                self.rest = rest;
                if rest.starts_with('[') || rest.is_empty() {
                    continue;
                }
                steps.extend(self.name()?);
            } else if self.rest.starts_with('[') {
                steps.push(self.brackets()?);
            } else {
                return Some(steps);
            }
        }
    }

    fn name(&mut self) -> Option<Option<Step>> {
        let mut name = String::new();
        let mut chars = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((i, c)) = chars.next() {
            match c {
                '\\' => name.push(chars.next()?.1),
                '.' | '[' | ')' | ' ' | '=' | '!' | '<' | '>' | ']' => {
                    end = i;
                    break;
                }
                c => name.push(c),
            }
        }
        self.rest = &self.rest[end..];
        Some(match name.as_str() {
            "" => return None,
            "*" => Some(Step::Each),
            _ => Some(Step::Field(name)),
        })
    }

    fn brackets(&mut self) -> Option<Step> {
        if let Some(rest) = self.rest.strip_prefix("[?(") {
            self.rest = rest;
            let filter = self.filter()?;
            self.rest = self.rest.trim_start().strip_prefix(")]")?;
            return Some(filter);
        }
        let inner = &self.rest[1..];
        // Names are in single quotes; values in filters are in single or double quotes.
        if inner.starts_with('\'') {
            self.rest = inner;
            let mut names = vec![self.quoted()?];
            while let Some(rest) = self.rest.trim_start().strip_prefix(',') {
                self.rest = rest.trim_start();
                names.push(self.quoted()?);
            }
            self.rest = self.rest.strip_prefix(']')?;
            return Some(Step::Fields(names));
        }
        let end = inner.find(']')?;
        let text = inner[..end].trim();
        self.rest = &inner[end + 1..];
        if text == "*" {
            return Some(Step::Each);
        }
        if text.contains(':') {
            let mut parts = text.split(':').map(str::trim);
            let mut number = || -> Option<Option<i64>> {
                match parts.next() {
                    None | Some("") => Some(None),
                    Some(text) => text.parse().ok().map(Some),
                }
            };
            let (from, to, step) = (number()?, number()?, number()?);
            return Some(Step::Slice(from, to, step.unwrap_or(1)));
        }
        text.parse().ok().map(Step::Index)
    }

    fn quoted(&mut self) -> Option<String> {
        let quote = self
            .rest
            .chars()
            .next()
            .filter(|c| matches!(c, '\'' | '"'))?;
        let mut out = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((i, c)) = chars.next() {
            match c {
                '\\' => out.push(chars.next()?.1),
                c if c == quote => {
                    self.rest = &self.rest[i + 1..];
                    return Some(out);
                }
                c => out.push(c),
            }
        }
        None
    }

    fn filter(&mut self) -> Option<Step> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let filter = self.condition();
        self.depth -= 1;
        filter
    }

    fn condition(&mut self) -> Option<Step> {
        self.rest = self.rest.trim_start().strip_prefix('@')?;
        let left = self.steps()?;
        self.rest = self.rest.trim_start();
        if self.rest.starts_with(')') {
            return Some(Step::Filter(left, None));
        }
        let operators = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let (text, comparison) = *operators
            .iter()
            .find(|(text, _)| self.rest.starts_with(text))?;
        self.rest = self.rest[text.len()..].trim_start();
        let right = if self.rest.starts_with(['\'', '"']) {
            Literal::Value(self.quoted()?.into())
        } else if let Some(rest) = self.rest.strip_prefix('@') {
            self.rest = rest;
            Literal::Path(self.steps()?)
        } else {
            let end = self.rest.find(')')?;
            let text = self.rest[..end].trim();
            let value = serde_json::from_str(text).ok()?;
            self.rest = &self.rest[end..];
            Literal::Value(value)
        };
        Some(Step::Filter(left, Some((comparison, right))))
    }
}

fn find<'a>(object: &'a Value, steps: &[Step]) -> Vec<&'a Value> {
    let mut found = vec![object];
    for step in steps {
        found = found
            .into_iter()
            .flat_map(|value| step.apply(value))
            .take(MAX_VALUES)
            .collect();
        if found.is_empty() {
            break;
        }
    }
    found
}

impl Step {
    fn apply<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Step::Field(name) => value.get(name).into_iter().collect(),
            Step::Fields(names) => names.iter().filter_map(|name| value.get(name)).collect(),
            Step::Index(i) => value
                .as_array()
                .and_then(|items| items.get(position(*i, items.len())?))
                .into_iter()
                .collect(),
            Step::Slice(from, to, step) => slice(value, *from, *to, *step),
            Step::Each => match value {
                Value::Array(items) => items.iter().collect(),
                Value::Object(fields) => fields.values().collect(),
                _ => Vec::new(),
            },
            Step::Descend => {
                let mut out = Vec::new();
                descend(value, &mut out, 0);
                out
            }
            Step::Filter(left, right) => {
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                items
                    .iter()
                    .filter(|item| passes(item, left, right.as_ref()))
                    .collect()
            }
        }
    }
}

fn position(i: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    usize::try_from(if i < 0 { i + length } else { i }).ok()
}

fn slice(value: &Value, from: Option<i64>, to: Option<i64>, step: i64) -> Vec<&Value> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let at = |i: i64| position(i, items.len()).unwrap_or(0).min(items.len());
    let (from, to) = (at(from.unwrap_or(0)), to.map_or(items.len(), at));
    let step = usize::try_from(step).unwrap_or(1).max(1);
    items
        .get(from..to.max(from))
        .unwrap_or_default()
        .iter()
        .step_by(step)
        .collect()
}

fn descend<'a>(value: &'a Value, out: &mut Vec<&'a Value>, depth: usize) {
    if depth > DOCUMENT_DEPTH || out.len() >= MAX_VALUES {
        return;
    }
    out.push(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| descend(item, out, depth + 1)),
        Value::Object(fields) => fields
            .values()
            .for_each(|field| descend(field, out, depth + 1)),
        _ => {}
    }
}

fn passes(item: &Value, left: &[Step], right: Option<&(Comparison, Literal)>) -> bool {
    let Some(left) = find(item, left).into_iter().next() else {
        return false;
    };
    let Some((comparison, right)) = right else {
        return true;
    };
    let right = match right {
        Literal::Value(value) => Some(value),
        Literal::Path(steps) => find(item, steps).into_iter().next(),
    };
    let Some(right) = right else {
        return false;
    };
    let order = match (left, right) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (a, b) => (a == b).then_some(std::cmp::Ordering::Equal),
    };
    match comparison {
        Comparison::Equal => order.is_some_and(|o| o.is_eq()),
        Comparison::NotEqual => !order.is_some_and(|o| o.is_eq()),
        Comparison::Less => order.is_some_and(|o| o.is_lt()),
        Comparison::LessOrEqual => order.is_some_and(|o| o.is_le()),
        Comparison::Greater => order.is_some_and(|o| o.is_gt()),
        Comparison::GreaterOrEqual => order.is_some_and(|o| o.is_ge()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_bounded_in_results_and_nesting() {
        let mut object = json!([1, 2, 3]);
        for _ in 0..100 {
            object = json!([object, 1]);
        }
        let many = JsonPath::parse(&"..[*]".repeat(50)).unwrap();
        assert!(find(&object, &many.0).len() <= MAX_VALUES);
        let nested = |n: usize| format!("{}.a{}", "[?(@".repeat(n), ")]".repeat(n));
        assert!(JsonPath::parse(&nested(MAX_DEPTH)).is_some());
        assert!(JsonPath::parse(&nested(100_000)).is_none());
    }

    #[test]
    fn a_path_finds_the_first_value() {
        let object = json!({
            "spec": {"l": [{"t": "p", "n": 1}, {"t": "q", "n": 2}], "a.b": "dotted"},
            "status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Up", "status": "True"}]},
        });
        for (path, value) in [
            (".spec.l[*].t", json!("p")),
            (".spec.l[-1].t", json!("q")),
            (".spec.l[1:].t", json!("q")),
            (".spec['a.b']", json!("dotted")),
            (".spec.a\\.b", json!("dotted")),
            (
                ".status.conditions[?(@.type==\"Up\")].status",
                json!("True"),
            ),
            (
                ".status.conditions[?(@.type == 'Ready')].status",
                json!("False"),
            ),
            (".spec.l[?(@.n > 1)].t", json!("q")),
            ("..t", json!("p")),
        ] {
            assert_eq!(
                JsonPath::parse(path).unwrap().first(&object),
                Some(&value),
                "{path}"
            );
        }
        assert_eq!(JsonPath::parse(".spec.none").unwrap().first(&object), None);
        assert_eq!(JsonPath::parse(".spec.l[x"), None);
    }
}
