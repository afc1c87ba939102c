/** Who has signed what. */

import { canonical, check } from "./json.js";
import { hex } from "./shapes.js";

// Keys under which anybody can sign, with the highest bit cleared.
const FF = "ff".repeat(30), ZERO = "00".repeat(31);
const SMALL_ORDER = [`00${ZERO}`, `01${ZERO}`, `ec${FF}7f`, `ed${FF}7f`, `ee${FF}7f`,
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"];

/** A reader of public keys. */
export function signer(data, where) {
  const key = hex(64)(data, where);
  check(!SMALL_ORDER.includes(key.slice(0, 62) + (parseInt(key.slice(62), 16) & 127).toString(16).padStart(2, "0")), where, "must not be a key under which anybody can sign");
  return key;
}

/** What a signature covers. */
export const signedText = ({ signature: _, ...covered }) => canonical(covered);
