//! Downloads from a hub on loopback: continuing, refusing, verifying.

use super::super::model_folder::ModelFolder;
use super::*;
use crate::models::HubFile;
use hob_kit::home::Home;
use hob_kit::randomness::Randomness;
use hob_kit::secret::Secret;
use hob_net::{FileOrigin, HttpClient, HttpOptions, PrivateHosts, WebClient};
use hob_sim::{HubSimFile, ModelHub, StorageFault};
use std::fs;
use std::os::unix::fs::symlink;

const REPOSITORY: &str = "lab/model-GGUF";
const FILE: &str = "model-Q4_K_M.gguf";
const TOKEN: &str = "hf_canary0123456789";

/// Bytes that differ everywhere, after the magic.
fn content(bytes: usize) -> Vec<u8> {
    let mut content = b"GGUF".to_vec();
    let mut state = 0x9e37_79b9_u32;
    while content.len() < bytes {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        content.extend_from_slice(&state.to_le_bytes());
    }
    content.truncate(bytes);
    content
}

struct Lab {
    home: tempfile::TempDir,
    hub: ModelHub,
    content: Vec<u8>,
    token: Option<&'static str>,
    disk: DiskAccess,
}

impl Lab {
    fn with(file: HubSimFile) -> Lab {
        let content = file.content.to_vec();
        Lab {
            home: tempfile::tempdir().unwrap(),
            hub: ModelHub::start(vec![file], Some(TOKEN)),
            content,
            token: Some(TOKEN),
            disk: DiskAccess::default(),
        }
    }

    fn new(bytes: usize) -> Lab {
        Lab::with(HubSimFile::new(REPOSITORY, FILE, content(bytes)))
    }

    fn client(&self) -> FileClient {
        let clock = Clock::system();
        FileClient {
            http: HttpClient::new(HttpOptions::new(clock.clone())).unwrap(),
            web: WebClient::new(clock),
            origin: FileOrigin::parse(&self.hub.endpoint()).unwrap(),
            token: self.token.map(Secret::new),
            private_hosts: PrivateHosts::default(),
        }
    }

    fn place(&self) -> ModelPlace {
        let folder = ModelFolder::new(&Home::at(self.home.path()));
        folder.place("model").unwrap()
    }

    /// The download that the hub's list describes, or its continuation.
    async fn transfer(&self) -> FileTransfer {
        let client = self.client();
        let found = HubRepository::fetch(&client, REPOSITORY).await.unwrap();
        let HubFile {
            path,
            bytes,
            sha256,
        } = found.choose(None).unwrap().clone();
        let place = self.place();
        let before = place.read().unwrap();
        let fresh = ModelRecord {
            source: format!("hf:{REPOSITORY}"),
            repository: REPOSITORY.to_owned(),
            revision: found.revision,
            path,
            bytes,
            sha256,
            licence: found.licence,
            tools: None,
            complete: false,
            safe_bytes: 0,
            failure: None,
        };
        let progress = ModelDownload {
            name: "model".to_owned(),
            source: fresh.source.clone(),
            file: FILE.to_owned(),
            state: DownloadState::Fetching,
            bytes_done: 0,
            bytes_total: bytes,
            bytes_per_second: None,
            seconds_left: None,
            licence: None,
            path: None,
            local: false,
            message: None,
        };
        FileTransfer {
            client,
            place,
            record: before.unwrap_or(fresh),
            clock: Clock::system(),
            disk: self.disk,
            retry_pause: Duration::from_millis(1),
            progress: Arc::new(watch::Sender::new(progress)),
        }
    }

    async fn pull(&self) -> Result<(), PullError> {
        self.transfer().await.run(&CancellationToken::new()).await
    }

    fn record(&self) -> ModelRecord {
        self.place().read().unwrap().unwrap()
    }

    fn assert_complete(&self) {
        let record = self.record();
        assert!(self.place().is_complete(&record));
        let file = fs::read(self.place().file(&record)).unwrap();
        assert!(file == self.content, "the file differs");
        assert!(!self.place().part(&record).exists());
    }

    fn ranges(&self) -> Vec<u64> {
        let requests = self.hub.requests().into_iter();
        let ranges = requests
            .filter(|it| it.to_storage)
            .map(|it| it.range.unwrap());
        ranges
            .map(|range| range["bytes=".len()..range.len() - 1].parse().unwrap())
            .collect()
    }
}

#[tokio::test]
async fn a_file_is_fetched_verified_and_named() {
    let lab = Lab::new(3_000_000);
    let mut transfer = lab.transfer().await;
    transfer.run(&CancellationToken::new()).await.unwrap();
    lab.assert_complete();
    let last = transfer.progress.borrow().clone();
    assert_eq!(last.state, DownloadState::Verifying);
    assert_eq!((last.bytes_done, last.bytes_total), (3_000_000, 3_000_000));
    let requests = lab.hub.requests();
    let sent = |to_storage: bool| {
        let requests = requests
            .iter()
            .filter(move |it| it.to_storage == to_storage);
        requests
            .map(|it| it.authorization.as_deref())
            .collect::<Vec<_>>()
    };
    // The list and the file of the hub; the storage never sees the token.
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(sent(false), [Some(bearer.as_str()); 2]);
    assert_eq!(sent(true), [None]);
    assert_eq!(lab.record().licence.as_deref(), Some("apache-2.0"));
}

#[tokio::test]
async fn cuts_at_random_bytes_do_not_stop_a_download() {
    let seed = Randomness::system().u64();
    eprintln!("seed {seed}");
    let randomness = Randomness::seeded(seed);
    let lab = Lab::new(5_000_000);
    let cuts = (0..12).map(|_| StorageFault::Cut(randomness.u64() % 600_000));
    lab.hub.fail_next(cuts.collect::<Vec<_>>());
    let done = lab.pull().await;
    assert_eq!(done, Ok(()), "seed {seed}");
    lab.assert_complete();
    let ranges = lab.ranges();
    assert!(
        ranges.is_sorted() && ranges.len() >= 9,
        "seed {seed}: {ranges:?}"
    );
}

#[tokio::test]
async fn a_server_that_ignores_ranges_sends_the_file_anew() {
    let lab = Lab::new(3_000_000);
    lab.hub
        .fail_next([StorageFault::Cut(2_000_000), StorageFault::IgnoreRange]);
    assert_eq!(lab.pull().await, Ok(()));
    lab.assert_complete();
    assert_eq!(lab.ranges(), [0, 2_000_000]);
}

#[tokio::test]
async fn another_part_than_asked_for_is_refused() {
    let lab = Lab::new(100_000);
    lab.hub
        .fail_next([StorageFault::Cut(40_000), StorageFault::WrongRange]);
    let said = lab.pull().await.unwrap_err().to_string();
    assert!(said.contains("another part of the file"), "{said}");
    // What was right is kept.
    assert_eq!(lab.record().safe_bytes, 40_000);
    assert_eq!(lab.pull().await, Ok(()));
    lab.assert_complete();
}

#[tokio::test]
async fn passing_refusals_are_tried_again_and_lasting_ones_end() {
    let lab = Lab::new(100_000);
    lab.hub.fail_next([503, 500, 429].map(StorageFault::Status));
    assert_eq!(lab.pull().await, Ok(()));
    lab.assert_complete();
    let lab = Lab::new(100_000);
    lab.hub.fail_next(vec![StorageFault::Status(503); 20]);
    let error = lab.pull().await.unwrap_err();
    assert!(error.to_string().contains("status 503"), "{error}");
    assert_eq!(lab.ranges().len(), ATTEMPTS_MAX as usize);
    assert_eq!(lab.record().failure, Some(error.to_string()));
    let lab = Lab::new(100_000);
    lab.hub.fail_next([StorageFault::Status(404)]);
    assert!(matches!(lab.pull().await, Err(PullError::NotFound(_))));
    assert_eq!(lab.ranges().len(), 1);
}

#[tokio::test]
async fn a_wrong_hash_deletes_the_file_and_says_so() {
    let mut file = HubSimFile::new(REPOSITORY, FILE, content(100_000));
    file.listed_sha256 = Some("ab".repeat(32));
    let lab = Lab::with(file);
    let error = lab.pull().await.unwrap_err();
    assert!(matches!(error, PullError::Wrong { .. }), "{error}");
    let said = error.to_string();
    assert!(
        said.contains("deleted") && said.contains("SHA-256"),
        "{said}"
    );
    let record = lab.record();
    assert!(!record.complete && record.safe_bytes == 0);
    assert!(!lab.place().part(&record).exists() && !lab.place().file(&record).exists());
}

#[tokio::test]
async fn something_else_than_a_model_is_deleted() {
    let mut bytes = content(50_000);
    bytes[..4].copy_from_slice(b"PK\x03\x04");
    let lab = Lab::with(HubSimFile::new(REPOSITORY, FILE, bytes));
    let said = lab.pull().await.unwrap_err().to_string();
    assert!(said.contains("not a GGUF file"), "{said}");
    assert!(!lab.place().part(&lab.record()).exists());
}

#[tokio::test]
async fn a_body_without_end_is_not_written_beyond_the_announced_size() {
    let lab = Lab::new(2_000_000);
    lab.hub.fail_next([StorageFault::Endless]);
    let error = lab.pull().await.unwrap_err();
    assert!(
        error.to_string().contains("more than the announced"),
        "{error}"
    );
    assert!(!lab.place().part(&lab.record()).exists());
}

#[tokio::test]
async fn a_size_that_differs_from_the_list_is_refused_before_the_body() {
    let mut file = HubSimFile::new(REPOSITORY, FILE, content(100_000));
    file.listed_bytes = Some(90_000);
    let lab = Lab::with(file);
    let said = lab.pull().await.unwrap_err().to_string();
    assert!(said.contains("another size"), "{said}");
}

#[tokio::test]
async fn a_stop_keeps_what_came_and_the_next_pull_continues() {
    let lab = Lab::new(3_000_000);
    lab.hub.fail_next([StorageFault::Hold(1_500_000)]);
    let mut transfer = lab.transfer().await;
    let stop = CancellationToken::new();
    let (ended, ()) = tokio::join!(transfer.run(&stop), async {
        // One megabyte is written at once; the rest of what came is still collected.
        let mut progress = transfer_progress(&lab);
        while progress() < 1_000_000 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stop.cancel();
    });
    assert_eq!(ended, Err(PullError::Stopped));
    let kept = lab.record();
    assert!(
        (1_000_000..=1_500_000).contains(&kept.safe_bytes),
        "{kept:?}"
    );
    assert_eq!(kept.failure, None);
    assert_eq!(lab.pull().await, Ok(()));
    lab.assert_complete();
    assert_eq!(lab.ranges(), [0, kept.safe_bytes]);
}

/// The length of the part on the disk.
fn transfer_progress(lab: &Lab) -> impl FnMut() -> u64 {
    let part = lab
        .home
        .path()
        .join("models/model")
        .join(format!("{FILE}.part"));
    move || fs::metadata(&part).map_or(0, |it| it.len())
}

#[tokio::test]
async fn after_a_power_cut_only_noted_bytes_count() {
    let lab = Lab::new(1_000_000);
    lab.hub
        .fail_next([StorageFault::Cut(600_000), StorageFault::Status(404)]);
    assert!(lab.pull().await.is_err());
    // What a file system may leave behind the last synced byte.
    let part = lab.place().part(&lab.record());
    let mut bytes = fs::read(&part).unwrap();
    assert_eq!(bytes.len(), 600_000);
    bytes.resize(900_000, 0);
    fs::write(&part, bytes).unwrap();
    assert_eq!(lab.pull().await, Ok(()));
    lab.assert_complete();
    assert_eq!(lab.ranges().last(), Some(&600_000));
}

#[tokio::test]
async fn a_damaged_part_is_found_at_the_end_and_deleted() {
    let lab = Lab::new(1_000_000);
    lab.hub
        .fail_next([StorageFault::Cut(600_000), StorageFault::Status(404)]);
    assert!(lab.pull().await.is_err());
    let part = lab.place().part(&lab.record());
    let mut bytes = fs::read(&part).unwrap();
    bytes[300_000] ^= 1;
    fs::write(&part, bytes).unwrap();
    assert!(matches!(lab.pull().await, Err(PullError::Wrong { .. })));
    // The one after it begins anew.
    assert_eq!(lab.pull().await, Ok(()));
    lab.assert_complete();
}

#[tokio::test]
async fn without_room_nothing_is_requested() {
    let mut lab = Lab::new(100_000);
    lab.disk.free_bytes = |_| Ok(ROOM_SPARE_BYTES);
    let error = lab.pull().await.unwrap_err();
    assert!(matches!(error, PullError::NoRoom { .. }), "{error}");
    assert!(lab.ranges().is_empty());
}

#[tokio::test]
async fn a_disk_that_fills_up_is_named_and_the_download_continues_later() {
    let mut lab = Lab::new(4_000_000);
    lab.disk.write_at = |file, bytes, offset| {
        if offset >= 2 * WRITE_BYTES as u64 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        file.write_all_at(bytes, offset)
    };
    let error = lab.pull().await.unwrap_err();
    assert_eq!(error, PullError::Full);
    lab.disk = DiskAccess::default();
    assert_eq!(lab.pull().await, Ok(()));
    lab.assert_complete();
}

#[tokio::test]
async fn a_gated_file_needs_the_token_and_says_how_to_get_it() {
    let mut file = HubSimFile::new(REPOSITORY, FILE, content(10_000));
    file.gated = true;
    let mut lab = Lab::with(file);
    lab.token = None;
    let error = lab.pull().await.unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, PullError::Gated(_)), "{said}");
    assert!(
        said.contains("HF_TOKEN") && said.contains("accept"),
        "{said}"
    );
    lab.token = Some("hf_of_somebody_else");
    let said = lab.pull().await.unwrap_err().to_string();
    assert!(
        said.contains("does not open it") && !said.contains("somebody"),
        "{said}"
    );
    lab.token = Some(TOKEN);
    assert_eq!(lab.pull().await, Ok(()));
    lab.assert_complete();
}

#[tokio::test]
async fn a_repository_that_is_not_there_is_named() {
    let mut lab = Lab::new(10_000);
    lab.token = None;
    let found = HubRepository::fetch(&lab.client(), "nobody/nothing").await;
    let said = found.unwrap_err().to_string();
    assert!(
        said.contains("no public repository nobody/nothing"),
        "{said}"
    );
}

#[tokio::test]
async fn a_redirect_to_a_private_host_or_without_https_is_refused() {
    for location in [
        "https://10.0.0.1/x",
        "http://10.0.0.1/x",
        "https://169.254.169.254/",
    ] {
        let lab = Lab::new(10_000);
        lab.hub.redirect_to(location);
        let said = lab.pull().await.unwrap_err().to_string();
        assert!(said.starts_with("The address is not allowed"), "{said}");
        assert_eq!(lab.hub.requests().len(), 2, "it is not tried again");
    }
}

#[tokio::test]
async fn a_redirect_in_circles_ends() {
    let lab = Lab::new(10_000);
    lab.hub.redirect_to(&format!(
        "{}/{REPOSITORY}/resolve/main/{FILE}",
        lab.hub.endpoint()
    ));
    let said = lab.pull().await.unwrap_err().to_string();
    assert!(said.contains("redirected more than"), "{said}");
}

#[tokio::test]
async fn a_link_in_the_place_of_the_part_is_not_followed() {
    let lab = Lab::new(10_000);
    let victim = lab.home.path().join("victim");
    fs::write(&victim, b"precious").unwrap();
    let transfer = lab.transfer().await;
    transfer.place.prepare().unwrap();
    symlink(&victim, transfer.place.part(&transfer.record)).unwrap();
    assert!(matches!(lab.pull().await, Err(PullError::Disk { .. })));
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}
