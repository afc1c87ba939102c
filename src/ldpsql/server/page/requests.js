/** Asks the collector, with the analyst's token, which is asked for once and forgotten with the tab. */

import { element } from "./dom.js";

const TOKEN = "ldpsql.token";
let asking;

/** Whether the person gave a token in this tab. */
export const hasToken = () => sessionStorage.getItem(TOKEN) !== null;

/** A refusal: what the collector says, and where in the SQL. */
export class Problem extends Error {
  /** said: the members of the problem document. */
  constructor(status, said) {
    super(said.detail ?? `the collector answered ${status}`);
    Object.assign(this, { status, reason: said.reason, hint: said.hint, place: said.place, caret: said.caret });
  }
}

/**
 * The response to a request; Problem for a refusal, or where the collector cannot be reached.
 *
 * body: of a POST, to be sent as JSON.  accept: a media type.  signal: to give up.  A collector that
 * wants a token gets that of this tab, and the person is asked for it where there is none.
 */
export async function request(path, { body, accept = "application/json", signal } = {}) {
  for (;;) {
    const token = sessionStorage.getItem(TOKEN);
    const headers = { accept, ...(token && { authorization: `Bearer ${token}` }) };
    const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(path, { headers, signal, cache: "no-store", credentials: "omit", ...options }).catch((error) => {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, { detail: "the collector cannot be reached; check that it runs, and ask again" });
    });
    if (response.ok) return response;
    const said = await response.json().catch(() => ({}));
    if (response.status !== 401) throw new Problem(response.status, said);
    if (token === sessionStorage.getItem(TOKEN)) {
      asking ??= askForToken(token !== null).finally(() => { asking = undefined; });
      if (!(await asking)) throw new Problem(401, said);
    }
  }
}

/** Whether the person gave a token, which is kept until the tab is closed. */
function askForToken(refused) {
  const field = element("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const dialog = element("dialog", { "aria-labelledby": "token-title" },
    element("form", { method: "dialog" },
      element("h2", { id: "token-title" }, "Your token"),
      refused && element("p", { role: "alert", class: "error" }, "The collector does not know that token."),
      element("p", {}, "Only holders of a token may ask. On the collector's machine, ", element("code", {}, "ldpsql token add NAME"), " makes one. It stays in this tab and is sent to this collector only."),
      element("label", { for: "token" }, "Token"), field,
      element("p", { class: "buttons" },
        element("button", { type: "submit", class: "primary" }, "Use it"),
        element("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "given");
    });
    dialog.querySelector("form").addEventListener("submit", (event) => {
      event.preventDefault();
      sessionStorage.setItem(TOKEN, field.value.trim());
      dialog.close("given");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
