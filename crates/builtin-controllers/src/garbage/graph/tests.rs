use super::*;

fn identity(namespace: &str, name: &str) -> Identity {
    Identity {
        kind: "ConfigMap".into(),
        api_version: "v1".into(),
        namespace: namespace.into(),
        name: name.into(),
        uid: format!("uid-{name}").into(),
    }
}

fn owner(name: &str) -> OwnerRef {
    OwnerRef {
        kind: "ConfigMap".into(),
        api_version: "v1".into(),
        name: name.into(),
        uid: format!("uid-{name}").into(),
        blocks: false,
    }
}

fn blocking(name: &str) -> OwnerRef {
    OwnerRef {
        blocks: true,
        ..owner(name)
    }
}

fn foreground() -> Deletion {
    Deletion {
        begun: true,
        orphan: false,
        foreground: true,
    }
}

fn seen(graph: &mut Graph, name: &str, owners: &[OwnerRef]) -> Follows {
    let alive = Deletion::default();
    graph.observe(identity("a", name), owners.to_vec(), alive, None)
}

fn attempts(follows: &Follows) -> Vec<&str> {
    let mut names: Vec<&str> = follows
        .attempt
        .iter()
        .filter_map(|uid| uid.strip_prefix("uid-"))
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn an_owner_that_nobody_has_seen_is_looked_for() {
    let mut graph = Graph::default();
    let follows = seen(&mut graph, "child", &[owner("parent")]);
    assert_eq!(attempts(&follows), ["parent"]);
    assert!(graph.node("uid-parent").unwrap().is_virtual);

    assert!(seen(&mut graph, "parent", &[]).is_empty());
    assert!(!graph.node("uid-parent").unwrap().is_virtual);
}

#[test]
fn the_dependents_of_what_is_gone_are_looked_at() {
    let mut graph = Graph::default();
    seen(&mut graph, "parent", &[]);
    seen(&mut graph, "one", &[owner("parent")]);
    seen(&mut graph, "two", &[owner("parent")]);
    let follows = graph.remove(&identity("a", "parent"));
    assert_eq!(attempts(&follows), ["one", "two"]);
    assert!(graph.absent.has(&identity("a", "parent")));
    assert!(graph.node("uid-parent").is_none());
}

#[test]
fn who_waits_for_its_dependents_is_looked_at_when_one_is_gone() {
    let mut graph = Graph::default();
    seen(&mut graph, "parent", &[]);
    seen(&mut graph, "child", &[blocking("parent")]);
    let follows = graph.observe(
        identity("a", "parent"),
        Vec::new(),
        foreground(),
        Some(Deletion::default()),
    );
    assert_eq!(attempts(&follows), ["child", "parent"]);
    assert_eq!(graph.blocking_dependents("uid-parent").len(), 1);
    let follows = graph.remove(&identity("a", "child"));
    assert_eq!(attempts(&follows), ["parent"]);
    assert!(graph.blocking_dependents("uid-parent").is_empty());
}

#[test]
fn who_was_blocked_is_looked_at_when_it_is_not_any_more() {
    let mut graph = Graph::default();
    seen(&mut graph, "parent", &[]);
    seen(&mut graph, "child", &[blocking("parent")]);
    assert!(seen(&mut graph, "child", &[blocking("parent")]).is_empty());
    assert_eq!(
        attempts(&seen(&mut graph, "child", &[owner("parent")])),
        ["parent"]
    );
    seen(&mut graph, "child", &[blocking("parent")]);
    assert_eq!(attempts(&seen(&mut graph, "child", &[])), ["parent"]);
    assert!(graph.dependents("uid-parent").is_empty());
}

#[test]
fn a_deletion_that_has_begun_before_is_no_news() {
    let mut graph = Graph::default();
    seen(&mut graph, "parent", &[]);
    let see = |graph: &mut Graph, before| {
        graph.observe(identity("a", "parent"), Vec::new(), foreground(), before)
    };
    assert_eq!(attempts(&see(&mut graph, None)), ["parent"]);
    assert!(see(&mut graph, Some(foreground())).is_empty());
}

#[test]
fn who_is_to_orphan_its_dependents_is_looked_at_alone() {
    let mut graph = Graph::default();
    seen(&mut graph, "parent", &[]);
    seen(&mut graph, "child", &[owner("parent")]);
    let orphan = Deletion {
        begun: true,
        orphan: true,
        foreground: false,
    };
    let follows = graph.observe(identity("a", "parent"), Vec::new(), orphan, None);
    assert_eq!(attempts(&follows), ["parent"]);
    assert!(graph.node("uid-parent").unwrap().orphaning);
    graph.orphaned("uid-parent");
    assert!(!graph.node("uid-parent").unwrap().orphaning);
}

#[test]
fn an_owner_in_another_namespace_is_reported_whoever_is_seen_first() {
    let mut good_first = Graph::default();
    seen(&mut good_first, "parent", &[]);
    let alive = Deletion::default();
    let follows = good_first.observe(identity("b", "child"), vec![owner("parent")], alive, None);
    assert_eq!(attempts(&follows), ["child"]);
    let (dependent, named) = &follows.invalid[0];
    assert_eq!(*dependent, identity("b", "child"));
    assert_eq!(*named, identity("b", "parent"));

    let mut bad_first = Graph::default();
    bad_first.observe(identity("b", "child"), vec![owner("parent")], alive, None);
    let follows = seen(&mut bad_first, "parent", &[]);
    assert_eq!(attempts(&follows), ["child"]);
    assert_eq!(follows.invalid.len(), 1);
}

#[test]
fn an_owner_that_has_no_namespace_is_good_for_all() {
    let mut graph = Graph::default();
    let alive = Deletion::default();
    graph.observe(identity("", "parent"), Vec::new(), alive, None);
    assert!(seen(&mut graph, "child", &[owner("parent")]).is_empty());
}

#[test]
fn dependents_that_disagree_about_an_absent_owner_are_all_heard() {
    let mut graph = Graph::default();
    let other = OwnerRef {
        kind: "Secret".into(),
        ..owner("parent")
    };
    seen(&mut graph, "one", &[owner("parent")]);
    seen(&mut graph, "two", std::slice::from_ref(&other));
    // It does not exist under the first coordinates; perhaps under the second.
    let follows = graph.remove_unseen(&identity("a", "parent"));
    assert_eq!(attempts(&follows), ["one"]);
    assert_eq!(&*follows.later[0], "uid-parent");
    let node = graph.node("uid-parent").unwrap();
    assert_eq!(&*node.identity.kind, "Secret");
    // It does not exist there either. The first dependent is gone by now.
    graph.remove(&identity("a", "one"));
    let secret = other.seen_from(&"a".into());
    let follows = graph.remove_unseen(&secret);
    assert_eq!(attempts(&follows), ["two"]);
    assert!(graph.node("uid-parent").is_none());
}

#[test]
fn what_a_watch_has_shown_is_not_removed_for_a_wrong_name() {
    let mut graph = Graph::default();
    seen(&mut graph, "parent", &[]);
    let wrong = OwnerRef {
        name: "stepparent".into(),
        ..owner("parent")
    };
    assert_eq!(
        attempts(&seen(&mut graph, "child", std::slice::from_ref(&wrong))),
        ["child"]
    );
    let follows = graph.remove_unseen(&wrong.seen_from(&"a".into()));
    assert_eq!(attempts(&follows), ["child"]);
    assert!(graph.node("uid-parent").is_some());
}

#[test]
fn the_objects_of_a_kind_are_known_seen_or_not() {
    let mut graph = Graph::default();
    seen(&mut graph, "child", &[owner("unseen")]);
    let mut pod = identity("a", "pod");
    pod.kind = "Pod".into();
    graph.observe(pod, Vec::new(), Deletion::default(), None);
    let maps = ObjectKind {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
    };
    let mut found = graph.of_kind(&maps);
    found.sort();
    assert_eq!(found, [identity("a", "child"), identity("a", "unseen")]);
}

#[test]
fn an_object_may_own_itself() {
    let mut graph = Graph::default();
    assert!(seen(&mut graph, "snake", &[owner("snake")]).is_empty());
    assert!(graph.remove(&identity("a", "snake")).later.is_empty());
    assert_eq!(graph.len(), 0);
}
