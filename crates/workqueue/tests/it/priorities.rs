//! Priorities, and that none starves.

use std::num::NonZeroU32;

use kubewright_workqueue::{AddOptions, WorkQueue};

use crate::drained;

fn at(priority: i32) -> AddOptions {
    AddOptions::new().priority(priority)
}

#[test]
fn higher_goes_first_and_equals_in_order() {
    let queue = WorkQueue::new();
    for (key, priority) in [
        ("low", -100),
        ("a", 0),
        ("high", 9),
        ("b", 0),
        ("low2", -100),
    ] {
        queue.add_with(key, at(priority));
    }
    assert_eq!(drained(&queue), ["high", "a", "b", "low", "low2"]);
}

#[test]
fn a_raised_key_goes_to_the_end_of_its_new_level() {
    let queue = WorkQueue::new();
    queue.add_with("a", at(-100));
    queue.add_with("b", at(-100));
    queue.add("c");
    queue.add("b");
    assert_eq!(queue.len(), 3);
    assert_eq!(drained(&queue), ["c", "b", "a"]);
}

#[test]
fn a_lower_add_lowers_nothing() {
    let queue = WorkQueue::new();
    queue.add_with("a", at(5));
    queue.add_with("a", at(-5));
    assert_eq!(queue.try_get().expect("queued").priority(), 5);
}

#[test]
fn a_key_that_runs_again_has_the_highest_priority_of_its_adds() {
    let queue = WorkQueue::new();
    queue.add_with("a", at(50));
    let item = queue.try_get().expect("queued");
    for priority in [1, 3, 2] {
        queue.add_with("a", at(priority));
    }
    assert_eq!(item.priority(), 50);
    drop(item);
    assert_eq!(queue.try_get().expect("queued").priority(), 3);
    // What was is no more.
    queue.add("a");
    assert_eq!(queue.try_get().expect("queued").priority(), 0);
}

/// Serves a queue that always has work of priority 0, and says after how many turns the lower ones had theirs.
fn turns_under_load(queue: &WorkQueue<u32>, lower: &[i32], turns: u32) -> Vec<(u32, i32)> {
    for (key, priority) in (0..).zip(lower) {
        queue.add_with(key, at(*priority));
    }
    let mut served = Vec::new();
    for turn in 1..=turns {
        queue.add(1000 + 2 * turn);
        queue.add(1001 + 2 * turn);
        let item = queue.try_get().expect("queued");
        if item.priority() != 0 {
            served.push((turn, item.priority()));
        }
    }
    served
}

#[test]
fn every_tenth_turn_is_a_lower_ones() {
    let served = turns_under_load(&WorkQueue::new(), &[-100, -100, -1], 40);
    assert_eq!(served, [(10, -1), (20, -100), (30, -100)]);
}

#[test]
fn how_often_lower_ones_have_a_turn_can_be_said() {
    let every = NonZeroU32::new(3).expect("not zero");
    let queue = WorkQueue::builder().ageing(every).build();
    let served = turns_under_load(&queue, &[-1, -2, -2], 12);
    assert_eq!(served, [(3, -1), (6, -2), (9, -2)]);
}

#[test]
fn lower_priorities_may_starve_if_configured() {
    let queue = WorkQueue::builder().strict_priorities().build();
    assert!(turns_under_load(&queue, &[-1], 1000).is_empty());
    assert_eq!(queue.status().queued, 1001);
}

#[test]
fn many_priorities_are_served_in_order() {
    let queue = WorkQueue::builder().strict_priorities().build();
    for n in 0..1000 {
        queue.add_with(n, at((n * 7919) % 1000 - 500));
    }
    let order: Vec<_> = std::iter::from_fn(|| Some(queue.try_get().ok()?.priority())).collect();
    let expected: Vec<_> = (-500..500).rev().collect();
    assert_eq!(order, expected);
}
