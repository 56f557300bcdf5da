//! Damage that no crash can cause: truncated files, flipped bits, segments of another history.

use std::sync::Arc;

use kubewright_store::Key;

use super::{Bug, Rng, harness::options, model::payload, plant};
use crate::{
    SyncMode,
    disk::sim::{Cut, SimDisk},
    engine::{Engine, Op},
    error::Trouble,
    format::{PAGE, segment::SegmentName},
};

fn open(disk: &SimDisk) -> Result<Engine, Trouble> {
    let options = options(SyncMode::Always);
    let opened = Engine::open(Arc::new(disk.clone()), options, "a disk")?;
    Ok(opened.engine)
}

fn write(engine: &Engine, path: &str, says: &str) {
    let ticket = engine.submit(Op::Create(Key::new("pods", path), payload(says, None)));
    assert!(ticket.is_ok_and(|ticket| ticket.answer.is_ok()));
    engine.commit();
}

/// Appends a segment of one history to the log of another, which must be rejected.
pub(super) fn swapped_segment(seed: u64, bug: Option<Bug>) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let disk = SimDisk::default();
    let engine = open(&disk).map_err(|error| error.to_string())?;
    write(&engine, "first", "common");
    drop(engine);
    let other = disk.after(Cut::Keep, &mut rng);
    for (disk, history) in [(&disk, "one"), (&other, "two")] {
        let engine = open(disk).map_err(|error| error.to_string())?;
        for n in 0..6 {
            write(&engine, &format!("{n}"), history);
        }
    }
    let name = segments(&disk).get(1).cloned().ok_or("one segment only")?;
    let bytes = other.bytes(&name).ok_or("the histories differ in length")?;
    disk.put(&name, bytes);
    plant(bug);
    let opened = open(&disk);
    plant(None);
    match opened {
        Err(Trouble::Damage(_)) => Ok(()),
        Err(other) => Err(format!("seed {seed}: a swapped segment gives: {other}")),
        Ok(_) => Err(format!(
            "seed {seed}: a segment of another history is accepted"
        )),
    }
}

fn segments(disk: &SimDisk) -> Vec<String> {
    let is_segment = |name: &String| {
        let name = name.strip_prefix("wal/");
        name.is_some_and(|name| SegmentName::parse(name).is_some())
    };
    disk.names().into_iter().filter(is_segment).collect()
}

/// Returns a disk with a log of three frames in one segment, the name of the segment, and the ends of the frames.
fn three_frames(sealed: bool) -> (SimDisk, String) {
    let disk = SimDisk::default();
    let mut options = options(SyncMode::Always);
    options.segment_bytes = 32 << 10;
    let opened = Engine::open(Arc::new(disk.clone()), options, "a disk").unwrap();
    for path in ["a", "b", "c"] {
        write(&opened.engine, path, "something");
    }
    if sealed {
        opened.engine.seal();
    }
    let name = segments(&disk).remove(0);
    (disk, name)
}

fn copy_with(disk: &SimDisk, name: &str, bytes: Vec<u8>) -> SimDisk {
    let copy = disk.after(Cut::Keep, &mut Rng::new(1));
    copy.put(name, bytes);
    copy
}

/// Returns the end of the last frame's payload.
fn used(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1
}

#[test]
fn truncated_logs_open_with_all_complete_frames() {
    let (disk, name) = three_frames(false);
    let bytes = disk.bytes(&name).unwrap();
    let end = used(&bytes);
    for cut in PAGE..=end {
        let mut torn = bytes.clone();
        torn[cut..].fill(0);
        let whole = [PAGE, 2 * PAGE, 3 * PAGE];
        // The last non-zero byte completes a frame.
        let frames = whole
            .iter()
            .filter(|start| cut >= used(&bytes[..**start + PAGE]))
            .count();
        let engine = open(&copy_with(&disk, &name, torn)).unwrap_or_else(|e| panic!("{cut}: {e}"));
        let revision = engine.published.contents().revision();
        assert_eq!(revision.0, frames as u64, "cut at {cut}");
    }
}

#[test]
fn truncated_files_are_rejected() {
    let (disk, name) = three_frames(false);
    let bytes = disk.bytes(&name).unwrap();
    for len in (0..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
        let copy = copy_with(&disk, &name, bytes[..len].to_vec());
        let refused = open(&copy).err();
        assert!(matches!(refused, Some(Trouble::Damage(_))), "length {len}");
    }
}

#[test]
fn every_flipped_bit_is_detected() {
    for sealed in [false, true] {
        let (disk, name) = three_frames(sealed);
        let bytes = disk.bytes(&name).unwrap();
        for at in 0..4 * PAGE {
            for bit in bits(at) {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                let opened = open(&copy_with(&disk, &name, flipped));
                let is_last = !sealed && at >= 3 * PAGE;
                match (opened, is_last) {
                    // The last frame may have been interrupted by a crash.
                    (Ok(engine), true) => {
                        let revision = engine.published.contents().revision().0;
                        assert_eq!(revision, 2, "byte {at}, bit {bit}");
                    }
                    (Err(Trouble::Damage(_)), false) => {}
                    (Ok(_), false) => panic!("byte {at}, bit {bit} is accepted"),
                    (Err(error), _) => panic!("byte {at}, bit {bit}: {error}"),
                }
            }
        }
    }
}

/// Returns the bits of a byte to flip: all in headers and records, but only some in long runs of zeros.
fn bits(at: usize) -> std::ops::Range<u32> {
    match at % PAGE < 256 {
        true => 0..8,
        false => (at % 8) as u32..(at % 8) as u32 + 1,
    }
}

#[test]
fn flipped_bits_in_checkpoints_are_detected_and_the_log_is_used() {
    let disk = SimDisk::default();
    let engine = open(&disk).unwrap();
    write(&engine, "a", "something");
    engine.checkpoint().unwrap();
    write(&engine, "b", "something");
    drop(engine);
    let name = crate::format::checkpoint::path(kubewright_store::Revision(1));
    let bytes = disk.bytes(&name).unwrap();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            let copy = copy_with(&disk, &name, flipped);
            let opened = Engine::open(Arc::new(copy), options(SyncMode::Always), "a disk");
            let opened = opened.unwrap_or_else(|error| panic!("byte {at}, bit {bit}: {error}"));
            assert_eq!(opened.report.revision.0, 2);
            assert_eq!(opened.report.checkpoint, None, "byte {at}, bit {bit}");
            assert_eq!(opened.report.warnings.len(), 1);
        }
    }
}

#[test]
fn missing_segments_are_rejected() {
    let disk = SimDisk::default();
    let engine = open(&disk).unwrap();
    for n in 0..8 {
        write(&engine, &format!("{n}"), "something");
    }
    drop(engine);
    let names = segments(&disk);
    assert!(names.len() >= 4);
    for missing in &names {
        let copy = disk.after(Cut::Keep, &mut Rng::new(1));
        crate::disk::Disk::remove(&copy, missing).unwrap();
        let refused = open(&copy).err().expect("an error").to_string();
        assert!(
            refused.contains("missing") || refused.contains("no checkpoint"),
            "{refused}"
        );
    }
}

/// Returns a disk with a checkpoint, several segments and the objects 1 to 12, whose revisions are their names.
fn filled() -> SimDisk {
    let disk = SimDisk::default();
    let engine = open(&disk).unwrap();
    for n in 1..=12 {
        write(&engine, &n.to_string(), "something");
        if n == 5 {
            engine.checkpoint().unwrap();
        }
    }
    engine.seal();
    disk
}

#[test]
fn random_damage_is_rejected_or_harmless_without_a_panic() {
    let disk = filled();
    let (mut refused, mut opened) = (0, 0);
    for seed in 0..3000 {
        let mut rng = Rng::new(seed);
        let copy = disk.after(Cut::Keep, &mut rng);
        let names = copy.names();
        for _ in 0..1 + rng.below(3) {
            let name = &names[rng.below(names.len() as u64) as usize];
            let mut bytes = copy.bytes(name).unwrap();
            if bytes.is_empty() {
                continue;
            }
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(4) {
                0 => bytes[at] ^= 1 << rng.below(8),
                1 => bytes.truncate(at),
                2 => {
                    let end = (at + 1 + rng.below(5000) as usize).min(bytes.len());
                    bytes[at..end].fill(rng.next() as u8);
                }
                _ => {
                    let other = copy.bytes(&names[rng.below(names.len() as u64) as usize]);
                    bytes = other.unwrap();
                }
            }
            copy.put(name, bytes);
        }
        match open(&copy) {
            Err(_) => refused += 1,
            Ok(engine) => {
                opened += 1;
                // The objects are those at some revision.
                let contents = engine.published.contents();
                let revision = contents.revision().0;
                let mut objects = 0;
                contents.for_each(|_, stored| {
                    objects += 1;
                    assert_eq!(stored.revision.0.to_string(), *stored.path, "seed {seed}");
                    std::ops::ControlFlow::Continue(())
                });
                assert_eq!(objects, revision, "seed {seed}");
            }
        }
    }
    assert!(
        refused > 500 && opened > 100,
        "{refused} refused, {opened} opened"
    );
}
