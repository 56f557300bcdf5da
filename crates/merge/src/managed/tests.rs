use super::*;
use crate::fieldset::{FieldSet, Filter};
use crate::schema::Deduced;
use crate::typed::tests::{T, Ty};
use kubewright_machinery::time::Time;
use serde_json::{Value, json};

static PORT: Ty = Ty::Struct(&[("port", Ty::Num), ("protocol", Ty::Str), ("name", Ty::Str)]);
static KIND: Ty = Ty::Struct(&[
    ("apiVersion", Ty::Str),
    ("kind", Ty::Str),
    (
        "metadata",
        Ty::Struct(&[
            ("name", Ty::Str),
            ("uid", Ty::Str),
            ("labels", Ty::Map(&Ty::Str)),
            ("annotations", Ty::Map(&Ty::Str)),
            ("managedFields", Ty::Any),
        ]),
    ),
    (
        "spec",
        Ty::Struct(&[
            ("replicas", Ty::Num),
            ("image", Ty::Str),
            (
                "ports",
                Ty::Keyed(&[("port", None), ("protocol", Some("TCP"))], &PORT),
            ),
            ("args", Ty::List(&Ty::Str)),
        ]),
    ),
    ("status", Ty::Struct(&[("ready", Ty::Num)])),
]);

const NOW: Time = Time::from_unix(1_000_000_000, 0);
const LATER: Time = Time::from_unix(1_000_000_060, 0);

fn only() -> OneVersion {
    OneVersion::default()
}

fn endpoint<'a>(versions: &'a dyn Versions<T>, subresource: &'a str) -> Endpoint<'a, T> {
    Endpoint {
        schema: T(&KIND),
        api_version: "g/v1",
        kind: "K",
        subresource,
        versions,
    }
}

fn object(spec: Value) -> Value {
    json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a", "uid": "u"}, "spec": spec})
}

fn empty() -> Value {
    json!({"apiVersion": "g/v1", "kind": "K"})
}

fn written(live: &Value, mut new: Value, manager: &str, now: Time) -> Value {
    update(live, &mut new, &endpoint(&only(), ""), manager, now).expect("tracked");
    new
}

fn applied(live: &Value, patch: Value, manager: &str, force: bool) -> Result<Applied, ApplyError> {
    let empty = empty();
    let request = Apply {
        live,
        empty: &empty,
        patch: &patch,
        manager,
        force,
        now: LATER,
    };
    apply(&request, &endpoint(&only(), ""))
}

fn patch(spec: Value) -> Value {
    json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a"}, "spec": spec})
}

fn entries(object: &Value) -> Vec<(String, String, String)> {
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let entry = |e: &Value| {
        let fields = FieldSet::from_value(&e["fieldsV1"])
            .expect("FieldsV1")
            .to_json();
        (
            format!("{}/{}", text(&e["manager"]), text(&e["operation"])),
            fields,
            text(&e["time"]),
        )
    };
    entries.iter().map(entry).collect()
}

fn owners(object: &Value) -> Vec<(String, String)> {
    entries(object)
        .into_iter()
        .map(|(manager, fields, _)| (manager, fields))
        .collect()
}

fn owner(manager: &str, fields: &str) -> (String, String) {
    (manager.to_owned(), fields.to_owned())
}

#[test]
fn the_creator_owns_what_it_sets_but_not_the_identity() {
    let created = written(
        &empty(),
        object(json!({"replicas": 1, "ports": [{"port": 80}]})),
        "me",
        NOW,
    );
    assert_eq!(
        created["metadata"]["managedFields"],
        json!([{
            "manager": "me", "operation": "Update", "apiVersion": "g/v1",
            "time": "2001-09-09T01:46:40Z", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {".": {}, "f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}, "f:replicas": {}}}
        }])
    );
}

#[test]
fn a_writer_takes_what_it_changes_and_a_rewrite_changes_nothing() {
    let created = written(
        &empty(),
        object(json!({"replicas": 1, "image": "a"})),
        "me",
        NOW,
    );
    let same = written(&created, created.clone(), "you", LATER);
    assert_eq!(same, created);
    let scaled = written(
        &created,
        object(json!({"replicas": 2, "image": "a"})),
        "you",
        LATER,
    );
    assert_eq!(
        entries(&scaled),
        [
            (
                "me/Update".into(),
                r#"{"f:spec":{".":{},"f:image":{}}}"#.into(),
                NOW.to_seconds()
            ),
            (
                "you/Update".into(),
                r#"{"f:spec":{"f:replicas":{}}}"#.into(),
                LATER.to_seconds()
            ),
        ]
    );
    let removed = written(&scaled, object(json!({"replicas": 2})), "you", LATER);
    assert_eq!(
        owners(&removed),
        [
            owner("me/Update", r#"{"f:spec":{}}"#),
            owner("you/Update", r#"{"f:spec":{"f:replicas":{}}}"#)
        ]
    );
}

#[test]
fn entries_can_be_reset_and_stay_away_until_the_next_apply() {
    let created = written(&empty(), object(json!({"replicas": 1})), "me", NOW);
    for reset in [
        json!([]),
        json!([{}]),
        json!([{"manager": "", "time": null}]),
    ] {
        let mut cleared = created.clone();
        cleared["metadata"]["managedFields"] = reset;
        let cleared = written(&created, cleared, "me", LATER);
        assert_eq!(cleared, object(json!({"replicas": 1})));
        let next = written(&cleared, object(json!({"replicas": 2})), "me", LATER);
        assert!(owners(&next).is_empty());
        let next = applied(&next, patch(json!({"image": "x"})), "me", false)
            .expect("applied")
            .object;
        assert_eq!(
            owners(&next),
            [
                owner("me/Apply", r#"{"f:spec":{"f:image":{}}}"#),
                owner(
                    "before-first-apply/Update",
                    r#"{"f:spec":{".":{},"f:replicas":{}}}"#
                ),
            ]
        );
    }
}

#[test]
fn entries_that_cannot_be_read_are_ignored() {
    let created = written(&empty(), object(json!({"replicas": 1})), "me", NOW);
    for garbage in [
        json!("x"),
        json!([1]),
        json!([{"manager": "x"}]),
        json!([{"manager": 1, "operation": "Update", "apiVersion": "g/v1", "fieldsType": "FieldsV1"}]),
        json!([{"operation": "Update", "apiVersion": "g/v1", "fieldsType": "FieldsV1", "fieldsV1": {"x": {}}}]),
        json!([{"operation": "Update", "apiVersion": "g/v1", "fieldsType": "FieldsV2"}]),
        json!([{"operation": "Update", "apiVersion": "g/v1", "fieldsType": "FieldsV1", "time": "soon"}]),
        json!(null),
    ] {
        let mut new = created.clone();
        new["metadata"]["managedFields"] = garbage;
        assert_eq!(written(&created, new, "me", LATER), created);
    }
}

#[test]
fn a_client_may_edit_entries_except_through_a_subresource() {
    let created = written(&empty(), object(json!({"replicas": 1})), "me", NOW);
    let mut renamed = created.clone();
    renamed["metadata"]["managedFields"][0]["manager"] = json!("other");
    let main = written(&created, renamed.clone(), "me", LATER);
    assert_eq!(owners(&main)[0].0, "other/Update");
    renamed["status"] = json!({"ready": 1});
    update(
        &created,
        &mut renamed,
        &endpoint(&only(), "status"),
        "ctl",
        LATER,
    )
    .expect("tracked");
    assert_eq!(owners(&renamed)[0].0, "me/Update");
    assert_eq!(
        renamed["metadata"]["managedFields"][1]["subresource"],
        "status"
    );
}

#[test]
fn fields_outside_of_the_endpoint_are_not_owned() {
    let filter = Filter::Exclude(FieldSet::from_json(r#"{"f:status":{}}"#).expect("FieldsV1"));
    let versions = OneVersion {
        filter: Some(filter),
    };
    let mut new = object(json!({"replicas": 1}));
    new["status"] = json!({"ready": 1});
    update(&empty(), &mut new, &endpoint(&versions, ""), "me", NOW).expect("tracked");
    assert_eq!(
        owners(&new),
        [owner("me/Update", r#"{"f:spec":{".":{},"f:replicas":{}}}"#)]
    );
}

#[test]
fn the_oldest_updates_are_merged_when_there_are_too_many() {
    let mut live = empty();
    for i in 0..12 {
        let mut new = live.clone();
        new["metadata"]["name"] = json!("a");
        new["metadata"]["uid"] = json!("u");
        new["metadata"]["labels"][format!("l{i:02}")] = json!("x");
        live = written(&live, new, &format!("m{i:02}"), Time::from_unix(i, 0));
    }
    let owners = owners(&live);
    assert_eq!(owners.len(), 10);
    assert_eq!(
        owners[0],
        owner(
            "ancient-changes/Update",
            r#"{"f:metadata":{"f:labels":{".":{},"f:l00":{},"f:l01":{},"f:l02":{}}}}"#
        )
    );
}

#[test]
fn ten_thousand_managers_are_merged_too() {
    let mut live = object(json!({"replicas": 1}));
    live["metadata"]["managedFields"] = (0..10_000)
        .map(|i| json!({"manager": format!("m{i}"), "operation": "Update", "apiVersion": "g/v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}))
        .collect();
    let mut new = live.clone();
    new["spec"]["image"] = json!("x");
    assert_eq!(owners(&written(&live, new, "me", NOW)).len(), 10);
}

#[test]
fn an_object_that_does_not_fit_loses_its_entries() {
    let mut new = object(json!({"nope": 1}));
    new["metadata"]["managedFields"] = json!([]);
    let error =
        update(&empty(), &mut new, &endpoint(&only(), ""), "me", NOW).expect_err("unknown field");
    assert_eq!(
        error.to_string(),
        "failed to convert new object (/a; g/v1, Kind=K) to smd typed: .spec.nope: field not declared in schema"
    );
    assert!(new["metadata"].get("managedFields").is_none());
}

#[test]
fn applying_creates_merges_and_prunes() {
    let first = applied(
        &empty(),
        patch(json!({"replicas": 1, "args": ["a"], "ports": [{"port": 80}]})),
        "me",
        false,
    );
    let mut first = first.expect("applied").object;
    first["metadata"]["uid"] = json!("u");
    let second =
        applied(&first, patch(json!({"ports": [{"port": 81}]})), "me", false).expect("applied");
    assert!(second.changed);
    assert_eq!(second.object["spec"], json!({"ports": [{"port": 81}]}));
    assert_eq!(
        owners(&second.object),
        [owner(
            "me/Apply",
            r#"{"f:spec":{"f:ports":{"k:{\"port\":81,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}"#
        )]
    );
}

#[test]
fn fields_of_other_managers_are_not_pruned() {
    let live = applied(
        &empty(),
        patch(json!({"replicas": 1, "image": "a"})),
        "me",
        false,
    );
    let live = live.expect("applied").object;
    let live = applied(&live, patch(json!({"image": "a"})), "you", false).expect("shared");
    assert!(!live.changed);
    let live = applied(&live.object, patch(json!({})), "me", false)
        .expect("applied")
        .object;
    assert_eq!(live["spec"], json!({"image": "a"}));
}

#[test]
fn applying_again_leaves_the_object_as_it_is() {
    let config = patch(json!({"replicas": 1, "ports": [{"port": 80}]}));
    let first = applied(&empty(), config.clone(), "me", false).expect("applied");
    let again = applied(&first.object, config, "me", false).expect("applied");
    assert!(!again.changed);
    assert_eq!(again.object, first.object);
}

#[test]
fn changing_what_another_owns_is_a_conflict_unless_forced() {
    let live = written(
        &empty(),
        object(json!({"replicas": 1, "image": "a"})),
        "them",
        NOW,
    );
    let Err(ApplyError::Conflicts(one)) =
        applied(&live, patch(json!({"replicas": 2})), "me", false)
    else {
        panic!("a conflict");
    };
    assert_eq!(
        one.to_string(),
        "Apply failed with 1 conflict: conflict with \"them\" using g/v1: .spec.replicas"
    );
    assert_eq!(
        one.causes(),
        [Cause {
            message: "conflict with \"them\" using g/v1".into(),
            field: ".spec.replicas".into()
        }]
    );
    let mut live = live;
    live["status"] = json!({"ready": 0});
    let before = {
        let mut b = live.clone();
        b["status"] = json!({});
        b
    };
    update(&before, &mut live, &endpoint(&only(), "status"), "ctl", NOW).expect("tracked");
    let config = {
        let mut p = patch(json!({"replicas": 2, "image": "b"}));
        p["status"] = json!({"ready": 1});
        p
    };
    let error = applied(&live, config.clone(), "me", false).expect_err("conflicts");
    assert_eq!(
        error.to_string(),
        "Apply failed with 3 conflicts: conflicts with \"ctl\" with subresource \"status\" using g/v1:\n- .status.ready\nconflicts with \"them\" using g/v1:\n- .spec.image\n- .spec.replicas"
    );
    let forced = applied(&live, config, "me", true).expect("forced").object;
    assert_eq!(forced["spec"], json!({"replicas": 2, "image": "b"}));
    assert_eq!(owners(&forced).len(), 2);
}

#[test]
fn a_conflict_with_an_applier_names_no_version() {
    let live = applied(&empty(), patch(json!({"replicas": 1})), "them", false)
        .expect("applied")
        .object;
    let error = applied(&live, patch(json!({"replicas": 2})), "me", false).expect_err("conflict");
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"them\": .spec.replicas"
    );
}

#[test]
fn configurations_that_do_not_fit_are_refused() {
    let live = empty();
    let mut other = patch(json!({}));
    other["kind"] = json!("Other");
    assert_eq!(
        applied(&live, other, "me", false),
        Err(ApplyError::BadRequest(
            "invalid object type: g/v1, Kind=Other".into()
        ))
    );
    let mut fields = patch(json!({}));
    fields["metadata"]["managedFields"] = json!([]);
    assert_eq!(
        applied(&live, fields, "me", false),
        Err(ApplyError::BadRequest(
            "metadata.managedFields must be nil".into()
        ))
    );
    assert_eq!(
        applied(&live, patch(json!({"ports": [{"name": "x", "port": 1}, {"port": 1}]})), "me", false),
        Err(ApplyError::Internal("failed to create typed patch object (/a; g/v1, Kind=K): .spec.ports: duplicate entries for key [port=1,protocol=\"TCP\"]".into()))
    );
}

#[test]
fn kubectl_moves_from_client_side_apply_without_conflicts() {
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    let mut live = object(json!({"replicas": 1, "image": "a"}));
    live["metadata"]["annotations"] =
        json!({annotation: patch(json!({"replicas": 1})).to_string()});
    let live = written(&empty(), live, "kubectl-client-side-apply", NOW);
    let out = applied(&live, patch(json!({"replicas": 2})), "kubectl", false)
        .expect("tolerated")
        .object;
    assert_eq!(
        out["metadata"]["annotations"][annotation],
        "{\"apiVersion\":\"g/v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"replicas\":2}}\n"
    );
    assert!(applied(&live, patch(json!({"image": "b"})), "kubectl", false).is_err());
    assert!(applied(&live, patch(json!({"replicas": 2})), "other", false).is_err());
}

/// `g/v2` calls `replicas` by another name.
struct Renaming;

impl Versions<Deduced> for Renaming {
    fn convert(
        &self,
        object: &Value,
        api_version: &str,
    ) -> Result<Converted<Deduced>, ConvertError> {
        let (from, to) = match api_version {
            "g/v1" => ("size", "replicas"),
            "g/v2" => ("replicas", "size"),
            _ => return Err(ConvertError::NoSuchVersion),
        };
        let mut object = object.clone();
        object["apiVersion"] = json!(api_version);
        if let Some(value) = object["spec"]
            .as_object_mut()
            .and_then(|spec| spec.remove(from))
        {
            object["spec"][to] = value;
        }
        Ok(Converted {
            object,
            schema: Deduced,
        })
    }

    fn filter(&self, _: &str) -> Option<&Filter> {
        None
    }
}

#[test]
fn owners_in_other_versions_are_followed_and_gone_versions_forgotten() {
    let at = |api_version| Endpoint {
        schema: Deduced,
        api_version,
        kind: "K",
        subresource: "",
        versions: &Renaming,
    };
    let mut live = object(json!({"size": 1, "image": "a"}));
    live["apiVersion"] = json!("g/v2");
    update(
        &json!({"apiVersion": "g/v2", "kind": "K"}),
        &mut live,
        &at("g/v2"),
        "old",
        NOW,
    )
    .expect("tracked");
    live["metadata"]["managedFields"].as_array_mut().expect("entries").push(json!({
        "manager": "gone", "operation": "Update", "apiVersion": "g/v0", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:image": {}}}
    }));
    let live = Renaming.convert(&live, "g/v1").expect("converted").object;
    let mut new = live.clone();
    new["spec"]["replicas"] = json!(2);
    update(&live, &mut new, &at("g/v1"), "new", LATER).expect("tracked");
    assert_eq!(
        owners(&new),
        [
            owner("old/Update", r#"{"f:spec":{".":{},"f:image":{}}}"#),
            owner("new/Update", r#"{"f:spec":{"f:replicas":{}}}"#),
        ]
    );
}
