/** Shows the view that the address names: `#ask?sql=...`, `#survey?table=...`, `#take-part?table=...`. */

import { byId, element } from "./dom.js";
import { Problem, request } from "./requests.js";

const main = byId("main");
const links = [...document.querySelectorAll("nav a")];
let shown = 0;

/** The view of the address, and what it says about it. */
function route() {
  const [, name, query] = location.hash.match(/^#([a-z-]*)\??(.*)$/s) ?? [];
  const link = links.find((each) => each.hash === `#${name}`) ?? links[0];
  return { link, parameters: new URLSearchParams(query) };
}

/** Have screen readers say something. */
function announce(text) {
  byId("live").replaceChildren(text);
}

/**
 * Show a view: a module whose `show(root, context)` fills an element.
 *
 * context: parameters, what the address says (URLSearchParams); request, see requests.js; announce(text), said by
 * screen readers; remember(parameters), puts them into the address as a step that Back undoes.
 */
async function show() {
  const { link, parameters } = route(), turn = ++shown;
  for (const each of links) {
    if (each === link) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  document.title = `${link.textContent} · ldpsql`;
  const root = element("div", { class: "view" });
  const remember = (next) => {
    const hash = `${link.hash}?${next}`;
    if (turn === shown && hash !== location.hash) history.pushState(null, "", hash);
  };
  try {
    const view = await import(`.${link.hash.replace("#", "/")}.js`);
    await view.show(root, { parameters, request, announce, remember });
  } catch (error) {
    if (!(error instanceof Problem)) console.error(error);
    const said = error instanceof Problem ? error.message : "This view failed; reload the page.";
    root.append(element("p", { role: "alert", class: "error" }, said), element("p", {}, element("button", { onclick: show }, "Try again")));
  }
  if (turn === shown) main.replaceChildren(root);
}

addEventListener("hashchange", async () => {
  if (location.hash === "#main") return;
  await show();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
show();
