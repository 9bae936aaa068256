//! Names that are understood, and names that must not become paths.

use super::*;

fn hub(text: &str) -> Option<(String, Option<String>)> {
    match ModelSource::parse(text) {
        Ok(ModelSource::Hub(hub)) => Some((hub.repository, hub.wanted)),
        _ => None,
    }
}

#[test]
fn the_three_kinds_are_told_apart_and_written_back() {
    assert!(matches!(
        ModelSource::parse(" qwen3-4b "),
        Ok(ModelSource::Catalog(model)) if model.name == "qwen3-4b"
    ));
    let plain = hub("hf:Qwen/Qwen3-8B-GGUF");
    assert_eq!(plain, Some(("Qwen/Qwen3-8B-GGUF".to_owned(), None)));
    let quant = hub("hf:Qwen/Qwen3-8B-GGUF:Q8_0");
    assert_eq!(quant.unwrap().1.as_deref(), Some("Q8_0"));
    for text in [
        "qwen3-4b",
        "hf:Qwen/Qwen3-8B-GGUF",
        "hf:Qwen/Qwen3-8B-GGUF:Q8_0",
        "ollama:qwen3:4b",
        "ollama:hf.co/Qwen/Qwen3-8B-GGUF:Q4_K_M",
    ] {
        assert_eq!(ModelSource::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn what_could_leave_its_folder_or_its_url_is_no_name() {
    for text in [
        "",
        "hf:",
        "hf:one",
        "hf:a/b/c",
        "hf:../b",
        "hf:a/..",
        "hf:a/b:../x",
        "hf:a/b:",
        "hf:a/b:Q4/x",
        "hf:a/b?x=1",
        "hf:a/b#x",
        "hf:a/b%2f",
        "hf:-a/b",
        "hf:.a/b",
        "hf:a /b",
        "ollama:",
        "ollama:../x",
        "ollama:/etc/passwd",
        "ollama:a b",
        "/etc/passwd",
        "../qwen3-4b",
        "QWEN3-4B",
    ] {
        let parsed = ModelSource::parse(text);
        assert!(matches!(parsed, Err(PullError::Source(_))), "{text:?}");
    }
    let long = format!("hf:a/{}", "b".repeat(PART_BYTES_MAX + 1));
    assert!(ModelSource::parse(&long).is_err());
}

#[test]
fn an_unknown_name_is_answered_with_those_there_are() {
    let said = ModelSource::parse("qwen").unwrap_err().to_string();
    assert!(
        said.contains("qwen3-4b") && said.contains("hf:OWNER/REPO"),
        "{said}"
    );
    let said = ModelSource::parse("Qwen/Qwen3-8B-GGUF")
        .unwrap_err()
        .to_string();
    assert!(said.contains("write hf:Qwen/Qwen3-8B-GGUF."), "{said}");
}
