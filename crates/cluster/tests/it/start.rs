//! Starting a cluster: sockets, identities, controllers.

use std::time::{Duration, SystemTime};

use k8s_openapi::api::{
    authentication::v1::SelfSubjectReview,
    core::v1::{ConfigMap, Namespace},
};
use kube::{
    Api, Client, Config,
    api::PostParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_cluster::{
    CertificateAuthority, CertifiedKey, Cluster, Controllers, Endpoint, Error, ServingCertificate,
    Tokens,
};

pub(crate) async fn client_of(endpoint: &Endpoint) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(&endpoint.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.unwrap()).unwrap()
}

async fn user_of(client: Client) -> String {
    let reviews: Api<SelfSubjectReview> = Api::all(client);
    let review = SelfSubjectReview::default();
    let review = reviews
        .create(&PostParams::default(), &review)
        .await
        .unwrap();
    review.status.unwrap().user_info.unwrap().username.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_needs_no_socket() {
    let cluster = Cluster::builder().start().await.unwrap();
    assert!(cluster.endpoint().is_none());
    let namespaces: Api<Namespace> = Api::all(cluster.client());
    assert!(namespaces.get_opt("default").await.unwrap().is_some());
    assert_eq!(user_of(cluster.client()).await, "admin");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kubeconfig_authenticates_as_the_first_user() {
    let tokens = Tokens::parse("s3cret,alice,1,\"system:masters\"\nother,bob,2\n").unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let cluster = Cluster::builder().tokens(tokens).listen(address);
    let cluster = cluster.start().await.unwrap();
    let client = client_of(cluster.endpoint().unwrap()).await;
    assert_eq!(user_of(client).await, "alice");
    assert_eq!(user_of(cluster.client()).await, "alice");

    let further = cluster.listen(address).await.unwrap();
    assert_eq!(user_of(client_of(&further).await).await, "alice");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_in_use_is_an_error_that_names_it() {
    let address = "127.0.0.1:0".parse().unwrap();
    let first = Cluster::builder().listen(address).start().await.unwrap();
    let taken = first.endpoint().unwrap().address();
    let second = Cluster::builder().listen(taken).start().await;
    let error = second.err().unwrap();
    assert!(matches!(error, Error::Listen { .. }), "{error}");
    assert!(error.to_string().contains(&taken.to_string()), "{error}");
}

/// Returns the authority that the controllers publish in the namespace `default`.
async fn published_authority(cluster: &Cluster) -> String {
    cluster.settled(Duration::from_secs(60)).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let map = maps.get("kube-root-ca.crt").await.unwrap();
    map.data.unwrap()["ca.crt"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_publish_the_authority_of_the_endpoint() {
    let cluster = Cluster::builder()
        .controllers(Controllers::default())
        .listen("127.0.0.1:0".parse().unwrap())
        .start()
        .await
        .unwrap();
    let published = published_authority(&cluster).await;
    assert_eq!(published, cluster.endpoint().unwrap().ca_pem());
    cluster.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_of_a_cluster_without_a_socket_publish_its_authority() {
    let cluster = Cluster::builder().controllers(Controllers::default());
    let cluster = cluster.start().await.unwrap();
    let published = published_authority(&cluster).await;
    assert_eq!(published, cluster.authority().certificate_pem());
}

#[tokio::test(flavor = "multi_thread")]
async fn authorities_are_published_for_extension_servers() {
    let proxies = CertificateAuthority::generate("proxies", SystemTime::now()).unwrap();
    let cluster = Cluster::builder().front_proxy_authority(proxies.clone());
    let cluster = cluster.start().await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "kube-system");
    let told = maps
        .get("extension-apiserver-authentication")
        .await
        .unwrap();
    let told = told.data.unwrap();
    let unix = |text: &str| text.replace('\r', "");
    let authority = cluster.authority().certificate_pem();
    assert_eq!(told["client-ca-file"], unix(authority));
    let proxies = unix(proxies.certificate_pem());
    assert_eq!(told["requestheader-client-ca-file"], proxies);
}

#[tokio::test(flavor = "multi_thread")]
async fn further_users_have_contexts_with_credentials() {
    let address = "127.0.0.1:0".parse().unwrap();
    let mut cluster = Cluster::builder().listen(address).start().await.unwrap();
    let users = [
        "alice=dev,ops",
        "system:node:n1",
        "system:serviceaccount:shop:web",
    ];
    for user in users {
        let credential = cluster.credential(&user.parse().unwrap()).await.unwrap();
        cluster.endpoint_mut().unwrap().add_user(credential);
    }
    let kubeconfig = cluster.endpoint().unwrap().kubeconfig();
    for (user, groups) in [
        ("alice", &["dev", "ops", "system:authenticated"][..]),
        ("system:node:n1", &["system:nodes", "system:authenticated"]),
        (
            "system:serviceaccount:shop:web",
            &[
                "system:serviceaccounts",
                "system:serviceaccounts:shop",
                "system:authenticated",
            ],
        ),
    ] {
        let options = KubeConfigOptions {
            context: Some(user.to_owned()),
            ..KubeConfigOptions::default()
        };
        let kubeconfig = Kubeconfig::from_yaml(&kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let client = Client::try_from(config.unwrap()).unwrap();
        let reviews: Api<SelfSubjectReview> = Api::all(client);
        let review = SelfSubjectReview::default();
        let review = reviews.create(&PostParams::default(), &review).await;
        let known = review.unwrap().status.unwrap().user_info.unwrap();
        assert_eq!(known.username.as_deref(), Some(user));
        assert_eq!(known.groups.unwrap(), groups);
    }
    // A second credential of the same account is fine.
    let web = users[2].parse().unwrap();
    cluster.credential(&web).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_serving_certificate_can_be_set_and_replaced() {
    let now = std::time::SystemTime::now();
    let authority = CertificateAuthority::generate("given", now).unwrap();
    let chain = |names: [&str; 1]| {
        let own = authority.sign_server(names, now).unwrap();
        CertifiedKey {
            certificate_pem: format!("{}{}", own.certificate_pem, authority.certificate_pem()),
            ..own
        }
    };
    let cluster = Cluster::builder()
        .listen("127.0.0.1:0".parse().unwrap())
        .serving_certificate(ServingCertificate::Pem(chain(["127.0.0.1"])))
        .start()
        .await
        .unwrap();
    let endpoint = cluster.endpoint().unwrap();
    assert_eq!(endpoint.ca_pem(), authority.certificate_pem());
    assert_eq!(user_of(client_of(endpoint).await).await, "admin");
    // The certificate of another name is served, and no longer trusted.
    endpoint.replace_certificate(&chain(["elsewhere"])).unwrap();
    let reviews: Api<SelfSubjectReview> = Api::all(client_of(endpoint).await);
    let review = SelfSubjectReview::default();
    let refused = reviews.create(&PostParams::default(), &review).await;
    assert!(refused.is_err());
    let missing = Cluster::builder()
        .listen("127.0.0.1:0".parse().unwrap())
        .serving_certificate(ServingCertificate::Files {
            certificate: "/does/not/exist.crt".into(),
            key: "/does/not/exist.key".into(),
        })
        .start()
        .await;
    let error = missing.err().unwrap();
    assert!(matches!(error, Error::ReadFile { .. }), "{error}");
}

#[tokio::test]
async fn certificate_files_are_reloaded() {
    let directory = std::env::temp_dir().join(format!("kubewright-serving-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let now = std::time::SystemTime::now();
    let write = |authority: &CertificateAuthority| {
        let own = authority.sign_server(["127.0.0.1"], now).unwrap();
        own.write_to(&directory).unwrap();
    };
    let [first, second] =
        ["first", "second"].map(|name| CertificateAuthority::generate(name, now).unwrap());
    write(&first);
    let cluster = Cluster::builder()
        .listen("127.0.0.1:0".parse().unwrap())
        .serving_certificate(ServingCertificate::Files {
            certificate: directory.join("tls.crt"),
            key: directory.join("tls.key"),
        })
        .start()
        .await
        .unwrap();
    let endpoint = cluster.endpoint().unwrap();
    let trusts = async |authority: &CertificateAuthority| {
        let mut kubeconfig = Kubeconfig::from_yaml(&endpoint.kubeconfig()).unwrap();
        let own = kubeconfig.clusters[0].cluster.as_mut().unwrap();
        use base64::{Engine, prelude::BASE64_STANDARD};
        let ca = BASE64_STANDARD.encode(authority.certificate_pem());
        own.certificate_authority_data = Some(ca);
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        let client = Client::try_from(config.unwrap()).unwrap();
        client.apiserver_version().await.is_ok()
    };
    assert!(trusts(&first).await);
    write(&second);
    // Only the reload uses the paused clock; connections need real time.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(11)).await;
    tokio::time::resume();
    assert!(!trusts(&first).await);
    assert!(trusts(&second).await);
    std::fs::remove_dir_all(&directory).unwrap();
}
