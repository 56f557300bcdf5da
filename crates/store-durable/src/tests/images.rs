//! Thousands of crash images, and deliberate bugs that they must detect.

use super::{
    Bug,
    damage::swapped_segment,
    harness::{Plan, run},
};
use crate::SyncMode;

/// The number of images in an ordinary test run.
const IMAGES: u64 = 10_000;

/// The number of images within which a deliberate bug must be detected.
const FOUND_WITHIN: u64 = 2_000;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Checks images up to a number. Returns their number, or the first failure.
fn look(first_seed: u64, images: u64, bug: Option<Bug>) -> Result<u64, (u64, String)> {
    let mut looked = 0;
    let mut seed = first_seed;
    while looked < images {
        let sync = match seed % 4 {
            3 => SyncMode::Process,
            _ => SyncMode::Always,
        };
        let plan = Plan {
            seed,
            bug,
            sync,
            images: images - looked,
        };
        match run(plan) {
            Ok(more) => looked += more,
            Err((more, failure)) => return Err((looked + more, failure)),
        }
        if let Err(failure) = swapped_segment(seed, bug) {
            return Err((looked, failure));
        }
        looked += 1;
        seed += 1;
    }
    Ok(looked)
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_unsynced_is_visible() {
    if let Some(seed) = setting("KUBEWRIGHT_CRASH_SEED") {
        look(seed, 1, None).unwrap();
        return;
    }
    let images = setting("KUBEWRIGHT_CRASH_IMAGES").unwrap_or(IMAGES);
    let first = setting("KUBEWRIGHT_CRASH_START").unwrap_or(1);
    let threads = 2;
    let halves = (0..threads).map(|half| {
        std::thread::spawn(move || look(first + half * (1 << 32), images / threads, None))
    });
    let halves: Vec<_> = halves.collect();
    let mut looked = 0;
    for half in halves {
        looked += half.join().unwrap().unwrap();
    }
    println!("{looked} crash images from seed {first} on, nothing lost");
    assert!(looked >= images / threads * threads);
}

fn found(bug: Bug) {
    let (images, failure) = look(1, FOUND_WITHIN, Some(bug)).unwrap_err();
    println!("{bug:?} was found after {images} images: {failure}");
}

#[test]
fn acknowledgements_before_the_sync_are_detected() {
    found(Bug::EarlyAnswer);
}

#[test]
fn reads_before_the_sync_are_detected() {
    found(Bug::EarlyPublish);
}

#[test]
fn unsynced_names_are_detected() {
    found(Bug::NoFolderSync);
}

#[test]
fn premature_removal_of_the_log_is_detected() {
    found(Bug::DeleteTooEarly);
}

#[test]
fn frames_of_another_history_are_detected() {
    found(Bug::AcceptWrongChain);
}

#[test]
fn errors_that_name_unsynced_objects_are_detected() {
    found(Bug::EarlyConflict);
}
