//! Starting a cluster: sockets, identities, controllers.

use std::time::Duration;

use k8s_openapi::api::{
    authentication::v1::SelfSubjectReview,
    core::v1::{ConfigMap, Namespace},
};
use kube::{
    Api, Client, Config,
    api::PostParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use kubewright_cluster::{Cluster, Controllers, Endpoint, Error, Tokens};

async fn client_of(endpoint: &Endpoint) -> Client {
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
async fn the_kubeconfig_leads_to_the_cluster_as_the_first_user() {
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

#[tokio::test(flavor = "multi_thread")]
async fn controllers_publish_the_authority_of_the_endpoint() {
    let cluster = Cluster::builder()
        .controllers(Controllers::default())
        .listen("127.0.0.1:0".parse().unwrap())
        .start()
        .await
        .unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client(), "default");
    let published = async {
        loop {
            if let Some(map) = maps.get_opt("kube-root-ca.crt").await.unwrap() {
                return map.data.unwrap()["ca.crt"].clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let published = tokio::time::timeout(Duration::from_secs(60), published).await;
    assert_eq!(published.unwrap(), cluster.endpoint().unwrap().ca_pem());
    cluster.stop().await.unwrap();
}
