//! [`Position`]: the place of a value in a document, which is rendered only if there is something to report.

use kubewright_machinery::limits::push_path;

/// The place of a value: keys and indices from the root.
#[derive(Clone, Copy)]
pub(crate) enum Position<'a> {
    /// The document itself.
    Root,
    /// The value of a key.
    Key(&'a Position<'a>, &'a str),
    /// An item of a list.
    Index(&'a Position<'a>, usize),
}

impl Position<'_> {
    /// Returns the path: `spec.items[0].name`.
    pub(crate) fn path(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Position::Root => {}
            Position::Key(parent, key) => {
                parent.write(out);
                if !out.is_empty() {
                    push_path(out, ".");
                }
                push_path(out, key);
            }
            Position::Index(parent, index) => {
                parent.write(out);
                push_path(out, &format!("[{index}]"));
            }
        }
    }
}
