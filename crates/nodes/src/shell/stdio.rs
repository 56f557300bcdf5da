//! The standard streams of commands.

use std::{io, pin::Pin, sync::Arc};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    sync::Mutex,
};

use crate::{files::Files, logs::LogWriter};

type BoxedRead = Pin<Box<dyn AsyncRead + Send>>;
type BoxedWrite = Pin<Box<dyn AsyncWrite + Send>>;

/// The largest input that a command reads into memory, in bytes.
const MOST_INPUT: u64 = 128 << 20;

/// The standard streams of a command. Clones share them.
#[derive(Clone)]
pub(crate) struct Stdio {
    pub(crate) stdin: Reader,
    pub(crate) stdout: Writer,
    pub(crate) stderr: Writer,
}

/// An input stream. Clones share it.
#[derive(Clone)]
pub(crate) struct Reader(Arc<Mutex<BufReader<BoxedRead>>>);

/// An output stream. Clones share it.
#[derive(Clone)]
pub(crate) struct Writer(Sink);

#[derive(Clone)]
enum Sink {
    Stream(Arc<Mutex<BoxedWrite>>),
    Log(Arc<LogWriter>),
    File {
        files: Files,
        path: Arc<[String]>,
        clock: kubewright_controller::Clock,
    },
}

impl Reader {
    pub(crate) fn new(stream: impl AsyncRead + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(BufReader::new(Box::pin(stream)))))
    }

    pub(crate) fn empty() -> Self {
        Self::new(tokio::io::empty())
    }

    /// Reads to the end.
    pub(super) async fn all(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut stream = self.0.lock().await;
        (&mut *stream)
            .take(MOST_INPUT)
            .read_to_end(&mut bytes)
            .await?;
        Ok(bytes)
    }

    /// Reads the next bytes; none at the end.
    pub(super) async fn chunk(&self) -> io::Result<Vec<u8>> {
        let mut stream = self.0.lock().await;
        let bytes = stream.fill_buf().await?.to_vec();
        stream.consume(bytes.len());
        Ok(bytes)
    }

    /// Reads the next line with its newline; nothing at the end.
    pub(super) async fn line(&self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        let mut stream = self.0.lock().await;
        (&mut *stream)
            .take(MOST_INPUT)
            .read_until(b'\n', &mut line)
            .await?;
        Ok(line)
    }
}

impl Writer {
    pub(crate) fn new(stream: impl AsyncWrite + Send + 'static) -> Self {
        Self(Sink::Stream(Arc::new(Mutex::new(Box::pin(stream)))))
    }

    /// Returns a writer to the log of a container.
    pub(crate) fn log(log: LogWriter) -> Self {
        Self(Sink::Log(Arc::new(log)))
    }

    pub(crate) fn nowhere() -> Self {
        Self::new(tokio::io::sink())
    }

    /// Returns a writer that appends to a file.
    pub(super) fn file(
        files: Files,
        path: Vec<String>,
        clock: kubewright_controller::Clock,
    ) -> Self {
        Self(Sink::File {
            files,
            path: path.into(),
            clock,
        })
    }

    /// Echoes typed bytes.
    pub(crate) async fn show(&self, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes).await
    }

    pub(super) async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match &self.0 {
            Sink::Stream(stream) => {
                let mut stream = stream.lock().await;
                stream.write_all(bytes).await?;
                stream.flush().await
            }
            Sink::Log(log) => {
                log.write(bytes).await;
                Ok(())
            }
            Sink::File { files, path, clock } => {
                let written = files.write(path, bytes, true, clock());
                written.map_err(io::Error::other)
            }
        }
    }
}
