//! Sizes of terminals.

use serde::Deserialize;
use tokio::sync::watch;

use crate::Input;

/// The largest encoded size.
const MAX_SIZE: usize = 1 << 10;

/// The size of a terminal, in characters.
///
/// ```
/// use kubewright_streams::TerminalSize;
///
/// let size: TerminalSize = serde_json::from_str(r#"{"Width": 80, "Height": 24}"#)?;
/// assert_eq!(size, TerminalSize { width: 80, height: 24 });
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TerminalSize {
    /// The number of columns.
    pub width: u16,
    /// The number of rows.
    pub height: u16,
}

/// The terminal sizes of a client. Only the latest unread size is kept.
///
/// ```
/// use async_trait::async_trait;
/// use kubewright_machinery::Status;
/// use kubewright_streams::{Exec, ExecSession, Exit};
/// use tokio::io::AsyncWriteExt;
///
/// /// Prints each size of the terminal.
/// struct Sizes;
///
/// #[async_trait]
/// impl Exec for Sizes {
///     async fn exec(&self, mut session: ExecSession) -> Result<Exit, Status> {
///         let Some(mut stdout) = session.stdout else {
///             return Ok(Exit::code(2));
///         };
///         while let Some(size) = session.resizes.next().await {
///             let line = format!("{} columns, {} rows\r\n", size.width, size.height);
///             if stdout.write_all(line.as_bytes()).await.is_err() {
///                 break;
///             }
///         }
///         Ok(Exit::SUCCESS)
///     }
/// }
/// # let _ = Sizes;
/// ```
#[derive(Debug)]
pub struct Resizes(watch::Receiver<TerminalSize>);

impl Resizes {
    /// Waits for the next size. Returns `None` when no more sizes will follow.
    pub async fn next(&mut self) -> Option<TerminalSize> {
        self.0.changed().await.ok()?;
        Some(*self.0.borrow_and_update())
    }
}

/// Decodes sizes from a stream.
pub(super) struct Decoder {
    sizes: watch::Sender<TerminalSize>,
    text: Vec<u8>,
}

/// Returns a decoder of sizes, and the receiver of its output.
pub(super) fn resizes() -> (Decoder, Resizes) {
    let (sizes, receiver) = watch::channel(TerminalSize::default());
    let text = Vec::new();
    (Decoder { sizes, text }, Resizes(receiver))
}

impl Decoder {
    /// Decodes until the stream ends, or contains something else.
    pub(super) async fn run(mut self, mut input: Input) {
        while let Some(bytes) = input.chunk().await {
            if !self.take(&bytes) {
                break;
            }
        }
        // Later bytes are discarded, so that they do not block the connection.
        while input.chunk().await.is_some() {}
    }

    /// Decodes bytes. Returns false if they are not sizes.
    fn take(&mut self, bytes: &[u8]) -> bool {
        if self.text.len() + bytes.len() > MAX_SIZE {
            return false;
        }
        self.text.extend_from_slice(bytes);
        let mut sizes = serde_json::Deserializer::from_slice(&self.text).into_iter();
        loop {
            match sizes.next() {
                Some(Ok(size)) => self.sizes.send_replace(size),
                None => break,
                Some(Err(error)) if error.is_eof() => break,
                Some(Err(_)) => return false,
            };
        }
        let read = sizes.byte_offset();
        self.text.drain(..read);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_can_be_split_across_chunks() {
        let (mut decoder, Resizes(sizes)) = resizes();
        assert!(decoder.take(br#"{"Width":80,"Hei"#));
        assert!(!sizes.has_changed().unwrap());
        assert!(decoder.take(br#"ght":24}{"Width":100,"Height":30}"#));
        let size = *sizes.borrow();
        assert_eq!((size.width, size.height), (100, 30));
        assert!(!decoder.take(b"80x24"));
        assert!(!resizes().0.take(&[b' '; MAX_SIZE + 1]));
    }
}
