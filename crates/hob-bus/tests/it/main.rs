//! The bus from outside: frames in, frames out.

mod desk;
mod routing;
