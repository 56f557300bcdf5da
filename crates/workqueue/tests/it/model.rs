//! The queue against a model that is too simple to be wrong.

use std::{collections::BTreeMap, time::Duration};

use kubewright_workqueue::{AddOptions, DelayPolicy, Item, TryGetError, WorkQueue};
use proptest::prelude::*;
use tokio::time::advance;

#[derive(Clone, Debug)]
enum Step {
    Add(u8, i32),
    AddAfter(u8, i32, u64, DelayPolicy),
    Cancel(u8),
    Get,
    Done(usize),
    Advance(u64),
    ShutDown(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let policy = prop_oneof![
        Just(DelayPolicy::Earliest),
        Just(DelayPolicy::Latest),
        Just(DelayPolicy::Replace)
    ];
    prop_oneof![
        6 => (0u8..6, -1..2).prop_map(|(key, priority)| Step::Add(key, priority)),
        6 => (0u8..6, -1..2, 0u64..20, policy)
            .prop_map(|(key, priority, delay, policy)| Step::AddAfter(key, priority, delay, policy)),
        2 => (0u8..6).prop_map(Step::Cancel),
        8 => Just(Step::Get),
        6 => any::<usize>().prop_map(Step::Done),
        4 => (0u64..10).prop_map(Step::Advance),
        1 => any::<bool>().prop_map(Step::ShutDown),
    ]
}

#[derive(Default)]
struct Model {
    merges: bool,
    now: u64,
    /// Key and priority, in the order they were queued.
    queued: Vec<(u8, i32)>,
    /// Key, and the priority it is to run again with.
    processing: Vec<(u8, Option<i32>)>,
    /// By key: when, the order of arrival, the priority.
    delayed: BTreeMap<u8, (u64, usize, i32)>,
    arrivals: usize,
    shut_down: bool,
    drains: bool,
}

impl Model {
    fn add(&mut self, key: u8, mut priority: i32) {
        if self.shut_down {
            return;
        }
        if self.merges
            && let Some((_, _, other)) = self.delayed.remove(&key)
        {
            priority = priority.max(other);
        }
        if let Some((_, again)) = self.processing.iter_mut().find(|(other, _)| *other == key) {
            *again = Some(again.map_or(priority, |other| other.max(priority)));
            return;
        }
        match self.queued.iter().position(|(other, _)| *other == key) {
            Some(place) if self.queued[place].1 >= priority => return,
            Some(place) => {
                self.queued.remove(place);
            }
            None => {}
        }
        self.queued.push((key, priority));
    }

    fn add_after(&mut self, key: u8, priority: i32, delay: u64, policy: DelayPolicy) {
        if self.shut_down {
            return;
        }
        let again = |(other, again): &(u8, Option<i32>)| *other == key && again.is_some();
        let dirty =
            self.queued.iter().any(|(other, _)| *other == key) || self.processing.iter().any(again);
        if delay == 0 || self.merges && dirty && policy == DelayPolicy::Earliest {
            self.add(key, priority);
            return;
        }
        self.arrivals += 1;
        let new = (self.now + delay, self.arrivals, priority);
        let merged = match self.delayed.get(&key) {
            None => new,
            Some(_) if policy == DelayPolicy::Replace => new,
            Some(old) => {
                let later = policy == DelayPolicy::Latest;
                let moves = if later { new.0 > old.0 } else { new.0 < old.0 };
                let (at, arrival, _) = if moves { new } else { *old };
                (at, arrival, new.2.max(old.2))
            }
        };
        self.delayed.insert(key, merged);
    }

    fn advance(&mut self, by: u64) {
        self.now += by;
        let mut due: Vec<_> = self.delayed.iter().map(|(key, due)| (*due, *key)).collect();
        due.retain(|((at, ..), _)| *at <= self.now);
        due.sort_unstable();
        for ((_, _, priority), key) in due {
            self.delayed.remove(&key);
            self.add(key, priority);
        }
    }

    fn get(&mut self) -> Result<(u8, i32), TryGetError> {
        let Some(top) = self.queued.iter().map(|(_, priority)| *priority).max() else {
            let again = self.processing.iter().any(|(_, again)| again.is_some());
            let closed = self.shut_down && !(self.drains && again);
            return Err(if closed {
                TryGetError::ShutDown
            } else {
                TryGetError::Empty
            });
        };
        let first = self
            .queued
            .iter()
            .position(|(_, priority)| *priority == top);
        let taken = self.queued.remove(first.expect("the one that has it"));
        self.processing.push((taken.0, None));
        Ok(taken)
    }

    fn done(&mut self, place: usize) {
        let (key, again) = self.processing.remove(place);
        if let Some(priority) = again {
            self.queued.push((key, priority));
        }
    }

    fn shut_down(&mut self, drain: bool) {
        self.shut_down = true;
        self.drains = drain;
        self.delayed.clear();
    }
}

async fn agrees(steps: Vec<Step>, merges: bool) -> Result<(), TestCaseError> {
    let mut builder = WorkQueue::builder().strict_priorities();
    if merges {
        builder = builder.merge_delayed();
    }
    let queue = builder.build();
    let mut items: Vec<Item<'_, u8>> = Vec::new();
    let mut model = Model {
        merges,
        ..Model::default()
    };
    for step in steps {
        match step {
            Step::Add(key, priority) => {
                queue.add_with(key, AddOptions::new().priority(priority));
                model.add(key, priority);
            }
            Step::AddAfter(key, priority, delay, policy) => {
                let after = AddOptions::new().after(Duration::from_millis(delay));
                queue.add_with(key, after.priority(priority).policy(policy));
                model.add_after(key, priority, delay, policy);
            }
            Step::Cancel(key) => {
                let known = model.delayed.remove(&key).is_some();
                prop_assert_eq!(queue.cancel_delayed(&key), known);
            }
            Step::Get => {
                let got = queue.try_get();
                let seen = got.as_ref().map(|item| (**item, item.priority()));
                prop_assert_eq!(seen.map_err(|error| *error), model.get());
                items.extend(got);
            }
            Step::Done(place) if !items.is_empty() => {
                let place = place % items.len();
                items.remove(place);
                model.done(place);
            }
            Step::Done(_) => {}
            Step::Advance(by) => {
                advance(Duration::from_millis(by)).await;
                model.advance(by);
            }
            Step::ShutDown(drain) => {
                if drain {
                    let ended = crate::look(queue.shut_down_with_drain()).is_some();
                    let idle = model.queued.is_empty() && model.processing.is_empty();
                    prop_assert_eq!(ended, idle);
                } else {
                    queue.shut_down();
                }
                model.shut_down(drain);
            }
        }
        let status = queue.status();
        prop_assert_eq!(status.queued, model.queued.len());
        prop_assert_eq!(status.processing, model.processing.len());
        prop_assert_eq!(status.delayed, model.delayed.len());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_queue_does_what_the_model_does(
        steps in prop::collection::vec(step(), 0..80),
        merges in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(agrees(steps, merges))?;
    }
}
