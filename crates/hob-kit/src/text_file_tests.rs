//! The position of the first byte that is not UTF-8.

use super::decode;

#[test]
fn the_place_of_the_first_wrong_byte_is_told() {
    assert_eq!(decode("caf\u{e9}\n".as_bytes().to_vec()).unwrap(), "café\n");
    for (bytes, line, column) in [
        (&b"\xe9"[..], 1, 1),
        (b"a = 1\nb = \"caf\xe9\"\n", 2, 9),
        (b"\n\n\xff", 3, 1),
        // A letter that the file ends in the middle of.
        (b"a\nb\xc3", 2, 2),
    ] {
        let wrong = decode(bytes.to_vec()).unwrap_err();
        assert_eq!((wrong.line, wrong.column), (line, column), "{bytes:?}");
        assert!(
            wrong
                .to_string()
                .ends_with("Save the file as UTF-8 and try again.")
        );
    }
}

#[test]
fn the_other_usual_form_is_named() {
    let wrong = decode(b"\xff\xfea\0".to_vec()).unwrap_err();
    assert!(wrong.to_string().contains("UTF-16"), "{wrong}");
}
