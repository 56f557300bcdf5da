//! A run of random writes and maintenance, with power failures at random disk calls.

use std::{cell::RefCell, rc::Rc, sync::Arc, time::Duration};

use kubewright_store::{Entry, Key, Revision, WriteError};

use super::{
    Bug, Rng,
    model::{COLLECTIONS, Model, Modelled, payload},
    plant, set_hook,
};
use crate::{
    Options, SyncMode,
    disk::sim::{Cut, Fault, SimDisk},
    engine::{Engine, Op, Outcome, Unhealthy},
    error::Trouble,
};

/// The number of steps of a run.
const STEPS: u64 = 300;

/// The settings of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) bug: Option<Bug>,
    pub(crate) sync: SyncMode,
    /// The maximum number of images to check.
    pub(crate) images: u64,
}

/// A running store, its model, and its promises.
struct Run {
    engine: Option<Arc<Engine>>,
    model: Model,
    /// The newest revision that was acknowledged or visible to a reader.
    promised: Revision,
    /// Writes with an unknown outcome.
    waiting: Vec<(Revision, Arc<Outcome>)>,
    /// Whether a write has failed.
    rolled_back: bool,
    images: u64,
    plan: Plan,
    rng: Rng,
    failure: Option<String>,
}

/// Runs a plan. Returns the number of images, or a description of the failure.
pub(crate) fn run(plan: Plan) -> Result<u64, (u64, String)> {
    plant(plan.bug);
    let disk = SimDisk::default();
    let run = Rc::new(RefCell::new(Run {
        engine: None,
        model: Model::default(),
        promised: Revision(0),
        waiting: Vec::new(),
        rolled_back: false,
        images: 0,
        plan,
        rng: Rng::new(plan.seed),
        failure: None,
    }));
    let mut rng = Rng::new(plan.seed ^ 0xabcd);
    let hooked = Rc::clone(&run);
    set_hook(Some(Box::new(move |disk| {
        // Not while the run itself uses the model.
        if let Ok(mut run) = hooked.try_borrow_mut() {
            run.maybe_cut(disk);
        }
    })));
    let result = drive(&run, &disk, &mut rng);
    set_hook(None);
    plant(None);
    let run = run.borrow();
    match (result, &run.failure) {
        (Err(failure), _) => Err((run.images, failure)),
        (_, Some(failure)) => Err((run.images, failure.clone())),
        _ => Ok(run.images),
    }
}

/// Returns the options of simulated stores. Segments are small, so that they are rotated and reused often.
pub(crate) fn options(sync: SyncMode) -> Options {
    Options {
        sync,
        segment_bytes: 16 << 10,
        checkpoint_bytes: 64 << 10,
        ..Options::default()
    }
}

fn open(disk: &SimDisk, sync: SyncMode) -> Result<Engine, Trouble> {
    let opened = Engine::open(Arc::new(disk.clone()), options(sync), "a disk")?;
    Ok(opened.engine)
}

fn drive(run: &Rc<RefCell<Run>>, disk: &SimDisk, rng: &mut Rng) -> Result<(), String> {
    if rng.chance(2) {
        disk.inject(Fault::ShortWrites, rng);
    }
    let sync = run.borrow().plan.sync;
    let engine = open(disk, sync).map_err(|error| format!("a new store: {error}"))?;
    let mut engine = Arc::new(engine);
    run.borrow_mut().engine = Some(Arc::clone(&engine));
    let is_crowded = rng.chance(3);
    let fails_at = match rng.chance(4) {
        true => rng.below(STEPS),
        false => STEPS,
    };
    for step in 0..STEPS {
        if step == fails_at {
            disk.inject(Fault::Eio, rng);
        }
        if is_crowded && rng.chance(20) {
            // Full soon, or with space again.
            let capacity = match rng.chance(3) {
                true => None,
                false => Some(disk.used() + rng.below(40 << 10)),
            };
            disk.set_capacity(capacity);
        }
        match rng.below(20) {
            0..=10 => submit(run, &engine, rng)?,
            11..=16 => {
                engine.commit();
            }
            17 => engine.seal(),
            18 => {
                engine.prepare_spare();
                engine.sync_late();
            }
            _ if rng.chance(3) => {
                // A failure leaves the store unchanged.
                let _ = engine.checkpoint();
            }
            _ if rng.chance(4) => {
                match reopen(run, disk, engine)? {
                    Some(again) => engine = again,
                    // The disk failed while the store was opened.
                    None => return Ok(()),
                }
            }
            _ => {
                engine.commit();
            }
        }
        let mut run = run.borrow_mut();
        run.settle();
        if run.failure.is_some() || run.images >= run.plan.images {
            return Ok(());
        }
        match engine.unhealthy() {
            Some(Unhealthy::Failed(_)) => {
                // Writes in flight may be present or not; no later write may be.
                for _ in 0..8 {
                    run.cut(disk);
                }
                return Ok(());
            }
            _ if run.rolled_back => {
                let published = engine.published.contents().revision();
                run.model.truncate(published);
                run.rolled_back = false;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Kills the process and reopens the store, unless the disk fails.
fn reopen(
    run: &Rc<RefCell<Run>>,
    disk: &SimDisk,
    engine: Arc<Engine>,
) -> Result<Option<Arc<Engine>>, String> {
    let published = engine.published.contents().revision();
    let sync = run.borrow().plan.sync;
    run.borrow_mut().engine = None;
    drop(engine);
    run.borrow_mut().model.truncate(published);
    run.borrow_mut().waiting.clear();
    let again = match open(disk, sync) {
        Ok(again) => Arc::new(again),
        Err(Trouble::Io { .. }) => return Ok(None),
        Err(error) => return Err(format!("after a kill: {error}")),
    };
    let mut run = run.borrow_mut();
    let revision = again.published.contents().revision();
    if revision != published {
        return Err(format!("{revision:?} after a kill at {published:?}"));
    }
    run.model.compare(&again.published)?;
    run.engine = Some(Arc::clone(&again));
    Ok(Some(again))
}

fn submit(run: &Rc<RefCell<Run>>, engine: &Engine, rng: &mut Rng) -> Result<(), String> {
    let mut run = run.borrow_mut();
    let collection = COLLECTIONS[rng.below(3) as usize];
    let key = Key::new(collection, format!("default/{}", rng.below(12)));
    let there = run.model.newest(&key).cloned();
    let revision = there.as_ref().map_or(Revision(0), |there| there.revision);
    let expected = match rng.chance(8) {
        true => Revision(revision.0.saturating_sub(1)),
        false => revision,
    };
    let length = match rng.chance(8) {
        true => 6000,
        false => rng.below(900) as usize,
    };
    let says = format!("{}-{}", rng.next(), "x".repeat(length));
    let ttl = rng.chance(5).then(|| Duration::from_secs(3600));
    let exists = there.as_ref().is_some_and(|there| there.says.is_some());
    let (op, says) = match (exists, rng.below(8)) {
        (false, _) | (true, 0) => (Op::Create(key.clone(), payload(&says, ttl)), Some(says)),
        (true, 1..=5) => {
            let op = Op::Update(key.clone(), expected, payload(&says, ttl));
            (op, Some(says))
        }
        _ => (Op::Delete(key.clone(), expected), None),
    };
    let Ok(ticket) = engine.submit(op) else {
        return Ok(());
    };
    let published = engine.published.contents().revision();
    match ticket.answer {
        Ok(answer) if answer.changed => {
            run.model.changes.push(Modelled {
                revision: answer.entry.revision,
                key,
                ttl: says.as_ref().and(ttl),
                says,
            });
            if let Some(outcome) = ticket.outcome {
                run.waiting.push((answer.entry.revision, outcome));
            }
        }
        Ok(answer) => run.refusal(answer.entry.revision, published, ticket.outcome)?,
        Err(WriteError::Exists(Entry { revision, .. }))
        | Err(WriteError::Conflict(Some(Entry { revision, .. }))) => {
            run.refusal(revision, published, ticket.outcome)?;
        }
        Err(WriteError::Conflict(None)) => run.refusal(revision, published, ticket.outcome)?,
        Err(WriteError::Backend(_)) => {}
    }
    Ok(())
}

impl Run {
    /// Checks an error that names a revision.
    fn refusal(
        &mut self,
        revision: Revision,
        published: Revision,
        outcome: Option<Arc<Outcome>>,
    ) -> Result<(), String> {
        match outcome {
            Some(outcome) => self.waiting.push((revision, outcome)),
            None if revision > published => {
                return Err(format!(
                    "a refusal names {revision:?}, and readers are at {published:?}"
                ));
            }
            None => self.promised = self.promised.max(revision),
        }
        Ok(())
    }

    /// Records which revisions are acknowledged and visible to readers.
    fn settle(&mut self) {
        let mut promised = self.promised;
        let mut rolled_back = self.rolled_back;
        self.waiting.retain(|(revision, outcome)| {
            let known = outcome.known();
            if known == Some(Ok(())) {
                promised = promised.max(*revision);
            }
            rolled_back |= matches!(known, Some(Err(_)));
            known.is_none()
        });
        self.rolled_back = rolled_back;
        self.promised = promised;
        if let Some(engine) = &self.engine {
            let seen = engine.published.contents().revision();
            self.promised = self.promised.max(seen);
        }
    }

    fn maybe_cut(&mut self, disk: &SimDisk) {
        if self.rng.chance(4) {
            self.cut(disk);
        }
    }

    /// Cuts the power, and checks the remaining data.
    fn cut(&mut self, disk: &SimDisk) {
        if self.failure.is_some() || self.images >= self.plan.images {
            return;
        }
        self.settle();
        self.images += 1;
        let cut = match self.rng.below(8) {
            0 => Cut::Lose,
            1 => Cut::Keep,
            _ => Cut::Mixed,
        };
        let promised = match (self.plan.sync, cut) {
            // Without a sync, data only survives the end of the process.
            (SyncMode::Process, Cut::Lose | Cut::Mixed) => Revision(0),
            _ => self.promised,
        };
        let image = disk.after(cut, &mut self.rng);
        if let Err(problem) = self.check(&image, promised) {
            let (seed, images) = (self.plan.seed, self.images);
            self.failure = Some(format!(
                "seed {seed} ({:?}), image {images} ({cut:?}): {problem}",
                self.plan.sync
            ));
        }
    }

    /// Opens an image, and compares its contents with the model.
    fn check(&mut self, image: &SimDisk, promised: Revision) -> Result<(), String> {
        let spare = match self.rng.chance(4) {
            true => Some(image.after(Cut::Keep, &mut self.rng)),
            false => None,
        };
        let revision = self.check_once(image, promised)?;
        let Some(spare) = spare else { return Ok(()) };
        // A second power failure, during recovery from the first.
        let at = self.rng.below(12);
        let (again, seed) = (Rc::new(RefCell::new(None)), self.rng.next());
        let seen = Rc::clone(&again);
        set_hook(Some(Box::new(move |disk| {
            if disk.calls() >= at && seen.borrow().is_none() {
                *seen.borrow_mut() = Some(disk.after(Cut::Mixed, &mut Rng::new(seed)));
            }
        })));
        let opened = open(&spare, self.plan.sync);
        set_hook(None);
        drop(opened.map_err(|error| format!("opened again: {error}"))?);
        if let Some(second) = again.take() {
            let later = self.check_once(&second, promised)?;
            if later != revision {
                return Err(format!("{later:?} after {revision:?} was recovered"));
            }
        }
        Ok(())
    }

    fn check_once(&mut self, image: &SimDisk, promised: Revision) -> Result<Revision, String> {
        let sync = self.plan.sync;
        let engine = open(image, sync).map_err(|error| format!("does not open: {error}"))?;
        let revision = engine.published.contents().revision();
        if revision < promised {
            return Err(format!("{revision:?} is left of {promised:?}"));
        }
        if revision > self.model.last().max(promised) {
            return Err(format!("{revision:?} was never written"));
        }
        self.model.compare(&engine.published)?;
        if self.rng.chance(3) {
            self.check_writable(image, &engine)?;
        }
        Ok(revision)
    }

    /// Writes to a recovered store, and cuts the power again.
    fn check_writable(&mut self, image: &SimDisk, engine: &Engine) -> Result<(), String> {
        let key = Key::new("pods", "after");
        let ticket = engine.submit(Op::Create(key, payload("after", None)));
        engine.commit();
        let settled = ticket.ok().and_then(|ticket| ticket.outcome);
        let Some(outcome) = settled else {
            return Err("a write after recovery was refused".to_owned());
        };
        let written = engine.published.contents().revision();
        if outcome.known() != Some(Ok(())) {
            return Err(format!("a write after recovery: {:?}", outcome.known()));
        }
        engine.sync_late();
        let again = image.after(Cut::Lose, &mut self.rng);
        let again =
            open(&again, self.plan.sync).map_err(|error| format!("opens no more: {error}"))?;
        match again.published.contents().revision() == written {
            true => Ok(()),
            false => Err("a write after recovery is lost".to_owned()),
        }
    }
}
