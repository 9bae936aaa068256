//! hob-daemon
