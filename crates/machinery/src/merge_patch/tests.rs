use super::*;
use serde_json::json;

fn patched(mut document: Value, patch: Value) -> Result<Value, Error> {
    apply(&mut document, patch).map(|()| document)
}

#[test]
fn the_examples_of_the_rfc_hold() {
    for (document, patch, result) in [
        (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
        (
            json!({"a": "b"}),
            json!({"b": "c"}),
            json!({"a": "b", "b": "c"}),
        ),
        (json!({"a": "b"}), json!({"a": null}), json!({})),
        (
            json!({"a": "b", "b": "c"}),
            json!({"a": null}),
            json!({"b": "c"}),
        ),
        (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
        (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
        (
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        ),
        (
            json!({"a": [{"b": "c"}]}),
            json!({"a": [1]}),
            json!({"a": [1]}),
        ),
        (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
        (json!({"a": "b"}), json!(["c"]), json!(["c"])),
        (
            json!({"e": null}),
            json!({"a": 1}),
            json!({"e": null, "a": 1}),
        ),
        (
            json!([1, 2]),
            json!({"a": "b", "c": null}),
            json!({"a": "b"}),
        ),
        (
            json!({}),
            json!({"a": {"bb": {"ccc": null}}}),
            json!({"a": {"bb": {}}}),
        ),
    ] {
        assert_eq!(patched(document, patch), Ok(result));
    }
}

#[test]
fn new_values_lose_nulls_even_in_arrays_but_not_where_an_object_was() {
    let list = json!({"a": [null, {"b": null}]});
    assert_eq!(
        patched(json!({}), list.clone()),
        Ok(json!({"a": [null, {}]}))
    );
    assert_eq!(
        patched(json!({"a": 1}), list.clone()),
        Ok(json!({"a": [null, {}]}))
    );
    assert_eq!(patched(json!({"a": {}}), list.clone()), Ok(list));
}

#[test]
fn patches_must_be_objects_or_arrays() {
    for patch in [json!(null), json!("x"), json!(1)] {
        assert_eq!(patched(json!({}), patch), Err(Error::BadPatch));
    }
    assert_eq!(patched(json!(null), json!({})), Err(Error::BadDocument));
}

#[test]
fn a_diff_sets_changes_and_deletes_what_is_gone() {
    let patch = diff(
        &json!({"a": 1, "b": {"c": 1, "d": [1]}, "e": 1, "n": null}),
        &json!({"a": 1.0, "b": {"c": 2, "d": [1]}, "f": {}, "n": null}),
    );
    assert_eq!(patch, Ok(json!({"b": {"c": 2}, "e": null, "f": {}})));
}

#[test]
fn a_three_way_diff_keeps_what_others_added() {
    let patch = diff3(
        &json!({"a": 1, "b": 2, "m": {"x": 1, "y": 1}}),
        &json!({"a": 1, "c": 3, "m": {"x": 2}}),
        &json!({"a": 9, "b": 2, "theirs": true, "m": {"x": 1, "y": 1, "z": 1}}),
    );
    assert_eq!(
        patch,
        Ok(json!({"a": 1, "b": null, "c": 3, "m": {"x": 2, "y": null}}))
    );
}
