/** What the page takes of Observable Plot. */

export { areaY, axisX, barX, barY, cell, dot, lineY, plot, ruleX, ruleY, text } from "@observablehq/plot";
