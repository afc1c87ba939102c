import assert from "node:assert/strict";
import { test } from "node:test";

import { fill, plain } from "../../../src/ldpsql/server/page/dom.js";

const NASTY = ["\u202eDLROW", "a\u0000\u001b[2Jb", "\u2066\u200f\u061c", "line\u2028\u2029", "\u009b31m", "\ufeff=1"];

test("texts show what there is to see, and lines stay lines", () => {
  for (const text of NASTY) assert.doesNotMatch(plain(text), /[\p{C}\u2028\u2029]/u);
  assert.equal(plain("é 東京 ± <b>\n\t✓"), "é 東京 ± <b>\n\t✓");
});

test("whatever an element holds passes there, and nothing of it is parsed", () => {
  globalThis.Node = class {};
  const node = new Node(), held = [];
  fill({ append: (...children) => held.push(...children) }, {}, [NASTY, [node]], null, 7, "<script>alert(1)</script>");
  assert.deepEqual(held, [...NASTY.map(plain), node, "7", "<script>alert(1)</script>"]);
});
