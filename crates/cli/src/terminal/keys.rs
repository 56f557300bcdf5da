//! Single keys of a terminal, read while a command runs.

use std::{
    io::{IsTerminal, Read, stdin},
    thread,
};

use rustix::{
    process::getpgrp,
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr},
};
use tokio::sync::mpsc;

/// The keys that are pressed. Dropping it gives the terminal back its lines and its echo.
pub(crate) struct Keys {
    pressed: mpsc::Receiver<u8>,
    before: Termios,
}

impl Keys {
    /// Starts to read single keys. Returns `None` if there is no terminal, or if it belongs to another program.
    pub(crate) fn read() -> Option<Self> {
        let input = stdin();
        // A program in the background would be stopped by changing the terminal.
        if !input.is_terminal() || tcgetpgrp(&input).ok()? != getpgrp() {
            return None;
        }
        let before = tcgetattr(&input).ok()?;
        let mut single = before.clone();
        single
            .local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Now, &single).ok()?;
        let (sender, pressed) = mpsc::channel(8);
        // A read cannot be interrupted, so the thread ends with the program.
        thread::spawn(move || {
            for byte in stdin().lock().bytes() {
                let Ok(byte) = byte else { return };
                if sender.blocking_send(byte).is_err() {
                    return;
                }
            }
        });
        Some(Self { pressed, before })
    }

    /// Returns the next key. Without further input it never does.
    pub(crate) async fn next(&mut self) -> u8 {
        match self.pressed.recv().await {
            Some(key) => key,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}
