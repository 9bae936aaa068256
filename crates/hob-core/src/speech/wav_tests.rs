//! WAV files read, mended, joined and refused.

use super::{WavError, WavFile, WavFormat, join};

const FORMAT: WavFormat = WavFormat {
    channels: 1,
    sample_rate: 1_000,
    bits_per_sample: 16,
};

fn sound(samples: &[u8]) -> Vec<u8> {
    let wav = WavFile {
        format: FORMAT,
        samples,
    };
    wav.to_bytes().unwrap()
}

#[test]
fn what_is_written_is_read() {
    let file = sound(&[1, 0, 2, 0]);
    assert_eq!(file.len(), 48);
    assert_eq!(file[4..8], 40_u32.to_le_bytes());
    let read = WavFile::parse(&file).unwrap();
    assert_eq!((read.format, read.samples), (FORMAT, &[1, 0, 2, 0][..]));
    assert_eq!(read.duration_ms(), 2);
}

#[test]
fn open_lengths_are_mended() {
    let mut piped = sound(&[7; 2_001]);
    piped[4..8].copy_from_slice(&0x7fff_f024_u32.to_le_bytes());
    piped[40..44].copy_from_slice(&0x7fff_f000_u32.to_le_bytes());
    let read = WavFile::parse(&piped).unwrap();
    assert_eq!(read.duration_ms(), 1_001);
    let mended = read.to_bytes().unwrap();
    assert_eq!(mended[40..44], 2_002_u32.to_le_bytes());
    assert_eq!(WavFile::parse(&mended).unwrap(), read);
}

#[test]
fn chunks_that_mean_nothing_here_are_passed_over() {
    let plain = sound(&[1, 0]);
    let mut file = plain[..36].to_vec();
    file.extend_from_slice(b"LIST\x03\x00\x00\x00abc\x00");
    file.extend_from_slice(&plain[36..]);
    assert_eq!(WavFile::parse(&file).unwrap().samples, [1, 0]);
}

#[test]
fn pieces_are_joined_if_they_are_alike() {
    let joined = join(&[sound(&[1, 0]), sound(&[]), sound(&[2, 0, 3, 0])]).unwrap();
    assert_eq!(WavFile::parse(&joined).unwrap().samples, [1, 0, 2, 0, 3, 0]);
    let mut other = sound(&[1, 0]);
    other[24..28].copy_from_slice(&2_000_u32.to_le_bytes());
    assert_eq!(join(&[sound(&[1, 0]), other]), Err(WavError::MixedFormats));
    assert_eq!(join::<Vec<u8>>(&[]), Err(WavError::NotWav));
}

#[test]
fn what_is_no_sound_is_refused() {
    assert_eq!(WavFile::parse(b""), Err(WavError::NotWav));
    assert_eq!(WavFile::parse(b"RIFF____AVI LIST"), Err(WavError::NotWav));
    let file = sound(&[1, 0]);
    for end in 12..44 {
        assert!(WavFile::parse(&file[..end]).is_err(), "{end}");
    }
    let mut compressed = file.clone();
    compressed[20] = 85;
    assert_eq!(WavFile::parse(&compressed), Err(WavError::Compressed));
    let mut silly = file;
    silly[22] = 0;
    assert_eq!(WavFile::parse(&silly), Err(WavError::NotWav));
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(0_u8.., 0..200)) {
        let _ = WavFile::parse(&bytes);
        let mut file = sound(&[1, 0]);
        file.truncate(12);
        file.extend_from_slice(&bytes);
        let _ = WavFile::parse(&file);
    }
}
