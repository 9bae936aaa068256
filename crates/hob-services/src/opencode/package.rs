//! The installation of `OpenCode` from its npm package: one program, downloaded by name and
//! compared with a known checksum.

use crate::discovery::DiscoveryContext;
use crate::install::programs::find_on_path;
use crate::install::{ArchiveKind, InstallRecipe, PackageClient, PackageFetch, RecipeStep, size};

pub(super) const LICENCE: &str = "OpenCode: MIT";
/// The program's path in the installation.
pub(super) const PROGRAM: &str = "bin/opencode";

const VERSION: &str = "1.18.33";
/// The command that installs OpenCode on all its systems.
const BY_HAND: &str = "npm install -g opencode-ai";

/// The npm package for one platform.
#[derive(Debug)]
struct NpmPackage {
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

const PACKAGES: &[NpmPackage] = &[NpmPackage {
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

fn package() -> Option<&'static NpmPackage> {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    PACKAGES.iter().find(|it| it.os == os && it.arch == arch)
}

/// Returns the recipe for this machine, or the obstacle.
pub(super) fn recipe(context: &DiscoveryContext<'_>) -> Result<InstallRecipe, String> {
    let Some(package) = package() else {
        return Err(format!(
            "hob does not install OpenCode on this system; {BY_HAND} does, and hob then finds it on the path."
        ));
    };
    let Some(npm) = find_on_path(context.env, "npm") else {
        return Err(
            "OpenCode is fetched by npm, which is not on the path: install Node.js with it, or OpenCode itself."
                .to_owned(),
        );
    };
    let steps = vec![
        RecipeStep::Fetch(PackageFetch {
            client: PackageClient::Npm { npm },
            name: package.name.to_owned(),
            version: VERSION.to_owned(),
            file: package.file.to_owned(),
            bytes: package.bytes,
            sha256: package.sha256.to_owned(),
        }),
        RecipeStep::Unpack {
            file: package.file.to_owned(),
            archive: ArchiveKind::Tarball,
            into: String::new(),
            bytes_max: package.unpacked_bytes,
        },
        RecipeStep::Check {
            file: PROGRAM.to_owned(),
            bytes: package.program_bytes,
            sha256: package.program_sha256.to_owned(),
        },
    ];
    Ok(InstallRecipe {
        steps,
        disk_bytes: package.unpacked_bytes,
        licences: vec![LICENCE.to_owned()],
        notes: Vec::new(),
    })
}

/// The message if OpenCode is not installed.
pub(super) fn missing_message() -> String {
    match package() {
        Some(package) => format!(
            "OpenCode is not installed; hob service install opencode downloads it ({}).",
            size(package.bytes)
        ),
        None => format!("OpenCode is not installed; install it with: {BY_HAND}."),
    }
}
