//! Kinds that the program of a project serves itself: scaffolding, removal, and the generated manifests.

use kubewright_operator::Model;
use kubewright_scaffold::{
    AddAggregatedApi, AddController, AddSubresource, AddWebhook, Edits, Gvk, ObjectData, PartState,
    Remove, SubresourceType, WebhookCertificates,
    generate::{Settings, Target, read_model, render},
    parse_manifests, status,
};
use serde_json::{Value, json};

use crate::project::{Directory, api, crew, refused};

fn planet(data: ObjectData) -> AddAggregatedApi {
    AddAggregatedApi {
        gvk: Gvk::parse("sky/v1/Planet").unwrap(),
        plural: None,
        namespaced: false,
        data,
        force: false,
    }
}

fn subresource(name: &str, type_: SubresourceType) -> AddSubresource {
    AddSubresource {
        target: Gvk::parse("sky/v1/Planet").unwrap(),
        name: name.into(),
        type_,
        force: false,
    }
}

/// A project of an API server with a kind and subresources of every type.
fn sky() -> Directory {
    let directory = Directory::new();
    let plan = crew().plan_apiserver(&directory.path("")).unwrap();
    plan.write().unwrap();
    let write = |plan: kubewright_scaffold::Plan| plan.write().unwrap();
    write(planet(ObjectData::Storage).plan(&directory.open()).unwrap());
    for (name, type_) in [
        ("orbit", SubresourceType::Object),
        ("diary", SubresourceType::Log),
        ("radio", SubresourceType::Exec),
        ("limits", SubresourceType::Update),
        ("launch", SubresourceType::Create),
        ("ports", SubresourceType::PortForward),
    ] {
        write(subresource(name, type_).plan(&directory.open()).unwrap());
    }
    directory
}

#[test]
fn an_api_server_begins_without_controllers() {
    let directory = Directory::new();
    let plan = crew().plan_apiserver(&directory.path("")).unwrap();
    plan.write().unwrap();
    let library = directory.read("src/lib.rs");
    assert!(library.contains("pub mod apiserver;"), "{library}");
    assert!(!library.contains("controller"), "{library}");
    let manifest = directory.read("Cargo.toml");
    assert!(
        manifest.contains(r#"features = ["apiserver", "mimalloc"]"#),
        "{manifest}"
    );
    for (path, text) in directory.everything() {
        assert!(!text.contains("{{"), "{}", path.display());
    }
    // Controllers fit in.
    planet(ObjectData::Store)
        .plan(&directory.open())
        .unwrap()
        .write()
        .unwrap();
    let add = AddController {
        target: Gvk::parse("sky/v1/Planet").unwrap(),
        name: None,
        owns: Vec::new(),
        force: false,
    };
    add.plan(&directory.open()).unwrap().write().unwrap();
    let library = directory.read("src/lib.rs");
    assert!(library.contains("pub mod controller;"), "{library}");
    assert!(
        library.contains("controller::planet::register(operator);"),
        "{library}"
    );
}

#[test]
fn an_operator_gets_a_kind_that_it_serves_itself() {
    let directory = Directory::with_captain();
    let plan = planet(ObjectData::Storage).plan(&directory.open()).unwrap();
    plan.write().unwrap();
    let library = directory.read("src/lib.rs");
    assert!(
        library.contains("apiserver::planet::register(operator);"),
        "{library}"
    );
    // It is no custom resource.
    assert!(!library.contains("api::sky::v1::Planet>"), "{library}");
    let manifest = directory.read("Cargo.toml");
    assert!(
        manifest.contains(r#"features = ["apiserver", "mimalloc"]"#),
        "{manifest}"
    );
    let storage = directory.read("src/apiserver/planet.rs");
    assert!(
        storage.contains("impl Storage<Planet> for PlanetStorage"),
        "{storage}"
    );
    assert!(!storage.contains("{{"), "{storage}");
    let file = directory.read("operator.toml");
    assert!(file.contains("aggregated = \"storage\"\n"), "{file}");
}

#[test]
fn subresources_are_registered_with_their_kind() {
    let directory = sky();
    let storage = directory.read("src/apiserver/planet.rs");
    let lines = "    let kind = Kind::computed(PlanetStorage::default());
    let kind = kind.subresource(\"orbit\", super::planet_orbit::PlanetOrbit);
    let kind = kind.log(\"diary\", super::planet_diary::PlanetDiary);
    let kind = kind.exec(\"radio\", super::planet_radio::PlanetRadio);
    let kind = kind.subresource(\"limits\", super::planet_limits::PlanetLimits::default());
    let kind = kind.subresource(\"launch\", super::planet_launch::PlanetLaunch);
    let kind = kind.port_forward(\"ports\", super::planet_ports::PlanetPorts);
    operator.aggregated_api(kind);
";
    assert!(storage.contains(lines), "{storage}");
    let modules = directory.read("src/apiserver/mod.rs");
    assert!(modules.contains("pub mod planet_radio;"), "{modules}");
    for (path, text) in directory.everything() {
        assert!(!text.contains("{{"), "{}", path.display());
    }
    let parts = status(&directory.open()).unwrap();
    assert_eq!(parts.len(), 16, "{parts:#?}");
    for part in parts {
        assert_eq!(part.state, PartState::New, "{}", part.path);
    }
}

#[test]
fn everything_of_a_kind_is_removed_again() {
    let directory = sky();
    let remove = Remove::Api {
        group: String::new(),
        kind: "Planet".into(),
    };
    let plan = remove.plan(&directory.open(), Edits::Keep).unwrap();
    plan.write().unwrap();
    let left = directory.everything();
    let named = left
        .iter()
        .filter(|(path, _)| path.to_string_lossy().contains("planet"));
    assert_eq!(named.count(), 0);
    for path in ["src/lib.rs", "src/apiserver/mod.rs", "operator.toml"] {
        let text = directory.read(path);
        assert!(
            !text.contains("planet") && !text.contains("Planet"),
            "{text}"
        );
    }
}

#[test]
fn unservable_kinds_are_rejected() {
    let directory = sky();
    let error = refused(&directory, |project| api("sky/v1/Comet").plan(project));
    assert!(
        error.contains("a group version is served by one server"),
        "{error}"
    );
    let webhook = AddWebhook {
        target: Gvk::parse("sky/v1/Planet").unwrap(),
        name: None,
        defaulting: true,
        validation: false,
        conversion: false,
        spokes: Vec::new(),
        force: false,
    };
    let error = refused(&directory, |project| webhook.plan(project));
    assert!(error.contains("add rules with Kind::admission"), "{error}");
    for (name, why) in [
        ("status", "follows from the type"),
        ("../x", "cannot be the name"),
        ("orbit", "has a subresource \"orbit\" already"),
    ] {
        let add = subresource(name, SubresourceType::Log);
        let error = refused(&directory, |project| add.plan(project));
        assert!(error.contains(why), "{error}");
    }
    let captains = Directory::with_captain();
    let mut add = subresource("orbit", SubresourceType::Log);
    add.target = Gvk::parse("crew/v1/Captain").unwrap();
    let error = refused(&captains, |project| add.plan(project));
    assert!(
        error.contains("custom resources have `status` and `scale` only"),
        "{error}"
    );
    let mut mate = planet(ObjectData::Store);
    mate.gvk = Gvk::parse("crew/v1/Mate").unwrap();
    let error = refused(&captains, |project| mate.plan(project));
    assert!(
        error.contains("crew/v1 has custom resources: Captain"),
        "{error}"
    );
}

fn model() -> Model {
    let text = json!({
        "model": 2, "name": "sky", "version": "0.1.0",
        "aggregated": [{
            "metadata": {"name": "planets.sky.example.com"},
            "spec": {
                "group": "sky.example.com", "scope": "Namespaced",
                "names": {"kind": "Planet", "listKind": "PlanetList", "plural": "planets", "singular": "planet"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {"type": "object", "properties": {"moons": {"type": "integer"}}}},
                }}}],
            },
        }],
    });
    read_model(&text.to_string()).unwrap()
}

fn settings() -> Settings {
    Settings {
        name: "sky".into(),
        domain: "example.com".into(),
        namespaced: false,
        image: "sky:0.1.0".into(),
        metrics_port: None,
        webhook_certificates: WebhookCertificates::Operator,
    }
}

fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let found = objects
        .iter()
        .find(|it| it["kind"] == kind && it["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("no {kind} {name}"))
}

#[test]
fn the_manifests_lead_the_cluster_to_the_program() {
    let files = render(&model(), &settings(), &[Target::Yaml]).unwrap();
    let objects = parse_manifests(&files[0].text).unwrap();
    let service = find(&objects, "APIService", "v1.sky.example.com");
    let leads_to = json!({"namespace": "sky-system", "name": "sky-apiserver", "port": 443});
    assert_eq!(service["spec"]["service"], leads_to);
    let service = find(&objects, "Service", "sky-apiserver");
    assert_eq!(service["spec"]["ports"][0]["targetPort"], 6443);
    let delegator = find(
        &objects,
        "ClusterRoleBinding",
        "sky-apiserver-auth-delegator",
    );
    assert_eq!(delegator["roleRef"]["name"], "system:auth-delegator");
    let reader = find(&objects, "RoleBinding", "sky-apiserver-auth-reader");
    assert_eq!(reader["metadata"]["namespace"], "kube-system");
    assert_eq!(
        reader["roleRef"]["name"],
        "extension-apiserver-authentication-reader"
    );
    let account = json!([{"kind": "ServiceAccount", "name": "sky-controller-manager", "namespace": "sky-system"}]);
    assert_eq!(reader["subjects"], account);
    assert_eq!(delegator["subjects"], account);
    let deployment = find(&objects, "Deployment", "sky-controller-manager");
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let args = container["args"].as_array().unwrap();
    assert!(
        args.contains(&json!("--apiserver-service=sky-apiserver")),
        "{args:?}"
    );
    // People get their roles, and there is nothing to install but that.
    find(&objects, "ClusterRole", "sky-planet-editor-role");
    assert!(
        objects
            .iter()
            .all(|it| it["kind"] != "CustomResourceDefinition")
    );
}

#[test]
fn kustomize_keeps_the_binding_in_kube_system() {
    let Ok(version) = std::process::Command::new("kubectl")
        .arg("version")
        .arg("--client")
        .output()
    else {
        println!("skipped: kustomize: kubectl is not installed");
        return;
    };
    assert!(version.status.success());
    let directory = Directory::new();
    for file in render(&model(), &settings(), &[Target::Kustomize]).unwrap() {
        let path = directory.path(&file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file.text).unwrap();
    }
    let output = std::process::Command::new("kubectl")
        .args(["kustomize", "config/default"])
        .current_dir(directory.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let built = parse_manifests(&String::from_utf8(output.stdout).unwrap()).unwrap();
    let installed = render(&model(), &settings(), &[Target::Yaml]).unwrap();
    let installed = parse_manifests(&installed[0].text).unwrap();
    for (kind, name) in [
        ("RoleBinding", "sky-apiserver-auth-reader"),
        ("ClusterRoleBinding", "sky-apiserver-auth-delegator"),
        ("APIService", "v1.sky.example.com"),
        ("Service", "sky-apiserver"),
        ("Role", "sky-apiserver-role"),
    ] {
        assert_eq!(
            find(&built, kind, name),
            find(&installed, kind, name),
            "{kind} {name}"
        );
    }
}

#[test]
fn the_chart_serves_the_kinds_of_its_release() {
    let files = render(&model(), &settings(), &[Target::Helm]).unwrap();
    let text = |name: &str| {
        let path = format!("dist/chart/templates/{name}");
        let file = files.iter().find(|file| file.path == path);
        file.unwrap_or_else(|| panic!("no {path}")).text.clone()
    };
    let manager = text("manager.yaml");
    let argument = "- --apiserver-service={{ include \"operator.fullname\" . }}-apiserver";
    assert!(manager.contains(argument), "{manager}");
    assert!(manager.contains("containerPort: 6443"), "{manager}");
    let server = text("apiserver.yaml");
    assert!(server.contains("kind: APIService"), "{server}");
    assert!(server.contains("nindent 4 }}"), "{server}");
    let rbac = text("rbac.yaml");
    assert!(rbac.contains("name: system:auth-delegator"), "{rbac}");
}
