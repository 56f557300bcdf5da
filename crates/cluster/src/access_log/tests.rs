use super::*;

fn user(name: &str) -> UserInfo {
    UserInfo {
        name: name.to_owned(),
        ..UserInfo::default()
    }
}

fn pods(verb: &str, namespace: &str) -> Permission {
    Permission::of_resource(verb, "", "pods", "", namespace)
}

#[test]
fn permissions_that_are_granted_later_are_not_missing() {
    let log = AccessLog::new();
    let denials = log.denials();
    log.note(&user("bob"), pods("get", "a"), false);
    assert_eq!(log.denied("bob"), [pods("get", "a")]);
    log.note(&user("bob"), pods("get", "a"), true);
    assert_eq!(log.denied("bob"), []);
    assert_eq!(log.used("bob"), [pods("get", "a")]);
    assert_eq!(*denials.borrow(), 1);
}

#[test]
fn the_number_of_permissions_is_limited() {
    let log = AccessLog::new();
    for at in 0..MAX_PERMISSIONS + 10 {
        log.note(&user("bob"), pods("get", &at.to_string()), true);
    }
    assert_eq!(log.used("bob").len(), MAX_PERMISSIONS);
    log.forget("bob");
    log.note(&user("eve"), pods("get", "a"), true);
    assert_eq!(log.all().len(), 1);
}

#[test]
fn members_of_system_masters_are_not_recorded() {
    let log = AccessLog::new();
    let mut admin = user("admin");
    admin.groups = vec![MASTERS.to_owned()];
    let attributes = Attributes::of_path(&admin, "get", "/version");
    log.decided(&attributes, &Decision::allow());
    assert_eq!(log.all(), []);
}

#[test]
fn access_to_one_object_does_not_hide_that_another_was_denied() {
    let log = AccessLog::new();
    log.note(&user("bob"), pods("get", "a").named("web"), false);
    log.note(&user("bob"), pods("get", "a").named("db"), true);
    assert_eq!(log.denied("bob"), [pods("get", "a").named("web")]);
    let all: Vec<_> = log
        .all()
        .into_iter()
        .map(|it| (it.allowed, it.permission))
        .collect();
    let expected = [
        (false, pods("get", "a").named("web")),
        (true, pods("get", "a")),
    ];
    assert_eq!(all, expected);
    log.note(&user("bob"), pods("get", "a").named("web"), true);
    assert_eq!(log.denied("bob"), []);
    assert_eq!(log.used("bob"), [pods("get", "a")]);
}

#[test]
fn many_denied_objects_are_one_missing_permission() {
    let log = AccessLog::new();
    for at in 0..=MAX_NAMES {
        log.note(&user("bob"), pods("get", "a").named(at.to_string()), false);
    }
    assert_eq!(log.denied("bob"), [pods("get", "a")]);
    log.note(&user("bob"), pods("get", "a").named("another"), false);
    assert_eq!(log.denied("bob"), [pods("get", "a")]);
    log.note(&user("bob"), pods("get", "a").named("another"), true);
    assert_eq!(log.denied("bob"), []);
}
