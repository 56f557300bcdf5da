//! Compares the protocol with a model: after any changes, the tab has the rows of the server.

use proptest::{collection::vec, option, prelude::*};

use super::*;

/// A tab, which applies messages like the script in the browser.
#[derive(Default)]
struct Tab {
    rows: HashMap<String, Value>,
    order: Vec<String>,
    total: u64,
    offset: u64,
}

impl Tab {
    fn apply(&mut self, message: &Value) {
        for row in message["rows"].as_array().unwrap() {
            let key = row["key"].as_str().unwrap();
            self.rows.insert(key.to_owned(), row.clone());
        }
        if let Some(order) = message["order"].as_array() {
            self.order = order
                .iter()
                .map(|key| key.as_str().unwrap().to_owned())
                .collect();
            self.rows.retain(|key, _| self.order.contains(key));
        }
        self.total = message["total"].as_u64().unwrap();
        self.offset = message["offset"].as_u64().unwrap();
    }

    /// Returns the rows that the tab declares for a new stream.
    fn have(&self) -> Vec<(String, String)> {
        let version = |row: &Value| row["version"].as_str().unwrap().to_owned();
        self.rows
            .iter()
            .map(|(key, row)| (key.clone(), version(row)))
            .collect()
    }

    fn shown(&self) -> Vec<Value> {
        self.order
            .iter()
            .map(|key| self.rows[key].clone())
            .collect()
    }
}

#[derive(Clone, Debug)]
enum Step {
    Write(u8, u8),
    Delete(u8),
    Look(Query),
    /// The stream breaks and is reopened.
    Reconnect,
    /// Messages are sent.
    Tick,
}

fn row(n: u8, cell: u8, version: usize) -> Arc<Row> {
    Arc::new(Row {
        key: format!("default/o{n:03}"),
        namespace: "default".into(),
        name: format!("o{n:03}"),
        uid: n.to_string(),
        version: version.to_string(),
        created: format!("2026-01-01T00:00:{:02}Z", n % 60),
        deleting: false,
        cells: vec![format!("o{n:03}").into(), cell.into()],
    })
}

fn query() -> impl Strategy<Value = Query> {
    let by = prop_oneof![
        Just(By::Created),
        Just(By::Column(0)),
        Just(By::Column(1)),
        Just(By::Column(9))
    ];
    let sort = option::of((by, any::<bool>()).prop_map(|(by, descending)| Sort { by, descending }));
    let filter = prop_oneof![Just(""), Just("o01"), Just("!o01"), Just("2 o")];
    (filter, sort, 0..30_usize, 0..12_usize).prop_map(|(filter, sort, offset, limit)| Query {
        filter: filter.to_owned(),
        sort,
        offset,
        limit,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..25_u8, 0..4_u8).prop_map(|(n, cell)| Step::Write(n, cell)),
        3 => (0..25_u8).prop_map(Step::Delete),
        2 => query().prop_map(Step::Look),
        1 => Just(Step::Reconnect),
        4 => Just(Step::Tick),
    ]
}

/// Selects rows by definition: filter, sort, slice.
fn expected(rows: &Rows, query: &Query) -> (usize, Vec<Value>) {
    let words: Vec<String> = query
        .filter
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    let mut all: Vec<&Arc<Row>> = rows.values().filter(|row| row.matches(&words)).collect();
    if let Some(sort) = query.sort {
        all.sort_by(|a, b| sort.compare(a, b));
    }
    let limit = query.limit.clamp(1, LARGEST);
    let first = query.offset.min(all.len().saturating_sub(limit));
    let last = (first + limit).min(all.len());
    (
        all.len(),
        all[first..last].iter().map(|row| json!(***row)).collect(),
    )
}

proptest! {
    #[test]
    fn the_rows_of_a_tab_are_those_of_the_server(steps in vec(step(), 1..120)) {
        let (mut rows, mut version) = (Rows::new(), 0);
        let (mut query, mut sent, mut tab) = (Query::default(), Sent::default(), Tab::default());
        for step in steps.into_iter().chain([Step::Tick]) {
            match step {
                Step::Write(n, cell) => {
                    version += 1;
                    let row = row(n, cell, version);
                    rows.insert((row.namespace.clone(), row.name.clone()), row);
                }
                Step::Delete(n) => drop(rows.remove(&("default".to_owned(), format!("o{n:03}")))),
                Step::Look(other) => query = other,
                Step::Reconnect => sent = Sent::having(&tab.have()),
                Step::Tick => {
                    if let Some(message) = sent.update(&query.select(&rows)) {
                        tab.apply(&message);
                    }
                    let (total, shown) = expected(&rows, &query);
                    prop_assert_eq!(tab.shown(), shown);
                    prop_assert_eq!(tab.total, total as u64);
                    prop_assert_eq!(tab.rows.len(), tab.order.len(), "the tab keeps nothing else");
                    prop_assert!(sent.update(&query.select(&rows)).is_none(), "and then nothing is sent");
                }
            }
        }
    }
}

#[test]
fn a_row_that_the_tab_has_is_not_sent_again() {
    let rows: Rows = (0..3)
        .map(|n| {
            (
                ("default".to_owned(), format!("o{n:03}")),
                row(n, 0, n.into()),
            )
        })
        .collect();
    let query = Query {
        limit: 10,
        ..Query::default()
    };
    let mut sent = Sent::having(&[
        ("default/o000".into(), "0".into()),
        ("default/o001".into(), "old".into()),
    ]);
    let message = sent.update(&query.select(&rows)).unwrap();
    let keys: Vec<&str> = message["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, ["default/o001", "default/o002"]);
    assert_eq!(message["order"].as_array().unwrap().len(), 3);
}

#[test]
fn a_window_has_at_most_200_rows() {
    let rows: Rows = (0..=255)
        .map(|n| (("default".to_owned(), format!("o{n:03}")), row(n, 0, 1)))
        .collect();
    let query = Query {
        limit: 100_000,
        ..Query::default()
    };
    let selected = query.select(&rows);
    assert_eq!((selected.rows.len(), selected.total), (200, 256));
}
