//! What is different about kinds that are declared while the server runs.

use serde_json::Value;

/// A kind that a definition declares: its objects are plain JSON, and a schema says what is in them.
pub trait Custom: Send + Sync {
    /// The kind of a list of its objects.
    fn list_kind(&self) -> &str;

    /// Gives an object that was just read the shape of the kind; of an object of another kind, its metadata. Answers with the paths of fields that nobody knows,
    /// where `track` asks for them; the error is the text of a refusal.
    fn conform(&self, object: &mut Value, track: bool) -> Result<Vec<String>, String>;
}
