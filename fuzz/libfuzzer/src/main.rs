//! Calls a fuzz target from libFuzzer. `KUBEWRIGHT_FUZZ` names the target.

#![no_main]

use std::sync::LazyLock;

use kubewright_fuzz::{TARGETS, Target};
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("KUBEWRIGHT_FUZZ").expect("KUBEWRIGHT_FUZZ names the target");
    let found = TARGETS.iter().find(|target| target.name == name);
    *found.unwrap_or_else(|| panic!("there is no target {name:?}"))
});

fuzz_target!(|data: &[u8]| (TARGET.run)(data));
