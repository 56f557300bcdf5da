//! The flow schemas in the order in which they are tried, and the priority levels that exist.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use http::HeaderValue;
use kubewright_apiserver::{auth::Attributes, flow::Flow};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{GROUP, rules::Rule};
use crate::{follow, kinds::collection};

const DANGLING: &str = "Dangling";

/// The flow schemas and priority levels of a store.
#[derive(Default)]
pub(crate) struct Schemas {
    /// By precedence, and then by name.
    schemas: Vec<Schema>,
    /// The uids of the priority levels by their names.
    levels: HashMap<Arc<str>, HeaderValue>,
    generation: u64,
}

/// The kinds of objects.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Schema,
    Level,
}

struct Schema {
    precedence: i64,
    name: Arc<str>,
    uid: HeaderValue,
    level: String,
    rules: Vec<Rule>,
    /// Whether its conditions say that the level does not exist; `None` if they say nothing.
    dangling: Option<bool>,
}

/// A flow schema whose condition is not true.
pub(super) struct Unsettled {
    pub(super) name: Arc<str>,
    level: String,
    dangling: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Stored {
    metadata: Metadata,
    spec: Spec,
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    uid: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    matching_precedence: i64,
    priority_level_configuration: Reference,
    rules: Vec<Rule>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Reference {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    conditions: Vec<Condition>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Condition {
    r#type: String,
    status: String,
}

impl follow::Index for Schemas {
    type Kind = Kind;

    fn collections() -> Vec<(Kind, Arc<str>)> {
        vec![
            (Kind::Schema, collection(GROUP, "flowschemas")),
            (
                Kind::Level,
                collection(GROUP, "prioritylevelconfigurations"),
            ),
        ]
    }

    fn put(&mut self, kind: Kind, path: &Arc<str>, bytes: &Bytes) {
        self.remove(kind, path);
        let stored: Stored = serde_json::from_slice(bytes).unwrap_or_default();
        let Ok(uid) = HeaderValue::from_str(&stored.metadata.uid) else {
            return;
        };
        match kind {
            Kind::Level => drop(self.levels.insert(path.clone(), uid)),
            Kind::Schema => {
                let schema = Schema::new(path.clone(), uid, stored);
                let at = self
                    .schemas
                    .partition_point(|other| other.order() < schema.order());
                self.schemas.insert(at, schema);
            }
        }
    }

    fn remove(&mut self, kind: Kind, path: &str) {
        // No two states have the same number, also if the index is built anew.
        static CHANGES: AtomicU64 = AtomicU64::new(0);
        self.generation = CHANGES.fetch_add(1, Ordering::Relaxed) + 1;
        match kind {
            Kind::Schema => self.schemas.retain(|schema| *schema.name != *path),
            Kind::Level => drop(self.levels.remove(path)),
        }
    }
}

impl Schemas {
    /// Returns the flow of a request: that of the first flow schema that matches and has a priority level.
    pub(super) fn flow(&self, request: &Attributes<'_>) -> Option<Flow> {
        self.schemas.iter().find_map(|schema| {
            if !schema.rules.iter().any(|rule| rule.matches(request)) {
                return None;
            }
            let level = self.levels.get(schema.level.as_str())?;
            Some(Flow {
                schema_uid: schema.uid.clone(),
                level_uid: level.clone(),
            })
        })
    }

    /// Returns a number that changes with the objects.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the flow schemas whose condition is not true.
    pub(super) fn unsettled(&self) -> Vec<Unsettled> {
        let all = self.schemas.iter().filter_map(|schema| {
            let dangling = !self.levels.contains_key(schema.level.as_str());
            (schema.dangling != Some(dangling)).then(|| Unsettled {
                name: schema.name.clone(),
                level: schema.level.clone(),
                dangling,
            })
        });
        all.collect()
    }
}

impl Schema {
    fn new(name: Arc<str>, uid: HeaderValue, stored: Stored) -> Self {
        let mut conditions = stored.status.conditions.iter();
        let dangling = conditions.find(|condition| condition.r#type == DANGLING);
        Self {
            precedence: stored.spec.matching_precedence,
            name,
            uid,
            level: stored.spec.priority_level_configuration.name,
            rules: stored.spec.rules,
            dangling: dangling.map(|condition| condition.status == "True"),
        }
    }

    fn order(&self) -> (i64, &str) {
        (self.precedence, &self.name)
    }
}

impl Unsettled {
    /// Returns the condition that is true.
    pub(super) fn condition(&self, time: &str) -> Value {
        condition(&self.level, self.dangling, time)
    }
}

/// Returns the condition of a flow schema.
pub(super) fn condition(level: &str, dangling: bool, time: &str) -> Value {
    let (status, reason, end) = match dangling {
        true => ("True", "NotFound", "but there is no such object"),
        false => ("False", "Found", "and it exists"),
    };
    let start = "This FlowSchema references the PriorityLevelConfiguration object named";
    json!({
        "type": DANGLING, "status": status, "reason": reason, "lastTransitionTime": time,
        "message": format!("{start} \"{level}\" {end}"),
    })
}

#[cfg(test)]
mod tests {
    use kubewright_apiserver::request::UserInfo;

    use super::*;
    use crate::follow::Index;

    fn put(index: &mut Schemas, kind: Kind, name: &str, object: Value) {
        index.put(kind, &name.into(), &object.to_string().into());
    }

    fn schema(precedence: i64, level: &str) -> Value {
        json!({
            "metadata": {"uid": format!("schema-{precedence}-{level}")},
            "spec": {
                "matchingPrecedence": precedence,
                "priorityLevelConfiguration": {"name": level},
                "rules": [{
                    "subjects": [{"kind": "Group", "group": {"name": "*"}}],
                    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                }],
            },
        })
    }

    fn flow(index: &Schemas) -> Option<String> {
        let user = UserInfo::default();
        let flow = index.flow(&Attributes::of_path(&user, "get", "/version"))?;
        let text = |uid: &HeaderValue| uid.to_str().unwrap_or_default().to_owned();
        Some(format!(
            "{} {}",
            text(&flow.schema_uid),
            text(&flow.level_uid)
        ))
    }

    #[test]
    fn the_lowest_precedence_decides_then_the_name_and_dangling_schemas_do_not() {
        let mut index = Schemas::default();
        for level in ["low", "high"] {
            let uid = format!("level-{level}");
            put(
                &mut index,
                Kind::Level,
                level,
                json!({"metadata": {"uid": uid}}),
            );
        }
        assert_eq!(flow(&index), None);
        put(&mut index, Kind::Schema, "z", schema(500, "low"));
        put(&mut index, Kind::Schema, "a", schema(500, "high"));
        assert_eq!(flow(&index).as_deref(), Some("schema-500-high level-high"));
        put(&mut index, Kind::Schema, "first", schema(10, "low"));
        assert_eq!(flow(&index).as_deref(), Some("schema-10-low level-low"));
        put(&mut index, Kind::Schema, "first", schema(10, "none"));
        assert_eq!(flow(&index).as_deref(), Some("schema-500-high level-high"));
        index.remove(Kind::Level, "high");
        assert_eq!(flow(&index).as_deref(), Some("schema-500-low level-low"));
        index.remove(Kind::Schema, "z");
        assert_eq!(flow(&index), None);
    }

    #[test]
    fn schemas_are_unsettled_until_their_condition_says_the_truth() {
        let mut index = Schemas::default();
        put(&mut index, Kind::Schema, "a", schema(500, "high"));
        let unsettled = |index: &Schemas| -> Vec<bool> {
            index
                .unsettled()
                .iter()
                .map(|schema| schema.dangling)
                .collect()
        };
        assert_eq!(unsettled(&index), [true]);
        let mut settled = schema(500, "high");
        settled["status"] = json!({"conditions": [condition("high", true, "")]});
        put(&mut index, Kind::Schema, "a", settled);
        assert!(unsettled(&index).is_empty());
        put(
            &mut index,
            Kind::Level,
            "high",
            json!({"metadata": {"uid": "u"}}),
        );
        assert_eq!(unsettled(&index), [false]);
    }
}
