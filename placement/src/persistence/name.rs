//! Names of history files: the time of saving in hexadecimal, so that names sort by time.

const PREFIX: &str = "rolehistory-";
const SUFFIX: &str = ".json";
const DIGITS: usize = 16;

/// Returns the name of a history saved at this time since the epoch (Slider placement, "Placement
/// History").
#[must_use]
pub fn history_name(saved_ms: u64) -> String {
    format!("{PREFIX}{saved_ms:016x}{SUFFIX}")
}

/// Returns the time in a name of [`history_name`]'s form; `None` for any other.
#[must_use]
pub fn history_name_ms(name: &str) -> Option<u64> {
    let digits = middle(name)?;
    let is_ours =
        digits.len() == DIGITS && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    if is_ours { u64::from_str_radix(digits, 16).ok() } else { None }
}

/// Returns whether a file of this name counts as a history: `rolehistory-*.json`.
#[must_use]
pub fn is_history_name(name: &str) -> bool {
    middle(name).is_some()
}

fn middle(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_time() {
        assert_eq!(history_name(1_450_435_691_617), "rolehistory-00000151b4b44461.json");
        for ms in [0, 1, 0x151_b4b4_4461, u64::MAX] {
            assert_eq!(history_name_ms(&history_name(ms)), Some(ms));
        }
    }

    #[test]
    fn a_name_of_another_form_tells_none() {
        for name in [
            "rolehistory-151b4b44461.json",
            "rolehistory-00000151B4B44461.json",
            "rolehistory-+0000151b4b44461.json",
            "rolehistory-00000151b4b44461-copy.json",
            "rolehistory-.json",
        ] {
            assert_eq!((history_name_ms(name), is_history_name(name)), (None, true), "{name}");
        }
        assert!(!is_history_name("file.json") && !is_history_name(".rolehistory-00000151b4b44461.json"));
    }
}
