//! The stream of a tab.

use http::Method;
use serde_json::{Value, json};

use crate::scene::Scene;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn table(more: Value) -> Value {
    let mut table = json!({"id": "t", "type": "table", "path": MAPS, "offset": 0, "limit": 200});
    for (name, value) in more.as_object().unwrap() {
        table[name] = value.clone();
    }
    json!([table])
}

fn keys(message: &Value) -> Vec<&str> {
    message["order"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key.as_str().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_follow_the_objects() {
    let scene = Scene::start().await;
    scene.config_map("a").await;
    let (mut lines, tab) = scene.stream().await;
    scene.subscribe(&tab, table(json!({}))).await;
    let first = lines.until(|message| message["total"] == 1).await;
    assert_eq!(keys(&first), ["default/a"]);
    assert_eq!(first["head"]["columns"][0]["name"], "Name");

    scene.config_map("b").await;
    let second = lines.until(|message| message["total"] == 2).await;
    assert_eq!(keys(&second), ["default/a", "default/b"]);
    let rows = second["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "only the new row is sent: {second}");
    assert!(second.get("head").is_none(), "the columns are sent once");

    scene.call(Method::DELETE, &format!("{MAPS}/a"), None).await;
    let third = lines.until(|message| message["total"] == 1).await;
    assert_eq!(keys(&third), ["default/b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_moves_sorts_and_filters() {
    let scene = Scene::start().await;
    for n in 0..9 {
        scene.config_map(&format!("m{n}")).await;
    }
    let (mut lines, tab) = scene.stream().await;
    scene
        .subscribe(&tab, table(json!({"offset": 3, "limit": 2})))
        .await;
    let window = lines.until(|message| message["total"] == 9).await;
    assert_eq!(keys(&window), ["default/m3", "default/m4"]);
    scene
        .subscribe(&tab, table(json!({"offset": 4, "limit": 2})))
        .await;
    let moved = lines.until(|message| message["offset"] == 4).await;
    assert_eq!(
        moved["rows"].as_array().unwrap().len(),
        1,
        "the other row is there already: {moved}"
    );
    let sort = json!({"by": {"column": 0}, "descending": true});
    scene
        .subscribe(&tab, table(json!({"limit": 2, "sort": sort})))
        .await;
    let sorted = lines.until(|message| message["offset"] == 0).await;
    assert_eq!(keys(&sorted), ["default/m8", "default/m7"]);
    scene
        .subscribe(&tab, table(json!({"limit": 20, "filter": "M7"})))
        .await;
    let filtered = lines.until(|message| message["total"] == 1).await;
    assert_eq!(keys(&filtered), ["default/m7"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_stream_sends_only_what_the_tab_lacks() {
    let scene = Scene::start().await;
    let known = scene.config_map("a").await;
    scene.config_map("b").await;
    let (mut lines, tab) = scene.stream().await;
    let have = json!([["default/a", known["metadata"]["resourceVersion"]]]);
    scene.subscribe(&tab, table(json!({"have": have}))).await;
    let message = lines.until(|message| message["total"] == 2).await;
    let sent: Vec<&str> = message["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["key"].as_str().unwrap())
        .collect();
    assert_eq!(sent, ["default/b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_past_revision_is_shown_as_it_was() {
    let scene = Scene::start().await;
    let first = scene.config_map("a").await;
    scene.config_map("b").await;
    let at: u64 = first["metadata"]["resourceVersion"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let (mut lines, tab) = scene.stream().await;
    scene.subscribe(&tab, table(json!({"at": at}))).await;
    let window = lines.until(|message| message.get("order").is_some()).await;
    assert_eq!(keys(&window), ["default/a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_sent_again_when_it_has_changed() {
    let scene = Scene::start().await;
    let (mut lines, tab) = scene.stream().await;
    let path = format!("{MAPS}/late");
    scene
        .subscribe(&tab, json!([{"id": "p", "type": "poll", "path": path}]))
        .await;
    let missing = lines.until(|message| message["id"] == "p").await;
    assert_eq!(missing["code"], 404);
    scene.config_map("late").await;
    let there = lines.until(|message| message["id"] == "p").await;
    assert_eq!(
        (&there["code"], &there["body"]["data"]["k"]),
        (&json!(200), &json!("v"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_that_cannot_be_listed_says_why() {
    let scene = Scene::start().await;
    let (mut lines, tab) = scene.stream().await;
    scene
        .subscribe(
            &tab,
            table(json!({"path": "/apis/none.example.com/v1/things"})),
        )
        .await;
    let failed = lines
        .until(|message| message["head"]["error"].is_object())
        .await;
    assert_eq!(failed["head"]["error"]["code"], 404, "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_at_most_32_tabs() {
    let scene = Scene::start().await;
    let mut tabs = Vec::new();
    for _ in 0..32 {
        tabs.push(scene.stream().await);
    }
    let request = scene.request(Method::GET, "/kubewright/v1/stream", None);
    assert_eq!(scene.code(request).await, 429);
    let (closed, tab) = tabs.pop().unwrap();
    drop(closed);
    // The end of a connection is noticed a little later.
    let path = format!("/kubewright/v1/stream/{tab}");
    while scene
        .call(Method::POST, &path, Some(&json!({"subscriptions": []})))
        .await
        .0
        != 404
    {
        tokio::task::yield_now().await;
    }
    scene.stream().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_subscriptions_are_rejected() {
    let scene = Scene::start().await;
    let (_lines, tab) = scene.stream().await;
    let path = format!("/kubewright/v1/stream/{tab}");
    let (code, _) = scene
        .call(
            Method::POST,
            &path,
            Some(&json!({"subscriptions": [{"id": "x"}]})),
        )
        .await;
    assert_eq!(code, 400);
    let (code, _) = scene
        .call(
            Method::POST,
            "/kubewright/v1/stream/none",
            Some(&json!({"subscriptions": []})),
        )
        .await;
    assert_eq!(code, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_end_with_the_console() {
    let scene = Scene::start().await;
    let (mut lines, _) = scene.stream().await;
    scene.stop().await;
    assert_eq!(lines.next().await, None);
}

/// Five hundred changes of one row become few messages, and the last of them has the last state.
#[tokio::test(flavor = "multi_thread")]
async fn changes_in_quick_succession_are_sent_once() {
    let scene = Scene::start().await;
    scene.config_map("a").await;
    let (mut lines, tab) = scene.stream().await;
    scene.subscribe(&tab, table(json!({}))).await;
    lines.until(|message| message["total"] == 1).await;
    let began = std::time::Instant::now();
    let mut version = String::new();
    for n in 0..500 {
        let mut request = scene.request(
            Method::PATCH,
            &format!("{MAPS}/a"),
            Some(&json!({"data": {"k": n.to_string()}})),
        );
        request.headers_mut().insert(
            "content-type",
            http::HeaderValue::from_static("application/merge-patch+json"),
        );
        let (code, answer) = crate::scene::read(scene.send(request).await).await;
        assert_eq!(code, 200);
        version = answer["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .to_owned();
    }
    let mut messages = 0;
    lines
        .until(|message| {
            messages += 1;
            message["rows"][0]["version"] == version.as_str()
        })
        .await;
    let most = began.elapsed().as_millis() / 200 + 2;
    assert!(messages <= most, "{messages} messages, at most {most}");
}
