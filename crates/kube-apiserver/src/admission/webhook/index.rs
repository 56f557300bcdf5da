//! [`Configurations`]: the webhooks of the stored configurations of one kind, in order.

use std::{
    collections::BTreeMap,
    marker::PhantomData,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use serde_json::Value;

use super::hook::Hook;
use crate::{follow::Index, kinds::collection};

/// The group of the configurations.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";

/// A kind of webhook configurations.
pub(crate) trait Family: Send + Sync + 'static {
    /// The plural name of the kind.
    const PLURAL: &'static str;
}

/// `MutatingWebhookConfiguration`
pub(crate) struct Mutating;

/// `ValidatingWebhookConfiguration`
pub(crate) struct Validating;

impl Family for Mutating {
    const PLURAL: &'static str = "mutatingwebhookconfigurations";
}

impl Family for Validating {
    const PLURAL: &'static str = "validatingwebhookconfigurations";
}

/// The webhooks of all configurations of a kind.
pub(crate) struct Configurations<F> {
    /// By the name of the configuration.
    by_name: BTreeMap<Arc<str>, Vec<Arc<Hook>>>,
    /// All of them, built on demand.
    all: OnceLock<Arc<[Arc<Hook>]>>,
    family: PhantomData<F>,
}

impl<F> Default for Configurations<F> {
    fn default() -> Self {
        Self {
            by_name: BTreeMap::new(),
            all: OnceLock::new(),
            family: PhantomData,
        }
    }
}

impl<F> Configurations<F> {
    /// Returns the webhooks in the order in which they are called: by the name of their configuration, and as it lists them.
    pub(super) fn hooks(&self) -> &Arc<[Arc<Hook>]> {
        let all = || self.by_name.values().flatten().cloned().collect();
        self.all.get_or_init(all)
    }
}

impl<F: Family> Index for Configurations<F> {
    type Kind = ();

    fn collections() -> Vec<((), Arc<str>)> {
        vec![((), collection(GROUP, F::PLURAL))]
    }

    fn put(&mut self, _kind: (), path: &Arc<str>, bytes: &Bytes) {
        self.all = OnceLock::new();
        let configuration: Value = match serde_json::from_slice(bytes) {
            Ok(configuration) => configuration,
            Err(error) => {
                tracing::error!(name = %path, %error, "cannot read a webhook configuration");
                Value::Null
            }
        };
        let mut hooks = Hook::read_all(&configuration);
        // A configuration that is written again, for example with another CA, keeps its programs.
        let before = self.by_name.get(path).into_iter().flatten();
        for old in before {
            if let Some(hook) = hooks.iter_mut().find(|hook| hook.key == old.key) {
                hook.conditions.share(&old.conditions);
            }
        }
        let hooks = hooks.into_iter().map(Arc::new);
        self.by_name.insert(path.clone(), hooks.collect());
    }

    fn remove(&mut self, _kind: (), path: &str) {
        self.all = OnceLock::new();
        self.by_name.remove(path);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn webhooks_are_ordered_by_configuration_and_position() {
        let mut index = Configurations::<Mutating>::default();
        let mut put = |name: &str, hooks: &[&str]| {
            let hooks: Vec<Value> = hooks.iter().map(|name| json!({"name": name})).collect();
            let object = json!({"metadata": {"name": name}, "webhooks": hooks});
            index.put((), &Arc::from(name), &Bytes::from(object.to_string()));
        };
        put("b", &["z", "a", "z"]);
        put("a", &["y"]);
        put("c", &["x"]);
        index.remove((), "c");
        let keys: Vec<&str> = index.hooks().iter().map(|hook| hook.key.as_str()).collect();
        assert_eq!(keys, ["a/y/0", "b/z/0", "b/a/0", "b/z/1"]);
    }

    #[test]
    fn programs_are_kept_while_the_conditions_stay_the_same() {
        let mut index = Configurations::<Validating>::default();
        let mut put = |ca: &str, expression: &str| {
            let hook = json!({
                "name": "h",
                "clientConfig": {"url": "https://example.com", "caBundle": ca},
                "matchConditions": [{"name": "c", "expression": expression}],
            });
            let object = json!({"metadata": {"name": "a"}, "webhooks": [hook]});
            index.put((), &Arc::from("a"), &Bytes::from(object.to_string()));
            index.hooks()[0].clone()
        };
        let first = put("", "true");
        let rotated = put("LS0=", "true");
        assert!(rotated.conditions.is_shared_with(&first.conditions));
        let changed = put("LS0=", "false");
        assert!(!changed.conditions.is_shared_with(&first.conditions));
    }
}
