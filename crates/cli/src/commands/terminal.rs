//! A picture on a terminal, drawn again and again in its place, and printing that nobody needs to look at.

use std::{
    io::{self, Write},
    time::Duration,
};

/// Another buffer of the terminal, no cursor, lines cut off at the edge.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// How many lines a terminal is thought to have that does not say.
const LINES: usize = 24;

/// The picture. Dropped, the terminal is given back.
pub(crate) struct Picture(());

impl Picture {
    /// Takes the terminal.
    pub(crate) fn begin() -> Self {
        print(ENTER);
        Self(())
    }

    /// How many lines the terminal has now.
    pub(crate) fn height(&self) -> usize {
        match terminal_size::terminal_size() {
            Some((_, terminal_size::Height(lines))) if lines > 0 => lines.into(),
            _ => LINES,
        }
    }

    /// From the first place of the terminal on, each line to its end, and nothing below.
    pub(crate) fn draw(&self, lines: &[String]) {
        let text = lines.join("\x1b[K\r\n");
        print(&format!("\x1b[H{text}\x1b[K\x1b[J"));
    }
}

impl Drop for Picture {
    fn drop(&mut self) {
        print(LEAVE);
    }
}

/// Time since the beginning.
pub(crate) fn clock(at: Duration) -> String {
    format!("{:>8.3}", at.as_secs_f64())
}

/// Nobody looking any more is no reason to stop.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
