//! Which files are taken for pictures.

use super::{BYTES_MAX, PICTURES_MAX, read};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

#[test]
fn only_pictures_within_the_bounds_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let png = file("a.png", PNG);
    let images = read(&[png.clone(), file("b", b"\xff\xd8\xff\xe0")]).unwrap();
    assert_eq!(images[0].mime_type, "image/png");
    assert_eq!(images[0].data, "iVBORw0KGgpyZXN0");
    assert_eq!(images[1].mime_type, "image/jpeg");

    let mut large = PNG.to_vec();
    large.resize(usize::try_from(BYTES_MAX).unwrap(), 0);
    let large = file("large.png", &large);
    assert!(read(std::slice::from_ref(&large)).is_ok());
    for (paths, why) in [
        (
            vec![file("key.png", b"-----BEGIN PRIVATE KEY-----")],
            "not a picture",
        ),
        (vec![file("empty.png", b"")], "not a picture"),
        (vec![png.clone(), large], "too large"),
        (vec!["a.png".to_owned()], "whole path"),
        (
            vec![folder.path().to_str().unwrap().to_owned()],
            "not a file",
        ),
        (vec!["/dev/zero".to_owned()], "not a file"),
        (vec![format!("{png}.gone")], "cannot be read"),
        (vec![png; PICTURES_MAX + 1], "at most"),
    ] {
        let refused = read(&paths).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}
