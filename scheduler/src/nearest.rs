//! "Did you mean …?" hints for names and keys.

/// Longer names are not compared: the time of a comparison grows with the square of the length.
const NAME_BYTES_MAX: usize = 256;

/// The candidate most similar to `name`, if it is similar enough for a misspelling.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let about_as_long = |candidate: &&str| {
        let (shorter, longer) = (name.len().min(candidate.len()), name.len().max(candidate.len()));
        longer <= NAME_BYTES_MAX && longer <= shorter * 2 + 4
    };
    candidates
        .into_iter()
        .filter(about_as_long)
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(similarity, _)| *similarity >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate.to_owned())
}

/// The end of an error message that suggests `nearest`.
#[must_use]
pub fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}
