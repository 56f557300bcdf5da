//! Properties that hold for every input.

use kubewright_machinery::merge_patch;
use kubewright_machinery::time::Time;
use kubewright_merge::fieldset::{FieldSet, PathElement};
use kubewright_merge::managed::{Apply, Endpoint, OneVersion, apply, update};
use kubewright_merge::schema::Deduced;
use kubewright_merge::{json_patch, managed, strategic, typed};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::types::{DEPLOYMENT, Type};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..3).prop_map(Value::from),
        "[a-c<]{0,2}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-d]", value(), 0..4)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, v)| !v.is_null())
            .map(|(name, v)| (name.clone(), without_nulls(v)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        scalar => scalar.clone(),
    }
}

fn element() -> impl Strategy<Value = PathElement> {
    prop_oneof![
        "[a-d.:<\"]{0,3}".prop_map(|name| PathElement::field(&name)),
        ("[a-b]", scalar(), scalar())
            .prop_map(|(k, v, w)| PathElement::key([(k, v), ("z".into(), w)])),
        scalar().prop_map(PathElement::value),
        (-2_i64..2).prop_map(PathElement::Index),
    ]
}

fn set() -> impl Strategy<Value = FieldSet> {
    prop::collection::vec(prop::collection::vec(element(), 1..4), 0..8)
        .prop_map(|paths| paths.into_iter().collect())
}

fn configuration(spec: Value) -> Value {
    json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "a"}, "spec": spec})
}

proptest! {
    #[test]
    fn field_sets_survive_encoding(set in set()) {
        let text = set.to_json();
        let read = FieldSet::from_json(&text).expect("FieldsV1");
        prop_assert_eq!(&read, &set);
        prop_assert_eq!(read.to_json(), text);
        prop_assert_eq!(FieldSet::from_value(&set.to_value()), Ok(set));
    }

    #[test]
    fn sets_obey_the_laws_of_sets(a in set(), b in set(), c in set()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.union(&a), a.clone());
        prop_assert!(a.difference(&a).is_empty());
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert_eq!(a.difference(&b.union(&c)), a.difference(&b).difference(&c));
        prop_assert!(a.recursive_difference(&b).is_subset(&a.difference(&b)));
        prop_assert!(a.leaves().is_subset(&a));
        prop_assert_eq!(a.len(), a.paths().len());
        for path in a.paths() {
            prop_assert!(a.contains(path.as_ref()));
            prop_assert_eq!(b.contains(path.as_ref()), a.intersection(&b).contains(path.as_ref()));
        }
    }

    #[test]
    fn any_text_is_a_field_set_or_an_error(text in "[{}\"fkvi:.,a1 ]{0,40}", value in value()) {
        _ = FieldSet::from_json(&text);
        _ = FieldSet::from_value(&value);
    }

    #[test]
    fn a_comparison_is_empty_only_for_equal_objects(a in object(), b in object()) {
        let comparison = typed::compare(Deduced, &a, &b).expect("compared");
        prop_assert_eq!(comparison.is_same(), a == b);
        let all = typed::to_field_set(Deduced, &b).expect("set");
        prop_assert!(comparison.modified.leaves().is_subset(&all.union(&comparison.modified)));
    }

    #[test]
    fn a_merge_sets_all_that_the_upper_value_sets(a in object(), b in object()) {
        let merged = typed::merge(Deduced, &a, &b).expect("merged");
        let again = typed::merge(Deduced, &merged, &b).expect("merged");
        prop_assert_eq!(merged, again);
    }

    #[test]
    fn covered_values_are_not_changed_by_a_merge(a in object(), b in object(), items in prop::collection::vec(("[a-c]", "[x-y]"), 0..4), over in prop::collection::vec(("[a-c]", "[x-y]"), 0..4)) {
        let merged = typed::merge(Deduced, &a, &b).expect("merged");
        prop_assert_eq!(typed::covers(Deduced, &a, &b), merged == a);
        prop_assert!(typed::covers(Deduced, &merged, &b));
        let pod = |items: &[(String, String)]| {
            let containers: Vec<Value> = items.iter().map(|(name, image)| json!({"name": name, "image": image})).collect();
            json!({"spec": {"template": {"spec": {"containers": containers}}}})
        };
        let (a, b) = (pod(&items), pod(&over));
        if let Ok(merged) = typed::merge(Type(&DEPLOYMENT), &a, &b) {
            prop_assert!(!typed::covers(Type(&DEPLOYMENT), &a, &b) || merged == a);
            let unique: std::collections::BTreeSet<_> = items.iter().map(|(name, _)| name).collect();
            if merged == a && unique.len() == items.len() {
                prop_assert!(typed::covers(Type(&DEPLOYMENT), &a, &b));
            }
        }
    }

    #[test]
    fn owners_of_a_new_object_are_written_as_they_are_encoded(new in object()) {
        let versions = OneVersion::default();
        let endpoint = Endpoint { schema: Deduced, api_version: "g/v1", kind: "K", subresource: "", versions: &versions };
        let empty = json!({"apiVersion": "g/v1", "kind": "K"});
        let mut whole = configuration(new);
        let mut bare = whole.clone();
        update(&empty, &mut whole, &endpoint, "me", Time::from_unix(1, 0)).expect("tracked");
        let owners = managed::create(&empty, &mut bare, &endpoint, "me", Time::from_unix(1, 0)).expect("tracked");
        let mut written = String::new();
        owners.write_json(&mut written);
        let written: Value = serde_json::from_str(&written).expect("JSON");
        prop_assert_eq!(&written, &owners.encode());
        if written.as_array().is_some_and(|entries| !entries.is_empty()) {
            bare["metadata"]["managedFields"] = written;
        }
        prop_assert_eq!(bare, whole);
    }

    #[test]
    fn named_field_sets_are_field_sets_with_their_structs(a in object()) {
        let schema = Type(&DEPLOYMENT);
        let a = json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "b", "env": [{"name": "x", "value": "y"}]}]}}}, "metadata": {"labels": a, "name": "n"}});
        let Ok(set) = typed::to_field_set(schema, &a) else { return Ok(()) };
        prop_assert_eq!(typed::to_named_field_set(schema, &a).expect("set"), set.ensure_named_fields(schema));
    }

    #[test]
    fn a_merge_patch_from_a_diff_gives_the_target(a in object(), b in object()) {
        let (mut a, b) = (without_nulls(&a), without_nulls(&b));
        let patch = merge_patch::diff(&a, &b).expect("diff");
        merge_patch::apply(&mut a, patch).expect("applied");
        prop_assert_eq!(a, b);
    }

    #[test]
    fn a_three_way_diff_without_others_gives_the_target(a in object(), b in object()) {
        let (mut a, b) = (without_nulls(&a), without_nulls(&b));
        let patch = merge_patch::diff3(&a, &b, &a).expect("diff");
        merge_patch::apply(&mut a, patch).expect("applied");
        prop_assert_eq!(a, b);
    }

    #[test]
    fn json_patches_never_panic(doc in object(), ops in prop::collection::vec((
        prop::sample::select(vec!["add", "remove", "replace", "move", "copy", "test", "nope"]),
        "(/[a-d0-2~-]{0,2}){0,3}", "(/[a-d0-2~-]{0,2}){0,3}", value(),
    ), 0..6)) {
        let operations: Value = ops
            .into_iter()
            .map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}))
            .collect();
        let body = operations.to_string();
        let patch = json_patch::Patch::decode(body.as_bytes(), json_patch::Decoding::Checked).expect("patch");
        _ = json_patch::apply(doc, &patch);
    }

    #[test]
    fn strategic_patches_of_any_shape_never_panic(a in object(), b in value(), c in value()) {
        let wrap = |v: &Value| json!({"spec": {"template": {"spec": {"containers": v, "$setElementOrder/containers": c, "$retainKeys": c}}, "strategy": v, "$patch": c}, "metadata": a});
        _ = strategic::apply(Type(&DEPLOYMENT), wrap(&b), wrap(&c));
        let live = json!({"spec": {"template": {"spec": {"containers": b}}}});
        let patch = json!({"spec": {"template": {"spec": {"containers": c, "$setElementOrder/containers": b}}}});
        _ = strategic::apply(Type(&DEPLOYMENT), live.clone(), patch.clone());
        _ = strategic::diff(Type(&DEPLOYMENT), &live, &patch);
        _ = strategic::diff3(Type(&DEPLOYMENT), &live, &patch, &live, strategic::OnConflict::Fail);
    }

    #[test]
    fn applying_twice_is_applying_once(live in object(), config in object(), force in any::<bool>()) {
        let versions = OneVersion::default();
        let endpoint = Endpoint { schema: Deduced, api_version: "g/v1", kind: "K", subresource: "", versions: &versions };
        let empty = json!({"apiVersion": "g/v1", "kind": "K"});
        let mut stored = configuration(live);
        update(&empty, &mut stored, &endpoint, "them", Time::from_unix(1, 0)).expect("tracked");
        let patch = configuration(config);
        let request = Apply { live: &stored, empty: &empty, patch: &patch, manager: "me", force, now: Time::from_unix(2, 0) };
        match apply(&request, &endpoint) {
            Err(_) => prop_assert!(!force),
            Ok(once) => {
                let request = Apply { live: &once.object, now: Time::from_unix(3, 0), ..request };
                let twice = apply(&request, &endpoint).expect("applied");
                prop_assert!(!twice.changed);
                prop_assert_eq!(twice.object, once.object);
            }
        }
    }

    #[test]
    fn updates_never_panic_on_hostile_entries(live in object(), new in object(), entries in value()) {
        let versions = OneVersion::default();
        let endpoint = Endpoint { schema: Deduced, api_version: "g/v1", kind: "K", subresource: "", versions: &versions };
        let mut stored = configuration(live);
        stored["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Apply", "apiVersion": "g/v1", "fieldsType": "FieldsV1", "fieldsV1": entries}]);
        let mut new = configuration(new);
        new["metadata"]["managedFields"] = entries.clone();
        _ = update(&stored, &mut new, &endpoint, "me", Time::from_unix(1, 0));
        let empty = json!({});
        let patch = configuration(entries);
        _ = apply(&Apply { live: &stored, empty: &empty, patch: &patch, manager: "kubectl", force: false, now: Time::from_unix(1, 0) }, &endpoint);
    }

    #[test]
    fn released_fields_are_removed_unless_another_manager_owns_them(
        mine in prop::collection::btree_map("[a-e]", "[x-z]", 0..5),
        theirs in prop::collection::btree_map("[a-e]", "[x-z]", 0..5),
        left in prop::collection::btree_set("[a-e]", 0..5),
    ) {
        let versions = OneVersion::default();
        let endpoint = Endpoint { schema: Deduced, api_version: "g/v1", kind: "K", subresource: "", versions: &versions };
        let empty = json!({"apiVersion": "g/v1", "kind": "K"});
        let run = |live: &Value, fields: Value, manager: &str, second: i64| {
            let patch = configuration(fields);
            apply(&Apply { live, empty: &empty, patch: &patch, manager, force: true, now: Time::from_unix(second, 0) }, &endpoint)
        };
        let stored = run(&empty, json!(mine), "me", 1).expect("applied").object;
        let stored = run(&stored, json!(theirs), "them", 2).expect("applied").object;
        // What they took by force is theirs alone.
        let kept: std::collections::BTreeMap<_, _> = mine
            .iter()
            .filter(|(key, value)| left.contains(*key) && theirs.get(*key).is_none_or(|v| v == *value))
            .collect();
        let stored = run(&stored, json!(kept), "me", 3).expect("applied").object;
        for (key, value) in &mine {
            let expected = match (theirs.get(key), kept.contains_key(key)) {
                (Some(other), _) => Some(other),
                (None, true) => Some(value),
                (None, false) => None,
            };
            prop_assert_eq!(stored["spec"][key].as_str(), expected.map(String::as_str));
        }
    }

    #[test]
    fn a_strategic_patch_from_a_diff_gives_the_target(
        before in prop::collection::btree_map("[a-d]", "[x-z]{1,2}", 0..4),
        after in prop::collection::btree_map("[a-d]", "[x-z]{1,2}", 0..4),
        replicas in (0_i64..3, 0_i64..3),
    ) {
        let deployment = |containers: &std::collections::BTreeMap<String, String>, replicas: i64| {
            let containers: Vec<Value> = containers.iter().map(|(name, image)| json!({"name": name, "image": image})).collect();
            json!({"spec": {"replicas": replicas, "template": {"spec": {"containers": containers}}}})
        };
        let (old, new) = (deployment(&before, replicas.0), deployment(&after, replicas.1));
        let patch = strategic::diff(Type(&DEPLOYMENT), &old, &new).expect("diff");
        let patched = strategic::apply(Type(&DEPLOYMENT), old.clone(), patch).expect("applied");
        prop_assert_eq!(&patched, &new);
        let patch = strategic::diff3(Type(&DEPLOYMENT), &old, &new, &old, strategic::OnConflict::Fail).expect("diff");
        let patched = strategic::apply(Type(&DEPLOYMENT), old, patch).expect("applied");
        prop_assert_eq!(patched, new);
    }
}
