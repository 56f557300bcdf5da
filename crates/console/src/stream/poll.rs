//! A response that is polled every second.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::MissedTickBehavior;

use super::feed::Feed;
use crate::own::Own;

/// The maximum size of a response that is pushed, in bytes.
const LARGEST: usize = 1 << 20;

/// The latest response.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
}

/// Polls the response until no tab uses it.
pub(crate) async fn keep(own: Arc<Own>, path: String, every: Duration, feed: Weak<Feed<Answer>>) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let (code, body) = own.get(&path).await;
        let length = body.to_string().len();
        let (code, body) = match length <= LARGEST {
            true => (code.as_u16(), body),
            false => (
                413,
                json!({"message": format!("the answer is too large to follow: {length} bytes")}),
            ),
        };
        let Some(feed) = feed.upgrade() else { return };
        let is_new = feed.look(|last| last.code != code || last.body != body);
        if is_new {
            feed.change(|last| *last = Answer { code, body });
        }
    }
}
