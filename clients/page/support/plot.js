/** What the page takes of Observable Plot. */

export { areaY, axisX, axisY, barX, barY, cell, dot, lineY, link, plot, ruleX, ruleY, text } from "@observablehq/plot";
