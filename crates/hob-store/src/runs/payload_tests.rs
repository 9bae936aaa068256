//! Tests of `payload`.
