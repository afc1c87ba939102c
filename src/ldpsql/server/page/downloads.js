/** Hands files to whoever looks at the page. */

/** Save bytes or text under a name. */
export function save(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type })), link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // What begins to read it needs the address a moment longer.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A picture as the text of a file, with its own background. */
export function writeSvg(svg, ground) {
  const copy = svg.cloneNode(true), back = document.createElementNS(svg.namespaceURI, "rect");
  for (const [key, value] of Object.entries({ width: "100%", height: "100%", fill: ground })) back.setAttribute(key, value);
  copy.prepend(back);
  return new XMLSerializer().serializeToString(copy);
}

/** The same as a PNG, with so many of its pixels for one of the picture's. */
export async function writePng(svg, ground, scale = 2) {
  const address = URL.createObjectURL(new Blob([writeSvg(svg, ground)], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas"), { width, height } = svg.viewBox.baseVal;
    Object.assign(canvas, { width: width * scale, height: height * scale });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
  } finally {
    URL.revokeObjectURL(address);
  }
}
