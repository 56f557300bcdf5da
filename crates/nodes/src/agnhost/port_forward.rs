//! `port-forward-tester`: sends chunks of data to its first client. Its settings are variables.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::image::Container;

/// The time for the client to receive the end of the data.
const LINGER: Duration = Duration::from_millis(500);

/// The most bytes of a chunk.
const MOST_BYTES: usize = 16 << 20;

pub(super) async fn run(container: &Container) -> i32 {
    tokio::select! {
        code = serve(container) => code.unwrap_or_else(|code| code),
        () = container.stopped() => 0,
    }
}

async fn serve(container: &Container) -> Result<i32, i32> {
    let number = |name: &str| {
        let value = container.env(name).unwrap_or_default();
        value.parse::<u32>().map_err(|error| {
            container.log(format!("Error parsing {name} {value:?}: {error}"));
            1
        })
    };
    let port = u16::try_from(number("BIND_PORT")?).map_err(|_| 1)?;
    let mut listener = container.listen(port).map_err(|error| {
        container.log(format!("Error listening: {error}"));
        1
    })?;
    let mut client = listener.accept().await.ok_or(1)?;
    container.log("Accepted client connection");
    let expected = container.env("EXPECTED_CLIENT_DATA").unwrap_or_default();
    if !expected.is_empty() {
        let mut data = vec![0; expected.len()];
        let count = client.read(&mut data).await.unwrap_or(0);
        if count != expected.len() {
            let wanted = expected.len();
            container.log(format!(
                "Expected to read {wanted} bytes from client, but got {count} instead. err=EOF"
            ));
            return Err(2);
        }
        if data != expected.as_bytes() {
            let found = String::from_utf8_lossy(&data);
            container.log(format!(
                "Expect to read {expected:?}, but got {found:?}. err=<nil>"
            ));
            return Err(3);
        }
        container.log("Received expected client data");
    }
    let (chunks, size) = (number("CHUNKS")?, number("CHUNK_SIZE")?);
    let pause = Duration::from_millis(number("CHUNK_INTERVAL")?.into());
    let size = usize::try_from(size).unwrap_or(MOST_BYTES).min(MOST_BYTES);
    let chunk = vec![b'x'; size];
    for at in 0..chunks {
        if let Err(error) = client.write_all(&chunk).await {
            container.log(format!("Write err: {error}"));
            return Err(4);
        }
        if at + 1 < chunks {
            tokio::time::sleep(pause).await;
        }
    }
    container.log("Shutting down connection");
    // The client may be gone.
    let _ = client.shutdown().await;
    tokio::time::sleep(LINGER).await;
    container.log("Done");
    Ok(0)
}
