//! Every input of the corpora, as a test.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use kubewright_fuzz::TARGETS;

/// The time that one input may take in a debug build.
const MAX_TIME: Duration = Duration::from_secs(30);

#[test]
fn every_input_holds() {
    let mut failed = Vec::new();
    for target in TARGETS {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(target.name);
        let mut inputs: Vec<_> = fs::read_dir(&directory)
            .unwrap_or_else(|e| panic!("{}: {e}", directory.display()))
            .map(|entry| entry.unwrap().path())
            .collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "{} has no inputs", target.name);
        for input in inputs {
            let data = fs::read(&input).unwrap();
            let start = Instant::now();
            if std::panic::catch_unwind(|| (target.run)(&data)).is_err() {
                failed.push(input.clone());
            }
            assert!(
                start.elapsed() < MAX_TIME,
                "{} takes too long",
                input.display()
            );
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
