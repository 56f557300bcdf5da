//! Storages that break their promises get a clear answer, and harm nobody else.

use async_trait::async_trait;
use kube::ResourceExt;
use kubewright_extension_apiserver::{ExtensionServer, ListQuery, Listing, Storage, Verbs};
use kubewright_machinery::Status;

use crate::sky::{COMETS, Comet, CometSpec, Watch, comet, get, post};

#[derive(Clone, Copy)]
enum Fault {
    Panic,
    OtherName,
    OddVersion,
    NoVersion,
    Teapot,
    Unimplemented,
    EndlessPages,
}

struct Faulty(Fault);

fn made(name: &str, version: Option<&str>) -> Comet {
    let spec = CometSpec {
        years: 3,
        colour: None,
        tails: None,
    };
    let mut comet = Comet::new(name, spec);
    comet.metadata.namespace = Some("sky".to_owned());
    comet.metadata.resource_version = version.map(str::to_owned);
    comet
}

#[async_trait]
impl Storage<Comet> for Faulty {
    fn verbs(&self) -> Verbs {
        match self.0 {
            Fault::Unimplemented | Fault::EndlessPages => Verbs::ALL,
            _ => Verbs {
                update: true,
                create: true,
                get: true,
                ..Verbs::default()
            },
        }
    }

    async fn get(&self, _: &str, name: &str) -> Result<Option<Comet>, Status> {
        match self.0 {
            Fault::Panic => panic!("a bug of the storage"),
            Fault::OtherName => Ok(Some(made("other", Some("1")))),
            Fault::OddVersion => Ok(Some(made(name, Some("one")))),
            Fault::NoVersion => Ok(Some(made(name, None))),
            Fault::Teapot => Err(Status::failure(418, "Teapot", "short and stout")),
            Fault::Unimplemented | Fault::EndlessPages => Ok(None),
        }
    }

    async fn list(&self, _: &ListQuery) -> Result<Listing<Comet>, Status> {
        match self.0 {
            // The start of the next page is always the same.
            Fault::EndlessPages => Ok(Listing::new(vec![made("a", Some("1"))])
                .version(1)
                .next("a")),
            _ => Ok(Listing::new(Vec::new()).version(1)),
        }
    }

    async fn create(&self, comet: Comet) -> Result<Comet, Status> {
        match self.0 {
            Fault::OtherName => Ok(made("other", Some("1"))),
            Fault::Teapot => Err(Status::failure(418, "Teapot", "short and stout")),
            Fault::NoVersion => Ok(comet),
            _ => Ok(made(&comet.name_any(), Some("one"))),
        }
    }
}

fn server(fault: Fault) -> ExtensionServer {
    let builder = ExtensionServer::builder().serve::<Comet>(Faulty(fault));
    builder.build().unwrap()
}

#[tokio::test]
async fn wrong_names_and_versions_are_internal_errors() {
    for (fault, text) in [
        (Fault::OtherName, "returned \"sky/other\""),
        (Fault::OddVersion, "which is not a number"),
        (Fault::NoVersion, "without a resourceVersion"),
    ] {
        let (code, error) = post(&server(fault), COMETS, &comet("a", 3)).await;
        let message = error["message"].as_str().unwrap();
        assert_eq!((code, message.contains(text)), (500, true), "{message}");
    }
    let (code, _) = get(&server(Fault::OtherName), &format!("{COMETS}/a")).await;
    assert_eq!(code, 500);
}

#[tokio::test]
async fn errors_of_the_storage_are_the_answer() {
    let server = server(Fault::Teapot);
    for (code, error) in [
        get(&server, &format!("{COMETS}/a")).await,
        post(&server, COMETS, &comet("a", 3)).await,
    ] {
        assert_eq!(code, 418);
        assert_eq!(error["message"], "short and stout");
    }
}

#[tokio::test]
async fn a_panic_ends_only_its_request() {
    let server = server(Fault::Panic);
    let (code, _) = get(&server, &format!("{COMETS}/a")).await;
    assert_eq!(code, 500);
    assert_eq!(get(&server, "/apis/sky.example.com/v1").await.0, 200);
}

#[tokio::test]
async fn verbs_without_a_method_say_so() {
    let server = server(Fault::Unimplemented);
    let mut watch = Watch::start(&server, &format!("{COMETS}?watch=true")).await;
    let (ty, error) = watch.next().await.unwrap();
    let message = error["message"].as_str().unwrap();
    assert_eq!(
        (ty.as_str(), message.contains("the verb watch")),
        ("ERROR", true)
    );
}

#[tokio::test]
async fn pages_that_repeat_themselves_end() {
    let server = server(Fault::EndlessPages);
    let (code, _) = crate::sky::delete(&server, COMETS).await;
    assert_eq!(code, 200);
}
