//! `etcd-door`: etcd's API in front of a store, until Ctrl-C.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use anyhow::Context;
use clap::Parser;
use kubewright_etcd_door::Door;
use kubewright_store::{MemoryStore, Revision, Store};
use kubewright_store_durable::{DurableStore, Options, SyncMode};

/// Serves the part of etcd's API that kube-apiserver uses from a store of kubewright, for tests
#[derive(Parser)]
struct Args {
    /// Address of the loopback device to listen on
    #[arg(long, default_value = "127.0.0.1:2379")]
    listen: SocketAddr,
    /// Directory of the objects [default: memory]
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// Time at which an acknowledged write is on disk: always or process
    #[arg(long, default_value_t, requires = "data_dir")]
    sync: SyncMode,
}

/// The revision of an empty etcd.
const EMPTY: Revision = Revision(1);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let store: Arc<dyn Store> = match args.data_dir {
        None => {
            let store = MemoryStore::starting_at(EMPTY);
            let maintained = store.clone();
            tokio::spawn(async move { maintained.run_maintenance().await });
            Arc::new(store)
        }
        Some(directory) => {
            let options = Options {
                sync: args.sync,
                first_revision: EMPTY,
                ..Options::default()
            };
            let store = DurableStore::open(directory, options)?;
            let maintained = store.clone();
            tokio::spawn(async move { maintained.run_maintenance().await });
            Arc::new(store)
        }
    };
    let door = Door::open(args.listen, store).await?;
    println!("etcd-door is ready at http://{}", door.address());
    tokio::signal::ctrl_c().await.context("wait for Ctrl-C")
}
