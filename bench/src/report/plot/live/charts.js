// Replaces the still picture of each plot by a chart that shows values under the cursor and can be zoomed.
"use strict";
(() => {
  const HEIGHT = 320;
  const steps = uPlot.paths.stepped({ align: 1 });
  const together = uPlot.sync("time");
  // Seconds, name, and the length of time up to which the unit is used.
  const UNITS = [[1, "s", 300], [60, "min", 18000], [3600, "h", 432000], [86400, "days", Infinity]];
  const increments = [];
  for (let power = -9; power <= 15; power++) {
    for (const digit of [1, 2, 5]) increments.push(Number(`${digit}e${power}`));
  }

  const fixed = (value, digits) =>
    value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const digitsOf = increment => Math.max(0, Math.ceil(-Math.log10(increment) - 1e-9));
  const exact = value => value.toLocaleString("en-US", { maximumSignificantDigits: Math.abs(value) >= 1e4 ? 9 : 4 });

  // 1 to 9 times each power of ten.
  function decades(u, index, min, max) {
    const splits = [];
    for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power++) {
      for (let digit = 1; digit < 10; digit++) splits.push(Number(`${digit}e${power}`));
    }
    return splits.filter(value => value >= min && value <= max);
  }

  // The unit that suits the time in view: its name, and its length in seconds.
  function unit(u) {
    const seconds = u.scales.x.max - u.scales.x.min;
    const [length, name] = UNITS.find(([, , limit]) => seconds < limit);
    return { name, length };
  }

  function axis(of, isX) {
    const linear = (u, splits, index, space, increment) =>
      splits.map(value => fixed(value, digitsOf(increment)) + of.suffix);
    const time = (u, splits, index, space, increment) => {
      const { name, length } = unit(u);
      return splits.map(value => `${fixed(value / length, digitsOf(increment / length))} ${name}`);
    };
    const all = of.whole ? increments.filter(increment => increment >= 1) : increments;
    // A power of ten, and 2 and 5 times a power where only a few are in view.
    const logarithmic = (u, splits) => {
      const digits = u.scales.x.max > 1000 * u.scales.x.min ? "1" : "125";
      return splits.map(value => (value && digits.includes(value.toExponential()[0]) ? exact(value) : ""));
    };
    return {
      label: of.time ? of.name.split(",")[0] : of.name,
      labelSize: 22,
      labelFont: "13px system-ui, sans-serif",
      font: "12px system-ui, sans-serif",
      stroke: "#3c3c3c",
      grid: { stroke: "#e1e1e1", width: 1 },
      ticks: { stroke: "#e1e1e1", width: 1 },
      incrs: of.time ? u => all.map(increment => increment * unit(u).length) : all,
      space: isX ? 70 : 40,
      size: isX ? 34 : (u, values) => 24 + 7 * Math.max(2, ...(values || []).map(value => value.length)),
      values: of.log ? logarithmic : of.time ? time : linear,
      ...(of.log ? { splits: decades, filter: (u, splits) => splits } : {}),
    };
  }

  function series(chart) {
    const data = [chart.at];
    const all = [{}];
    const bands = [];
    for (const line of chart.lines) {
      const add = (values, style) => {
        data.push(values);
        all.push({ paths: steps, points: { show: false }, ...style });
        return all.length - 1;
      };
      if (line.max) {
        const edge = { stroke: line.colour + "90", width: 1 };
        const pair = [add(line.max, edge), add(line.min, edge)];
        bands.push({ series: pair, fill: line.colour + "38" });
      }
      const fill = chart.lines.length === 1 && chart.y.from === 0 ? line.colour + "1f" : undefined;
      // Of few lines the first are wider, so that they show below the others.
      const width = line !== chart.lines.at(-1) && chart.lines.length <= 3 ? 3 : 2;
      add(line.mean, { stroke: line.colour, width, fill });
    }
    return { data, series: all, bands };
  }

  // The values under the cursor.
  function show(figure, chart, u) {
    const at = u.cursor.left >= 0 ? stepAt(chart, u.posToVal(u.cursor.left, "x")) : -1;
    const x = figure.querySelector(".at");
    const inside = at >= 0 && at < chart.at.length;
    const place = value => {
      if (!chart.x.time) return `${chart.x.name}: ${exact(value)}${chart.x.suffix}`;
      const { name, length } = unit(u);
      return `${chart.x.name.split(",")[0]}: ${exact(value / length)} ${name}`;
    };
    x.textContent = inside ? place(chart.at[at]) : "";
    figure.querySelectorAll("[data-line]").forEach((name, number) => {
      const line = chart.lines[number];
      const mean = inside ? line.mean[at] : null;
      let text = "";
      if (mean !== null && mean !== undefined) {
        text = exact(mean) + chart.y.suffix;
        const [low, high] = line.max ? [exact(line.min[at]), exact(line.max[at])] : ["", ""];
        if (low !== high) text += ` (${low} to ${high}${chart.y.suffix})`;
      }
      name.querySelector("b").textContent = text;
    });
  }

  // The step that x lies in.
  function stepAt(chart, x) {
    let low = 0;
    let high = chart.at.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (chart.at[middle] <= x) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  function draw(figure) {
    const chart = JSON.parse(figure.querySelector("script").textContent);
    const live = figure.querySelector(".live");
    const still = figure.querySelector(".still");
    const all = figure.querySelector("button");
    const ends = [chart.at[0], chart.at[chart.at.length - 1]];
    const zoomed = (u, key) => {
      if (key !== "x") return;
      all.hidden = u.scales.x.min <= ends[0] && u.scales.x.max >= ends[1];
    };
    const options = {
      width: still.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false },
        sync: chart.time ? { key: "time", setSeries: false, scales: ["x", null] } : undefined,
      },
      scales: {
        x: { time: false, distr: chart.x.log ? 3 : 1, range: (u, min, max) => [min, max] },
        y: { range: (u, min, max) => (chart.y.from > 0 ? [chart.y.from, 100] : [0, max > 0 ? max * 1.05 : 1]) },
      },
      axes: [axis(chart.x, true), axis(chart.y, false)],
      hooks: {
        setCursor: [u => show(figure, chart, u)],
        setScale: [zoomed],
      },
    };
    const { data, ...parts } = series(chart);
    const plot = new uPlot({ ...options, ...parts }, data, live);
    all.addEventListener("click", () => {
      const plots = chart.time ? together.plots : [plot];
      plots.forEach(each => each.setScale("x", { min: ends[0], max: ends[1] }));
    });
    still.hidden = true;
    live.hidden = false;
    new ResizeObserver(() => plot.setSize({ width: figure.clientWidth, height: HEIGHT })).observe(figure);
  }

  document.querySelectorAll("figure.plot").forEach(draw);
})();
