//! A WAV file measured by the letter of its format, with no code of ours.

/// What a file sounds like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sound {
    pub(crate) duration_ms: u64,
    /// The root of the mean square of its samples.
    pub(crate) loudness: f64,
}

impl Sound {
    /// Reads a file whose lengths must be true.
    pub(crate) fn read(file: &[u8]) -> Sound {
        assert_eq!((&file[..4], &file[8..16]), (&b"RIFF"[..], &b"WAVEfmt "[..]));
        let number =
            |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
        let short = |at: usize| u16::from_le_bytes(file[at..at + 2].try_into().expect("two bytes"));
        assert_eq!(number(4) as usize, file.len() - 8, "the whole length");
        assert_eq!(
            (short(20), short(22), short(34)),
            (1, 1, 16),
            "PCM, mono, 16 bits"
        );
        assert_eq!(&file[36..40], b"data");
        assert_eq!(number(40) as usize, file.len() - 44, "the samples' length");
        let samples: Vec<f64> = file[44..]
            .chunks_exact(2)
            .map(|two| f64::from(i16::from_le_bytes([two[0], two[1]])))
            .collect();
        let squares: f64 = samples.iter().map(|sample| sample * sample).sum();
        let count = u32::try_from(samples.len()).expect("a short sound");
        Sound {
            duration_ms: u64::from(count) * 1_000 / u64::from(number(24)),
            loudness: (squares / f64::from(count.max(1))).sqrt(),
        }
    }
}
