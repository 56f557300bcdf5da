//! JSON patch, merge patch and managed fields.
