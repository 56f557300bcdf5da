//! [`Wanted`]: the subscriptions of a tab.

use std::collections::HashSet;

use serde::Deserialize;

use super::window::Query;

/// The maximum number of subscriptions of a tab.
const MOST: usize = 16;

/// All subscriptions of a tab.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    pub(crate) subscriptions: Vec<Subscription>,
}

/// A subscription of a tab.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Subscription {
    /// The id that messages refer to.
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) what: What,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum What {
    /// A window of the objects of a resource, as rows.
    Table(Table),
    /// The response to a GET, polled every second and sent if it has changed.
    Poll { path: String },
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Table {
    /// The path of the objects, such as `/api/v1/pods`.
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) label_selector: String,
    #[serde(default)]
    pub(crate) field_selector: String,
    /// The revision to show. Without it, the rows are kept up to date.
    #[serde(default)]
    pub(crate) at: Option<u64>,
    #[serde(flatten)]
    pub(crate) query: Query,
    /// The rows that the tab still has from an earlier stream, by key, with their resource versions.
    #[serde(default)]
    pub(crate) have: Vec<(String, String)>,
}

impl Wanted {
    /// Parses the body of a POST.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, String> {
        let wanted: Self = serde_json::from_slice(body).map_err(|e| e.to_string())?;
        if wanted.subscriptions.len() > MOST {
            return Err(format!("a tab has at most {MOST} subscriptions"));
        }
        let mut ids = HashSet::new();
        for subscription in &wanted.subscriptions {
            if !ids.insert(subscription.id.as_str()) {
                return Err(format!("two subscriptions are named {:?}", subscription.id));
            }
            subscription.what.check()?;
        }
        Ok(wanted)
    }
}

impl What {
    fn check(&self) -> Result<(), String> {
        let (path, may_query) = match self {
            Self::Table(table) => (&table.path, false),
            Self::Poll { path } => (path, true),
        };
        let is_path = path.starts_with('/') && path.parse::<http::Uri>().is_ok();
        match is_path && (may_query || !path.contains('?')) && !path.contains('#') {
            true => Ok(()),
            false => Err(format!("{path:?} is no path")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_are_parsed() {
        let body = br#"{"subscriptions": [
            {"id": "t", "type": "table", "path": "/api/v1/pods", "filter": "web", "offset": 5, "limit": 1000, "have": [["a/b", "7"]]},
            {"id": "p", "type": "poll", "path": "/version?x=1"}
        ]}"#;
        let wanted = Wanted::parse(body).unwrap();
        let What::Table(table) = &wanted.subscriptions[0].what else {
            panic!("not a table")
        };
        assert_eq!(table.query.filter, "web");
        assert_eq!(table.have, [("a/b".to_owned(), "7".to_owned())]);
    }

    #[test]
    fn invalid_subscriptions_are_rejected() {
        let refused = |body: &str| Wanted::parse(body.as_bytes()).unwrap_err();
        refused("");
        refused(r#"{"subscriptions": [{"id": "t", "type": "other"}]}"#);
        refused(
            r#"{"subscriptions": [{"id": "t", "type": "poll", "path": "https://elsewhere/"}]}"#,
        );
        refused(
            r#"{"subscriptions": [{"id": "t", "type": "table", "path": "/api/v1/pods?watch=1"}]}"#,
        );
        let one = r#"{"id": "t", "type": "poll", "path": "/version"}"#;
        let twice = refused(&format!(r#"{{"subscriptions": [{one}, {one}]}}"#));
        assert!(twice.contains("two subscriptions"), "{twice}");
        let many: Vec<String> = (0..17)
            .map(|n| one.replace("\"t\"", &format!("\"{n}\"")))
            .collect();
        let many = refused(&format!(r#"{{"subscriptions": [{}]}}"#, many.join(",")));
        assert!(many.contains("at most 16"), "{many}");
    }
}
