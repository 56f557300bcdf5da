//! The visible rows of a tab, and the difference to those that it has.
//!
//! The protocol: a message contains the new and changed rows and, if the order has changed, the keys of all rows of the
//! window. The tab stores rows by key, and drops those that the order does not contain.

use std::{cmp::Ordering, collections::BTreeMap, collections::HashMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The maximum number of rows of a window.
pub(crate) const LARGEST: usize = 200;

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    /// The namespace and the name: `default/web`, or `web`.
    pub(crate) key: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    /// The resource version.
    pub(crate) version: String,
    pub(crate) created: String,
    pub(crate) deleting: bool,
    pub(crate) cells: Vec<Value>,
}

/// All rows, sorted by namespace and name.
pub(crate) type Rows = BTreeMap<(String, String), Arc<Row>>;

/// The rows that a tab requests.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Query {
    /// Words that the name or a cell must contain, ignoring case. Words that begin with `!` must be absent.
    #[serde(default)]
    pub(crate) filter: String,
    /// The column to sort by (default: namespace and name).
    #[serde(default)]
    pub(crate) sort: Option<Sort>,
    #[serde(default)]
    pub(crate) offset: usize,
    #[serde(default)]
    pub(crate) limit: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sort {
    pub(crate) by: By,
    #[serde(default)]
    pub(crate) descending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum By {
    Created,
    Column(usize),
}

/// The rows of a window, and the number of rows that match.
pub(crate) struct Selected {
    pub(crate) total: usize,
    pub(crate) offset: usize,
    pub(crate) rows: Vec<Arc<Row>>,
}

/// The rows that a tab has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    order: Vec<String>,
    versions: HashMap<String, String>,
    counted: Option<(usize, usize)>,
}

impl Query {
    /// Selects the rows of the window. An offset beyond the end selects the last rows.
    pub(crate) fn select(&self, rows: &Rows) -> Selected {
        let limit = self.limit.clamp(1, LARGEST);
        let words: Vec<String> = self
            .filter
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        if words.is_empty() && self.sort.is_none() {
            let (total, offset) = (rows.len(), clamp(self.offset, rows.len(), limit));
            let rows = rows.values().skip(offset).take(limit).cloned().collect();
            return Selected {
                total,
                offset,
                rows,
            };
        }
        let mut matching: Vec<&Arc<Row>> =
            rows.values().filter(|row| row.matches(&words)).collect();
        let total = matching.len();
        let offset = clamp(self.offset, total, limit);
        if let Some(sort) = self.sort {
            matching.sort_by(|a, b| sort.compare(a, b));
        }
        let rows = matching
            .into_iter()
            .skip(offset)
            .take(limit)
            .cloned()
            .collect();
        Selected {
            total,
            offset,
            rows,
        }
    }
}

/// Limits the offset to that of the last full window.
fn clamp(offset: usize, total: usize, limit: usize) -> usize {
    offset.min(total.saturating_sub(limit))
}

impl Row {
    fn matches(&self, words: &[String]) -> bool {
        words.iter().all(|word| match word.strip_prefix('!') {
            Some("") => true,
            Some(absent) => !self.contains(absent),
            None => self.contains(word),
        })
    }

    fn contains(&self, word: &str) -> bool {
        let is_in = |text: &str| text.to_lowercase().contains(word);
        is_in(&self.key)
            || self.cells.iter().any(|cell| match cell {
                Value::String(text) => is_in(text),
                Value::Number(number) => number.to_string().contains(word),
                _ => false,
            })
    }
}

impl Sort {
    /// Compares rows. Equal ones keep their order, so that the window is stable.
    fn compare(self, a: &Row, b: &Row) -> Ordering {
        let ordering = match self.by {
            By::Created => b.created.cmp(&a.created),
            By::Column(n) => compare_cells(a.cells.get(n), b.cells.get(n)),
        };
        match self.descending {
            true => ordering.reverse(),
            false => ordering,
        }
    }
}

fn compare_cells(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => {
            let (a, b) = (a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0));
            a.total_cmp(&b)
        }
        (Some(Value::String(a)), Some(Value::String(b))) => natural(a, b),
        (a, b) => {
            let text = |it: Option<&Value>| it.map(Value::to_string).unwrap_or_default();
            text(a).cmp(&text(b))
        }
    }
}

/// Compares texts, where leading numbers are compared as numbers: `2/3` comes before `10/12`.
fn natural(a: &str, b: &str) -> Ordering {
    let number = |text: &str| {
        let end = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        text.get(..end)
            .and_then(|digits| digits.parse::<u64>().ok())
    };
    match (number(a), number(b)) {
        (Some(one), Some(other)) if one != other => one.cmp(&other),
        _ => a.cmp(b),
    }
}

impl Sent {
    /// Starts with the rows that a tab has from an earlier stream.
    pub(crate) fn having(have: &[(String, String)]) -> Self {
        let have = have.iter().take(LARGEST);
        Self {
            versions: have.cloned().collect(),
            ..Self::default()
        }
    }

    /// Returns the message that updates the tab, unless it is up to date. The message counts as sent.
    pub(crate) fn update(&mut self, selected: &Selected) -> Option<Value> {
        let order: Vec<String> = selected.rows.iter().map(|row| row.key.clone()).collect();
        let changed: Vec<&Row> = selected
            .rows
            .iter()
            .map(Arc::as_ref)
            .filter(|row| self.versions.get(&row.key) != Some(&row.version))
            .collect();
        let counted = Some((selected.total, selected.offset));
        let is_new = self.counted.is_none();
        if changed.is_empty() && order == self.order && counted == self.counted {
            return None;
        }
        let mut message = json!({"total": selected.total, "offset": selected.offset});
        if is_new || order != self.order {
            message["order"] = json!(order);
        }
        message["rows"] = json!(changed);
        self.versions = selected
            .rows
            .iter()
            .map(|row| (row.key.clone(), row.version.clone()))
            .collect();
        self.order = order;
        self.counted = counted;
        Some(message)
    }
}

#[cfg(test)]
mod tests;
