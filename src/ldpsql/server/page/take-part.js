/** Where a person answers. */

import { element } from "./dom.js";

/** Say how people take part. */
export async function show(root) {
  root.append(
    element("h1", {}, "Take part"),
    element("p", {}, "People answer on their own devices, with an app that draws a randomized report: nothing else leaves them."));
}
