//! Crash images by the thousand, and the bugs that they must find.

use super::{
    Bug,
    damage::swapped_segment,
    harness::{Plan, run},
};
use crate::SyncMode;

/// The number of images of the ordinary test run.
const IMAGES: u64 = 10_000;

/// The number of images within which a planted bug must be found.
const FOUND_WITHIN: u64 = 2_000;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Looks at images until there are enough. Returns their number, or the first failure.
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
fn nothing_acknowledged_is_lost_and_nothing_unsynced_is_seen() {
    if let Some(seed) = setting("KUBEWRIGHT_CRASH_SEED") {
        look(seed, 1, None).unwrap();
        return;
    }
    let images = setting("KUBEWRIGHT_CRASH_IMAGES").unwrap_or(IMAGES);
    let threads = 2;
    let halves = (0..threads)
        .map(|half| std::thread::spawn(move || look(1 + half * (1 << 32), images / threads, None)));
    let halves: Vec<_> = halves.collect();
    let mut looked = 0;
    for half in halves {
        looked += half.join().unwrap().unwrap();
    }
    println!("{looked} crash images, nothing lost");
    assert!(looked >= images / threads * threads);
}

fn found(bug: Bug) {
    let (images, failure) = look(1, FOUND_WITHIN, Some(bug)).unwrap_err();
    println!("{bug:?} was found after {images} images: {failure}");
}

#[test]
fn answers_before_the_sync_are_found() {
    found(Bug::EarlyAnswer);
}

#[test]
fn reads_before_the_sync_are_found() {
    found(Bug::EarlyPublish);
}

#[test]
fn a_name_that_is_not_synced_is_found() {
    found(Bug::NoFolderSync);
}

#[test]
fn a_log_that_is_removed_too_early_is_found() {
    found(Bug::DeleteTooEarly);
}

#[test]
fn a_frame_of_another_history_is_found() {
    found(Bug::AcceptWrongChain);
}

#[test]
fn a_refusal_that_names_an_unsynced_object_is_found() {
    found(Bug::EarlyConflict);
}
