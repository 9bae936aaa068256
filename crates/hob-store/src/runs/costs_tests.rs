//! Tests of `costs`.
