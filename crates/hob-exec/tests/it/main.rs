//! Real processes in real sandboxes, at both levels. Each refusal stands beside the same act,
//! granted, which works.

#[cfg(test)]
mod bound_files;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod ending;
#[cfg(test)]
mod home;
#[cfg(test)]
mod metadata;
#[cfg(test)]
mod network;
#[cfg(test)]
mod other_names;
#[cfg(test)]
mod proxied_network;
#[cfg(test)]
mod rig;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod service;
#[cfg(test)]
mod terminal;
