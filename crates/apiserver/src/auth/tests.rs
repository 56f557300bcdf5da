use std::sync::Arc;

use http::{Method, Request};
use kubewright_derive::boxed_async;
use kubewright_machinery::Status;

use super::*;
use crate::request::{RequestInfo, UserInfo, query::Query};

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

/// Returns the name of the user that an `Authorization` header identifies.
async fn name(
    authenticator: &dyn Authenticator,
    authorization: Option<&str>,
) -> Result<Option<String>, String> {
    let parts = parts(authorization);
    let known = Credentials::new(&parts, &[])
        .authenticate(authenticator)
        .await;
    match known {
        Ok(known) => Ok(known.map(|known| known.user.name.clone())),
        Err(error) => Err(error.to_string()),
    }
}

fn refused(method: Method, uri: &str, reason: &str) -> Status {
    let uri: http::Uri = uri.parse().unwrap();
    let query = Query::parse(uri.query());
    let info = RequestInfo::new(&method, uri.path(), &query);
    let user = UserInfo {
        name: "alice".into(),
        ..UserInfo::default()
    };
    let attributes = Attributes::of_request(&user, &info, &query);
    forbidden(&attributes, &reason.to_owned().into())
}

#[test]
fn token_file_knows_users_groups_and_quotes() {
    let file = TokenFile::parse(FILE).unwrap();
    let admin = file.user("tok").unwrap();
    assert_eq!(admin.groups, ["system:masters"]);
    assert!(file.user("plain").unwrap().groups.is_empty());
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
    assert_eq!(crlf.user("t2").unwrap().groups, ["a", "b"]);
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
        let known = name(&file, Some(good)).await;
        assert_eq!(known, Ok(Some("admin".into())), "{good:?}");
    }
    for none in [
        None,
        Some(""),
        Some("Basic Zm9v"),
        Some("Bearer"),
        Some("Bearer  tok"),
        Some("tok"),
    ] {
        assert_eq!(name(&file, none).await, Ok(None), "{none:?}");
    }
    let error = name(&file, Some("Bearer bad")).await.unwrap_err();
    assert_eq!(error, "invalid bearer token");
}

#[tokio::test]
async fn a_bad_token_is_not_treated_as_anonymous() {
    let tokens: Arc<dyn Authenticator> = Arc::new(TokenFile::parse("tok,admin,0\n").unwrap());
    let more: Arc<dyn Authenticator> = Arc::new(TokenFile::parse("tok2,bob,0\n").unwrap());
    let known = Arc::new(Union::new(vec![tokens, more]));
    let all = Union::fail_on_error(vec![known, Arc::new(Anonymous)]);
    let name = async |auth: Option<&str>| name(&all, auth).await;
    assert_eq!(name(Some("Bearer tok")).await, Ok(Some("admin".into())));
    assert_eq!(
        name(Some("Bearer tok2")).await,
        Ok(Some("bob".into())),
        "the second file knows it"
    );
    let error = name(Some("Bearer bad")).await;
    assert_eq!(error, Err("invalid bearer token".into()));
    assert_eq!(name(None).await, Ok(Some("system:anonymous".into())));
}

/// Answers with an error, a user or nothing.
struct Fixed(Result<Option<UserInfo>, &'static str>);

#[boxed_async]
impl Authenticator for Fixed {
    async fn authenticate(
        &self,
        _: &Credentials<'_>,
    ) -> Result<Option<Authenticated>, AuthenticationError> {
        match &self.0 {
            Ok(user) => Ok(user.clone().map(Authenticated::from)),
            Err(text) => Err(AuthenticationError::new(*text)),
        }
    }
}

fn fixed(answers: &[Result<Option<&str>, &'static str>]) -> Vec<Arc<dyn Authenticator>> {
    let user = |name: &str| UserInfo {
        name: name.to_owned(),
        ..UserInfo::default()
    };
    let one = |answer: &Result<Option<&str>, &'static str>| {
        let answer = answer.map(|name| name.map(user));
        Arc::new(Fixed(answer)) as Arc<dyn Authenticator>
    };
    answers.iter().map(one).collect()
}

#[tokio::test]
async fn errors_of_several_authenticators_are_joined_unless_one_knows_the_user() {
    let failing = Union::new(fixed(&[Err("no key"), Ok(None), Err("too late")]));
    assert_eq!(
        name(&failing, None).await,
        Err("[no key, too late]".to_owned())
    );
    let known = Union::new(fixed(&[Err("no key"), Ok(Some("ali")), Err("too late")]));
    assert_eq!(name(&known, None).await, Ok(Some("ali".to_owned())));
    let strict = Union::fail_on_error(fixed(&[Ok(None), Err("no key"), Ok(Some("ali"))]));
    assert_eq!(name(&strict, None).await, Err("no key".to_owned()));
}

#[tokio::test]
async fn known_users_get_the_group_of_the_authenticated_once() {
    let groups = async |user: UserInfo| {
        let parts = parts(None);
        let known = Credentials::new(&parts, &[])
            .authenticate(&Fixed(Ok(Some(user))))
            .await;
        known.unwrap().unwrap().user.groups.clone()
    };
    let user = |name: &str, groups: &[&str]| UserInfo {
        name: name.to_owned(),
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
        ..UserInfo::default()
    };
    assert_eq!(
        groups(user("a", &["dev"])).await,
        ["dev", "system:authenticated"]
    );
    assert_eq!(
        groups(user("a", &[AUTHENTICATED, "dev"])).await,
        [AUTHENTICATED, "dev"]
    );
    assert_eq!(
        groups(user("a", &[UNAUTHENTICATED])).await,
        [UNAUTHENTICATED]
    );
    assert!(groups(user(ANONYMOUS, &[])).await.is_empty());
}

#[test]
fn credentials_are_for_the_server_unless_their_audiences_are_others() {
    let known = |audiences: Option<&[&str]>| Authenticated {
        audiences: audiences.map(|list| list.iter().map(|&a| a.to_owned()).collect()),
        ..Authenticated::default()
    };
    let server = ["api".to_owned(), "other".to_owned()];
    assert!(known(None).is_for(&server));
    assert!(known(Some(&[])).is_for(&server));
    assert!(known(Some(&["x", "api"])).is_for(&server));
    assert!(!known(Some(&["x"])).is_for(&server));
    assert!(known(Some(&["x"])).is_for(&[]));
}

/// Decides always the same.
struct Decided(Decision);

#[boxed_async]
impl Authorizer for Decided {
    async fn authorize(&self, _: &Attributes<'_>) -> Decision {
        self.0.clone()
    }
}

#[tokio::test]
async fn the_first_opinion_counts_and_without_one_all_reasons_are_shown() {
    let user = UserInfo::default();
    let decide = async |decisions: Vec<Decision>| {
        let members = decisions.into_iter();
        let members = members.map(|d| Arc::new(Decided(d)) as Arc<dyn Authorizer>);
        let attributes = Attributes::of_path(&user, "get", "/");
        AuthorizerUnion::new(members.collect())
            .authorize(&attributes)
            .await
    };
    let none = || Decision::no_opinion("first").with_error("broken");
    let denied = Decision::deny("never");
    assert_eq!(
        decide(vec![none(), denied.clone(), Decision::allow()]).await,
        denied
    );
    let allowed = Decision::allow_because("on duty");
    assert_eq!(
        decide(vec![none(), allowed.clone(), denied]).await,
        allowed,
        "an error does not matter if another authorizer allows"
    );
    let open = decide(vec![
        none(),
        Decision::no_opinion(""),
        Decision::no_opinion("second").with_error("lost"),
    ])
    .await;
    let expected = Decision::no_opinion("first\nsecond").with_error("[broken, lost]");
    assert_eq!(open, expected);
    assert_eq!(decide(Vec::new()).await, Decision::no_opinion(""));
}

#[tokio::test]
async fn rules_of_several_authorizers_are_listed_together() {
    let union = AuthorizerUnion::new(vec![
        Arc::new(PrivilegedGroups::new([MASTERS])),
        Arc::new(AlwaysAllow),
        Arc::new(Decided(Decision::allow())),
    ]);
    let rules = union.rules_for(&UserInfo::default(), "default").await;
    assert_eq!(rules.resource_rules.len(), 1);
    assert_eq!(rules.non_resource_rules.len(), 1);
    assert!(rules.incomplete, "an authorizer did not list its rules");
    assert_eq!(rules.errors.len(), 1);
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
    let query = Query::parse(Some("labelSelector=a%3Db&fieldSelector=x%3Dy&watch=1"));
    let selectors = |path: &str| {
        let info = RequestInfo::new(&Method::GET, path, &query);
        let attributes = Attributes::of_request(&user, &info, &query);
        let resource = attributes.resource().expect("a resource");
        let field = resource.field_selector.parsed().unwrap();
        let label = resource.label_selector.parsed().unwrap();
        (
            field.map(|selector| selector.to_string()),
            label.map(|selector| selector.to_string()),
        )
    };
    let given = (Some("x=y".to_owned()), Some("a=b".to_owned()));
    assert_eq!(selectors("/api/v1/pods"), given);
    assert_eq!(
        selectors("/api/v1/namespaces/a/pods/x/status"),
        (None, None)
    );
    assert_eq!(
        selectors("/api/v1/watch/pods"),
        (None, None),
        "the deprecated way to watch does not select consistently"
    );
}

#[test]
fn a_selected_name_is_that_of_reads_only() {
    let user = UserInfo::default();
    let name = |method: Method, query: &str| {
        let query = Query::parse(Some(query));
        let info = RequestInfo::new(&method, "/api/v1/pods", &query);
        let attributes = Attributes::of_request(&user, &info, &query);
        attributes.resource().expect("a resource").name.to_owned()
    };
    let one = "fieldSelector=metadata.name%3Dabc";
    assert_eq!(name(Method::GET, one), "abc");
    assert_eq!(name(Method::DELETE, one), "");
    assert_eq!(name(Method::GET, "fieldSelector=metadata.name%3Da%2Fb"), "");
}

#[test]
fn other_methods_are_verbs_of_paths_and_none_of_resources() {
    let user = UserInfo::default();
    let verb = |method: &str, path: &str| {
        let (method, query) = (method.parse::<Method>().unwrap(), Query::default());
        let info = RequestInfo::new(&method, path, &query);
        Attributes::of_request(&user, &info, &query).verb.to_owned()
    };
    assert_eq!(verb("OPTIONS", "/healthz"), "options");
    assert_eq!(verb("HEAD", "/healthz"), "head");
    assert_eq!(verb("HEAD", "/api/v1/pods/x"), "get");
    assert_eq!(verb("POST", "/api/v1/proxy/namespaces/a/pods/x"), "proxy");
    assert_eq!(verb("GET", "/api/v1/proxy"), "list");
    assert_eq!(verb("OPTIONS", "/api/v1/pods/x"), "");
}
