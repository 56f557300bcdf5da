//! The files that come with an image.

use jiff::Timestamp;

use crate::{
    agnhost,
    files::{Entry, Tree, absolute},
    image::{full_name, untagged},
    web_server::WebServer,
};

/// The directories of every image.
const DIRECTORIES: [&str; 10] = [
    "bin", "dev", "etc", "home", "proc", "root", "tmp", "usr/bin", "var/log", "var/run",
];

/// The images that are known to be made from Alpine Linux.
const ALPINE: [&str; 4] = ["/agnhost", "/alpine", "/kitten", "/nautilus"];

/// Returns the files of an image.
pub(super) fn image_files(image: &str, now: Timestamp) -> Tree {
    let mut tree = Tree::default();
    for directory in DIRECTORIES {
        // The tree is empty, so writes cannot fail.
        let _ = tree.create_all(&absolute("/", directory), now);
    }
    let own = [
        ("etc/os-release".to_owned(), release(image)),
        (
            "etc/passwd".to_owned(),
            "root:x:0:0:root:/root:/bin/sh\n".to_owned(),
        ),
        ("etc/group".to_owned(), "root:x:0:\n".to_owned()),
    ];
    let server = WebServer::of_image(image).and_then(WebServer::file);
    let files = own.into_iter().chain(server).chain(agnhost::files(image));
    add(&mut tree, files, now);
    tree
}

/// Adds files: paths and texts.
pub(super) fn add(
    tree: &mut Tree,
    files: impl IntoIterator<Item = (String, String)>,
    now: Timestamp,
) {
    for (path, text) in files {
        let path = absolute("/", &path);
        let parent = &path[..path.len().saturating_sub(1)];
        // The files of an image are few and small, so there is room for them.
        let _ = tree.create_all(parent, now);
        let _ = tree.put(&path, Entry::file(text.into_bytes(), 0o644, now));
    }
}

fn release(image: &str) -> String {
    let name = full_name(image);
    let is_alpine = ALPINE.iter().any(|known| untagged(&name).ends_with(known));
    match is_alpine {
        true => "NAME=\"Alpine Linux\"\nID=alpine\nPRETTY_NAME=\"Alpine Linux\"\n".to_owned(),
        false => format!("ID=kubewright\nNAME=\"Simulated container\"\nPRETTY_NAME=\"{image}\"\n"),
    }
}
