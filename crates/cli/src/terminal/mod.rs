//! The live view on a terminal, redrawn in place; printing that ignores errors.

pub(crate) mod style;

use std::{
    io::{self, Write},
    time::Duration,
};

/// Alternate screen, hidden cursor, no line wrapping.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// The assumed height of a terminal of unknown size.
const LINES: usize = 24;

/// A live view. Dropping it restores the terminal.
pub(crate) struct LiveView(());

impl LiveView {
    /// Enters the alternate screen.
    pub(crate) fn begin() -> Self {
        print(ENTER);
        Self(())
    }

    /// Returns the current height of the terminal.
    pub(crate) fn height(&self) -> usize {
        match terminal_size::terminal_size() {
            Some((_, terminal_size::Height(lines))) if lines > 0 => lines.into(),
            _ => LINES,
        }
    }

    /// Redraws all lines from the top left corner.
    pub(crate) fn draw(&self, lines: &[String]) {
        let text = lines.join("\x1b[K\r\n");
        print(&format!("\x1b[H{text}\x1b[K\x1b[J"));
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        print(LEAVE);
    }
}

/// Formats the time since the start.
pub(crate) fn clock(at: Duration) -> String {
    format!("{:>8.3}", at.as_secs_f64())
}

/// Prints a text, ignoring errors.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
