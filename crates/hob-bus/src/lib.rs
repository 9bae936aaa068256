//! hob-bus
