//! hob-core
