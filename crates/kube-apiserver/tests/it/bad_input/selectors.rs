//! Selectors that make no sense, and selectors of any length.
//!
//! An address fits 64 KiB in process, so that is how long the longest are here; the socket has a bound of its own.

use super::Target;
use crate::http_client::{MAPS, encoded, labelled};

/// The number that fits into a URL.
fn fill(mut term: impl FnMut(usize) -> String, separator: &str) -> (String, usize) {
    let mut out = String::new();
    let mut count = 0;
    while out.len() < 60_000 {
        if count > 0 {
            out.push_str(separator);
        }
        out.push_str(&term(count));
        count += 1;
    }
    (out, count)
}

#[tokio::test]
async fn selectors_that_cannot_be_read_are_bad_requests() {
    let target = Target::new().await;
    for (selector, message) in [
        (
            "a===b",
            "unable to parse requirement: found '=', expected: identifier",
        ),
        (
            "(",
            "found '(', expected: !, identifier, or 'end of string'",
        ),
        (
            "a in (",
            "unable to parse requirement: found '', expected: ',', ')' or identifier",
        ),
        (
            "-=b",
            "unable to parse requirement: <nil>: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
        ),
    ] {
        for path in [
            MAPS.to_owned(),
            format!("{MAPS}?watch=1"),
            "/api/v1/configmaps".to_owned(),
        ] {
            let join = if path.contains('?') { '&' } else { '?' };
            let path = format!("{path}{join}labelSelector={}", encoded(selector));
            target.http.get(&path).await.refused_with(400, message);
        }
        target
            .http
            .delete(&format!("{MAPS}?labelSelector={}", encoded(selector)))
            .await
            .refused_with(400, message);
    }
    for (selector, message) in [
        (
            "spec.x=y",
            "\"spec.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        ),
        ("abc", "invalid selector: 'abc'; can't understand 'abc'"),
    ] {
        let query = format!("{MAPS}?fieldSelector={}", encoded(selector));
        target.http.get(&query).await.refused_with(400, message);
        target.http.delete(&query).await.refused_with(400, message);
    }
    target.unharmed().await;
}

#[tokio::test]
async fn a_label_selector_may_have_thousands_of_terms() {
    let target = Target::new().await;
    target.http.post(MAPS, labelled("b", "k7", "v")).await.ok();
    let (different, count) = fill(|i| format!("k{i}!%3Dv"), ",");
    assert!(count > 5_000);
    assert_eq!(
        target
            .http
            .get(&format!("{MAPS}?labelSelector={different}"))
            .await
            .names(),
        ["a"]
    );
    let (absent, _) = fill(|i| format!("!k{i}"), ",");
    assert_eq!(
        target
            .http
            .get(&format!("{MAPS}?labelSelector={absent}"))
            .await
            .names(),
        ["a"]
    );
    let (values, count) = fill(|i| format!("v{i}"), ",");
    assert!(count > 8_000);
    assert_eq!(
        target
            .http
            .get(&format!("{MAPS}?labelSelector=k7+in+(v,{values})"))
            .await
            .names(),
        ["b"]
    );
    assert_eq!(
        target
            .http
            .get(&format!("{MAPS}?labelSelector=k7+notin+(v,{values})"))
            .await
            .names(),
        ["a"]
    );
}

#[tokio::test]
async fn a_field_selector_may_have_thousands_of_terms() {
    let target = Target::new().await;
    let (different, count) = fill(|i| format!("metadata.name!%3Dv{i}"), ",");
    assert!(count > 2_000);
    assert_eq!(
        target
            .http
            .get(&format!("{MAPS}?fieldSelector={different}"))
            .await
            .names(),
        ["a"]
    );
    let (escaped, _) = fill(|_| "%5C%5C".to_owned(), "");
    let path = format!("{MAPS}?fieldSelector=metadata.name%3D{escaped}");
    assert_eq!(target.http.get(&path).await.names(), Vec::<String>::new());
    target.unharmed().await;
}

#[tokio::test]
async fn long_nonsense_is_refused_quickly() {
    let target = Target::new().await;
    for nonsense in ["(", "!", "a in (", "a=b,,", "=", "a%3Db%2C", "\\", "a>"] {
        let (text, _) = fill(|_| encoded(nonsense), "");
        let answer = target
            .http
            .get(&format!("{MAPS}?labelSelector={text}"))
            .await;
        assert!(
            matches!(answer.code, 200 | 400),
            "{nonsense}: {}",
            answer.code
        );
        let answer = target
            .http
            .get(&format!("{MAPS}?fieldSelector={text}"))
            .await;
        assert!(
            matches!(answer.code, 200 | 400),
            "{nonsense}: {}",
            answer.code
        );
    }
    target.unharmed().await;
}

#[tokio::test]
async fn a_watch_may_have_a_long_selector_too() {
    let target = Target::new().await;
    let (different, _) = fill(|i| format!("k{i}!%3Dv"), ",");
    let mut watch = target
        .http
        .watch(MAPS, &format!("labelSelector={different}"))
        .await;
    assert_eq!(watch.step().await.1, "a");
    target.http.post(MAPS, labelled("b", "k7", "v")).await.ok();
    target.http.post(MAPS, labelled("c", "k7", "w")).await.ok();
    assert_eq!(watch.step().await.1, "c");
}

#[tokio::test]
async fn queries_with_many_parameters_are_handled() {
    let target = Target::new().await;
    let (query, count) = fill(|_| "a=".to_owned(), "&");
    assert!(count > 10_000);
    assert_eq!(
        target.http.get(&format!("{MAPS}?{query}")).await.names(),
        ["a"]
    );
    let (dry, _) = fill(|_| "dryRun=All".to_owned(), "&");
    assert_eq!(
        target.http.delete(&format!("{MAPS}?{dry}")).await.names(),
        ["a"]
    );
    let (broken, _) = fill(|_| "%".to_owned(), "&%=");
    assert_eq!(
        target.http.get(&format!("{MAPS}?{broken}")).await.names(),
        ["a"]
    );
    target.unharmed().await;
}

#[test]
fn a_million_terms_are_read_in_linear_time() {
    use kubewright_machinery::{fields::FieldSelector, labels::LabelSelector};
    let terms: Vec<String> = (0..1_000_000).map(|i| format!("k{i}!=v")).collect();
    let selector = LabelSelector::parse(&terms.join(",")).expect("a selector");
    assert!(!selector.matches(|key| (key == "k999999").then_some("v")));
    assert!(selector.matches(|key| (key == "k999999").then_some("w")));
    let values: Vec<String> = (0..10_000).map(|i| format!("v{i}")).collect();
    let selector =
        LabelSelector::parse(&format!("k in ({})", values.join(","))).expect("a selector");
    assert!(selector.matches(|_| Some("v5000")));
    let terms: Vec<String> = (0..10_000)
        .map(|i| format!("metadata.name!=v{i}"))
        .collect();
    let selector = FieldSelector::parse(&terms.join(",")).expect("a selector");
    assert!(!selector.matches(|_| Some("v7".into())));
}
