//! "Did you mean …?" hints for names and keys.

/// Longer names are not compared: the time of a comparison grows with the square of the length.
const NAME_BYTES_MAX: usize = 256;

/// The candidate most similar to `name`, if it is similar enough for a misspelling. Of equally similar ones, the one
/// with the fewest edits, and then the first in alphabetical order.
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
        .min_by(|(similarity, candidate), (other_similarity, other)| {
            let edits = |candidate| strsim::levenshtein(name, candidate);
            let closer = || edits(candidate).cmp(&edits(other)).then_with(|| candidate.cmp(other));
            other_similarity.total_cmp(similarity).then_with(closer)
        })
        .map(|(_, candidate)| candidate.to_owned())
}

/// The end of an error message that suggests `nearest`.
#[must_use]
pub fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equally_similar_names_the_first_is_suggested() {
        let names = ["n09", "n03", "n00", "n01"];
        assert_eq!(nearest("n0", names).as_deref(), Some("n00"));
        assert_eq!(nearest("n03", names).as_deref(), Some("n03"));
        assert_eq!(nearest("zzz", names), None);
    }
}
