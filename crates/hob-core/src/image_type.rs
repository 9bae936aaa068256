//! Detects the type of an image from its first bytes; file names are not trusted.

/// Returns the MIME type of an image that models accept.
pub fn mime_type(bytes: &[u8]) -> Option<&'static str> {
    let begins = |with: &[u8]| bytes.starts_with(with);
    let is_webp = begins(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    let kinds = [
        (begins(b"\x89PNG\r\n\x1a\n"), "image/png"),
        (begins(b"\xff\xd8\xff"), "image/jpeg"),
        (begins(b"GIF87a") || begins(b"GIF89a"), "image/gif"),
        (is_webp, "image/webp"),
    ];
    let found = kinds.into_iter().find(|(is_it, _)| *is_it);
    found.map(|(_, mime_type)| mime_type)
}
