//! The store over real files, through its public face.

mod ending;
mod files;
mod full;
mod log;
mod sessions;
mod support;
mod tokens;
mod writing;
