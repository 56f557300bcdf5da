//! Controller revisions.

use crate::KindRules;

pub(crate) static RULES: KindRules = KindRules { ..KindRules::GENERAL };
