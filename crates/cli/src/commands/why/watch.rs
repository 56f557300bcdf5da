//! `why --watch`: what happens to an object, line by line.

use std::{collections::HashSet, time::Duration};

use kube::Client;
use kubewright_ledger::{ObjectRef, TimelineItem};

use crate::{
    cluster::ledger::{LedgerClient, LedgerQuery},
    output::say_line,
};

/// The interval at which the server is asked.
const INTERVAL: Duration = Duration::from_secs(1);

/// The number of moments that are asked for at once.
const MOMENTS: usize = 200;

/// Prints what happens to an object from now on, until the program is ended.
pub(super) async fn follow(client: &Client, object: &ObjectRef) -> anyhow::Result<()> {
    let ledger = LedgerClient::new(client);
    let mut printed: Option<HashSet<String>> = None;
    loop {
        let query = LedgerQuery::of(object).with("limit", MOMENTS);
        let mut timeline = ledger.read("timeline", query).await?;
        let items: Vec<TimelineItem> = serde_json::from_value(timeline["items"].take())?;
        let lines: Vec<String> = items.iter().map(ToString::to_string).collect();
        if let Some(printed) = &printed {
            for line in lines.iter().filter(|line| !printed.contains(*line)) {
                say_line(line)?;
            }
        }
        printed = Some(lines.into_iter().collect());
        tokio::time::sleep(INTERVAL).await;
    }
}
