//! Services on a real disk, with real processes.

#[cfg(test)]
mod install;
#[cfg(test)]
mod llm;
#[cfg(test)]
mod opencode;
#[cfg(test)]
mod rig;
