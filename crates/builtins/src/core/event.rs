//! Events, of both groups: core events carry `involvedObject`, those of `events.k8s.io` carry `regarding`.

use crate::{KindRules, Propagation};

pub(crate) static RULES: KindRules = KindRules {
    allow_create_on_update: true,
    default_propagation: Propagation::Unsupported,
    ..KindRules::GENERAL
};
