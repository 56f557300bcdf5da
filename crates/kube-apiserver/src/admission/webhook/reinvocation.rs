//! [`Reinvoked`]: the webhooks that are called once more in the second mutating pass.

use std::collections::BTreeSet;

use serde_json::Value;

/// The webhooks with `reinvocationPolicy: IfNeeded` that were called in this request.
#[derive(Debug, Default)]
pub(super) struct Reinvoked {
    /// Those after whose call nothing has changed yet.
    previous: BTreeSet<String>,
    /// Those after whose call the object was changed.
    due: BTreeSet<String>,
    /// The object as the last pass left it, if a webhook may have to see that it changed.
    output: Option<Value>,
}

impl Reinvoked {
    /// Begins the second pass. If plugins before the webhooks have changed the object meanwhile, all that were called are due.
    pub(super) fn begin_second(&mut self, object: Option<&Value>) {
        if self.output.as_ref() != object {
            self.require_previous();
        }
    }

    /// Notes that the object has changed: the webhooks called before are due.
    pub(super) fn require_previous(&mut self) {
        self.due.append(&mut self.previous);
    }

    /// Notes the call of a webhook that may be called again.
    pub(super) fn invoked(&mut self, key: &str) {
        self.previous.insert(key.to_owned());
    }

    /// Reports whether a webhook must be called in the second pass.
    pub(super) fn is_due(&self, key: &str) -> bool {
        self.due.contains(key)
    }

    /// Ends a pass.
    pub(super) fn end(&mut self, object: Option<&Value>) {
        if !self.previous.is_empty() {
            self.output = object.cloned();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_later_change_makes_earlier_webhooks_due() {
        let mut state = Reinvoked::default();
        state.invoked("a");
        state.require_previous();
        state.invoked("b");
        state.end(Some(&json!({"x": 1})));
        assert!(state.is_due("a"));
        assert!(!state.is_due("b"));
        state.begin_second(Some(&json!({"x": 1})));
        assert!(!state.is_due("b"));
        state.begin_second(Some(&json!({"x": 2})));
        assert!(state.is_due("b"));
    }
}
