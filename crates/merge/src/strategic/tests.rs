use super::*;
use kubewright_machinery::limits::VALUE_DEPTH;
use serde_json::json;

#[derive(Clone, Copy, PartialEq, Debug)]
enum T {
    Pod,
    Container,
    Port,
    Inner,
    Map,
    Text,
    List(&'static T),
}

impl PatchSchema for T {
    fn holder(&self) -> Holder<'_> {
        match self {
            T::Pod => Holder::Struct("Pod"),
            T::Container => Holder::Struct("Container"),
            T::Port => Holder::Struct("Port"),
            T::Inner => Holder::Struct("Inner"),
            T::Map => Holder::Other("map"),
            T::Text => Holder::Other("string"),
            T::List(_) => Holder::Other("slice"),
        }
    }

    fn patch_field(&self, name: &str) -> Option<PatchField<Self>> {
        let (schema, strategy, retain_keys, merge_key) = match (self, name) {
            (T::Pod, "labels") => (T::Map, Strategy::Default, false, None),
            (T::Pod, "containers") => {
                (T::List(&T::Container), Strategy::Merge, false, Some("name"))
            }
            (T::Pod, "finalizers") => (T::List(&T::Text), Strategy::Merge, false, None),
            (T::Pod, "args") => (T::List(&T::Text), Strategy::Default, false, None),
            (T::Pod, "strategy") => (T::Inner, Strategy::Default, true, None),
            (T::Pod, "whole") => (T::Inner, Strategy::Replace, false, None),
            (T::Pod, "keyless") => (T::List(&T::Port), Strategy::Merge, false, None),
            (T::Pod | T::Inner | T::Container | T::Port, "x" | "name" | "image") => {
                (T::Text, Strategy::Default, false, None)
            }
            (T::Container, "ports") => (T::List(&T::Port), Strategy::Merge, false, Some("port")),
            (T::Inner, "inner") => (T::Inner, Strategy::Default, false, None),
            _ => return None,
        };
        Some(PatchField {
            schema,
            strategy,
            retain_keys,
            merge_key,
        })
    }

    fn item(&self) -> Option<Self> {
        match self {
            T::List(item) => Some(**item),
            _ => None,
        }
    }
}

fn patched(original: Value, patch: Value) -> Result<Value, String> {
    apply(T::Pod, original, patch).map_err(|e| e.to_string())
}

fn names(value: &Value) -> Vec<&str> {
    let items = value["containers"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    items
        .iter()
        .filter_map(|item| item["name"].as_str())
        .collect()
}

#[test]
fn objects_merge_and_null_deletes() {
    assert_eq!(
        patched(
            json!({"labels": {"a": "1", "b": "2"}, "x": 1}),
            json!({"labels": {"b": null, "c": "3", "d": null}, "y": {"z": null}, "x": null})
        ),
        Ok(json!({"labels": {"a": "1", "c": "3"}, "y": {}}))
    );
}

#[test]
fn lists_merge_by_key_or_as_sets_or_not_at_all() {
    assert_eq!(
        patched(
            json!({
                "containers": [{"name": "a", "image": "1", "ports": [{"port": 1}]}],
                "finalizers": ["x", "y"], "args": ["1", "2"]
            }),
            json!({
                "containers": [{"name": "b"}, {"name": "a", "ports": [{"port": 2}]}],
                "finalizers": ["z", "x"], "args": ["3"]
            })
        ),
        Ok(json!({
            "containers": [{"name": "b"}, {"name": "a", "image": "1", "ports": [{"port": 2}, {"port": 1}]}],
            "finalizers": ["z", "x", "y"], "args": ["3"]
        }))
    );
}

#[test]
fn directives_replace_and_delete() {
    let live = || json!({"containers": [{"name": "a"}, {"name": "b"}], "strategy": {"x": 1, "inner": {"x": 1}}, "whole": {"x": 1}});
    let out = patched(
        live(),
        json!({"containers": [{"name": "a", "$patch": "delete"}]}),
    )
    .expect("ok");
    assert_eq!(names(&out), ["b"]);
    let out = patched(
        live(),
        json!({"containers": [{"$patch": "replace"}, {"name": "c"}]}),
    )
    .expect("ok");
    assert_eq!(names(&out), ["c"]);
    let out = patched(
        live(),
        json!({"strategy": {"$patch": "replace", "x": 2}, "whole": {"inner": {}}}),
    );
    assert_eq!(
        out,
        Ok(
            json!({"containers": [{"name": "a"}, {"name": "b"}], "strategy": {"x": 2}, "whole": {"inner": {}}})
        )
    );
    let out = patched(live(), json!({"strategy": {"inner": {"$patch": "delete"}}})).expect("ok");
    assert_eq!(out["strategy"], json!({"x": 1, "inner": {}}));
    assert_eq!(patched(live(), json!({"$patch": "delete"})), Ok(json!({})));
}

#[test]
fn parallel_lists_delete_and_order() {
    assert_eq!(
        patched(
            json!({"finalizers": ["a", "b", "c"]}),
            json!({"$deleteFromPrimitiveList/finalizers": ["b"], "finalizers": ["d"]})
        ),
        Ok(json!({"finalizers": ["d", "a", "c"]}))
    );
    let out = patched(
        json!({"containers": [{"name": "a"}, {"name": "server"}, {"name": "b"}]}),
        json!({
            "$setElementOrder/containers": [{"name": "b"}, {"name": "c"}, {"name": "a"}],
            "containers": [{"name": "c"}]
        }),
    )
    .expect("ok");
    assert_eq!(names(&out), ["server", "b", "c", "a"]);
}

#[test]
fn retain_keys_clears_the_rest() {
    let live = || json!({"strategy": {"x": 1, "inner": {"x": 1}}});
    assert_eq!(
        patched(live(), json!({"strategy": {"$retainKeys": ["x"], "x": 2}})),
        Ok(json!({"strategy": {"x": 2}}))
    );
    let bad = Err("invalid patch format of retainKeys".to_owned());
    assert_eq!(
        patched(
            live(),
            json!({"strategy": {"$retainKeys": ["inner"], "x": 2}})
        ),
        bad
    );
    assert_eq!(
        patched(live(), json!({"strategy": {"$retainKeys": "x", "x": 2}})),
        bad
    );
}

#[test]
fn patches_that_do_not_fit_are_refused_in_the_servers_words() {
    let live = || {
        json!({
            "containers": [{"name": "a"}], "finalizers": ["x"], "labels": {"a": {"b": "c"}},
            "nope": {"a": 1}, "keyless": [{"x": 1}], "x": [1]
        })
    };
    for (patch, message) in [
        (
            json!({"containers": [{"image": "b"}]}),
            "map: map[image:b] does not contain declared merge key: name",
        ),
        (
            json!({"containers": [{"$patch": "delete"}]}),
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            json!({"containers": [{"name": "a", "$patch": "merge"}]}),
            "merging lists cannot yet be specified in the patch",
        ),
        (
            json!({"containers": [{"name": "a", "$patch": 3}]}),
            "unknown patch type: %!s(int64=3) in map: map[$patch:3 name:a]",
        ),
        (
            json!({"containers": ["a"]}),
            "list element types are not identical: [[map[name:a]] [a]]",
        ),
        (
            json!({"$patch": "jump"}),
            "unknown patch type: jump in map: map[$patch:jump]",
        ),
        (
            json!({"finalizers": [["x"]]}),
            "list element types are not identical: [[x] [[x]]]",
        ),
        (
            json!({"labels": {"a": {"c": "d"}}}),
            "merging an object in json but data type is not struct, instead is: map",
        ),
        (
            json!({"nope": {"a": 2}}),
            "unable to find api field in struct Pod for the json field \"nope\"",
        ),
        (
            json!({"keyless": [{"x": 2}]}),
            "cannot merge lists without merge key for struct",
        ),
        (
            json!({"x": [2]}),
            "expected slice or array type, but got: struct",
        ),
        (
            json!({"$deleteFromPrimitiveList": ["x"]}),
            "invalid patch format of primitive list",
        ),
        (
            json!({"$setElementOrder": [{"name": "a"}]}),
            "invalid patch format of setElementOrder list",
        ),
        (
            json!({"$setElementOrder/containers": "a"}),
            "expected a []interface {}, but received a string",
        ),
        (
            json!({"$setElementOrder/containers": [], "containers": null}),
            "expected a []interface {}, but received a %!s(<nil>)",
        ),
        (
            json!({"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "b"}]}),
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
        ),
    ] {
        assert_eq!(patched(live(), patch), Err(message.to_owned()));
    }
    assert_eq!(
        apply(
            T::Pod,
            json!({"finalizers": [["x"]]}),
            json!({"finalizers": [["x"]]})
        ),
        Err(Error::Unprocessable(
            "lists of lists are not supported".into()
        ))
    );
    assert!(matches!(
        apply(T::Pod, json!({}), json!([])),
        Err(Error::BadRequest(_))
    ));
}

#[test]
fn a_diff_turns_one_object_into_the_other() {
    let original = json!({
        "containers": [{"name": "a", "image": "1"}, {"name": "b"}], "finalizers": ["x", "y"],
        "strategy": {"x": 1, "inner": {"x": 1}}, "labels": {"a": "1"}
    });
    let modified = json!({
        "containers": [{"name": "c"}, {"name": "a", "image": "2"}], "finalizers": ["y", "z"],
        "strategy": {"x": 2}
    });
    let patch = diff(T::Pod, &original, &modified).expect("ok");
    assert_eq!(
        patch,
        json!({
            "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
            "containers": [{"name": "c"}, {"name": "a", "image": "2"}, {"name": "b", "$patch": "delete"}],
            "$deleteFromPrimitiveList/finalizers": ["x"],
            "$setElementOrder/finalizers": ["y", "z"],
            "finalizers": ["z"],
            "strategy": {"$retainKeys": ["x"], "x": 2, "inner": null},
            "labels": null
        })
    );
    assert_eq!(apply(T::Pod, original, patch), Ok(modified));
}

#[test]
fn a_three_way_diff_keeps_what_others_added() {
    let original = json!({"containers": [{"name": "a"}, {"name": "b"}], "x": 1});
    let modified = json!({"containers": [{"name": "a", "image": "2"}], "x": 1});
    let current = json!({"containers": [{"name": "a", "image": "1"}, {"name": "b"}, {"name": "sidecar"}], "x": 2});
    let patch = diff3(
        T::Pod,
        &original,
        &modified,
        &current,
        OnConflict::Overwrite,
    )
    .expect("ok");
    assert_eq!(
        patch,
        json!({
            "$setElementOrder/containers": [{"name": "a"}],
            "containers": [{"name": "a", "image": "2"}, {"name": "b", "$patch": "delete"}],
            "x": 1
        })
    );
    let merged = apply(T::Pod, current.clone(), patch).expect("ok");
    assert_eq!(
        merged,
        json!({"containers": [{"name": "a", "image": "2"}, {"name": "sidecar"}], "x": 1})
    );
    assert!(matches!(
        diff3(T::Pod, &original, &modified, &current, OnConflict::Fail),
        Err(Error::Conflict { .. })
    ));
}

#[test]
fn deep_patches_are_an_error() {
    let mut deep = json!({});
    for _ in 0..VALUE_DEPTH + 2 {
        deep = json!({ "inner": deep });
    }
    assert_eq!(
        apply(T::Pod, json!({}), json!({ "strategy": deep })),
        Err(Error::BadRequest("exceeded max depth".into()))
    );
}
