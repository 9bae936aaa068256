//! Facts about the machine, read from the kernel and the distribution.

use hob_exec::windows::{self, Desktop};
use hob_kit::host_environment::EnvVars;
use hob_wire::rooms::desktop::SystemInfo;
use std::os::unix::fs::MetadataExt;

pub(super) fn system(env: &EnvVars) -> SystemInfo {
    let (memory_bytes, memory_available_bytes) = memory(&read_text("/proc/meminfo"));
    let (user, shell) = user_and_shell(env);
    let windows = windows::detect(env, &Desktop::of(env));
    SystemInfo {
        os: distribution(),
        kernel: read_text("/proc/sys/kernel/osrelease").trim().to_owned(),
        hostname: read_text("/proc/sys/kernel/hostname").trim().to_owned(),
        architecture: std::env::consts::ARCH.to_owned(),
        user,
        shell,
        processors: std::thread::available_parallelism()
            .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
        memory_bytes,
        memory_available_bytes,
        uptime_seconds: uptime(&read_text("/proc/uptime")),
        load: load(&read_text("/proc/loadavg")),
        display: display(env).map(str::to_owned),
        terminals: windows.into_iter().map(|program| program.name).collect(),
    }
}

/// Returns the kind of display, if there is one.
pub(super) fn display(env: &EnvVars) -> Option<&'static str> {
    if env.os("WAYLAND_DISPLAY").is_some() {
        return Some("wayland");
    }
    env.os("DISPLAY").map(|_| "x11")
}

fn read_text(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn distribution() -> String {
    let found = ["/etc/os-release", "/usr/lib/os-release"].map(read_text);
    found
        .iter()
        .find_map(|text| pretty_name(text))
        .unwrap_or_else(|| "Linux".to_owned())
}

fn pretty_name(release: &str) -> Option<String> {
    let value = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name = value.trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns the total and the available memory in bytes.
fn memory(info: &str) -> (u64, u64) {
    let of = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or_default() * 1_024
    };
    (of("MemTotal:"), of("MemAvailable:"))
}

fn uptime(text: &str) -> u64 {
    let seconds = text.split(['.', ' ']).next();
    seconds
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or_default()
}

fn load(text: &str) -> [f64; 3] {
    let mut numbers = text
        .split_whitespace()
        .map(|number| number.parse().unwrap_or_default());
    [(); 3].map(|()| numbers.next().unwrap_or_default())
}

/// Returns the user's name and shell: from the environment, else from `/etc/passwd`.
fn user_and_shell(env: &EnvVars) -> (String, String) {
    // `/proc/self` belongs to the user of this process.
    let uid = std::fs::metadata("/proc/self")
        .map(|found| found.uid())
        .unwrap_or_default();
    let known = read_text("/etc/passwd");
    let known = known
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let row = known
        .into_iter()
        .find(|row| row.get(2) == Some(&&*uid.to_string()));
    let field = |at: usize| {
        row.as_ref()
            .and_then(|row| row.get(at))
            .map(|field| (*field).to_owned())
    };
    let user = env.text("USER").or(env.text("LOGNAME")).map(str::to_owned);
    let shell = env.text("SHELL").map(str::to_owned);
    (
        user.or_else(|| field(0)).unwrap_or_else(|| uid.to_string()),
        shell
            .or_else(|| field(6))
            .unwrap_or_else(|| "/bin/sh".to_owned()),
    )
}

#[cfg(test)]
#[path = "system_tests.rs"]
mod tests;
