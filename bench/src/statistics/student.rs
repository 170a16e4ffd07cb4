//! Confidence in the mean of a few runs, and in the difference of two means, by Student's t.

use std::f64::consts::FRAC_2_PI;

/// The difference of two means with its confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The second mean minus the first.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval.
    pub half_width: f64,
    /// The probability of a difference at least as large if there is none (two-sided).
    pub p: f64,
}

/// The error probability of a 95 % interval.
const ALPHA: f64 = 0.05;

/// The 95 % confidence interval of the mean; `None` for fewer than two values.
#[must_use]
pub fn mean_interval(values: &[f64]) -> Option<[f64; 2]> {
    let (mean, variance) = moments(values)?;
    let half = t_of(ALPHA, values.len() as u64 - 1) * (variance / values.len() as f64).sqrt();
    Some([mean - half, mean + half])
}

/// The difference of paired values: runs with the same seeds, in the same order. `None` for fewer than two
/// pairs.
///
/// Source: the paired-t interval with common random numbers of Law, Simulation Modeling and Analysis, chapter 10.
#[must_use]
pub fn paired(first: &[f64], second: &[f64]) -> Option<Difference> {
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| b - a).collect();
    let (mean, variance) = moments(&differences)?;
    let count = differences.len() as u64;
    Some(difference(mean, (variance / count as f64).sqrt(), count - 1))
}

/// The difference of values of unrelated runs, at least two each, whose variances may differ (Welch 1947). Degrees of
/// freedom are rounded down.
#[must_use]
pub fn welch(first: &[f64], second: &[f64]) -> Option<Difference> {
    let part = |values: &[f64]| {
        let (mean, variance) = moments(values)?;
        Some((mean, variance / values.len() as f64, values.len() as f64 - 1.0))
    };
    let ((mean_a, error_a, free_a), (mean_b, error_b, free_b)) = (part(first)?, part(second)?);
    let error = error_a + error_b;
    let freedom = error * error / (error_a * error_a / free_a + error_b * error_b / free_b);
    let freedom = if freedom.is_finite() { (freedom as u64).max(1) } else { 1 };
    Some(difference(mean_b - mean_a, error.sqrt(), freedom))
}

/// Raises p values, so that of all values at most 0.05 no more than 5 % are expected to be chance, however many were
/// tried.
///
/// Source: Benjamini, Hochberg: Controlling the false discovery rate. Journal of the Royal Statistical Society B, 1995.
#[must_use]
pub fn adjusted(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*b].total_cmp(&p_values[*a]));
    let mut out = vec![1.0; p_values.len()];
    let mut lowest: f64 = 1.0;
    for (place, index) in order.into_iter().enumerate() {
        let rank = (p_values.len() - place) as f64;
        lowest = lowest.min(p_values[index] * p_values.len() as f64 / rank);
        out[index] = lowest;
    }
    out
}

fn difference(mean: f64, error: f64, freedom: u64) -> Difference {
    let p = match error > 0.0 {
        true => p_of(mean / error, freedom),
        // All pairs have the same difference.
        false => f64::from(mean == 0.0),
    };
    Difference { mean, half_width: t_of(ALPHA, freedom) * error, p }
}

/// Mean and variance; `None` for fewer than two values.
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some((mean, squares / (values.len() - 1) as f64))
}

/// The two-sided probability of a t at least as far from 0.
///
/// Source: Abramowitz, Stegun: Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
fn p_of(t: f64, freedom: u64) -> f64 {
    let angle = (t.abs() / (freedom as f64).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    let mut term = if is_odd { cos } else { 1.0 };
    let mut sum = if freedom == 1 { 0.0 } else { term };
    let mut step = if is_odd { 3 } else { 2 };
    while step + 2 <= freedom {
        term *= cos * cos * (step - 1) as f64 / step as f64;
        sum += term;
        step += 2;
    }
    let inside = if is_odd { FRAC_2_PI * (angle + sin * sum) } else { sin * sum };
    (1.0 - inside).clamp(0.0, 1.0)
}

/// The t whose two-sided probability is `p`.
fn t_of(p: f64, freedom: u64) -> f64 {
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if p_of(middle, freedom) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from textbook tables.
    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, t) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (6, 2.447),
            (9, 2.262),
            (10, 2.228),
            (30, 2.042),
            (120, 1.980),
        ] {
            assert!((t_of(0.05, freedom) - t).abs() < 6e-4, "{freedom}: {}", t_of(0.05, freedom));
        }
        assert!((t_of(0.01, 4) - 4.604).abs() < 6e-4);
    }

    #[test]
    fn the_interval_of_a_mean_is_students() {
        // Mean 3, standard deviation sqrt(2.5), t(4) = 2.776: 3 +- 1.963.
        let [low, high] = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((low - 1.037).abs() < 1e-3 && (high - 4.963).abs() < 1e-3, "{low} {high}");
        assert_eq!(mean_interval(&[1.0]), None);
        assert_eq!(mean_interval(&[2.0; 3]), Some([2.0; 2]));
    }

    #[test]
    fn pairs_show_what_unrelated_runs_hide() {
        let (first, second) = ([10.0, 20.0, 30.0, 40.0], [11.0, 21.5, 31.0, 41.5]);
        let together = paired(&first, &second).unwrap();
        assert!((together.mean - 1.25).abs() < 1e-12 && together.p < 0.01, "{together:?}");
        // Standard deviation 0.2887, t(3) = 3.182.
        assert!((together.half_width - 0.4593).abs() < 1e-4, "{together:?}");
        let apart = welch(&first, &second).unwrap();
        assert!((apart.mean - 1.25).abs() < 1e-12 && apart.p > 0.8, "{apart:?}");
        assert_eq!(paired(&first, &first).map(|same| (same.mean, same.p)), Some((0.0, 1.0)));
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]).map(|moved| moved.p), Some(0.0));
        assert_eq!((paired(&[1.0], &[2.0]), welch(&[1.0], &[2.0, 3.0])), (None, None));
    }

    /// By hand, 3.0, 3.2 / 2.0, 2.2, 2.4: difference -0.9, errors 0.01 and 0.04/3, freedom 2.98, rounded down to 2.
    #[test]
    fn welch_rounds_degrees_of_freedom_down() {
        let found = welch(&[3.0, 3.2], &[2.0, 2.2, 2.4]).unwrap();
        let error = (0.01_f64 + 0.04 / 3.0).sqrt();
        assert!((found.mean + 0.9).abs() < 1e-12);
        assert!((found.half_width - 4.3027 * error).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn many_trials_need_smaller_probabilities() {
        let close = |found: &[f64], wanted: &[f64]| {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12)
        };
        assert!(close(&adjusted(&[0.01, 0.04, 0.03, 0.5]), &[0.04, 0.16 / 3.0, 0.16 / 3.0, 0.5]));
        assert!(close(&adjusted(&[0.04]), &[0.04]));
        assert!(adjusted(&[]).is_empty());
    }
}
