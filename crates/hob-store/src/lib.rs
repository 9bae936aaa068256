//! hob-store
