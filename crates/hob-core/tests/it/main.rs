//! Compares the terminal screen with a real tmux, and runs the test vectors of the transcript.

#[cfg(test)]
mod mirror;
#[cfg(test)]
mod transcript_vectors;
