//! Installations with a package client of the test's own.

use crate::rig::{Rig, names};
use hob_services::install::{
    ArchiveKind, InstallError, InstallRecipe, Installation, PackageClient, PackageFetch, RecipeStep,
};
use hob_wire::rooms::service::{InstallProgress, InstallState};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Copies the wheel its list names from `shop`, counting how often it was asked. It waits while
/// there is a file `wait`.
const PIP: &str = r#"
shop=$(dirname "$0")/../shop
for last; do :; done
read line < "$last/requirements.txt"
name=${line%%==*}
env > "$shop/environment"
echo "$name" >> "$shop/asked"
if [ -e "$shop/wait-$name" ]; then
    head -c 10 "$shop/$name.whl" > "$last/part"
    while [ -e "$shop/wait-$name" ]; do sleep 0.02; done
fi
if [ -e "$shop/says-$name" ]; then cat "$shop/says-$name" >&2; exit 1; fi
cp "$shop/$name.whl" "$last/"
"#;

struct Shop {
    rig: Rig,
    python: PathBuf,
}

impl Shop {
    fn open() -> Shop {
        let rig = Rig::new(&[
            ("PIP_INDEX_URL", "somewhere"),
            ("HTTPS_PROXY", "a proxy"),
            ("OPENAI_API_KEY", "secret"),
        ]);
        std::fs::create_dir(rig.path("shop")).expect("made");
        let python = rig.program("python3", PIP);
        let shop = Shop { rig, python };
        shop.put("one.whl", &wheel("one/a.txt", b"first"));
        shop.put("two.whl", &wheel("two/b.txt", b"second"));
        shop
    }

    fn put(&self, name: &str, content: &[u8]) {
        std::fs::write(self.shop(name), content).expect("written");
    }

    fn shop(&self, name: &str) -> PathBuf {
        self.rig.path("shop").join(name)
    }

    fn asked(&self) -> String {
        std::fs::read_to_string(self.shop("asked")).unwrap_or_default()
    }

    fn fetch(&self, name: &str) -> RecipeStep {
        let bytes = std::fs::read(self.shop(&format!("{name}.whl"))).expect("in the shop");
        RecipeStep::Fetch(PackageFetch {
            client: PackageClient::Pip {
                python: self.python.clone(),
            },
            name: name.to_owned(),
            version: "1".to_owned(),
            file: format!("{name}.whl"),
            bytes: bytes.len() as u64,
            sha256: sha256(&bytes),
        })
    }

    fn installation(&self) -> Installation {
        let unpack = |name: &str| RecipeStep::Unpack {
            file: format!("{name}.whl"),
            archive: ArchiveKind::Wheel,
            into: "library".to_owned(),
            bytes_max: 1_000,
        };
        let steps = vec![
            self.fetch("one"),
            self.fetch("two"),
            unpack("one"),
            unpack("two"),
            RecipeStep::Check {
                file: "library/two/b.txt".to_owned(),
                bytes: 6,
                sha256: sha256(b"second"),
            },
            RecipeStep::Write {
                file: "run.py".to_owned(),
                content: "print()".to_owned(),
            },
        ];
        let recipe = InstallRecipe {
            steps,
            disk_bytes: 100,
            licences: vec!["one: MIT".to_owned()],
            notes: Vec::new(),
        };
        let rig = &self.rig;
        let folder = rig.home.service("it");
        Installation::new("it", recipe, folder, rig.spawner.clone(), rig.env.clone())
    }

    fn folder(&self) -> PathBuf {
        self.rig.home.service("it")
    }
}

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let mut text = String::new();
    for byte in digest {
        write!(text, "{byte:02x}").expect("a string takes it");
    }
    text
}

fn wheel(name: &str, content: &[u8]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    writer.start_file(name, options).expect("begun");
    writer.write_all(content).expect("written");
    writer.finish().expect("finished").into_inner()
}

/// Runs it to its end; also what was told last.
async fn run(it: &Installation) -> (Result<(), InstallError>, InstallProgress) {
    let (tell, told) = watch::channel(it.initial_progress());
    let done = it.run(&tell, &CancellationToken::new()).await;
    let last = told.borrow().clone();
    (done, last)
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(
            started.elapsed() < Duration::from_mins(1),
            "in vain: {what}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[tokio::test]
async fn a_recipe_is_followed_and_what_it_made_is_there_as_a_whole() {
    let shop = Shop::open();
    let it = shop.installation();
    let plan = it.plan();
    assert!(!plan.ready && plan.obstacle.is_none());
    assert!(plan.steps.iter().all(|step| !step.done));
    let total: u64 = it.recipe.fetches().map(|fetch| fetch.bytes).sum();
    assert_eq!((plan.download_bytes, plan.disk_bytes), (total, 100));
    let command = plan.steps[0].command.as_deref().unwrap_or_default();
    assert!(
        command.contains("-m pip download --no-deps --require-hashes"),
        "{command}"
    );

    let (done, last) = run(&it).await;
    done.expect("installed");
    assert_eq!(
        (last.step, last.steps, last.state),
        (6, 6, InstallState::Running)
    );
    assert_eq!((last.bytes_done, last.bytes_total), (total, total));
    let installed = shop.folder().join("installed");
    assert_eq!(read(&installed.join("library/one/a.txt")), "first");
    assert_eq!(read(&installed.join("run.py")), "print()");
    assert_eq!(names(&shop.folder()), ["installed"]);
    let plan = it.plan();
    assert!(plan.ready && plan.download_bytes == 0);
    assert!(plan.steps.iter().all(|step| step.done));

    // What is there is not fetched again.
    run(&it).await.0.expect("there already");
    assert_eq!(shop.asked(), "one\ntwo\n");
}

#[tokio::test]
async fn the_client_has_its_own_configuration_and_none_of_our_secrets() {
    let shop = Shop::open();
    run(&shop.installation()).await.0.expect("installed");
    let environment = read(&shop.shop("environment"));
    assert!(
        environment.contains("PIP_INDEX_URL=somewhere"),
        "{environment}"
    );
    assert!(environment.contains("HTTPS_PROXY=a proxy"), "{environment}");
    assert!(!environment.contains("secret"), "{environment}");
}

#[tokio::test]
async fn a_file_with_another_checksum_leaves_nothing() {
    let shop = Shop::open();
    let it = shop.installation();
    shop.put("two.whl", &wheel("two/b.txt", b"sEcond"));
    let (done, _) = run(&it).await;
    let said = done.expect_err("refused").to_string();
    assert!(said.starts_with("'two.whl' failed verification"), "{said}");
    assert_eq!(names(&shop.rig.home.service("")), Vec::<String>::new());
}

#[tokio::test]
async fn what_came_out_of_a_wheel_is_checked_too() {
    let shop = Shop::open();
    let mut it = shop.installation();
    it.recipe.steps[4] = RecipeStep::Check {
        file: "library/two/b.txt".to_owned(),
        bytes: 6,
        sha256: sha256(b"another"),
    };
    assert!(matches!(run(&it).await.0, Err(InstallError::Wrong { .. })));
    assert!(!shop.folder().exists());
}

#[tokio::test]
async fn a_client_that_fails_is_quoted_and_leaves_nothing() {
    let shop = Shop::open();
    let it = shop.installation();
    shop.put(
        "says-two",
        b"WARNING: Retrying\nERROR: No matching distribution found for two==1\n",
    );
    let said = run(&it).await.0.expect_err("failed").to_string();
    assert!(
        said.starts_with("two 1 could not be fetched: pip could not download it"),
        "{said}"
    );
    assert!(
        said.ends_with("ERROR: No matching distribution found for two==1"),
        "{said}"
    );
    assert!(!shop.folder().exists());
    shop.put("says-two", b"OSError: [Errno 28] No space left on device\n");
    assert_eq!(run(&it).await.0, Err(InstallError::Full));
    assert!(!shop.folder().exists());
}

#[tokio::test]
async fn without_room_it_is_said_before_anything_is_done() {
    let shop = Shop::open();
    let mut it = shop.installation();
    it.free_bytes = |_| Ok(50_000_000);
    let obstacle = it.plan().obstacle.expect("no room");
    assert!(obstacle.contains("50 MB are free"), "{obstacle}");
    assert!(matches!(run(&it).await.0, Err(InstallError::NoRoom { .. })));
    assert_eq!(shop.asked(), "");
    assert!(!shop.folder().exists());
}

#[tokio::test]
async fn a_stopped_one_goes_on_from_the_files_that_were_verified() {
    let shop = Shop::open();
    let it = shop.installation();
    shop.put("wait-two", b"");
    let halt = CancellationToken::new();
    let (tell, told) = watch::channel(it.initial_progress());
    let begun = Instant::now();
    let (done, ()) = tokio::join!(it.run(&tell, &halt), async {
        until("the second is being fetched", || {
            shop.asked().contains("two")
        })
        .await;
        let first = it.recipe.fetches().next().map_or(0, |fetch| fetch.bytes);
        until("a part of it is told", || {
            told.borrow().bytes_done == first + 10
        })
        .await;
        halt.cancel();
    });
    assert_eq!(done, Err(InstallError::Stopped));
    assert!(begun.elapsed() < Duration::from_mins(1));
    assert!(!shop.folder().join("installed").exists());
    let plan = it.plan();
    assert_eq!((plan.steps[0].done, plan.steps[1].done), (true, false));

    std::fs::remove_file(shop.shop("wait-two")).expect("removed");
    run(&it).await.0.expect("installed");
    assert_eq!(shop.asked(), "one\ntwo\ntwo\n");
    assert_eq!(names(&shop.folder()), ["installed"]);
}

#[tokio::test]
async fn a_kept_file_that_was_changed_meanwhile_is_fetched_again() {
    let shop = Shop::open();
    let it = shop.installation();
    shop.put("wait-two", b"");
    let halt = CancellationToken::new();
    let (tell, _told) = watch::channel(it.initial_progress());
    let (_, ()) = tokio::join!(it.run(&tell, &halt), async {
        until("the second is being fetched", || {
            shop.asked().contains("two")
        })
        .await;
        halt.cancel();
    });
    std::fs::remove_file(shop.shop("wait-two")).expect("removed");
    let staging = names(&shop.folder()).pop().expect("a staging folder");
    let kept = shop.folder().join(staging).join("fetched/one.whl");
    let mut bytes = std::fs::read(&kept).expect("kept");
    bytes[0] ^= 1;
    std::fs::write(&kept, bytes).expect("written");
    run(&it).await.0.expect("installed");
    assert_eq!(shop.asked(), "one\ntwo\none\ntwo\n");
}

#[tokio::test]
async fn a_failure_leaves_what_was_installed_before() {
    let shop = Shop::open();
    run(&shop.installation()).await.0.expect("installed");
    shop.put("one.whl", &wheel("one/a.txt", b"newer"));
    let newer = shop.installation();
    assert!(!newer.plan().ready);
    shop.put("says-two", b"no network");
    run(&newer).await.0.expect_err("failed");
    let file = shop.folder().join("installed/library/one/a.txt");
    assert_eq!(read(&file), "first");
    std::fs::remove_file(shop.shop("says-two")).expect("removed");
    run(&newer).await.0.expect("installed");
    assert_eq!(read(&file), "newer");
    assert_eq!(names(&shop.folder()), ["installed"]);
    assert!(newer.site.remove().expect("removed") > 0);
    assert!(!shop.folder().exists());
}
