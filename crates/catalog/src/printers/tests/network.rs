use serde_json::{Value, json};

use super::{assert_row, cell, cells};

#[test]
fn services_show_addresses_and_ports() {
    let service = json!({"spec": {
        "type": "NodePort",
        "clusterIP": "10.96.0.1",
        "clusterIPs": ["10.96.0.1", "fd00::1"],
        "ports": [
            {"port": 80, "nodePort": 30080, "protocol": "TCP"},
            {"port": 53, "protocol": "UDP"},
        ],
        "selector": {"b": "2", "a": "1"},
    }});
    assert_row(
        cells("", "Service", service),
        json!([
            "it",
            "NodePort",
            "10.96.0.1",
            "<none>",
            "80:30080/TCP,53/UDP",
            "5m",
            "a=1,b=2"
        ]),
    );
}

#[test]
fn a_headless_service_without_ports_shows_none() {
    let service =
        json!({"spec": {"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"]}});
    assert_row(
        cells("", "Service", service),
        json!([
            "it",
            "ClusterIP",
            "None",
            "<none>",
            "<none>",
            "5m",
            "<none>"
        ]),
    );
}

#[test]
fn external_addresses_depend_on_the_type_of_service() {
    let external = |spec: Value, ingress: Value| {
        let service = json!({"spec": spec, "status": {"loadBalancer": {"ingress": ingress}}});
        cell("", "Service", "External-IP", service)
    };
    let balancer = json!([{"hostname": "z.example.com"}, {"ip": "1.1.1.1"}, {"ip": "1.1.1.1"}]);
    let with_ips = |ty: &str| json!({"type": ty, "externalIPs": ["9.9.9.9", "8.8.8.8"]});
    assert_eq!(
        external(with_ips("ClusterIP"), json!([])),
        "9.9.9.9,8.8.8.8"
    );
    assert_eq!(
        external(json!({"type": "LoadBalancer"}), json!([])),
        "<pending>"
    );
    assert_eq!(
        external(json!({"type": "LoadBalancer"}), balancer.clone()),
        "1.1.1.1,z.example.com"
    );
    assert_eq!(
        external(with_ips("LoadBalancer"), balancer),
        "1.1.1.1,z.example.com,9.9.9.9,8.8.8.8"
    );
    assert_eq!(
        external(with_ips("LoadBalancer"), json!([])),
        "9.9.9.9,8.8.8.8"
    );
    let name = json!({"type": "ExternalName", "externalName": "example.com"});
    assert_eq!(external(name, json!([])), "example.com");
    assert_eq!(external(json!({}), json!([])), "<unknown>");
}

#[test]
fn endpoints_show_three_addresses_and_how_many_more() {
    let endpoints =
        |subsets: Value| cell("", "Endpoints", "Endpoints", json!({"subsets": subsets}));
    let addresses = json!([{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]);
    assert_eq!(endpoints(json!([])), "<none>");
    assert_eq!(endpoints(json!([{"notReadyAddresses": addresses}])), "");
    assert_eq!(
        endpoints(json!([{"addresses": addresses}])),
        "10.0.0.1,10.0.0.2"
    );
    assert_eq!(
        endpoints(json!([{"addresses": [{"ip": "fd00::1"}], "ports": [{"port": 80}]}])),
        "[fd00::1]:80"
    );
    assert_eq!(
        endpoints(json!([
            {"addresses": addresses, "ports": [{"port": 80}, {"port": 443}]},
            {"addresses": addresses},
        ])),
        "10.0.0.1:80,10.0.0.2:80,10.0.0.1:443 + 3 more..."
    );
}

#[test]
fn endpoint_slices_show_ports_and_addresses_cut_short() {
    let slice = json!({
        "addressType": "IPv4",
        "ports": [{"port": 80}, {"name": "named"}, {}],
        "endpoints": [
            {"addresses": ["10.0.0.1", "10.0.0.2"]},
            {"addresses": ["10.0.0.3", "10.0.0.4", "10.0.0.5"]},
        ],
    });
    let addresses = "10.0.0.1,10.0.0.2,10.0.0.3 + 2 more...";
    assert_row(
        cells("discovery.k8s.io", "EndpointSlice", slice),
        json!(["it", "IPv4", "80,named,*", addresses, "5m"]),
    );
    assert_row(
        cells(
            "discovery.k8s.io",
            "EndpointSlice",
            json!({"addressType": "IPv6"}),
        ),
        json!(["it", "IPv6", "<unset>", "<unset>", "5m"]),
    );
}

#[test]
fn ingresses_show_hosts_address_and_ports() {
    let ingress = json!({
        "spec": {
            "ingressClassName": "nginx",
            "rules": [{"host": "a.io"}, {"http": {}}, {"host": "b.io"}],
            "tls": [{"hosts": ["a.io"]}],
        },
        "status": {"loadBalancer": {"ingress": [{"hostname": "a-very-long-name.example.com"}]}},
    });
    assert_row(
        cells("networking.k8s.io", "Ingress", ingress),
        json!([
            "it",
            "nginx",
            "a.io,b.io",
            "a-very-long-name.example.com",
            "80, 443",
            "5m"
        ]),
    );
    assert_row(
        cells("networking.k8s.io", "Ingress", json!({})),
        json!(["it", "<none>", "*", "", "80", "5m"]),
    );
}

#[test]
fn hosts_beyond_the_third_are_counted_by_rules() {
    let hosts = |hosts: &[&str]| {
        let rules: Vec<Value> = hosts.iter().map(|host| json!({"host": host})).collect();
        cell(
            "networking.k8s.io",
            "Ingress",
            "Hosts",
            json!({"spec": {"rules": rules}}),
        )
    };
    assert_eq!(hosts(&["a", "b", "c"]), "a,b,c");
    assert_eq!(hosts(&["a", "", "b", "c", "d"]), "a,b,c + 2 more...");
}

#[test]
fn ingress_classes_show_parameters_and_mark_the_default() {
    let class = json!({
        "metadata": {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
        "spec": {
            "controller": "example.com/c",
            "parameters": {"apiGroup": "k.example.com", "kind": "P", "name": "n"},
        },
    });
    assert_row(
        cells("networking.k8s.io", "IngressClass", class),
        json!(["it (default)", "example.com/c", "P.k.example.com/n", "5m"]),
    );
    let class = json!({"spec": {"controller": "c", "parameters": {"kind": "P", "name": "n"}}});
    let parameters = cell("networking.k8s.io", "IngressClass", "Parameters", class);
    assert_eq!(parameters, "P/n");
}

#[test]
fn network_policies_show_their_selector() {
    let policy = json!({"spec": {"podSelector": {"matchLabels": {"app": "web"}}}});
    assert_row(
        cells("networking.k8s.io", "NetworkPolicy", policy),
        json!(["it", "app=web", "5m"]),
    );
    let everything = json!({"spec": {"podSelector": {}}});
    assert_eq!(
        cell(
            "networking.k8s.io",
            "NetworkPolicy",
            "Pod-Selector",
            everything
        ),
        "<none>"
    );
}

#[test]
fn addresses_show_their_parent_and_an_age_without_column() {
    let address = json!({"spec": {"parentRef": {
        "group": "", "resource": "services", "namespace": "default", "name": "kubernetes",
    }}});
    assert_row(
        cells("networking.k8s.io", "IPAddress", address),
        json!(["it", "services/default/kubernetes", "5m"]),
    );
    let address = json!({"spec": {"parentRef": {
        "group": "Example.com", "resource": "things", "name": "one",
    }}});
    let parent = cell("networking.k8s.io", "IPAddress", "ParentRef", address);
    assert_eq!(parent, "things.example.com/one");
}

#[test]
fn service_cidrs_show_their_ranges() {
    let cidr = json!({"spec": {"cidrs": ["10.0.0.0/24", "fd00::/112"]}});
    assert_row(
        cells("networking.k8s.io", "ServiceCIDR", cidr),
        json!(["it", "10.0.0.0/24,fd00::/112", "5m"]),
    );
}
