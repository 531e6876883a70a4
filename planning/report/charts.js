// Draws every <figure class="chart"> from the Vega specification inside it, as SVG: at the width that there is, again
// when that changes, and once more at the width of a sheet of paper before printing. Fetches nothing.
(function () {
  "use strict";
  const ink = "currentColor", font = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif";
  const quiet = { domainColor: ink, domainOpacity: 0.5, tickColor: ink, tickOpacity: 0.5, gridColor: ink,
    gridOpacity: 0.13, labelColor: ink, titleColor: ink, labelFont: font, titleFont: font, labelFontSize: 12,
    titleFontSize: 12, titleFontWeight: "normal" };
  const config = {
    axis: quiet,
    legend: { labelColor: ink, titleColor: ink, labelFont: font, titleFont: font, labelFontSize: 12,
      titleFontSize: 12, symbolSize: 110, labelLimit: 260 },
    text: { fill: ink, font: font, fontSize: 12 }, rule: { stroke: ink }
  };
  const figures = Array.from(document.querySelectorAll("figure.chart"));
  const paper = 690, views = new Map();

  function draw(figure, width) {
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const box = figure.querySelector(".canvas");
    if (views.has(figure)) views.get(figure).finalize();
    spec.width = width;
    spec.autosize = { type: "fit-x", contains: "padding" };
    spec.signals = [{ name: "narrow", value: width < 520 }].concat(spec.signals || []);
    const view = new vega.View(vega.parse(spec, config, { ast: true }),
      { renderer: "svg", container: box, hover: false, expr: vega.interpreter, logLevel: 1 });
    view.run();
    views.set(figure, view);
    // Vega wires what is inside for screen readers; the whole is a picture with a table beside it.
    box.setAttribute("aria-roledescription", "chart");
    figure.dataset.drawn = "yes";
  }
  const room = figure => Math.max(280, Math.min(1040, figure.clientWidth));
  const all = width => figures.forEach(f => draw(f, width || room(f)));

  all();
  let last = window.innerWidth, waiting = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === last) return;
    last = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => all(), 120);
  });
  const folded = () => Array.from(document.querySelectorAll("details.print"));
  window.addEventListener("beforeprint", () => { folded().forEach(d => { d.dataset.was = d.open; d.open = true; }); all(paper); });
  window.addEventListener("afterprint", () => { folded().forEach(d => { d.open = d.dataset.was === "true"; }); all(); });
})();
