//! Reads the image files that a message names.
//!
//! Invariant: only regular files with the signature of an image format are sent to a model, within
//! a size limit; no links, and nothing from hob's home.

use data_encoding::BASE64;
use hob_core::image_type::mime_type;
use hob_kit::home::Home;
use hob_kit::prompt_file::{PromptFolder, open_prompt_file};
use hob_wire::rooms::agent::InlineImage;
use std::io::Read;
use std::path::Path;

/// Maximum images of one message.
const IMAGES_MAX: usize = 8;
/// Maximum bytes of all images of one message. As base64 they fit into a frame.
const BYTES_MAX: u64 = 5 * 1024 * 1024;

/// Reads the files. The error names the file that cannot be used, and why. Blocks.
pub(crate) fn read_images(paths: &[String], home: &Home) -> Result<Vec<InlineImage>, String> {
    if paths.len() > IMAGES_MAX {
        return Err(format!("A message has at most {IMAGES_MAX} pictures."));
    }
    let mut left = BYTES_MAX;
    let mut images = Vec::with_capacity(paths.len());
    for path in paths {
        let bytes = read_image(path, left, home)?;
        left -= bytes.len() as u64;
        let Some(mime_type) = mime_type(&bytes).or_else(|| bitmap_mime_type(&bytes)) else {
            return Err(format!(
                "The file '{path}' is not a picture (PNG, JPEG, GIF, WebP or BMP)."
            ));
        };
        images.push(InlineImage {
            mime_type: mime_type.to_owned(),
            data: BASE64.encode(&bytes),
        });
    }
    Ok(images)
}

fn read_image(path: &str, left: u64, home: &Home) -> Result<Vec<u8>, String> {
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
        // One byte more than allowed, to tell a file of exactly the limit from a larger one.
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

/// Recognizes BMP, which AgentLoop's clients also send, to local vision models.
fn bitmap_mime_type(bytes: &[u8]) -> Option<&'static str> {
    // The header: the magic, four bytes of size, and four reserved bytes that are always zero.
    let is_bitmap = bytes.starts_with(b"BM") && bytes.get(6..10) == Some(&[0; 4]);
    is_bitmap.then_some("image/bmp")
}

#[cfg(test)]
#[path = "images_tests.rs"]
mod tests;
