//! Shutdown: requests in flight, open-ended responses, and the grace period.

use tokio::time::Instant;

use super::*;

#[tokio::test]
async fn a_shutdown_finishes_requests_and_accepts_no_more() {
    let running = start(Limits::default(), None).await;
    let mut one = http1(TcpStream::connect(running.address).await.unwrap()).await;
    let mut two = http2(TcpStream::connect(running.address).await.unwrap()).await;
    let idle = http1(TcpStream::connect(running.address).await.unwrap()).await;
    let slow = tokio::spawn(async move {
        let (one, two) = tokio::join!(
            one.send_request(get("/slow")),
            two.send_request(get("/slow"))
        );
        (text(one.unwrap()).await, text(two.unwrap()).await)
    });
    let begun = async {
        while running.service.slow_begun.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(SHORT / 10).await;
        }
    };
    timeout(SOON, begun).await.expect("both requests arrive");
    running.stop.send(()).unwrap();
    let (one, two) = timeout(SOON, slow).await.unwrap().unwrap();
    assert_eq!(
        (one.as_str(), two.as_str()),
        ("hello HTTP/1.1", "hello HTTP/2.0")
    );
    timeout(Limits::default().grace_period / 2, running.server)
        .await
        .unwrap()
        .unwrap();
    assert!(TcpStream::connect(running.address).await.is_err());
    drop(idle);
}

#[tokio::test]
async fn shutting_down_ends_open_ended_responses_cleanly_and_at_once() {
    let running = start(Limits::default(), None).await;
    let mut one = http1(TcpStream::connect(running.address).await.unwrap()).await;
    let mut two = http2(TcpStream::connect(running.address).await.unwrap()).await;
    let watches = [
        one.send_request(get("/watch")).await.unwrap(),
        two.send_request(get("/watch")).await.unwrap(),
    ];
    let mut bodies = Vec::new();
    for watch in watches {
        let mut body = watch.into_body();
        let event = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(event, "event");
        bodies.push(body);
    }
    let stopped = Instant::now();
    running.stop.send(()).unwrap();
    for body in bodies {
        let rest = timeout(SOON, body.collect()).await.unwrap();
        let rest = rest.expect("the body ends without an error");
        assert!(rest.to_bytes().is_empty());
    }
    timeout(SOON, running.server).await.unwrap().unwrap();
    assert!(stopped.elapsed() < Limits::default().grace_period / 4);
}

#[tokio::test]
async fn streams_that_never_end_are_cut_after_the_grace_period() {
    let limits = Limits {
        grace_period: SHORT,
        ..Limits::default()
    };
    let running = start(limits, None).await;
    let mut one = http1(TcpStream::connect(running.address).await.unwrap()).await;
    let mut two = http2(TcpStream::connect(running.address).await.unwrap()).await;
    let streams = [
        one.send_request(get("/flood")).await.unwrap(),
        two.send_request(get("/flood")).await.unwrap(),
    ];
    running.stop.send(()).unwrap();
    timeout(SOON, running.server).await.unwrap().unwrap();
    for stream in streams {
        let mut body = stream.into_body();
        let end = timeout(SOON, async {
            while let Some(frame) = body.frame().await {
                frame?;
            }
            Ok::<_, hyper::Error>(())
        });
        assert!(
            end.await.unwrap().is_err(),
            "a part must not pass for the whole"
        );
    }
}

/// Opens an upgraded connection.
async fn upgraded(running: &Running) -> TokioIo<upgrade::Upgraded> {
    let mut one = http1(TcpStream::connect(running.address).await.unwrap()).await;
    let mut request = get("/upgrade");
    let headers = request.headers_mut();
    headers.insert("connection", "upgrade".parse().unwrap());
    headers.insert("upgrade", "echo".parse().unwrap());
    let response = one.send_request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    TokioIo::new(upgrade::on(response).await.unwrap())
}

#[tokio::test]
async fn a_shutdown_waits_for_upgraded_connections() {
    let running = start(Limits::default(), None).await;
    let mut io = upgraded(&running).await;
    running.stop.send(()).unwrap();
    while TcpStream::connect(running.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    io.write_all(b"ping").await.unwrap();
    let mut line = [0; 4];
    let echo = timeout(SOON, io.read_exact(&mut line)).await.unwrap();
    assert_eq!((echo.unwrap(), &line), (4, b"ping"));
    // The handler has ended the connection, so nothing is left.
    let most = Limits::default().upgrade_grace_period / 2;
    timeout(most, running.server).await.unwrap().unwrap();
}

#[tokio::test]
async fn upgraded_connections_that_stay_are_cut() {
    let limits = Limits {
        upgrade_grace_period: SHORT,
        grace_period: SOON * 2,
        ..Limits::default()
    };
    let running = start(limits, None).await;
    let mut io = upgraded(&running).await;
    running.stop.send(()).unwrap();
    let mut line = [0; 4];
    let end = timeout(SOON, io.read(&mut line)).await.unwrap();
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    timeout(SOON, running.server).await.unwrap().unwrap();
}
