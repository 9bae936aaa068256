//! The hub's answers, as its API gives them, and the choice of a file.

use super::*;
use serde_json::{Value, json};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn file(path: &str) -> Value {
    json!({
        "rfilename": path,
        "size": 100,
        "blobId": COMMIT,
        "lfs": { "sha256": "ab".repeat(32), "size": 100, "pointerSize": 135 },
    })
}

fn parse(files: &[Value]) -> HubRepository {
    let answer = json!({
        "id": "o/r",
        "sha": COMMIT,
        "gated": false,
        "tags": ["gguf", "license:apache-2.0"],
        "cardData": { "license": "apache-2.0" },
        "siblings": files,
    });
    HubRepository::parse("o/r", &answer.to_string()).unwrap()
}

fn chosen(files: &[&str], wanted: Option<&str>) -> String {
    let files: Vec<_> = files.iter().map(|path| file(path)).collect();
    let found = parse(&files);
    found.choose(wanted).unwrap().path.clone()
}

fn refused(files: &[&str], wanted: Option<&str>) -> String {
    let files: Vec<_> = files.iter().map(|path| file(path)).collect();
    parse(&files).choose(wanted).unwrap_err().to_string()
}

#[test]
fn revision_licence_size_and_hash_are_read() {
    let found = parse(&[file("m-Q4_K_M.gguf"), json!({ "rfilename": "README.md" })]);
    assert_eq!(found.revision, COMMIT);
    assert_eq!(found.licence.as_deref(), Some("apache-2.0"));
    let only = HubFile {
        path: "m-Q4_K_M.gguf".to_owned(),
        bytes: 100,
        sha256: "ab".repeat(32),
    };
    assert_eq!(found.files, [only]);
    let bare = HubRepository::parse("o/r", "{}").unwrap();
    assert_eq!((bare.revision.as_str(), bare.licence), ("main", None));
    assert!(HubRepository::parse("o/r", "<html>").is_err());
}

#[test]
fn files_that_cannot_be_verified_or_named_are_left_out() {
    let without_hash = json!({ "rfilename": "a.gguf", "size": 5 });
    let short_hash = json!({ "rfilename": "a.gguf", "lfs": { "sha256": "ab", "size": 5 } });
    let odd_hash =
        json!({ "rfilename": "a.gguf", "lfs": { "sha256": "zz".repeat(32), "size": 5 } });
    let empty = json!({ "rfilename": "a.gguf", "lfs": { "sha256": "ab".repeat(32), "size": 0 } });
    let huge = json!({
        "rfilename": "a.gguf", "lfs": { "sha256": "ab".repeat(32), "size": FILE_BYTES_MAX + 1 }
    });
    assert!(
        parse(&[without_hash, short_hash, odd_hash, empty, huge])
            .files
            .is_empty()
    );
    for path in [
        "../../.bashrc.gguf",
        "/etc/x.gguf",
        "a/../x.gguf",
        "a//x.gguf",
        ".hidden.gguf",
        "a b.gguf",
        "-rf.gguf",
        "a\\b.gguf",
        "a%2fb.gguf",
        "a\u{0}.gguf",
        "a?b.gguf",
        "mmproj-model-f16.gguf",
        "imatrix_x.gguf",
        "model.safetensors",
    ] {
        assert!(parse(&[file(path)]).files.is_empty(), "{path:?}");
    }
}

#[test]
fn without_a_quantization_the_usual_one_is_chosen() {
    let all = ["m-Q8_0.gguf", "m-Q2_K.gguf", "m-Q4_K_M.gguf"];
    assert_eq!(chosen(&all, None), "m-Q4_K_M.gguf");
    assert_eq!(chosen(&["m-Q2_K.gguf", "m-Q8_0.gguf"], None), "m-Q8_0.gguf");
    assert_eq!(chosen(&["m.gguf", "mmproj.gguf"], None), "m.gguf");
    let said = refused(&["m-Q2_K.gguf", "m-Q3_K.gguf"], None);
    assert!(
        said.contains("name one") && said.contains("m-Q2_K.gguf"),
        "{said}"
    );
}

#[test]
fn a_quantization_is_a_whole_word_of_the_name_or_the_name_itself() {
    let all = [
        "m-Q4_K.gguf",
        "m-Q4_K_M.gguf",
        "m.q8_0.gguf",
        "sub/m-IQ4_K.gguf",
    ];
    assert_eq!(chosen(&all, Some("q4_k")), "m-Q4_K.gguf");
    assert_eq!(chosen(&all, Some("Q8_0")), "m.q8_0.gguf");
    assert_eq!(chosen(&all, Some("M-Q4_K_M.GGUF")), "m-Q4_K_M.gguf");
    assert_eq!(chosen(&all, Some("IQ4_K")), "sub/m-IQ4_K.gguf");
    let said = refused(&all, Some("Q5_K"));
    assert!(
        said.contains("o/r has no Q5_K") && said.contains("m-Q4_K.gguf"),
        "{said}"
    );
    assert!(refused(&[], None).contains("holds no GGUF"), "nothing");
}

#[test]
fn split_files_are_refused_by_name() {
    let parts = [
        "m-Q4_K_M-00001-of-00002.gguf",
        "m-Q4_K_M-00002-of-00002.gguf",
    ];
    for wanted in [None, Some("Q4_K_M")] {
        let said = refused(&parts, wanted);
        assert!(said.contains("split"), "{said}");
    }
    let with_whole = [parts[0], parts[1], "m-Q8_0.gguf"];
    let said = refused(&with_whole, Some("Q4_K_M"));
    assert!(
        said.contains("split") && said.contains("m-Q8_0.gguf"),
        "{said}"
    );
    // The usual one is split, so the next is taken.
    assert_eq!(chosen(&with_whole, None), "m-Q8_0.gguf");
}

#[test]
fn the_download_path_names_the_commit_and_encodes_the_file() {
    assert_eq!(
        HubRepository::download_path("o/r", COMMIT, "a/m+x.gguf"),
        format!("/o/r/resolve/{COMMIT}/a/m%2Bx.gguf")
    );
}
