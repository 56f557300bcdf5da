//! The file: the pages as modules in data URLs, which an import map names, with the data.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::assets::{Asset, assets};

/// The module that starts the pages.
const MAIN: &str = "app/main.js";

/// Returns the file.
pub(super) fn html(title: &str, recording: &Value) -> String {
    let (mut imports, mut style, mut icon) = (BTreeMap::new(), "", String::new());
    for asset in assets() {
        let text = std::str::from_utf8(asset.content).unwrap_or_default();
        match asset.path {
            "/app/style.css" => style = text,
            "/app/icon.svg" => icon = data_url("image/svg+xml", text),
            _ if is_module(asset) => {
                let text = with_bare_imports(asset.path, text);
                let name = asset.path.trim_start_matches('/').to_owned();
                imports.insert(name, data_url("text/javascript", &text));
            }
            _ => {}
        }
    }
    let mut recording = recording.clone();
    recording["icon"] = icon.as_str().into();
    let nonce = format!("{:032x}", rand::random::<u128>());
    let imports = inert(&json!({ "imports": imports }));
    let recorded = inert(&recording);
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"content-security-policy\" content=\"default-src 'none'; script-src 'nonce-{nonce}' data:; \
         style-src 'nonce-{nonce}'; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <link rel=\"icon\" href=\"{icon}\" type=\"image/svg+xml\">\n\
         <style nonce=\"{nonce}\">\n{style}</style>\n\
         <script type=\"importmap\" nonce=\"{nonce}\">{imports}</script>\n</head>\n<body>\n\
         <div id=\"app\"><p class=\"boot\">Kubewright console</p></div>\n\
         <script type=\"application/json\" id=\"recorded\">{recorded}</script>\n\
         <script type=\"module\" nonce=\"{nonce}\">import \"{MAIN}\";</script>\n</body>\n</html>\n"
    )
}

fn is_module(asset: &Asset) -> bool {
    asset.path.ends_with(".js") || asset.path.ends_with(".mjs")
}

/// Replaces relative imports, which modules in data URLs cannot have, by the names of the import map.
fn with_bare_imports(path: &str, text: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\".") {
        let (before, quoted) = rest.split_at(at + 1);
        out += before;
        let end = quoted.find('"').unwrap_or(quoted.len());
        let (name, after) = quoted.split_at(end);
        match resolved(folder, name) {
            Some(module) => out += &module,
            None => out += name,
        }
        rest = after;
    }
    out + rest
}

/// Returns the name of the module that a relative path leads to.
fn resolved(folder: &str, name: &str) -> Option<String> {
    let (folder, file) = match (name.strip_prefix("./"), name.strip_prefix("../")) {
        (Some(file), _) => (folder, file),
        (_, Some(file)) => (folder.rsplit_once('/')?.0, file),
        _ => return None,
    };
    let path = format!("{folder}/{file}");
    let is_known = assets()
        .iter()
        .any(|asset| asset.path == path && is_module(asset));
    is_known.then(|| path.trim_start_matches('/').to_owned())
}

fn data_url(media_type: &str, text: &str) -> String {
    format!("data:{media_type};base64,{}", STANDARD.encode(text))
}

/// Returns JSON that cannot end the element that it is in.
fn inert(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_names_of_the_import_map() {
        let text =
            "import { a } from \"./api.js\";\nimport(\"../ui.js\"); const b = \"..\" + \".x\";";
        assert_eq!(
            with_bare_imports("/app/pages/x.js", "import { a } from \"../api.js\";"),
            "import { a } from \"app/api.js\";"
        );
        assert_eq!(
            with_bare_imports("/app/x.js", text),
            "import { a } from \"app/api.js\";\nimport(\"../ui.js\"); const b = \"..\" + \".x\";"
        );
    }

    #[test]
    fn no_module_has_a_relative_import() {
        for asset in assets().iter().filter(|asset| is_module(asset)) {
            let text = std::str::from_utf8(asset.content).unwrap();
            let bare = with_bare_imports(asset.path, text);
            for import in ["from \".", "from\".", "import(\".", "import \"."] {
                assert!(!bare.contains(import), "{} has {import}", asset.path);
            }
        }
    }

    #[test]
    fn data_cannot_leave_its_element() {
        let recording = json!({"answers": {"x": "</script><script>alert(1)</script>"}});
        let html = html("<b>", &recording);
        assert!(!html.contains("alert(1)</script>"));
        assert!(html.contains("<title>&lt;b></title>"));
    }
}
