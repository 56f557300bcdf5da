//! One process: the API server, the built-in kinds, on any store.
