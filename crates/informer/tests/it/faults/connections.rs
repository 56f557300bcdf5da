//! Connections that break, stop or trickle.

use super::survives;
use crate::cut::Place;
use crate::simulated::Fault;

/// On the list, on the first watch, and on two watches in a row later.
async fn survives_everywhere(fault: Fault) {
    survives(
        &format!("{fault:?}"),
        |server| {
            server.fail_lists([fault.clone()]);
            server.fail_watches([fault.clone()]);
        },
        |server| {
            server.fail_watches([fault.clone(), fault.clone()]);
            server.disconnect();
        },
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn disconnect_in_the_middle_of_a_chunk() {
    for at in (0..1200).step_by(113) {
        for reset in [true, false] {
            survives_everywhere(Fault::Cut(Place::Byte(at), reset)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn disconnect_in_the_middle_of_a_utf8_sequence() {
    for after in [0, 1, 4, 7] {
        for reset in [true, false] {
            survives_everywhere(Fault::Cut(Place::Utf8(after), reset)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn disconnect_in_the_middle_of_a_json_token() {
    for after in [0, 1, 3] {
        for reset in [true, false] {
            survives_everywhere(Fault::Cut(Place::Token(after), reset)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_byte_chunks() {
    survives_everywhere(Fault::ByteByByte).await;
}

#[tokio::test(start_paused = true)]
async fn connections_that_are_reset() {
    for at in [1, 300, 1000] {
        survives_everywhere(Fault::Cut(Place::Byte(at), true)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn connections_that_are_closed() {
    for at in [1, 300, 1000] {
        survives_everywhere(Fault::Cut(Place::Byte(at), false)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn connections_that_go_silent() {
    for at in [0, 1, 300, 1000] {
        survives_everywhere(Fault::Silence(Place::Byte(at))).await;
    }
    survives_everywhere(Fault::Hang).await;
}

#[tokio::test(start_paused = true)]
async fn connections_are_refused() {
    let refused = || std::iter::repeat_n(Fault::NoConnection, 5);
    survives(
        "no connection",
        |server| {
            server.fail_lists(refused());
            server.fail_watches(refused());
        },
        |server| {
            server.fail_watches(refused());
            server.disconnect();
        },
    )
    .await;
}
