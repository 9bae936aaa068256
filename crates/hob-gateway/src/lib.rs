//! hob-gateway
