//! The peer of the informer cases: kube-rs' reflector on the same replayed bytes.
//!
//! `kube-rs-peer URL PODS EVENTS` lists and watches, keeps a store, and prints one line of JSON: figures, and digests of
//! what it has after the list and after the events.

use std::{error::Error, fs, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, Config, ResourceExt,
    runtime::{
        reflector,
        reflector::Store,
        watcher::{self, Event, watcher},
    },
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, pods, events] = arguments.as_slice() else {
        return Err("usage: kube-rs-peer URL PODS EVENTS".into());
    };
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(run(url, pods.parse()?, events.parse()?))
}

async fn run(url: &str, pods: u64, events: u64) -> Result<()> {
    let client = Client::try_from(Config::new(url.parse()?))?;
    let (resident, begin) = (status("VmRSS:")?, cpu()?);
    let (store, writer) = reflector::store();
    let api: Api<Pod> = Api::all(client);
    let mut stream = Box::pin(reflector(writer, watcher(api, watcher::Config::default())));
    while !matches!(
        stream.next().await.ok_or("the watch ended")??,
        Event::InitDone
    ) {}
    let sync = cpu()? - begin;
    let peak = status("VmHWM:")?;
    let after_sync = digest(&store);
    let kept = status("VmRSS:")? - resident;
    let mut figures = json!({
        "sync_cpu_seconds": sync,
        "sync_peak_bytes": peak,
        "resident_per_pod": kept / pods as f64,
        "heap_per_pod": kept / pods as f64,
    });
    let mut digests = json!({ "sync": after_sync });
    if events > 0 {
        let begin = cpu()?;
        // Now the events may come.
        go(url).await?;
        let mut seen = 0;
        while seen < events {
            let event = stream.next().await.ok_or("the watch ended")??;
            seen += u64::from(matches!(event, Event::Apply(_)));
        }
        figures["events_per_cpu_second"] = json!(events as f64 / (cpu()? - begin).max(0.01));
        digests["watch"] = json!(digest(&store));
    }
    let line = json!({
        "figures": figures,
        "digests": digests,
        "cpu_seconds": cpu()?,
        "peak_bytes": status("VmHWM:")?,
        "versions": { "kube-rs": env!("KUBE_VERSION") },
    });
    println!("{line}");
    Ok(())
}

/// Tells the server to send its events.
async fn go(url: &str) -> Result<()> {
    let rest = url.strip_prefix("http://").ok_or("not plain HTTP")?;
    let (address, path) = rest.split_once('/').ok_or("no path")?;
    let mut connection = TcpStream::connect(address).await?;
    let request = format!("GET /{path}/go HTTP/1.1\r\nhost: {address}\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    tokio::time::timeout(Duration::from_secs(60), connection.read(&mut [0; 256])).await??;
    Ok(())
}

/// A sum of hashes of key, uid and version: independent of the order.
fn digest(store: &Store<Pod>) -> String {
    let sum = store.state().iter().fold(0u64, |sum, pod| {
        let text = format!(
            "{}/{}|{}|{}",
            pod.namespace().unwrap_or_default(),
            pod.name_any(),
            pod.uid().unwrap_or_default(),
            pod.resource_version().unwrap_or_default()
        );
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        sum.wrapping_add(hash)
    });
    format!("{sum:016x}")
}

/// User and system time of this process, in seconds.
fn cpu() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = text.rsplit_once(')').ok_or("no processor time")?;
    let ticks = fields.split_ascii_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks / 100.0)
}

/// A figure of `/proc/self/status`, in bytes.
fn status(field: &str) -> Result<f64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
    Ok(number.ok_or("no memory")?.parse::<f64>()? * 1024.0)
}
