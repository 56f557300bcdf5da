//! Lookup of list items by the values of their key fields.

use std::collections::HashMap;

use serde_json::Value;

/// The longest list that is searched item by item.
const SHORT: usize = 16;

/// The items of a list that is a map by some of its fields, such as the ports of a container by number and protocol.
///
/// Looking up an item takes constant time, so comparing two lists takes time in proportion to their lengths.
///
/// ```
/// use kubewright_machinery::KeyedItems;
/// use serde_json::json;
///
/// let old = json!([{"name": "a", "size": 1}, {"name": "b", "size": 2}]);
/// let items = KeyedItems::new(old.as_array().unwrap(), &["name"]);
/// assert_eq!(items.find(&json!({"name": "b"})).unwrap()["size"], 2);
/// assert!(items.find(&json!({"size": 2})).is_none());
/// ```
#[derive(Debug)]
pub struct KeyedItems<'v, K> {
    items: &'v [Value],
    keys: &'v [K],
    /// The first item of each key; none for a short list.
    index: Option<HashMap<String, &'v Value>>,
}

impl<'v, K: AsRef<str>> KeyedItems<'v, K> {
    /// Prepares a list for lookups. Without keys, no item is ever found.
    pub fn new(items: &'v [Value], keys: &'v [K]) -> Self {
        let index = (items.len() > SHORT && !keys.is_empty()).then(|| {
            let mut index = HashMap::with_capacity(items.len());
            for item in items {
                if let Some(key) = key_of(item, keys) {
                    index.entry(key).or_insert(item);
                }
            }
            index
        });
        KeyedItems { items, keys, index }
    }

    /// Returns the first item with the same keys. An item that lacks one, or has no scalar there, matches none.
    pub fn find(&self, item: &Value) -> Option<&'v Value> {
        if self.keys.is_empty() {
            return None;
        }
        match &self.index {
            Some(index) => index.get(&key_of(item, self.keys)?).copied(),
            None => self.items.iter().find(|other| {
                self.keys.iter().all(|key| {
                    let own = scalar(item, key.as_ref());
                    own.is_some() && own == scalar(other, key.as_ref())
                })
            }),
        }
    }
}

fn scalar<'v>(item: &'v Value, key: &str) -> Option<&'v Value> {
    let value = item.get(key)?;
    (!value.is_null() && !value.is_object() && !value.is_array()).then_some(value)
}

/// The JSON of all keys, which differs wherever they do.
fn key_of<K: AsRef<str>>(item: &Value, keys: &[K]) -> Option<String> {
    let mut out = String::new();
    for key in keys {
        out.push_str(&scalar(item, key.as_ref())?.to_string());
        out.push(',');
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn short_and_long_lists_are_searched_alike() {
        let keys = ["a", "b"];
        for length in [3, 40, 5_000] {
            let list: Vec<Value> = (0..length)
                .map(|i| json!({"a": i, "b": i % 2 == 0, "n": i}))
                .chain([
                    json!({"a": 1}),
                    json!({"a": 0, "b": true, "n": "later"}),
                    json!(7),
                ])
                .collect();
            let items = KeyedItems::new(&list, &keys);
            for i in 0..length {
                let found = items.find(&json!({"a": i, "b": i % 2 == 0}));
                assert_eq!(found.map(|item| &item["n"]), Some(&json!(i)));
                assert!(items.find(&json!({"a": i, "b": i % 2 != 0})).is_none());
                assert!(
                    items
                        .find(&json!({"a": i.to_string(), "b": true}))
                        .is_none()
                );
            }
            assert!(items.find(&json!({"a": 1})).is_none());
            assert!(items.find(&json!({"a": [], "b": true})).is_none());
            assert!(KeyedItems::<&str>::new(&list, &[]).find(&list[0]).is_none());
        }
    }
}
