use std::sync::Arc;

use http::{Method, Request};
use kubewright_machinery::Status;

use super::*;
use crate::request::{RequestInfo, query::Query};

const FILE: &str = "\
tok,admin,0,\"system:masters\"
usertok,alice,1001,\"dev,ops\"

plain,bob,1002
\"quo\"\"ted\",\"carol, the second\",1003,\"a
b\"
,nobody,1
usertok,eve,1004
";

fn parts(authorization: Option<&str>) -> http::request::Parts {
    let mut request = Request::builder().uri("/api");
    if let Some(value) = authorization {
        request = request.header("authorization", value);
    }
    request.body(()).unwrap().into_parts().0
}

fn refused(method: Method, uri: &str, reason: &str) -> Status {
    let uri: http::Uri = uri.parse().unwrap();
    let query = Query::parse(uri.query());
    let info = RequestInfo::new(&method, uri.path(), &query);
    let user = UserInfo {
        name: "alice".into(),
        ..UserInfo::default()
    };
    forbidden(&Attributes::new(&user, &info, &method, &query), reason)
}

#[test]
fn token_file_knows_users_groups_and_quotes() {
    let file = TokenFile::parse(FILE).unwrap();
    let admin = file.user("tok").unwrap();
    assert_eq!(admin.groups, ["system:masters", "system:authenticated"]);
    assert_eq!(file.user("plain").unwrap().groups, ["system:authenticated"]);
    let carol = file.user("quo\"ted").unwrap();
    assert_eq!(
        (carol.name.as_str(), carol.uid.as_str()),
        ("carol, the second", "1003")
    );
    assert_eq!(carol.groups[0], "a\nb");
    assert_eq!(
        file.user("usertok").unwrap().name,
        "eve",
        "the later record counts"
    );
    assert_eq!(file.user(""), None, "empty tokens are left out");
    let crlf = TokenFile::parse("t,u,1\r\nt2,u2,2,\"a,b\"\r\n").unwrap();
    assert_eq!(crlf.user("t").unwrap().uid, "1");
    assert_eq!(
        crlf.user("t2").unwrap().groups,
        ["a", "b", "system:authenticated"]
    );
}

#[test]
fn bad_token_files_are_errors_that_name_the_line() {
    let cases = [
        (
            "a,b,1\nonly,two\n",
            "line 2: a token record must have at least 3 columns (token, user name, user uid), found 2",
        ),
        (
            "# comment\n",
            "line 1: a token record must have at least 3 columns (token, user name, user uid), found 1",
        ),
        (
            "to\"k,u,1\n",
            "line 1: bare \" in a field that is not quoted",
        ),
        (
            "a,b,1\n\"tok,u,1",
            "line 2: extraneous or missing \" in a quoted field",
        ),
        (
            "\"tok\"x,u,1\n",
            "line 1: extraneous or missing \" in a quoted field",
        ),
        (
            "\"a\nb\",u,1\n\nc,d\n",
            "line 4: a token record must have at least 3 columns (token, user name, user uid), found 2",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(
            TokenFile::parse(text).unwrap_err().to_string(),
            message,
            "{text:?}"
        );
    }
    assert!(
        TokenFile::parse("\n\n").is_ok(),
        "empty lines are no records"
    );
}

#[tokio::test]
async fn bearer_tokens_are_read_as_the_real_server_reads_them() {
    let file = TokenFile::parse("tok,admin,0\n").unwrap();
    for good in [
        "Bearer tok",
        "bearer tok",
        "BEARER tok",
        "  Bearer tok  ",
        "Bearer tok more",
    ] {
        let user = file.authenticate(&parts(Some(good))).await.unwrap();
        assert_eq!(user.map(|u| u.name).as_deref(), Some("admin"), "{good:?}");
    }
    for none in [
        None,
        Some(""),
        Some("Basic Zm9v"),
        Some("Bearer"),
        Some("Bearer  tok"),
        Some("tok"),
    ] {
        assert_eq!(
            file.authenticate(&parts(none)).await.unwrap(),
            None,
            "{none:?}"
        );
    }
    let error = file
        .authenticate(&parts(Some("Bearer bad")))
        .await
        .unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (401, "Unauthorized"));
}

#[tokio::test]
async fn a_bad_token_is_not_let_in_as_anonymous() {
    let tokens: Arc<dyn Authenticator> = Arc::new(TokenFile::parse("tok,admin,0\n").unwrap());
    let more: Arc<dyn Authenticator> = Arc::new(TokenFile::parse("tok2,bob,0\n").unwrap());
    let known = Arc::new(Union::new(vec![tokens, more]));
    let all = Union::fail_on_error(vec![known, Arc::new(Anonymous)]);
    let name = async |auth: Option<&str>| {
        all.authenticate(&parts(auth))
            .await
            .map(|user| user.map(|u| u.name))
            .map_err(|e| e.code)
    };
    assert_eq!(name(Some("Bearer tok")).await, Ok(Some("admin".into())));
    assert_eq!(
        name(Some("Bearer tok2")).await,
        Ok(Some("bob".into())),
        "the second file knows it"
    );
    assert_eq!(name(Some("Bearer bad")).await, Err(401));
    assert_eq!(name(None).await, Ok(Some("system:anonymous".into())));
}

#[tokio::test]
async fn always_allow_allows() {
    let (user, query) = (UserInfo::default(), Query::default());
    let info = RequestInfo::new(&Method::GET, "/foo", &query);
    let attributes = Attributes::new(&user, &info, &Method::GET, &query);
    assert_eq!(AlwaysAllow.authorize(&attributes).await, Decision::Allow);
}

#[test]
fn refusals_read_like_those_of_the_real_server() {
    let cases = [
        (
            Method::GET,
            "/api/v1/namespaces/default/pods",
            r#"pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default""#,
            ("", "", "pods"),
        ),
        (
            Method::GET,
            "/api/v1/nodes",
            r#"nodes is forbidden: User "alice" cannot list resource "nodes" in API group "" at the cluster scope"#,
            ("", "", "nodes"),
        ),
        (
            Method::GET,
            "/apis/apps/v1/namespaces/default/deployments/a/scale",
            r#"deployments.apps "a" is forbidden: User "alice" cannot get resource "deployments/scale" in API group "apps" in the namespace "default""#,
            ("a", "apps", "deployments"),
        ),
        (
            Method::GET,
            "/api/v1/namespaces/abc",
            r#"namespaces "abc" is forbidden: User "alice" cannot get resource "namespaces" in API group "" in the namespace "abc""#,
            ("abc", "", "namespaces"),
        ),
        (
            Method::GET,
            "/api/v1/namespaces/default/pods?fieldSelector=metadata.name%3Dabc",
            r#"pods "abc" is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default""#,
            ("abc", "", "pods"),
        ),
        (
            Method::GET,
            "/api/v1/pods?watch=1",
            r#"pods is forbidden: User "alice" cannot watch resource "pods" in API group "" at the cluster scope"#,
            ("", "", "pods"),
        ),
        (
            Method::DELETE,
            "/api/v1/namespaces/default/pods",
            r#"pods is forbidden: User "alice" cannot deletecollection resource "pods" in API group "" in the namespace "default""#,
            ("", "", "pods"),
        ),
        (
            Method::GET,
            "/foo",
            r#"forbidden: User "alice" cannot get path "/foo""#,
            ("", "", ""),
        ),
        (
            Method::POST,
            "/foo",
            r#"forbidden: User "alice" cannot post path "/foo""#,
            ("", "", ""),
        ),
        (
            Method::GET,
            "/%3Cb%3E",
            r#"forbidden: User "alice" cannot get path "/&lt;b&gt;""#,
            ("", "", ""),
        ),
    ];
    for (method, uri, message, (name, group, kind)) in cases {
        let status = refused(method, uri, "");
        assert_eq!(status.message, message);
        assert_eq!((status.code, status.reason.as_str()), (403, "Forbidden"));
        let details = status.details.expect("details are there even if empty");
        assert_eq!(
            (&*details.name, &*details.group, &*details.kind),
            (name, group, kind),
            "{uri}"
        );
    }
    let status = refused(Method::GET, "/foo", "RBAC: not yet");
    assert_eq!(
        status.message,
        r#"forbidden: User "alice" cannot get path "/foo": RBAC: not yet"#
    );
}

#[test]
fn attributes_show_selectors_only_where_they_select() {
    let user = UserInfo::default();
    let query = Query::parse(Some("labelSelector=a%3Db&fieldSelector=x%3Dy"));
    let info = RequestInfo::new(&Method::GET, "/api/v1/pods", &query);
    let list = Attributes::new(&user, &info, &Method::GET, &query);
    assert_eq!(
        (list.label_selector(), list.field_selector()),
        (Some("a=b"), Some("x=y"))
    );
    assert_eq!(list.verb(), "list");
    let info = RequestInfo::new(&Method::GET, "/api/v1/namespaces/a/pods/x/status", &query);
    let get = Attributes::new(&user, &info, &Method::GET, &query);
    assert_eq!((get.label_selector(), get.field_selector()), (None, None));
    assert_eq!(get.resource_and_subresource(), "pods/status");
}
