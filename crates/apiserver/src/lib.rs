//! A Kubernetes API server as a tower service, over resources of your own.
