//! A cluster for tests: started in milliseconds, forked, broken on purpose.
