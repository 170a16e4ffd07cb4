//! The content of reports: the figures of the run, and in a browser the values under the cursor.
//!
//! Chromium runs without a window. `APPORTION_BROWSER` names another program. Without a browser, a test says so and
//! passes, or fails if `APPORTION_BROWSER_REQUIRED` is set.

use std::io::Write;
use std::process::Command;

use crate::case::{Case, PODS, contains_all, fetches_nothing, json};
use serde_json::{Value, json as value};

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

fn browser(test: &str) -> Option<String> {
    let named = std::env::var("APPORTION_BROWSER").ok();
    let known = named.into_iter().chain(BROWSERS.map(str::to_owned));
    let runs =
        |name: &String| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    let found = { known }.find(runs);
    if found.is_none() {
        let message = format!("{test}: no browser");
        assert!(std::env::var_os("APPORTION_BROWSER_REQUIRED").is_none(), "{message}");
        // A macro's output would be hidden in a passing test.
        let _ = writeln!(std::io::stderr(), "skipped: {message}");
    }
    found
}

/// The page after its scripts have run.
fn page(browser: &str, case: &Case, name: &str) -> String {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom"])
        .args([
            "--window-size=1400,2400",
            &format!("--user-data-dir={}", case.folder.path().join("profile").display()),
        ])
        .arg(format!("file://{}", case.folder.path().join(name).display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Four containers for 100 seconds, a pause of 800, and two containers for 100 seconds.
fn two_bursts() -> Case {
    let case = Case::new();
    let (heads, _) = PODS.split_once('\n').unwrap();
    let pod = |(number, at): (usize, u32)| {
        format!("p{number},1000,1024,0,0,,BE,Succeeded,{at},{},{at}\n", at + 100)
    };
    let pods: String = [0, 0, 0, 0, 900, 900].into_iter().enumerate().map(pod).collect();
    case.file("pods.csv", format!("{heads}\n{pods}"));
    let output = case.run("replay --format openb --nodes nodes.csv --workload pods.csv --report report.html");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    case
}

/// Moves the mouse over the plot of containers, and records the values that the page shows.
const VISITOR: &str = "<script>(async () => {
  const figure = [...document.querySelectorAll('figure.plot')]
    .find(figure => JSON.parse(figure.querySelector('script').textContent).y.name === 'containers');
  const over = figure.querySelector('.u-over');
  const pause = () => new Promise(done => setTimeout(done, 100));
  const mouse = async (type, part, target) => {
    const box = over.getBoundingClientRect();
    const place = { clientX: box.left + part * box.width, clientY: box.top + box.height / 2, movementX: 9 };
    target.dispatchEvent(new MouseEvent(type, { ...place, bubbles: true }));
    await pause();
  };
  const read = async part => {
    await mouse('mousemove', part, over);
    return figure.querySelector('[data-line] b').textContent;
  };
  const all = figure.querySelector('button');
  const seen = { charts: document.querySelectorAll('.uplot').length, figures: document.querySelectorAll('figure.plot').length };
  seen.hovered = [await read(0.05), await read(0.5), await read(0.95)];
  seen.at = figure.querySelector('.at').textContent;
  seen.zoomed = [!all.hidden];
  await mouse('mousedown', 0.85, over);
  await mouse('mousemove', 0.99, over);
  await mouse('mouseup', 0.99, document);
  seen.zoomed.push(!all.hidden);
  seen.closer = [await read(0.1), await read(0.6)];
  seen.unit = figure.querySelector('.at').textContent;
  all.click();
  await pause();
  seen.zoomed.push(!all.hidden);
  seen.again = await read(0.05);
  const result = document.createElement('pre');
  result.id = 'seen';
  result.textContent = JSON.stringify(seen);
  document.body.append(result);
})();</script>";

#[test]
fn values_are_shown_under_the_cursor_and_time_can_be_zoomed() {
    let Some(browser) = browser("values_are_shown_under_the_cursor_and_time_can_be_zoomed") else { return };
    let case = two_bursts();
    let report = std::fs::read_to_string(case.folder.path().join("report.html")).unwrap();
    case.file("visited.html", report.replace("</html>", &format!("{VISITOR}</html>")));
    let page = page(&browser, &case, "visited.html");
    let (_, rest) =
        page.split_once("<pre id=\"seen\">").unwrap_or_else(|| panic!("the visitor stopped: {page}"));
    let seen: Value = json(rest.split_once("</pre>").unwrap().0.as_bytes());
    assert_eq!(seen["charts"], seen["figures"]);
    assert_eq!(seen["hovered"], value!(["4", "0", "2"]), "{seen}");
    assert_eq!(seen["at"], "virtual time: 15 min", "{seen}");
    assert_eq!(seen["zoomed"], value!([false, true, false]), "{seen}");
    assert_eq!(seen["closer"], value!(["0", "2"]), "{seen}");
    assert_eq!(seen["unit"], "virtual time: 900 s", "{seen}");
    assert_eq!(seen["again"], "4", "{seen}");
}

#[test]
fn a_report_is_one_file_with_pictures_that_need_no_script() {
    let case = two_bursts();
    let report = std::fs::read_to_string(case.folder.path().join("report.html")).unwrap();
    let (before_scripts, _) = report.split_once("<script>").unwrap();
    assert_eq!(
        before_scripts.matches("<figure class=plot>").count(),
        before_scripts.matches("class=still><svg").count()
    );
    contains_all(&report, &["The MIT License (MIT)", "Leon Sorokin"]);
    // A plot of zeros or of a single value is replaced by a sentence.
    contains_all(&report, &["No container waited", "Not in use at any time: gpu_milli", "is the only queue"]);
    assert_eq!(report.matches("<figure class=plot>").count(), 2);
    fetches_nothing(&report);
}

/// The data of the plot with this name on its vertical axis.
fn data(report: &str, y: &str) -> Value {
    let scripts = report.split("<script type='application/json'>").skip(1);
    let data = scripts.map(|rest| json(rest.split_once("</script>").unwrap().0.as_bytes()));
    { data }.find(|data: &Value| data["y"]["name"] == y).unwrap()
}

fn values(line: &Value, key: &str) -> Vec<f64> {
    let values = line.get(key).unwrap_or(&line["mean"]).as_array().unwrap();
    values.iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn the_peaks_of_the_figures_are_in_the_plot_and_the_tiles_count_as_it_does() {
    let case = Case::new();
    let output = case.run("demo --nodes 20 --seconds 300 --proposers 0 --report report.html --json -");
    let figures = json(&output.stdout);
    let report = std::fs::read_to_string(case.folder.path().join("report.html")).unwrap();
    for line in data(&report, "in use")["lines"].as_array().unwrap() {
        let used = &figures["utilisation"][line["name"].as_str().unwrap()];
        let plotted = values(line, "max").into_iter().fold(0.0, f64::max);
        let peak = 100.0 * used["peak"].as_f64().unwrap();
        assert!((plotted - peak).abs() < 1e-3, "{plotted} is not {peak}");
        assert!(used["busy_mean"].as_f64() > used["mean"].as_f64(), "a tail follows the busy time: {used}");
    }
    assert!(figures["busy_s"].as_f64() < figures["makespan_s"].as_f64());
    // One pod is larger than any node.
    let output = case.run("replay --format openb --nodes nodes.csv --workload pods.csv --report report.html");
    assert!(output.status.success());
    let report = std::fs::read_to_string(case.folder.path().join("report.html")).unwrap();
    let containers = data(&report, "containers");
    assert_eq!(values(&containers["lines"][1], "mean").last(), Some(&1.0), "{containers}");
    contains_all(&report, &["<b>1</b>waiting at the end", "<b>2</b>containers placed"]);
}

#[test]
fn a_sweep_plots_what_differs_and_says_what_does_not() {
    let case = Case::new();
    let files = "--format openb --nodes nodes.csv --workload pods.csv";
    let output = case.run(&format!("sweep {files} --compress 1,5 --report sweep.html"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = std::fs::read_to_string(case.folder.path().join("sweep.html")).unwrap();
    let (_, same) = report.split_once("The same at every point").unwrap();
    contains_all(
        same.split_once("</section>").unwrap().0,
        &["placed 2", "not placed 1", "wait, median 0 ms"],
    );
    assert!(!report.contains("<h2>Placed</h2>") && report.contains("<h2>Time per allocation</h2>"));
}
