//! Decoding, pruning and normalising objects by the shape of their type.
