//! The lock and the clock of the crate, as these tests have them.
//!
//! Time stands still but for [`advance`], which fires the sleeps that are over. One schedule runs on one thread of the
//! system, so the clock is in a variable of that thread.

pub use std::sync::Arc;
use std::{
    cell::RefCell,
    future::Future,
    ops::Add,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

thread_local! {
    static TIME: RefCell<Time> = const { RefCell::new(Time { now: Duration::ZERO, sleeps: Vec::new() }) };
}

struct Time {
    now: Duration,
    sleeps: Vec<(Instant, Waker)>,
}

/// Begins a schedule: it is zero, and nobody sleeps.
pub fn reset() {
    TIME.with_borrow_mut(|time| {
        *time = Time {
            now: Duration::ZERO,
            sleeps: Vec::new(),
        }
    });
}

/// Lets time pass.
pub fn advance(by: Duration) {
    let over: Vec<_> = TIME.with_borrow_mut(|time| {
        time.now += by;
        let now = Instant(time.now);
        time.sleeps
            .extract_if(.., |(until, _)| *until <= now)
            .collect()
    });
    for (_, waker) in over {
        waker.wake();
    }
}

#[derive(Debug)]
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> shuttle::sync::MutexGuard<'_, T> {
        self.0.lock().expect("not poisoned")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    pub fn now() -> Self {
        Self(TIME.with_borrow(|time| time.now))
    }

    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}

pub struct Sleep(Instant);

pub fn sleep_until(until: Instant) -> Sleep {
    Sleep(until)
}

impl Sleep {
    pub fn deadline(&self) -> Instant {
        self.0
    }

    pub fn reset(mut self: Pin<&mut Self>, until: Instant) {
        self.0 = until;
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.0 {
            return Poll::Ready(());
        }
        let sleep = (self.0, context.waker().clone());
        TIME.with_borrow_mut(|time| time.sleeps.push(sleep));
        Poll::Pending
    }
}
