//! JSON to protobuf and back, by the shape of the type.
