//! The gateway under hostile sizes, shapes, speeds and versions.

mod frames;
mod json_shapes;
mod slow_consumer;
mod versions;
