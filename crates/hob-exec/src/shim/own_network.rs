//! A network namespace for one run: only a loopback, with one socket that listens on it. The socket
//! is sent to the daemon, which accepts on it from outside and decides about every connection (the
//! proxy of `hob-net`). The namespace has no other way out.
//!
//! Under Landlock the forked child enters the namespace itself, before it is restricted
//! ([`enter`]). Under bubblewrap the namespace is bubblewrap's, so this program runs in it first,
//! opens the socket and becomes the child's program ([`run`]).
//!
//! Invariants: the socket is created and sent before the child's program runs; the program inherits
//! neither the socket nor the channel over which it was sent.

use super::sys;
use crate::environment::PROXY_PORT;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, Write};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsRawFd;
use std::process::ExitCode;

/// `hob shim listen FD PROGRAM ARG...`, run inside bubblewrap.
pub(super) const SUBCOMMAND: &str = "listen";
/// The exit code of shells for a program that could not be started.
const NOT_STARTED: u8 = 126;

/// Moves the calling process into a network namespace and sends the listening socket over
/// `channel`. The process has one thread and all capabilities in its user namespace.
pub(super) fn enter(channel: &OwnedFd) -> io::Result<()> {
    let failed = |error: io::Error| {
        let reason = format!("A network of its own cannot be made here: {error}");
        io::Error::new(error.kind(), reason)
    };
    sys::unshare_network().map_err(failed)?;
    // The loopback of a new namespace is down at first.
    sys::bring_loopback_up().map_err(failed)?;
    send_listener(channel).map_err(failed)
}

/// The command that bubblewrap runs in front of the program.
pub(super) struct PreludeCommand {
    pub(super) arguments: Vec<OsString>,
    /// The descriptors that the arguments name.
    pub(super) inherited: Vec<OwnedFd>,
}

/// Returns the command that runs this program again, by a descriptor: its file may be hidden in the
/// sandbox, or replaced.
pub(super) fn prelude_command(channel: OwnedFd) -> io::Result<PreludeCommand> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let own = rustix::fs::open("/proc/self/exe", flags, Mode::empty())?;
    let mut arguments = vec![OsString::from(format!("/proc/self/fd/{}", own.as_raw_fd()))];
    // The arguments by which this process became the shim.
    arguments.extend(std::env::args_os().skip(1));
    arguments.push(SUBCOMMAND.into());
    arguments.push(channel.as_raw_fd().to_string().into());
    let inherited = vec![own, channel];
    Ok(PreludeCommand {
        arguments,
        inherited,
    })
}

/// Sends the listening socket, then becomes the program.
pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    let Err(error) = try_run(arguments);
    let _ = writeln!(io::stderr(), "hob: the program did not start: {error}");
    ExitCode::from(NOT_STARTED)
}

fn try_run(arguments: &[OsString]) -> io::Result<std::convert::Infallible> {
    let [channel, program, rest @ ..] = arguments else {
        return Err(io::Error::other("it is not named"));
    };
    let channel = channel.to_str().and_then(|number| number.parse().ok());
    let channel = channel.and_then(sys::take_inherited);
    let channel = channel.ok_or_else(|| io::Error::other("its network was not handed over"))?;
    // After the channel is owned and before the program starts, which must inherit nothing of this.
    sys::close_on_exec()?;
    send_listener(&channel)?;
    drop(channel);
    let without: &[&str] = &[];
    Err(crate::handover::become_program(
        OsStr::new(program),
        rest,
        without,
    ))
}

fn send_listener(channel: &OwnedFd) -> io::Result<()> {
    // The port cannot be taken: nothing else runs in the new namespace yet.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT))?;
    let descriptors = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    // On a stream socket a descriptor travels only together with at least one byte.
    let byte = [IoSlice::new(&[0])];
    // If the daemon is gone, this must be an error and not a SIGPIPE.
    rustix::net::sendmsg(channel, &byte, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}
