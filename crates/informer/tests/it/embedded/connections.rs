//! Connections that break, stop or trickle.

use super::{Strike, survives};
use crate::cut::Place;

/// On the list, on the first watch, and on two watches in a row later.
async fn survives_everywhere(strike: Strike) {
    survives(
        &format!("{strike:?}"),
        |wire| {
            wire.strike_lists([strike.clone()]);
            wire.strike_watches([strike.clone()]);
        },
        |wire| {
            wire.strike_watches([strike.clone(), strike.clone()]);
            wire.disconnect();
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn disconnect_in_the_middle_of_a_chunk() {
    for at in [0, 100, 777, 2000, 3333] {
        for reset in [true, false] {
            survives_everywhere(Strike::Cut(Place::Byte(at), reset)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn disconnect_in_the_middle_of_a_utf8_sequence() {
    for after in [0, 1, 4, 7] {
        for reset in [true, false] {
            survives_everywhere(Strike::Cut(Place::Utf8(after), reset)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn disconnect_in_the_middle_of_a_json_token() {
    for after in [0, 1, 3] {
        for reset in [true, false] {
            survives_everywhere(Strike::Cut(Place::Token(after), reset)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_byte_chunks() {
    survives_everywhere(Strike::ByteByByte).await;
}

#[tokio::test(start_paused = true)]
async fn connections_that_are_reset() {
    for at in [1, 1000] {
        survives_everywhere(Strike::Cut(Place::Byte(at), true)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn connections_that_are_closed() {
    for at in [1, 1000] {
        survives_everywhere(Strike::Cut(Place::Byte(at), false)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn connections_that_go_silent() {
    for at in [0, 1, 1000] {
        survives_everywhere(Strike::Silence(Place::Byte(at))).await;
    }
}

#[tokio::test(start_paused = true)]
async fn connections_are_refused() {
    let refused = || std::iter::repeat_n(Strike::NoConnection, 5);
    survives(
        "no connection",
        |wire| {
            wire.strike_lists(refused());
            wire.strike_watches(refused());
        },
        |wire| {
            wire.strike_watches(refused());
            wire.disconnect();
        },
    )
    .await;
}
