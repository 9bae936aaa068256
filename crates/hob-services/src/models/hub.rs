//! The hub's API: what a repository holds, and which of its files is wanted.
//!
//! `GET /api/models/OWNER/REPO?blobs=true` lists the files with their sizes; those in large file
//! storage, as every GGUF is, with their SHA-256.
//!
//! Invariants: a file without a size and a SHA-256 is never chosen; the revision is pinned, so that a
//! download that continues gets the bytes of the same file; texts of the hub are cut and cleaned
//! before they are shown.

use super::error::PullError;
use super::source::is_part;
use hob_net::{FileClient, HttpResponse};
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;

/// The public hub, unless `HF_ENDPOINT` names another.
pub const ENDPOINT_DEFAULT: &str = "https://huggingface.co";
/// Quantizations by preference when none was named: small enough, and still good.
const PREFERRED: &[&str] = &["Q4_K_M", "Q4_K_S", "Q5_K_M", "Q4_0", "Q4_1", "Q8_0"];
/// The largest list of a repository. The largest seen have some hundred files.
const LIST_BYTES_MAX: usize = 16 * 1024 * 1024;
const LIST_SILENCE: Duration = Duration::from_secs(30);
/// The largest file that is fetched.
const FILE_BYTES_MAX: u64 = 256 * 1024 * 1024 * 1024;
/// The files that a message lists.
const SHOWN_MAX: usize = 12;
const WORDS_CHARS_MAX: usize = 200;
const COMMIT_LETTERS: usize = 40;
const SHA256_LETTERS: usize = 64;

/// A repository, as the hub describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubRepository {
    pub repository: String,
    /// The commit whose files are listed, or `main` if the hub does not say.
    pub revision: String,
    pub licence: Option<String>,
    /// True if the owner wants the licence accepted before a download.
    pub gated: bool,
    pub files: Vec<HubFile>,
}

/// A whole GGUF file on the hub, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubFile {
    /// The path within the repository.
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RepositoryAnswer {
    #[serde(default)]
    sha: Option<String>,
    /// `false`, `"auto"` or `"manual"`.
    #[serde(default)]
    gated: serde_json::Value,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    siblings: Vec<FileAnswer>,
}

#[derive(Debug, Deserialize)]
struct FileAnswer {
    rfilename: String,
    #[serde(default)]
    lfs: Option<LargeFileAnswer>,
}

#[derive(Debug, Deserialize)]
struct LargeFileAnswer {
    sha256: String,
    size: u64,
}

impl HubRepository {
    /// Asks the hub.
    pub async fn fetch(client: &FileClient, repository: &str) -> Result<HubRepository, PullError> {
        let path = format!("/api/models/{repository}?blobs=true");
        let got = client.get(&path, None).await;
        let response = got.map_err(|error| PullError::of_network(&error))?.response;
        if response.status() != 200 {
            let host = client.origin.host();
            return Err(refusal(
                &response,
                &host,
                repository,
                client.token.is_some(),
            ));
        }
        let text = response.text(LIST_SILENCE, LIST_BYTES_MAX).await;
        let text = text.map_err(|error| PullError::of_network(&error))?;
        HubRepository::parse(repository, &text)
    }

    /// Parses the hub's answer.
    pub fn parse(repository: &str, text: &str) -> Result<HubRepository, PullError> {
        let answer: RepositoryAnswer = serde_json::from_str(text).map_err(|_| {
            PullError::Hub(
                "The hub's list of files cannot be read; is HF_ENDPOINT a hub of models?"
                    .to_owned(),
            )
        })?;
        let is_commit = |sha: &String| sha.len() == COMMIT_LETTERS && is_hex(sha);
        let licence = answer
            .tags
            .iter()
            .find_map(|tag| tag.strip_prefix("license:"));
        let files = answer.siblings.into_iter().filter_map(HubFile::of_answer);
        Ok(HubRepository {
            repository: repository.to_owned(),
            revision: answer
                .sha
                .filter(is_commit)
                .unwrap_or_else(|| "main".to_owned()),
            gated: answer.gated.is_string() || answer.gated == true,
            licence: licence.map(plain_words).filter(|it| !it.is_empty()),
            files: files.collect(),
        })
    }

    /// Chooses the file for a quantization or a file name; without one, the usual quantization.
    pub fn choose(&self, wanted: Option<&str>) -> Result<&HubFile, PullError> {
        let whole = || self.files.iter().filter(|file| !file.is_part_of_split());
        let Some(wanted) = wanted else {
            let preferred = PREFERRED
                .iter()
                .find_map(|quant| whole().find(|file| file.has_quantization(quant)));
            let mut all = whole();
            // A repository with one file leaves no choice.
            let only = all.next().filter(|_| all.next().is_none());
            return preferred.or(only).ok_or_else(|| self.none_chosen(None));
        };
        let named = |file: &&HubFile| file.name().eq_ignore_ascii_case(wanted);
        let fits = |file: &&HubFile| file.has_quantization(wanted);
        let found = whole().find(named).or_else(|| whole().find(fits));
        found.ok_or_else(|| self.none_chosen(Some(wanted)))
    }

    fn none_chosen(&self, wanted: Option<&str>) -> PullError {
        let repository = &self.repository;
        if self.files.is_empty() {
            return PullError::NotFound(format!(
                "{repository} holds no GGUF file. Look for a repository whose name ends in -GGUF."
            ));
        }
        let split = |file: &&HubFile| {
            file.is_part_of_split() && wanted.is_none_or(|wanted| file.has_quantization(wanted))
        };
        let is_split = self.files.iter().any(|file| split(&file));
        let whole = self.files.iter().filter(|file| !file.is_part_of_split());
        let names: Vec<_> = whole.take(SHOWN_MAX).map(HubFile::name).collect();
        let there = if names.is_empty() {
            "It has no whole file".to_owned()
        } else {
            format!("Whole files: {}", names.join(", "))
        };
        let message = match (wanted, is_split) {
            (Some(wanted), true) => format!(
                "{wanted} of {repository} is split into several files, which hob does not join. {there}."
            ),
            (None, true) if names.is_empty() => format!(
                "The files of {repository} are split into parts, which hob does not join. Look for a repository with whole files."
            ),
            (Some(wanted), false) => format!("{repository} has no {wanted}. {there}."),
            (None, _) => {
                format!("{repository} has several files; name one: hf:{repository}:QUANT. {there}.")
            }
        };
        PullError::NotFound(message)
    }

    /// The path from which a file is downloaded.
    pub fn download_path(repository: &str, revision: &str, file: &str) -> String {
        let encoded: Vec<_> = file.split('/').map(percent_encode).collect();
        format!("/{repository}/resolve/{revision}/{}", encoded.join("/"))
    }
}

impl HubFile {
    /// Returns the file if it is a GGUF model that can be verified and has a plain name.
    fn of_answer(answer: FileAnswer) -> Option<HubFile> {
        let lfs = answer.lfs?;
        let sha256 = lfs.sha256.to_ascii_lowercase();
        let is_sound = sha256.len() == SHA256_LETTERS
            && is_hex(&sha256)
            && (1..=FILE_BYTES_MAX).contains(&lfs.size)
            && answer.rfilename.split('/').all(is_part);
        let file = HubFile {
            path: answer.rfilename,
            bytes: lfs.size,
            sha256,
        };
        (is_sound && file.is_model()).then_some(file)
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The name without `.gguf`.
    pub fn stem(&self) -> &str {
        let name = self.name();
        let end = name.len().saturating_sub(".gguf".len());
        name.get(..end).unwrap_or(name)
    }

    fn is_model(&self) -> bool {
        let name = self.name().to_ascii_lowercase();
        // A projector or a matrix of weights is a GGUF too, and no model.
        let is_gguf = Path::new(&name).extension().is_some_and(|it| it == "gguf");
        is_gguf && !name.contains("mmproj") && !name.contains("imatrix")
    }

    /// Returns true for `NAME-00001-of-00002.gguf`.
    fn is_part_of_split(&self) -> bool {
        let digits = |text: &str| text.len() == 5 && text.bytes().all(|it| it.is_ascii_digit());
        let Some((before, total)) = self.stem().rsplit_once("-of-") else {
            return false;
        };
        let number = before.rsplit_once('-').map(|(_, number)| number);
        digits(total) && number.is_some_and(digits)
    }

    /// Returns true if the name ends in this quantization, after a dash or a dot.
    fn has_quantization(&self, quant: &str) -> bool {
        let mut stem = self.stem().to_ascii_lowercase();
        if self.is_part_of_split() {
            stem.truncate(stem.len() - "-00001-of-00002".len());
        }
        let quant = quant.to_ascii_lowercase();
        let Some(before) = stem.strip_suffix(&quant) else {
            return false;
        };
        before.is_empty() || before.ends_with(['-', '.'])
    }
}

/// Explains a refusal of the hub.
pub(crate) fn refusal(
    response: &HttpResponse,
    host: &str,
    repository: &str,
    has_token: bool,
) -> PullError {
    let code = response.header("x-error-code").unwrap_or_default();
    let status = response.status();
    match (status, code) {
        (401 | 403, "GatedRepo") => gated(host, repository, has_token),
        (401 | 403, _) if has_token => PullError::Gated(format!(
            "{host} refuses the token in HF_TOKEN for {repository}, or there is no such repository."
        )),
        (401 | 403, _) | (404, "RepoNotFound") => PullError::NotFound(format!(
            "{host} has no public repository {repository}. Check the name; a private one needs HF_TOKEN where the daemon starts."
        )),
        (404 | 410, _) => PullError::NotFound(format!(
            "{host} does not have what was asked for of {repository} (status {status}). It may have been removed."
        )),
        (429, _) => PullError::Hub(format!(
            "{host} receives too many requests from this address; try again later."
        )),
        _ => {
            let said = response.header("x-error-message").map(plain_words);
            let said = said.map(|said| format!(": {said}")).unwrap_or_default();
            PullError::Hub(format!("{host} answered with status {status}{said}."))
        }
    }
}

/// The refusal of a gated repository, with the way to get in.
pub fn gated(host: &str, repository: &str, has_token: bool) -> PullError {
    let token = if has_token {
        "The token in HF_TOKEN does not open it; use one of the account that accepted"
    } else {
        "Then set HF_TOKEN to a token of that account where the daemon starts, run `hob restart`"
    };
    PullError::Gated(format!(
        "{repository} is gated: its owner wants the licence accepted first. Open https://{host}/{repository} with an account and accept it. {token}, and pull it again."
    ))
}

/// Returns true if a later attempt may succeed.
pub(crate) fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..=599)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Text of the hub, cut and without control characters.
fn plain_words(text: &str) -> String {
    let plain = text.chars().filter(|letter| !letter.is_control());
    let text: String = plain.take(WORDS_CHARS_MAX).collect();
    text.trim().trim_end_matches('.').to_owned()
}

/// Encodes what a plain name may contain beyond letters and digits: only `+`.
fn percent_encode(part: &str) -> String {
    part.replace('+', "%2B")
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
