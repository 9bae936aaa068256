//! The mind beside the world it mirrors.

#[cfg(test)]
mod mirror;
