//! `OpenCode` from its npm package: one program, fetched by name, compared with what was seen when
//! this was written.

use crate::found::Place;
use crate::install::programs::on_path;
use crate::install::{Archive, Fetch, Fetcher, Recipe, Step, size};

pub(super) const LICENCE: &str = "OpenCode: MIT";
/// Below the installation.
pub(super) const PROGRAM: &str = "bin/opencode";

const VERSION: &str = "1.18.33";
/// How a person gets it on any system it runs on.
const BY_HAND: &str = "npm install -g opencode-ai";

/// A package of one system.
#[derive(Debug)]
struct Package {
    os: &'static str,
    arch: &'static str,
    name: &'static str,
    file: &'static str,
    bytes: u64,
    sha256: &'static str,
    unpacked_bytes: u64,
    program_bytes: u64,
    program_sha256: &'static str,
}

const PACKAGES: &[Package] = &[Package {
    os: "linux",
    arch: "x86_64",
    name: "opencode-linux-x64",
    file: "opencode-linux-x64-1.18.33.tgz",
    bytes: 60_275_143,
    sha256: "149a676b59224b196626abda2fdbd34c8329ac326b57c4891ba3de446f3ca3c1",
    unpacked_bytes: 185_354_506,
    program_bytes: 185_354_368,
    program_sha256: "0abbb7c32ab0294c0a7bfa2705f9ff0df5dce5ab721d1f00cccfe393f2a11427",
}];

fn package() -> Option<&'static Package> {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    PACKAGES.iter().find(|it| it.os == os && it.arch == arch)
}

/// What installing it does here, or what stands in the way.
pub(super) fn recipe(place: &Place<'_>) -> Result<Recipe, String> {
    let Some(package) = package() else {
        return Err(format!(
            "hob does not install OpenCode on this system; {BY_HAND} does, and hob then finds it on the path."
        ));
    };
    let Some(npm) = on_path(place.env, "npm") else {
        return Err(
            "OpenCode is fetched by npm, which is not on the path: install Node.js with it, or OpenCode itself."
                .to_owned(),
        );
    };
    let steps = vec![
        Step::Fetch(Fetch {
            by: Fetcher::Npm { npm },
            name: package.name.to_owned(),
            version: VERSION.to_owned(),
            file: package.file.to_owned(),
            bytes: package.bytes,
            sha256: package.sha256.to_owned(),
        }),
        Step::Unpack {
            file: package.file.to_owned(),
            archive: Archive::Tarball,
            into: String::new(),
            bytes_max: package.unpacked_bytes,
        },
        Step::Check {
            file: PROGRAM.to_owned(),
            bytes: package.program_bytes,
            sha256: package.program_sha256.to_owned(),
        },
    ];
    Ok(Recipe {
        steps,
        disk_bytes: package.unpacked_bytes,
        licences: vec![LICENCE.to_owned()],
        notes: Vec::new(),
    })
}

/// What is said when it is not here.
pub(super) fn missing() -> String {
    match package() {
        Some(package) => format!(
            "OpenCode is not here; hob service install opencode fetches it ({}).",
            size(package.bytes)
        ),
        None => format!("OpenCode is not here; {BY_HAND} brings it."),
    }
}
