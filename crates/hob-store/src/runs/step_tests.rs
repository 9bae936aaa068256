//! Tests of `step`.
