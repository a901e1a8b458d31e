//! Reads base64, to look into what claims to be a header or a credential.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Returns the bytes that `text` stands for, in the common or the URL alphabet, padded or not; nothing if
/// it is not base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::RequireNone),
    );
    let common = text.trim_end_matches('=').bytes().map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    });
    LENIENT.decode(common.collect::<Vec<u8>>()).ok()
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn both_alphabets_are_read_with_and_without_padding() {
        assert_eq!(decode("TWFu").unwrap(), b"Man");
        assert_eq!(decode("TWE=").unwrap(), b"Ma");
        assert_eq!(decode("TQ").unwrap(), b"M");
        assert_eq!(decode("-_+/").unwrap(), [0xfb, 0xff, 0xbf]);
        assert_eq!(decode("TWF"), Some(b"Ma".to_vec()));
        assert_eq!(decode("T"), None);
        assert_eq!(decode("T W"), None);
    }
}
