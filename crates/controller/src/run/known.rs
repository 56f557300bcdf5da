//! [`KnownVersions`]: the versions of objects that a controller has seen, which tell apart writes that change nothing.

use std::collections::HashMap;

use kubewright_ledger::{ObjectRef, Run, RunRequest};

/// The number of objects of a generation.
const GENERATION: usize = 5_000;

/// The last known versions of objects. The server answers an update that changes nothing with the version that the object had
/// before.
///
/// Old entries are dropped in generations: an object that is not seen among the next several thousand is forgotten.
#[derive(Debug, Default)]
pub(crate) struct KnownVersions {
    young: HashMap<ObjectRef, u64>,
    old: HashMap<ObjectRef, u64>,
}

impl KnownVersions {
    /// Learns the versions of the objects that triggered a run.
    pub(crate) fn triggered(&mut self, run: &Run) {
        for trigger in &run.triggers {
            if let (Some(object), Ok(version)) = (&trigger.object, trigger.resource_version.parse())
            {
                self.learn(object, version);
            }
        }
    }

    /// Learns the version in a response. Returns whether the request wrote nothing.
    pub(crate) fn is_unchanged(&mut self, request: &RunRequest) -> bool {
        let Some(version) = request.revision else {
            return false;
        };
        let known = self
            .young
            .get(&request.object)
            .or_else(|| self.old.get(&request.object));
        let is_known = known == Some(&version);
        self.learn(&request.object, version);
        is_known && matches!(request.verb.as_str(), "update" | "patch" | "apply")
    }

    /// Keeps the newest version, since a trigger may be older than a write.
    fn learn(&mut self, object: &ObjectRef, version: u64) {
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        let before = self.old.remove(object).unwrap_or_default();
        let known = self.young.entry(object.clone()).or_insert(before);
        *known = version.max(*known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(verb: &str, name: &str, revision: u64) -> RunRequest {
        RunRequest {
            verb: verb.to_owned(),
            object: ObjectRef {
                resource: "configmaps".to_owned(),
                name: name.to_owned(),
                ..ObjectRef::default()
            },
            code: 200,
            revision: Some(revision),
            ..RunRequest::default()
        }
    }

    #[test]
    fn a_write_answered_with_a_known_version_changed_nothing() {
        let mut known = KnownVersions::default();
        assert!(!known.is_unchanged(&request("create", "a", 1)));
        assert!(known.is_unchanged(&request("apply", "a", 1)));
        assert!(!known.is_unchanged(&request("apply", "a", 3)));
        assert!(known.is_unchanged(&request("update", "a", 3)));
        // Another client has written.
        assert!(!known.is_unchanged(&request("get", "a", 9)));
        assert!(known.is_unchanged(&request("patch", "a", 9)));
        // Unknown objects, and requests that never leave an object as it was.
        assert!(!known.is_unchanged(&request("apply", "b", 9)));
        assert!(!known.is_unchanged(&request("delete", "b", 9)));
    }

    #[test]
    fn objects_that_are_not_seen_any_more_are_forgotten() {
        let mut known = KnownVersions::default();
        known.is_unchanged(&request("apply", "first", 1));
        for n in 0..3 * GENERATION as u64 {
            known.is_unchanged(&request("apply", &n.to_string(), n + 2));
            if n == GENERATION as u64 {
                assert!(known.is_unchanged(&request("apply", "first", 1)));
            }
        }
        assert!(known.young.len() + known.old.len() <= 2 * GENERATION);
        assert!(!known.is_unchanged(&request("apply", "first", 1)));
    }
}
