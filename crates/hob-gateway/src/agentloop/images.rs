//! Pictures that a message names as files of this machine.
//!
//! Invariant: only plain files that begin as a picture does are read, no links and nothing of hob's
//! home, and no more of them than the bound: nothing else of the machine reaches a model by this
//! way.

use data_encoding::BASE64;
use hob_core::picture::mime_type;
use hob_kit::home::Home;
use hob_kit::prompt_file::{PromptFolder, open_prompt_file};
use hob_wire::rooms::agent::Image;
use std::io::Read;
use std::path::Path;

/// Pictures of one message.
const PICTURES_MAX: usize = 8;
/// Bytes of all pictures of one message: as base64 they stay below a frame.
const BYTES_MAX: u64 = 5 * 1024 * 1024;

/// Reads the files, or says which one cannot be taken and why. Blocks.
pub(crate) fn read(paths: &[String], home: &Home) -> Result<Vec<Image>, String> {
    if paths.len() > PICTURES_MAX {
        return Err(format!("A message has at most {PICTURES_MAX} pictures."));
    }
    let mut left = BYTES_MAX;
    let mut images = Vec::with_capacity(paths.len());
    for path in paths {
        let bytes = read_one(path, left, home)?;
        left -= bytes.len() as u64;
        let Some(mime_type) = mime_type(&bytes).or_else(|| bitmap(&bytes)) else {
            return Err(format!(
                "The file '{path}' is not a picture (PNG, JPEG, GIF, WebP or BMP)."
            ));
        };
        images.push(Image {
            mime_type: mime_type.to_owned(),
            data: BASE64.encode(&bytes),
        });
    }
    Ok(images)
}

fn read_one(path: &str, left: u64, home: &Home) -> Result<Vec<u8>, String> {
    let refused = |why: &str| format!("The picture '{path}' {why}");
    let named = Path::new(path);
    if !named.is_absolute() {
        return Err(refused("must be named by its whole path."));
    }
    let name = named.file_name().and_then(|name| name.to_str());
    let (Some(folder), Some(name)) = (named.parent(), name) else {
        return Err(refused("is not a file."));
    };
    let folder = PromptFolder::Outside { folder, home };
    let opened = open_prompt_file(folder, name);
    let opened = opened.map_err(|why| format!("The picture cannot be taken: {why}"))?;
    let file = opened.ok_or_else(|| refused("cannot be read: there is no such file."))?;
    let mut bytes = Vec::new();
    let read = file
        .take(left + 1)
        .read_to_end(&mut bytes)
        .map_err(|failure| refused(&format!("cannot be read: {failure}.")))?;
    if read as u64 > left {
        return Err(refused(&format!(
            "is too large: the pictures of a message have at most {BYTES_MAX} bytes."
        )));
    }
    Ok(bytes)
}

/// AgentLoop's clients send these too, to models of their own machine that see.
fn bitmap(bytes: &[u8]) -> Option<&'static str> {
    // Its size, and four bytes that are always zero.
    let is_bitmap = bytes.starts_with(b"BM") && bytes.get(6..10) == Some(&[0; 4]);
    is_bitmap.then_some("image/bmp")
}

#[cfg(test)]
#[path = "pictures_tests.rs"]
mod tests;
