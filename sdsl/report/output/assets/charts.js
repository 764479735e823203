// The figures, by Plotly: ranks with intervals, Acc_t against Acc_T, curves. Drawn when they come into sight.
"use strict";

const legend = {};
const narrow = () => innerWidth < 768;
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = (m) => (data.methods[m].colour === "currentColor" ? css("--fg") : data.methods[m].colour);
const shown = (m) => !state.m.has(Number(m));

function layout(more) {
  const axis = { gridcolor: css("--line"), zerolinecolor: css("--line"), linecolor: css("--line"), automargin: true };
  return {
    paper_bgcolor: "transparent", plot_bgcolor: "transparent", hovermode: "closest",
    font: { color: css("--fg"), size: 12, family: "system-ui, sans-serif" },
    hoverlabel: { bgcolor: css("--card"), font: { color: css("--fg") } },
    margin: { l: 45, r: 10, t: 30, b: 40 }, showlegend: false, ...more,
    xaxis: { ...axis, ...more.xaxis }, yaxis: { ...axis, ...more.yaxis },
  };
}
const draw = (place, traces, more) =>
  Plotly.react(place, traces, layout(more), { responsive: true, displaylogo: false, displayModeBar: false });

function ranks(place) {
  const ranked = data.answer[state.setting] ?? {};
  const rows = (ranked[state.metric] ?? ranked.acc_online ?? []).filter(([m]) => shown(m));
  const traces = rows.map(([m, rank, low, high, first]) => ({
    x: [rank], y: [data.methods[m].name], name: data.methods[m].name, mode: "markers", meta: Number(m),
    error_x: { type: "data", symmetric: false, array: [high - rank], arrayminus: [rank - low], color: colour(m), thickness: 2, width: 3 },
    marker: { color: colour(m), symbol: data.methods[m].symbol, size: 11 },
    hovertemplate: `mean rank ${rank.toFixed(2)}, ${low.toFixed(2)} to ${high.toFixed(2)}<br>first in ${Math.round(100 * first)} % of draws<extra>%{y}</extra>`,
  }));
  const height = 70 + 24 * Math.max(1, rows.length);
  place.style.height = `${height}px`;
  draw(place, traces, {
    height, margin: { l: 10, r: 10, t: 5, b: 40 },
    xaxis: { title: { text: "mean rank (1 is best)" }, rangemode: "tozero" },
    yaxis: { autorange: "reversed", type: "category" },
  });
}

function tradeoff(place) {
  const panels = data.tradeoff[state.setting].filter((panel) => !state.d.has(panel.stream));
  const keys = panels.map((panel) => String(panel.stream));
  for (const child of [...place.children]) if (!keys.includes(child.dataset.stream)) (Plotly.purge(child), child.remove());
  for (const panel of panels) {
    let box = place.querySelector(`[data-stream="${panel.stream}"]`);
    if (!box) {
      box = element("div", "");
      box.className = "panel";
      box.dataset.stream = panel.stream;
      place.append(box);
    }
    const column = (i) => panel.front.map((point) => point[i]);
    const traces = panel.front.length ? [{
      x: column(0), y: column(1), customdata: column(2), mode: "lines+markers", name: "static trade-off",
      line: { color: css("--dim"), width: 2 }, marker: { size: 3 }, opacity: 0.7,
      hovertemplate: "Acc_t %{x:.3f}, Acc_T %{y:.3f}<br>weight of the present %{customdata}<extra>static trade-off</extra>",
    }] : [];
    for (const [m, x, y, dx, dy, n] of panel.points.filter(([m]) => shown(m)))
      traces.push({
        x: [x], y: [y], mode: "markers", name: data.methods[m].name, meta: m,
        marker: { color: colour(m), symbol: data.methods[m].symbol, size: 10, line: { color: css("--bg"), width: 1 } },
        hovertemplate: `Acc_t %{x:.3f}${dx == null ? "" : ` ± ${dx.toFixed(3)}`}<br>Acc_T %{y:.3f}${dy == null ? "" : ` ± ${dy.toFixed(3)}`}<br>${n} seed${n > 1 ? "s" : ""}<extra>%{fullData.name}</extra>`,
      });
    const end = panel.reach == null ? [] : [{
      type: "line", xref: "paper", x0: 0, x1: 1, y0: panel.reach, y1: panel.reach, line: { color: css("--dim"), width: 1, dash: "dot" },
    }];
    const words = panel.reach == null ? [] : [{
      xref: "paper", x: 0, xanchor: "left", y: panel.reach, yanchor: "bottom", showarrow: false,
      text: `best classifier of x alone ${panel.reach.toFixed(3)}`, font: { size: 10, color: css("--dim") },
    }];
    draw(box, traces, {
      title: { text: data.streams[panel.stream], font: { size: 13 } }, shapes: end, annotations: words,
      xaxis: { title: { text: "Acc_t" } }, yaxis: { title: { text: "Acc_T" } },
    });
  }
}

// Eighteen curves at once are a thicket: the best, the simplest and the bounds are shown first.
function first(methods) {
  const best = (data.answer[state.setting]?.acc_online ?? []).slice(0, 4).map(([m]) => m);
  const some = methods.filter((m) => best.includes(m) || ["ST", "Ours", "True labels"].includes(data.methods[m].name));
  return methods.length > 8 && some.length ? some : methods;
}

const stream = document.getElementById("curve-stream"), kind = document.getElementById("curve-kind");
const bands = document.getElementById("bands");
function curves(place) {
  const known = data.curves.lines[state.setting] ?? {};
  for (const option of kind.options) option.disabled = !known[option.value];
  for (const option of stream.options)
    option.disabled = !known[kind.value]?.[option.value] || state.d.has(Number(option.value));
  if (stream.selectedOptions[0]?.disabled) stream.value = [...stream.options].find((o) => !o.disabled)?.value ?? "";
  const lines = known[kind.value]?.[stream.value] ?? {};
  const methods = Object.keys(lines).map(Number).filter(shown), visible = first(methods);
  const traces = [];
  for (const m of methods) {
    const [bounds, mean, std] = lines[m];
    const x = bounds ?? mean.map((_, i) => i + 1), y = mean.map((v) => v / 1000);
    const look = { legendgroup: String(m), meta: m, visible: (legend[m] ?? visible.includes(m)) ? true : "legendonly" };
    if (bands.checked && std.some((v) => v != null)) {
      const rgb = colour(m) + "28"; // transparent
      traces.push({
        ...look, x: [...x, ...[...x].reverse()], fill: "toself", fillcolor: rgb, mode: "lines", line: { width: 0 },
        y: [...y.map((v, i) => v + std[i] / 1000), ...y.map((v, i) => v - std[i] / 1000).reverse()],
        hoverinfo: "skip", showlegend: false,
      });
    }
    traces.push({
      ...look, x, y, name: data.methods[m].name, mode: "lines+markers",
      line: { color: colour(m), dash: data.methods[m].dash, width: 2 },
      marker: { symbol: data.methods[m].symbol, size: 6, maxdisplayed: 12 },
      hovertemplate: "%{x}: %{y:.3f}<extra>%{fullData.name}</extra>",
    });
  }
  const [title, xTitle, yTitle] = data.curves.kinds[kind.value] ?? ["", "", ""];
  draw(place, traces, {
    showlegend: true, legend: narrow() ? { orientation: "h", y: -0.15 } : { x: 1.01, y: 1 },
    title: { text: narrow() ? "" : `${data.streams[stream.value] ?? ""}: ${title}`, font: { size: 13 } },
    xaxis: { title: { text: xTitle } }, yaxis: { title: { text: yTitle } }, uirevision: `${kind.value} ${stream.value}`,
  });
  if (!place.dataset.listens) {
    place.dataset.listens = "yes"; // what the reader chose in the legend holds for the next stream, too
    place.on("plotly_restyle", () => {
      for (const trace of place.data) legend[trace.meta] = trace.visible === true;
    });
  }
}
for (const control of [stream, kind, bands]) control.addEventListener("change", () => redraw());

const CHARTS = { ranks, tradeoff, curves };
const seen = new Set(); // charts that came into sight
function redraw() {
  for (const place of seen) if (place.offsetParent) CHARTS[place.dataset.chart](place);
}
const watch = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries)
    if (isIntersecting && !seen.has(target)) (seen.add(target), CHARTS[target.dataset.chart](target));
}, { rootMargin: "300px" });
for (const place of all("[data-chart]")) watch.observe(place);
listeners.push(redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
