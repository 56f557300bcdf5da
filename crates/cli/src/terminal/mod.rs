//! The live view on a terminal, redrawn in place; printing that ignores errors.

#[cfg(unix)]
pub(crate) mod keys;
pub(crate) mod style;
pub(crate) mod wrap;

use std::{
    io::{self, Write},
    sync::{
        Once,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

/// Alternate screen, hidden cursor, no line wrapping.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// The assumed height of a terminal of unknown size.
const LINES: usize = 24;

/// The assumed width of a terminal of unknown size.
const COLUMNS: usize = 80;

/// The state of the live view: not begun, drawn, or ended.
static VIEW: AtomicU8 = AtomicU8::new(BEFORE);

const BEFORE: u8 = 0;
const DRAWN: u8 = 1;
const ENDED: u8 = 2;

/// A live view. Dropping it restores the terminal; a panic restores it before its message is printed.
pub(crate) struct LiveView(());

/// The size of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) lines: usize,
    pub(crate) columns: usize,
}

impl LiveView {
    /// Enters the alternate screen.
    pub(crate) fn begin() -> Self {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                leave();
                before(panic);
            }));
        });
        VIEW.store(DRAWN, Ordering::SeqCst);
        print(ENTER);
        Self(())
    }

    /// Returns whether there was a view that has ended.
    pub(crate) fn has_ended() -> bool {
        VIEW.load(Ordering::SeqCst) == ENDED
    }

    /// Returns the current size of the terminal.
    pub(crate) fn size(&self) -> Size {
        match terminal_size::terminal_size() {
            Some((terminal_size::Width(columns), terminal_size::Height(lines)))
                if lines > 0 && columns > 0 =>
            {
                Size {
                    lines: lines.into(),
                    columns: columns.into(),
                }
            }
            _ => Size {
                lines: LINES,
                columns: COLUMNS,
            },
        }
    }

    /// Returns the current height of the terminal.
    pub(crate) fn height(&self) -> usize {
        self.size().lines
    }

    /// Redraws all lines from the top left corner.
    pub(crate) fn draw(&self, lines: &[String]) {
        if VIEW.load(Ordering::SeqCst) == DRAWN {
            let text = lines.join("\x1b[K\r\n");
            print(&format!("\x1b[H{text}\x1b[K\x1b[J"));
        }
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        leave();
    }
}

/// Restores the terminal, once.
fn leave() {
    if VIEW.swap(ENDED, Ordering::SeqCst) == DRAWN {
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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{ENTER, LEAVE, LiveView};

    /// Set in the process that panics while it shows a live view.
    const PANICS: &str = "KUBEWRIGHT_TEST_PANICS";

    #[test]
    fn a_panic_is_printed_after_the_screen_is_restored() {
        if std::env::var_os(PANICS).is_some() {
            let view = LiveView::begin();
            view.draw(&["drawn".to_owned()]);
            panic!("seen by the user");
        }
        let name = "terminal::tests::a_panic_is_printed_after_the_screen_is_restored";
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command
            .args(["--exact", name, "--nocapture", "--test-threads=1"])
            .env(PANICS, "1")
            .stdout(writer.try_clone().expect("a second end"))
            .stderr(writer);
        let mut child = command.spawn().expect("a process");
        drop(command);
        let output = std::io::read_to_string(&mut reader).expect("output");
        assert!(!child.wait().expect("a status").success(), "{output:?}");
        let at = |text: &str| {
            let found = output.find(text);
            found.unwrap_or_else(|| panic!("no {text:?} in {output:?}"))
        };
        assert!(at(ENTER) < at("drawn"), "{output:?}");
        assert!(at("drawn") < at(LEAVE), "{output:?}");
        assert!(at(LEAVE) < at("seen by the user"), "{output:?}");
        assert_eq!(output.matches(LEAVE).count(), 1, "{output:?}");
    }
}
