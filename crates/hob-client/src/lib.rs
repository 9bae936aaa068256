//! hob-client
