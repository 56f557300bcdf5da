//! [`Building`]: the cargo that runs at the moment, which ends with `dev`.

use std::{
    process::{Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The process group of a running cargo. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Building(Arc<Mutex<State>>);

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Idle,
    Running(u32),
    /// `dev` ends: a cargo that starts now ends at once.
    Stopped,
}

impl Building {
    /// Notes that cargo runs as this process group.
    pub(super) fn started(&self, group: u32) {
        let mut state = self.state();
        match *state {
            State::Stopped => terminate(group),
            State::Idle | State::Running(_) => *state = State::Running(group),
        }
    }

    /// Notes that cargo has ended.
    pub(super) fn ended(&self) {
        let mut state = self.state();
        if let State::Running(_) = *state {
            *state = State::Idle;
        }
    }

    /// Stops cargo and the compilers that it started, now or as soon as it has started.
    pub(super) fn stop(&self) {
        let mut state = self.state();
        if let State::Running(group) = *state {
            terminate(group);
        }
        *state = State::Stopped;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn terminate(group: u32) {
    if cfg!(unix) {
        // It may have ended already.
        let _ = Command::new("kill")
            .args(["-TERM", "--", &format!("-{group}")])
            .stderr(Stdio::null())
            .status();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        os::unix::process::{CommandExt, ExitStatusExt},
        process::Child,
    };

    use super::*;

    const SIGTERM: i32 = 15;

    fn cargo() -> Child {
        let mut command = Command::new("sleep");
        command.arg("600").process_group(0);
        command.spawn().expect("a process")
    }

    #[test]
    fn a_running_cargo_is_stopped() {
        let (building, mut cargo) = (Building::default(), cargo());
        building.started(cargo.id());
        building.stop();
        assert_eq!(cargo.wait().expect("a status").signal(), Some(SIGTERM));
    }

    #[test]
    fn a_cargo_that_starts_while_dev_ends_is_stopped_too() {
        let (building, mut cargo) = (Building::default(), cargo());
        building.stop();
        building.started(cargo.id());
        assert_eq!(cargo.wait().expect("a status").signal(), Some(SIGTERM));
    }
}
