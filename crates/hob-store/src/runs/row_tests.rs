//! Tests of `row`.
