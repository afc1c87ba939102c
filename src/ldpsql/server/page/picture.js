/** Draws answers, as SVG. */

import { plain } from "./dom.js";
import { areaY, axisX, barX, barY, cell, dot, lineY, plot, ruleX, ruleY, text } from "./vendor/plot.js";

const SVG = "http://www.w3.org/2000/svg";
const FONT = 12, TITLE = 26, PALE = 0.4, LONGEST = 26;

/** The colours of the page as it is now; all that a picture needs, so that it is a file by itself. */
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(["ground", "text", "soft", "line", "series-1", "series-2"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/**
 * A picture as an SVG element.
 *
 * picture: of `readPicture`.  kind: one of its kinds.  width: in pixels.  colours: of `readColours`.  label: what screen readers say.
 */
export function draw(picture, kind, { width, colours, label }) {
  const parts = picture.panels.flatMap((panel) => (kind === "heat map" ? heatMap(panel, picture, width, colours) : panelsOf(panel, kind, picture, width, colours)));
  const outer = document.createElementNS(SVG, "svg");
  let height = 0;
  for (const { title, svg } of parts) {
    if (title) {
      const heading = document.createElementNS(SVG, "text");
      for (const [key, value] of Object.entries({ x: 4, y: height + 17, "font-size": 13, "font-weight": 600, fill: colours.text })) heading.setAttribute(key, value);
      heading.textContent = shorten(title, Math.floor(width / 8));
      outer.append(heading);
      height += TITLE;
    }
    // The page's sheet says what this would; the content policy takes no other.
    svg.querySelector("style")?.remove();
    svg.setAttribute("y", height);
    svg.setAttribute("font-size", FONT);
    svg.setAttribute("aria-hidden", "true"); // the whole has a label
    outer.append(svg);
    height += Number(svg.getAttribute("height")) + 8;
  }
  const attributes = { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, color: colours.text, "font-family": "system-ui, sans-serif" };
  for (const [key, value] of Object.entries(attributes)) outer.setAttribute(key, value);
  return outer;
}

function shorten(value, most = LONGEST) {
  const text = plain(String(value));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

const isFinite = Number.isFinite;

/** A panel for each value of the second key, with the same scale of values. */
function panelsOf({ title, points }, kind, picture, width, colours) {
  const ends = points.flatMap(({ value, low, high }) => [value, low, high]).filter(isFinite);
  const spans = kind === "bars" ? [0, ...ends] : ends;
  const domain = [Math.min(...spans), Math.max(...spans)];
  const groups = picture.y ? [...new Set(points.map(({ y }) => y))] : [undefined];
  const named = (group) => (group === undefined ? title : `${title}, ${picture.y.name} ${group}`);
  return groups.map((group) => ({ title: named(group), svg: one(points.filter(({ y }) => y === group), kind, picture, domain, width, colours) }));
}

function one(points, kind, { x, set }, domain, width, colours) {
  const colour = colours["series-1"], opacity = ({ isWeak }) => (isWeak ? PALE : 1);
  const known = points.filter(({ value }) => isFinite(value));
  const barred = points.filter(({ low, high }) => isFinite(low) && isFinite(high));
  const bars = { stroke: kind === "bars" ? colours.text : colour, strokeWidth: 1.4 };
  if (x.type === "kind") {
    const names = [...new Set(points.map((point) => point.x))], y = (point) => point.x;
    const longest = Math.max(...names.map((name) => shorten(name).length));
    return plot({
      width, height: names.length * 26 + 46, marginLeft: Math.min(24 + 7 * longest, 0.45 * width), marginRight: 30, marginTop: 8, marginBottom: 36,
      x: { domain, nice: true, label: null, grid: true, ticks: Math.max(3, Math.floor(width / 110)) },
      y: { domain: names, label: null, tickFormat: (name) => shorten(name), type: "band" },
      marks: [
        kind === "bars" ? barX(known, { y, x: "value", fill: colour, fillOpacity: opacity }) : dot(known, { y, x: "value", fill: colour, fillOpacity: opacity, stroke: colour, r: 4 }),
        ruleY(barred, { y, x1: "low", x2: "high", ...bars }),
        kind === "bars" ? ruleX([0], { stroke: colours.soft }) : null,
      ],
    });
  }
  const place = x.type === "date" ? (point) => new Date(point.x.length > 10 ? `${point.x}Z` : point.x) : (point) => point.x;
  const frame = {
    width, height: Math.round(Math.min(360, Math.max(220, width * 0.42))), marginLeft: 64, marginRight: 20, marginTop: 12, marginBottom: 44,
    y: { domain, nice: true, label: null, grid: true, ticks: 6 },
  };
  if (kind === "bars") {
    const names = [...new Set(points.map(({ x: own }) => own))], room = Math.max(1, Math.ceil(names.length / Math.max(2, Math.floor((width - 84) / (8 * Math.max(...names.map((name) => String(name).length)) + 12)))));
    return plot({
      ...frame, x: { domain: names, type: "band", label: shorten(x.name), ticks: names.filter((_, i) => i % room === 0) },
      marks: [barY(known, { x: "x", y: "value", fill: colour, fillOpacity: opacity }), ruleX(barred, { x: "x", y1: "low", y2: "high", ...bars }), ruleY([0], { stroke: colours.soft })],
    });
  }
  const along = { ...frame, x: { type: x.type === "date" ? "utc" : "linear", inset: 8, label: shorten(x.name), ticks: Math.max(3, Math.floor(width / 90)), ...(x.type === "number" && { tickFormat: String }) } };
  if (kind === "bands") {
    const rows = Map.groupBy(points, (point) => point.x), middle = (set + 1) / 2, marks = [];
    for (let q = 1; q < middle; q++) {
      const pairs = [...rows.values()].map((own) => ({ x: own[0].x, low: own.find((point) => point.q === q).value, high: own.find((point) => point.q === set + 1 - q).value }));
      marks.push(areaY(pairs, { x: place, y1: "low", y2: "high", fill: colour, fillOpacity: 0.18 }));
    }
    const halves = points.filter(({ q, value }) => q === middle && isFinite(value));
    marks.push(lineY(points.filter(({ q }) => q === middle), { x: place, y: "value", stroke: colour, strokeWidth: 2 }), dot(halves, { x: place, y: "value", fill: colour, r: 2.5 }));
    return plot({ ...along, marks });
  }
  const dots = dot(known, { x: place, y: "value", fill: colour, fillOpacity: opacity, stroke: colour, r: 3.5 });
  if (kind === "points") return plot({ ...along, marks: [ruleX(barred, { x: place, y1: "low", y2: "high", ...bars }), dots] });
  return plot({ ...along, marks: [areaY(points, { x: place, y1: "low", y2: "high", fill: colour, fillOpacity: 0.18 }), lineY(points, { x: place, y: "value", stroke: colour, strokeWidth: 2 }), known.length <= 60 ? dots : null] });
}

/** Cells whose colour is their value, one below and one above zero, with the values in them where there is room, and a scale of colours. */
function heatMap({ title, points }, { x, y }, width, colours) {
  const known = points.filter(({ value }) => isFinite(value)), values = known.map(({ value }) => value);
  const low = Math.min(0, ...values), high = Math.max(0, ...values), domain = low < high ? [low, high] : [0, 1];
  const along = [...new Set(points.map((point) => point.x))], across = [...new Set(points.map((point) => point.y))];
  if (x.type === "number") along.sort((a, b) => a - b);
  const left = Math.min(30 + 7 * Math.max(...across.map((name) => shorten(name).length)), 0.4 * width);
  const step = (width - left - 20) / along.length, letters = Math.max(...along.map((name) => shorten(name, 12).length));
  const every = Math.max(1, Math.ceil((7.5 * letters + 6) / step));
  const most = Math.max(-domain[0], domain[1]);
  const color = { type: "linear", domain: [-most, 0, most], range: [colours["series-2"], colours.ground, colours["series-1"]], interpolate: "rgb" };
  const isDark = (point) => Math.abs(point.value) / most > 0.55;
  const short = (point) => point.text.split(" ")[0] + (point.isWeak ? " ~" : "");
  const room = Math.max(0, ...known.map((point) => short(point).length)) * 7.2 + 6;
  const cells = plot({
    width, height: across.length * 30 + 50, marginLeft: left, marginRight: 20, marginTop: 4, marginBottom: 44, color,
    x: { type: "band", domain: along, label: shorten(x.name), tickFormat: (name) => shorten(name, 12), ticks: along.filter((_, i) => i % every === 0), padding: 0.03 },
    y: { type: "band", domain: across, label: null, tickFormat: (name) => shorten(name), padding: 0.05 },
    marks: [
      cell(known, { x: "x", y: "y", fill: "value", stroke: colours.line, strokeWidth: 0.5 }),
      step > room || step > 16 ? [true, false].map((dark) => text(known.filter((point) => isDark(point) === dark), { x: "x", y: "y", text: step > room ? short : (point) => (point.isWeak ? "~" : ""), fill: dark ? colours.ground : colours.text })) : null,
    ],
  });
  const shades = Array.from({ length: 40 }, (_, i) => domain[0] + ((i + 0.5) / 40) * (domain[1] - domain[0]));
  const ramp = plot({
    width: Math.min(width, 320), height: 40, marginLeft: 20, marginRight: 30, marginTop: 2, marginBottom: 24, color, x: { type: "linear", domain, ticks: 4 }, y: { axis: null },
    marks: [ruleX(shades, { x: (value) => value, stroke: (value) => value, strokeWidth: 8 }), axisX({ ticks: 4 })],
  });
  return [{ title, svg: ramp }, { svg: cells }];
}
