//! The two threads of an open store: the log thread and the maintenance thread.

use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::runtime::Handle;

use crate::engine::{Engine, Step};

/// The interval at which the maintenance thread checks for work, and for space on a full disk.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time between two attempts to write a checkpoint.
const RETRY: u32 = 30;

/// The running threads.
pub(crate) struct Threads {
    engine: Arc<Engine>,
    log: Option<JoinHandle<()>>,
    maintenance: Option<JoinHandle<()>>,
}

impl Threads {
    pub(crate) fn start(engine: &Arc<Engine>) -> std::io::Result<Self> {
        // A task of the runtime wakes watchers if there are many.
        let runtime = Handle::try_current().ok();
        let log = {
            let engine = Arc::clone(engine);
            let work = move || {
                let _entered = runtime.as_ref().map(Handle::enter);
                while engine.step() == Step::Done {}
            };
            thread::Builder::new()
                .name("kubewright-log".to_owned())
                .spawn(work)?
        };
        let maintenance = {
            let engine = Arc::clone(engine);
            thread::Builder::new()
                .name("kubewright-maintenance".to_owned())
                .spawn(move || maintain(&engine))?
        };
        Ok(Self {
            engine: Arc::clone(engine),
            log: Some(log),
            maintenance: Some(maintenance),
        })
    }

    /// Writes pending data and ends the threads.
    pub(crate) fn stop(&mut self) {
        self.engine.begin_close();
        self.engine.alarm.stop();
        for thread in [self.log.take(), self.maintenance.take()]
            .into_iter()
            .flatten()
        {
            // The runtime has already reported a panic.
            let _ = thread.join();
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop();
    }
}

fn maintain(engine: &Engine) {
    let mut wait = 0;
    loop {
        engine.prepare_spare();
        if wait > 0 {
            wait -= 1;
        } else if engine.is_checkpoint_due() && engine.checkpoint().is_err() {
            wait = RETRY;
        }
        if engine.alarm.wait(INTERVAL) {
            return;
        }
    }
}
