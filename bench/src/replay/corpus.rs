//! Pods of 6.9 KB, determined by their number, and the digest of a cache with all of them.

use std::fmt::Write as _;

/// Returns the version of a pod when it is listed.
pub(crate) fn listed_version(i: u64) -> u64 {
    1000 + i
}

/// Returns the version that a change gives a pod.
pub(crate) fn changed_version(event: u64) -> u64 {
    2_000_000 + event
}

/// Returns the pod that a change is about.
pub(crate) fn changed_pod(event: u64, pods: u64) -> u64 {
    event.wrapping_mul(7919) % pods.max(1)
}

pub(crate) use kubewright_bench_operator::Digest;

/// Returns the digest of a cache with all pods after a number of changes.
pub(crate) fn expected(pods: u64, events: u64) -> String {
    let mut versions: Vec<u64> = (0..pods).map(listed_version).collect();
    for event in 0..events {
        if let Some(version) = versions.get_mut(changed_pod(event, pods) as usize) {
            *version = changed_version(event);
        }
    }
    let mut digest = Digest::default();
    for (i, version) in (0..pods).zip(versions) {
        let name = name(i);
        let key = format!("team-{}/{name}", i % 50);
        digest.add(&key, &uid(i), &version.to_string());
    }
    digest.text()
}

fn hash(i: u64) -> u64 {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn suffix(app: u64) -> u64 {
    (app * 2_654_435_761) & 0xffff_ffff
}

fn name(i: u64) -> String {
    let app = i % 200;
    format!("web-{app}-{:08x}-{i:06}", suffix(app))
}

fn uid(i: u64) -> String {
    let hash = hash(i);
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        hash >> 32,
        (hash >> 16) & 0xffff,
        hash & 0xfff,
        i & 0xfff,
        hash & 0xffff_ffff_ffff
    )
}

/// Returns the JSON of a pod as in a watch, with its kind.
pub(super) fn watched_pod(i: u64, version: u64, out: &mut String) {
    out.push_str(r#"{"kind":"Pod","apiVersion":"v1","#);
    body(i, version, out);
}

/// Returns the JSON of a pod as in a list.
pub(super) fn pod(i: u64, version: u64, out: &mut String) {
    out.push('{');
    body(i, version, out);
}

/// Writes everything after the opening brace.
fn body(i: u64, version: u64, out: &mut String) {
    let hash = hash(i);
    let (name, uid) = (name(i), uid(i));
    let app = i % 200;
    let namespace = i % 50;
    let _ = write!(
        out,
        r#""metadata":{{"name":"{name}","generateName":"web-{app}-{suffix:08x}-","namespace":"team-{namespace}","uid":"{uid}","resourceVersion":"{version}","creationTimestamp":"2026-03-01T10:{m:02}:{s:02}Z","labels":{{"app.kubernetes.io/name":"web-{app}","app.kubernetes.io/instance":"web-{app}-{namespace}","app.kubernetes.io/version":"1.{app}.3","pod-template-hash":"{suffix:08x}","team":"team-{namespace}","tier":"frontend"}},"annotations":{{"prometheus.io/scrape":"true","prometheus.io/port":"9090","checksum/config":"{hash:016x}{hash:016x}{hash:016x}{hash:016x}"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-{app}-{suffix:08x}","uid":"{uid}","controller":true,"blockOwnerDeletion":true}}],"managedFields":["#,
        suffix = suffix(app),
        m = i / 60 % 60,
        s = i % 60,
    );
    managed_fields(out);
    let _ = write!(
        out,
        r#"]}},"spec":{{"volumes":[{{"name":"config","configMap":{{"name":"web-{app}-config","defaultMode":420}}}},{{"name":"kube-api-access-{x:05x}","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}},{{"downwardAPI":{{"items":[{{"path":"namespace","fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.namespace"}}}}]}}}}],"defaultMode":420}}}}],"containers":["#,
        x = hash & 0xf_ffff,
    );
    container(out, "web", app);
    out.push(',');
    container(out, "sidecar", app);
    let _ = write!(
        out,
        r#"],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"web-{app}","serviceAccount":"web-{app}","nodeName":"node-{node:04}","securityContext":{{"runAsNonRoot":true,"runAsUser":1000,"fsGroup":2000}},"schedulerName":"default-scheduler","tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}},"status":{{"phase":"Running","conditions":["#,
        node = i % 1000,
    );
    for (n, condition) in [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    .iter()
    .enumerate()
    {
        let comma = if n == 0 { "" } else { "," };
        let _ = write!(
            out,
            r#"{comma}{{"type":"{condition}","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-01T10:00:1{n}Z"}}"#
        );
    }
    let _ = write!(
        out,
        r#"],"hostIP":"10.0.{a}.{b}","hostIPs":[{{"ip":"10.0.{a}.{b}"}}],"podIP":"10.128.{a}.{b}","podIPs":[{{"ip":"10.128.{a}.{b}"}}],"startTime":"2026-03-01T10:00:00Z","containerStatuses":["#,
        a = i / 256 % 256,
        b = i % 256,
    );
    for (n, name) in ["web", "sidecar"].iter().enumerate() {
        let comma = if n == 0 { "" } else { "," };
        let _ = write!(
            out,
            r#"{comma}{{"name":"{name}","state":{{"running":{{"startedAt":"2026-03-01T10:00:12Z"}}}},"lastState":{{}},"ready":true,"restartCount":0,"image":"registry.example.com/team/{name}:1.{app}.3","imageID":"registry.example.com/team/{name}@sha256:{hash:016x}{hash:016x}{hash:016x}{hash:016x}","containerID":"containerd://{hash:016x}{hash:016x}{hash:016x}{hash:016x}","started":true}}"#
        );
    }
    out.push_str(r#"],"qosClass":"Burstable","observedGeneration":1}}"#);
}

fn container(out: &mut String, name: &str, app: u64) {
    let _ = write!(
        out,
        r#"{{"name":"{name}","image":"registry.example.com/team/{name}:1.{app}.3","args":["--config=/etc/{name}/config.yaml","--log-level=info"],"ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}},{{"name":"metrics","containerPort":9090,"protocol":"TCP"}}],"env":["#
    );
    for n in 0..2 {
        let comma = if n == 0 { "" } else { "," };
        let _ = write!(
            out,
            r#"{comma}{{"name":"SETTING_{n}","value":"value-{n}-of-{name}-{app}"}}"#
        );
    }
    let _ = write!(
        out,
        r#",{{"name":"POD_IP","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"status.podIP"}}}}}}],"resources":{{"limits":{{"cpu":"1","memory":"512Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"volumeMounts":[{{"name":"config","mountPath":"/etc/{name}"}},{{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"livenessProbe":{{"httpGet":{{"path":"/healthz","port":8080,"scheme":"HTTP"}},"initialDelaySeconds":10,"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}}"#
    );
}

fn managed_fields(out: &mut String) {
    out.push_str(r#"{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-03-01T10:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/instance":{},"f:app.kubernetes.io/name":{},"f:app.kubernetes.io/version":{},"f:pod-template-hash":{},"f:team":{},"f:tier":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"b3b0b9f6-7b1e-4a51-9f0e-2f6a3d8c1e55\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"sidecar\"}":{".":{},"f:args":{},"f:env":{".":{},"k:{\"name\":\"POD_IP\"}":{".":{},"f:name":{},"f:valueFrom":{".":{},"f:fieldRef":{}}}},"f:image":{},"f:imagePullPolicy":{},"f:name":{}},"k:{\"name\":\"web\"}":{".":{},"f:args":{},"f:env":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}},{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-03-01T10:00:14Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:podIP":{},"f:startTime":{}}},"subresource":"status"}"#);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_the_pods_as_they_are_sent_is_the_expected_one() {
        let mut digest = Digest::default();
        for i in 0..10 {
            let mut text = String::new();
            pod(i, listed_version(i), &mut text);
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            let field = |name: &str| value["metadata"][name].as_str().unwrap();
            let key = format!("{}/{}", field("namespace"), field("name"));
            digest.add(&key, field("uid"), field("resourceVersion"));
        }
        assert_eq!(digest.text(), expected(10, 0));
        assert_ne!(expected(10, 0), expected(10, 1));
        assert_ne!(expected(10, 0), expected(9, 0));
    }

    #[test]
    fn a_pod_has_about_seven_kilobytes() {
        let mut text = String::new();
        pod(7, 1, &mut text);
        assert!((6500..7300).contains(&text.len()), "{}", text.len());
    }
}
